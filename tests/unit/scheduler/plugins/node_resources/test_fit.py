"""NodeResourcesFit: the filter, hints and signatures."""

from dataclasses import dataclass
from typing import Any, cast

import pytest

from schedlab.api.views.meta import ObjectMeta, View
from schedlab.scheduler.config.args import NodeResourcesFitArgs, ResourceSpec, ScoringStrategy
from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import error
from schedlab.scheduler.plugins.node_resources.fit import ENTRY
from schedlab.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.scheduler.plugins.plugin_bench import DeviceClasses, PluginBench

POD = make_pod()
GPU = "example.com/gpu"
NODE = make_node("n").capacity({"cpu": "4", "memory": "8Gi", "pods": "2", "ephemeral-storage": "10Gi", GPU: "2"})
USED = make_pod("used").node("n").req({"cpu": "3", "memory": "1Gi", "ephemeral-storage": "9Gi", GPU: "1"})


def fit_args(**fields: Any) -> NodeResourcesFitArgs:
    strategy = ScoringStrategy(type="LeastAllocated", resources=[ResourceSpec(name="cpu", weight=1)])
    return NodeResourcesFitArgs(**{"scoring_strategy": strategy, **fields})


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        (POD, ""),
        (POD.req(cpu="1"), ""),
        (POD.req(cpu="1001m"), "Insufficient cpu"),
        (POD.req(cpu="5"), "Insufficient cpu!"),
        (POD.req(cpu="2", memory="8Gi"), "Insufficient cpu, Insufficient memory"),
        (POD.req(cpu="2", memory="9Gi"), "Insufficient cpu, Insufficient memory!"),
        (POD.req({"ephemeral-storage": "2Gi"}), "Insufficient ephemeral-storage"),
        (POD.req({GPU: "2"}), f"Insufficient {GPU}"),
        (POD.req({GPU: "3"}), f"Insufficient {GPU}!"),
        (POD.req({GPU: "0"}), ""),
        (POD.req({"b.com/x": "1", "a.com/x": "1"}), "Insufficient a.com/x, Insufficient b.com/x!"),
        (POD.req(cpu="500m").init_container(requests={"cpu": "2"}), "Insufficient cpu"),
        (POD.req(cpu="500m").overhead(cpu="600m"), "Insufficient cpu"),
        (POD.req(cpu="3").resources({"cpu": "1"}), ""),
    ],
)
def test_node_with_too_little_left_is_turned_down(pod: PodBuilder, message: str) -> None:
    """More than the whole node has is beyond help, less is not; extended resources are named in order."""
    assert PluginBench(ENTRY, NODE, pods=(USED,)).filter(pod) == {"n": message}


def test_number_of_pods_comes_first() -> None:
    full = PluginBench(ENTRY, NODE, pods=(USED, make_pod("other").node("n")))

    assert full.filter(POD) == {"n": "Too many pods"}
    assert full.filter(POD.req(cpu="2")) == {"n": "Too many pods, Insufficient cpu"}


def test_each_node_has_its_own_reasons() -> None:
    nodes = [make_node(name).capacity(cpu=cpu, memory="1Gi", pods="9") for name, cpu in (("a", "1"), ("b", "3"))]
    bench = PluginBench(ENTRY, *nodes, make_node("c"), pods=(make_pod("p").node("b").req(cpu="2"),))

    assert bench.filter(POD.req(cpu="2", memory="1Gi")) == {
        "a": "Insufficient cpu!",
        "b": "Insufficient cpu",
        "c": "Too many pods, Insufficient cpu, Insufficient memory!",
    }


def test_very_many_resources_are_judged_all_the_same() -> None:
    many = {f"r.com/{index:03}": "1" for index in range(70)}

    assert PluginBench(ENTRY, NODE).filter(POD.req(many)) == {
        "n": ", ".join(f"Insufficient {name}" for name in many) + "!"
    }


@pytest.mark.parametrize("args", [fit_args(ignored_resources=[GPU]), fit_args(ignored_resource_groups=["example.com"])])
def test_ignored_resources_are_not_looked_at(args: NodeResourcesFitArgs) -> None:
    bench = PluginBench(ENTRY, NODE, args=args)

    assert bench.filter(POD.req({GPU: "9"})) == {"n": ""}
    assert bench.filter(POD.req({"other.com/x": "1"})) == {"n": "Insufficient other.com/x!"}
    assert bench.filter(POD.req({"hugepages-2Mi": "2Mi"})) == {"n": "Insufficient hugepages-2Mi!"}


def test_pod_level_requests_need_their_gate() -> None:
    bench = PluginBench(
        ENTRY,
        NODE,
        gates={
            "PodLevelResources": False,
            "InPlacePodLevelResourcesVerticalScaling": False,
            "PodLevelResourceManagers": False,
        },
    )

    assert bench.filter(POD.req(cpu="1").resources({"cpu": "9"})) == {"n": ""}


def test_filter_without_pre_filter_is_an_error() -> None:
    expected = error('error reading "PreFilterNodeResourcesFit" from cycleState: not found')

    assert PluginBench(ENTRY, NODE).statuses(POD, CycleState()) == {"n": expected}


def test_resource_of_a_device_class_need_not_be_offered_by_the_node() -> None:
    """Unless the node offers it, then it counts as ever."""
    plain = make_node("plain").capacity(pods="5")
    bench = PluginBench(ENTRY, NODE, plain, device_classes=DeviceClasses(GPU))

    assert bench.filter(POD.req({GPU: "3"})) == {"n": f"Insufficient {GPU}!", "plain": ""}
    off = {"DRAExtendedResource": False}
    assert PluginBench(ENTRY, plain, device_classes=DeviceClasses(GPU), gates=off).filter(POD.req({GPU: "3"})) == {
        "plain": f"Insufficient {GPU}!"
    }


# --- Hints ---


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(POD.name("x").node("n"), None, "queue", id="a placed pod went away"),
        pytest.param(POD.name("x"), None, "skip", id="a pod went away that was nowhere"),
        pytest.param(POD.name("x").nominated_node("n"), None, "queue", id="its nomination counts"),
        pytest.param(POD.req(cpu="2"), POD.req(cpu="1"), "queue", id="the pod itself shrank"),
        pytest.param(USED, USED.set("spec.containers", []), "queue", id="a placed pod gave cpu back"),
        pytest.param(USED.req(memory="1Gi"), USED, "skip", id="what it gave back is not asked for"),
        pytest.param(POD.name("x").req(cpu="2"), POD.name("x"), "skip", id="a pod shrank that is nowhere"),
    ],
)
def test_pod_events(old: PodBuilder, new: PodBuilder | None, hint: str) -> None:
    after = new.view() if new is not None else None
    action = ActionType.DELETE if new is None else ActionType.UPDATE_POD_SCALE_DOWN

    assert PluginBench(ENTRY).hint(EventResource.POD, action, POD.req(cpu="2"), old.view(), after) == hint


SMALL = make_node("n").capacity(cpu="1", memory="1Gi", pods="2")


@pytest.mark.parametrize(
    ("old", "new", "pod", "hint"),
    [
        pytest.param(None, NODE, POD.req(cpu="2"), "queue", id="a new node that fits"),
        pytest.param(None, SMALL, POD.req(cpu="2"), "skip", id="a new node that is too small"),
        pytest.param(SMALL, NODE, POD.req(cpu="2"), "queue", id="more of what is asked for"),
        pytest.param(NODE, NODE.capacity(memory="9Gi"), POD.req(cpu="2"), "skip", id="more of something else"),
        pytest.param(NODE, NODE.capacity(pods="3"), POD.req(cpu="2"), "queue", id="room for more pods"),
        pytest.param(NODE, NODE.capacity({GPU: "3"}), POD.req({GPU: "1"}), "queue", id="more of an extended resource"),
        pytest.param(SMALL, NODE, POD, "skip", id="a pod that asks for nothing needs room for pods"),
    ],
)
def test_node_events(old: NodeBuilder | None, new: NodeBuilder, pod: PodBuilder, hint: str) -> None:
    before = old.view() if old is not None else None
    event = (EventResource.NODE, ActionType.UPDATE_NODE_ALLOCATABLE)

    assert PluginBench(ENTRY).hint(*event, pod, before, new.view()) == hint


def test_node_change_helps_a_pod_whose_resource_is_a_device() -> None:
    bench = PluginBench(ENTRY, device_classes=DeviceClasses(GPU))
    event = (EventResource.NODE, ActionType.UPDATE_NODE_ALLOCATABLE)

    assert bench.hint(*event, POD.req({GPU: "1"}), SMALL.view(), SMALL.view()) == "queue"


@dataclass
class ClassSpec:
    extended_resource_name: str | None


@dataclass
class DeviceClass:
    metadata: ObjectMeta
    spec: ClassSpec


def device_class(name: str, resource: str | None = None) -> View:
    return cast("View", DeviceClass(ObjectMeta(name=name), ClassSpec(resource)))


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, device_class("c", GPU), "queue"),
        (None, device_class("c"), "skip"),
        (None, device_class("mine"), "queue"),
        (device_class("mine"), device_class("mine"), "skip"),
        (device_class("c"), device_class("c", GPU), "queue"),
        (device_class("c", GPU), device_class("c", GPU), "skip"),
        (device_class("c", GPU), device_class("c"), "skip"),
    ],
)
def test_device_class_that_offers_what_is_asked_for(old: View | None, new: View, hint: str) -> None:
    """Under its extended resource name, or as a new class under its implicit one."""
    pod = POD.req({GPU: "1", "deviceclass.resource.kubernetes.io/mine": "1"})
    event = (EventResource.DEVICE_CLASS, ActionType.ADD)

    assert PluginBench(ENTRY).hint(*event, pod, old, new) == hint
    off = PluginBench(ENTRY, gates={"DRAExtendedResource": False})
    assert off.hint(*event, pod, old, new) == "not registered"


# --- Signature and arguments ---


def test_requests_are_the_signature() -> None:
    """Pods that ask for devices have none."""
    bench = PluginBench(ENTRY, device_classes=DeviceClasses(GPU))

    assert bench.signature(POD.req(cpu="1").req(cpu="1")) == bench.signature(POD.req(cpu="2"))
    assert bench.signature(POD.req(cpu="1")) != bench.signature(POD.req(cpu="2"))
    assert bench.signature(POD.req({GPU: "1"})) == (
        "signature disabled when dra extended resources are used in the cluster"
    )


def test_wrong_arguments_are_refused_in_upstreams_words() -> None:
    args = NodeResourcesFitArgs(
        ignored_resource_groups=["a/b"],
        scoring_strategy=ScoringStrategy(type="Best", resources=[ResourceSpec(name="cpu", weight=101)]),
    )
    with pytest.raises(ValueError, match=r"^\[ignoredResourceGroups\[0\]: Invalid value: \"a/b\": resource group name"):
        PluginBench(ENTRY, args=args)
    with pytest.raises(ValueError, match=r"^scoringStrategy: Required value"):
        PluginBench(ENTRY, args=NodeResourcesFitArgs())


@pytest.mark.parametrize(
    ("before", "after", "hint"),
    [
        ({"cpu": "1", GPU: "1"}, {"cpu": "1"}, "queue"),
        ({"memory": "2Gi"}, {"memory": "1Gi"}, "skip"),
    ],
)
def test_pod_that_gives_a_resource_up_helps_who_waits_for_it(
    before: dict[str, str], after: dict[str, str], hint: str
) -> None:
    """What neither of the two states asks for is freed by neither."""
    old, new = (make_pod("other").node("n").req(amounts) for amounts in (before, after))
    action = ActionType.UPDATE_POD_SCALE_DOWN

    assert PluginBench(ENTRY).hint(EventResource.POD, action, POD.req({GPU: "1"}), old.view(), new.view()) == hint


def test_node_with_a_single_device_of_its_own_is_judged_by_it() -> None:
    """A device class stands in only where the node offers nothing at all."""
    one = make_node("one").capacity({GPU: "1"}, pods="5")

    assert PluginBench(ENTRY, one, device_classes=DeviceClasses(GPU)).filter(POD.req({GPU: "2"})) == {
        "one": f"Insufficient {GPU}!"
    }

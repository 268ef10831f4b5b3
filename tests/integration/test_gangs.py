"""Gangs: the pods of a group go together or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedlab import Cluster
from schedlab.testing.builders import make_node, make_pod

GATES = {"GenericWorkload": True, "GangScheduling": True}
GROUPS = "podgroups.scheduling.k8s.io"
HELD = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, "
    "one or more plugins asked to wait and no plugin rejected pod"
)


def cluster(*nodes: str, cpu: str = "2") -> Cluster:
    """Make a cluster of nodes with so many CPUs each."""
    made = [make_node(name).capacity(cpu=cpu, memory="8Gi", pods="110").dict() for name in nodes]
    return Cluster(*made, feature_gates=GATES)


def group(name: str, count: int | None) -> Mapping[str, Any]:
    policy: Mapping[str, Any] = {"basic": {}} if count is None else {"gang": {"minCount": count}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": policy},
    }


def member(name: str, of: str, **spec: Any) -> Mapping[str, Any]:
    """Return a pod of a group that wants one CPU."""
    pod = make_pod(name).req(cpu="1").dict()
    return {**pod, "spec": {**pod["spec"], "schedulingGroup": {"podGroupName": of}, **spec}}


def places(known: Cluster) -> dict[str, str]:
    """Return where each pod is."""
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in known.objects("pods")}


def condition(known: Cluster, name: str) -> tuple[str, str, str]:
    [found] = known.get(f"{GROUPS}/{name}")["status"]["conditions"]
    assert found["type"] == "PodGroupScheduled"
    return found["status"], found["reason"], found["message"]


def message(known: Cluster, name: str) -> str:
    conditions = known.get(f"pod/{name}")["status"].get("conditions", ())
    return next((each["message"] for each in conditions if each["type"] == "PodScheduled"), "")


def test_pods_wait_for_their_group_and_for_each_other() -> None:
    known = cluster("a", "b")
    known.apply(member("p0", "g"))
    known.run(5)
    assert places(known) == {"p0": ""}

    known.apply(group("g", 3), member("p1", "g"))
    known.run(5)
    assert places(known) == {"p0": "", "p1": ""}

    known.apply(member("p2", "g"))
    known.run(5)
    assert all(places(known).values())
    assert condition(known, "g") == ("True", "Scheduled", "")


def test_a_gang_that_does_not_fit_takes_no_room() -> None:
    """Two of three would fit; a single pod gets the room, and the gang goes when a node comes."""
    known = cluster("a")
    known.apply(group("g", 3), *(member(f"p{i}", "g") for i in range(3)))
    known.run(20)
    assert places(known) == {"p0": "", "p1": "", "p2": ""}
    assert condition(known, "g") == ("False", "Unschedulable", "pod group is unschedulable")
    messages = {name: message(known, name) for name in places(known)}
    held = [name for name, text in messages.items() if text == HELD]
    [other] = [text for text in messages.values() if text != HELD]
    assert len(held) == 2
    assert other.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    answer = known.explain(held[0]).answer
    assert answer == f"{held[0]} fits on a node, but not with its pod group default/g: {HELD}"

    known.apply(make_pod("single").req(cpu="1").dict())
    known.run(20)
    assert places(known)["single"] == "a"

    known.apply(make_node("b").capacity(cpu="2", memory="8Gi", pods="110").dict())
    known.run(60)
    assert sorted(places(known).values()) == ["a", "a", "b", "b"]


def test_two_gangs_do_not_block_each_other() -> None:
    """Pod by pod each would get two of four places, for ever."""
    known = cluster("a", "b")
    known.apply(group("x", 3), group("y", 3))
    for i in range(3):
        known.apply(member(f"x{i}", "x"), member(f"y{i}", "y"))
    known.run(60)

    placed = {name for name, node in places(known).items() if node}
    assert placed in ({"x0", "x1", "x2"}, {"y0", "y1", "y2"})


def test_more_pods_than_the_gang_needs_go_as_far_as_there_is_room() -> None:
    known = cluster("a", "b")
    known.apply(group("g", 2), *(member(f"p{i}", "g") for i in range(5)))
    known.run(20)
    assert sum(map(bool, places(known).values())) == 4
    assert condition(known, "g") == ("True", "Scheduled", "")


def test_pods_of_a_basic_group_go_one_by_one() -> None:
    known = cluster("a")
    known.apply(group("g", None), *(member(f"p{i}", "g") for i in range(3)))
    known.run(20)
    assert sum(map(bool, places(known).values())) == 2


def test_a_gang_preempts_and_goes_when_its_victims_are_gone() -> None:
    known = cluster("a", "b", cpu="1")
    known.apply(*(make_pod(f"low{i}").req(cpu="1").dict() for i in range(2)))
    known.run(20)
    assert all(places(known).values())

    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    known.apply(high, group("g", 2), *(member(f"p{i}", "g", priorityClassName="high") for i in range(2)))
    known.run(120)
    assert sorted(places(known)) == ["p0", "p1"]
    assert sorted(places(known).values()) == ["a", "b"]
    assert condition(known, "g") == ("True", "Scheduled", "")


def test_a_group_has_one_scheduler() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "other"}],
    }
    known = Cluster(
        make_node("a").capacity(cpu="4", memory="8Gi", pods="110").dict(), config=config, feature_gates=GATES
    )
    known.apply(group("g", 2), member("p0", "g"), member("p1", "g", schedulerName="other"))
    known.run(10)

    assert not any(places(known).values())
    assert message(known, "p0").startswith(
        "all pods in a single pod group should have the same .spec.schedulerName set, got: "
    )
    assert known.explain("p0").answer.startswith("The attempt failed with an error: all pods in a single pod group")


def test_a_pod_that_comes_back_goes_with_what_is_left_of_its_group() -> None:
    """The group counts its pods on nodes: a replacement needs nobody to wait for."""
    known = cluster("a", "b")
    known.apply(group("g", 3), *(member(f"p{i}", "g") for i in range(3)))
    known.run(20)
    known.delete("pod/p1")
    known.run(20)
    known.apply(member("p9", "g"))
    known.run(20)

    assert set(places(known)) == {"p0", "p2", "p9"}
    assert all(places(known).values())


def test_forks_and_seeds_do_the_same() -> None:
    def end() -> dict[str, str]:
        known = cluster("a", "b", "c")
        known.apply(group("g", 4), *(member(f"p{i}", "g") for i in range(3)))
        known.run(5)
        with known.fork() as other:
            other.apply(member("p3", "g"))
            other.run(10)
            forked = places(other)
        known.apply(member("p3", "g"))
        known.run(10)
        assert places(known) == forked
        return forked

    first = end()
    assert all(first.values())
    assert end() == first


def test_without_the_gate_nothing_is_there() -> None:
    known = Cluster(make_node("a").capacity(cpu="4", memory="8Gi", pods="110").dict())
    known.apply(member("p0", "g"))
    known.run(5)

    assert places(known) == {"p0": "a"}
    assert "schedulingGroup" not in known.get("pod/p0")["spec"]


class Broken:
    """A plugin that raises for one pod."""

    name = "Broken"

    def filter(self, _state: Any, pod: Any, _node: Any) -> None:
        if pod.name == "p0":
            raise ValueError("no")


def test_an_error_of_one_pod_is_that_of_its_group() -> None:
    """Each pod has an attempt that says so, those whose turn did not come, too."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Broken"}]}}}],
    }
    nodes = [make_node(name).capacity(cpu="4", memory="8Gi").dict() for name in ("a", "b")]
    known = Cluster(*nodes, config=config, plugins=[Broken], feature_gates=GATES)
    known.apply(group("g", 3), *(member(f"p{i}", "g") for i in range(3)))
    known.run(10)

    assert not any(places(known).values())
    assert condition(known, "g")[:2] == ("False", "SchedulerError")
    for name in ("p0", "p1", "p2"):
        assert known.explain(name).answer.startswith("The attempt failed with an error: "), name

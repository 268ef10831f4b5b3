"""NodePorts."""

import pytest

from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import SKIP, error
from schedlab.scheduler.plugins.node_ports import ENTRY, REASON_TAKEN
from schedlab.testing.builders import PodBuilder, make_node, make_pod
from tests.unit.scheduler.plugins.plugin_bench import PluginBench

POD = make_pod()
NODES = (make_node("a"), make_node("b"))


def taken(name: str, node: str, port: int = 80, protocol: str = "TCP", ip: str = "") -> PodBuilder:
    return make_pod(name).node(node).host_port(port, protocol, ip)


@pytest.mark.parametrize(
    ("wanted", "there", "fits"),
    [
        ((80, "TCP", ""), (80, "TCP", ""), False),
        ((80, "TCP", "10.0.0.1"), (80, "TCP", ""), False),
        ((80, "TCP", ""), (80, "TCP", "10.0.0.1"), False),
        ((80, "TCP", "10.0.0.2"), (80, "TCP", "10.0.0.1"), True),
        ((80, "UDP", ""), (80, "TCP", ""), True),
        ((81, "TCP", ""), (80, "TCP", ""), True),
    ],
)
def test_port_in_use_turns_the_pod_away(
    wanted: tuple[int, str, str], there: tuple[int, str, str], *, fits: bool
) -> None:
    bench = PluginBench(ENTRY, *NODES, pods=(taken("p", "a", *there),))

    assert bench.filter(POD.host_port(*wanted)) == {"a": "" if fits else REASON_TAKEN, "b": ""}


def test_one_port_of_several_is_enough() -> None:
    bench = PluginBench(ENTRY, *NODES, pods=(taken("p", "a", 80), taken("q", "b", 90)))

    assert bench.filter(POD.host_port(70).host_port(80)) == {"a": REASON_TAKEN, "b": ""}


def test_pods_without_host_ports_are_skipped() -> None:
    assert PluginBench(ENTRY, *NODES).pre_filter(POD.container()) == (None, SKIP)


def test_filter_without_pre_filter_is_an_error() -> None:
    statuses = PluginBench(ENTRY, NODES[0]).statuses(POD.host_port(80), CycleState())

    assert statuses == {"a": error('reading "PreFilterNodePorts" from cycleState: not found')}


def test_ports_are_followed_as_pods_and_nodes_come_and_go() -> None:
    """Of two pods with the same port the first to go frees it, as a node's ports are a set."""
    bench = PluginBench(ENTRY, *NODES, pods=(taken("p", "b"),))
    table, wanted = bench.table, POD.host_port(80)
    first, second = taken("q", "a").obj(), taken("r", "a").obj()
    assert bench.filter(wanted) == {"a": "", "b": REASON_TAKEN}

    table.add_pod(table.infos[0], first)
    table.add_pod(table.infos[0], second)
    assert bench.filter(wanted) == {"a": REASON_TAKEN, "b": REASON_TAKEN}
    table.remove_pod(table.infos[0], first)
    assert bench.filter(wanted) == {"a": "", "b": REASON_TAKEN}
    table.set_node(table.infos[1])
    table.reorder([table.infos[1], make_node("c").obj(), table.infos[0]])
    assert bench.filter(wanted) == {"b": REASON_TAKEN, "c": "", "a": ""}


@pytest.mark.parametrize(
    ("deleted", "hint"),
    [
        (taken("p", "a"), "queue"),
        (taken("p", "a", 81), "skip"),
        (make_pod("p").node("a"), "skip"),
        (make_pod("p").host_port(80), "skip"),
        (make_pod("p").host_port(80).nominated_node("a"), "queue"),
    ],
)
def test_deleted_pod_that_had_the_port_queues_the_pod(deleted: PodBuilder, hint: str) -> None:
    wanted = POD.host_port(80)
    view = deleted.view()

    assert PluginBench(ENTRY).hint(EventResource.POD, ActionType.DELETE, wanted, view, None) == hint
    assert PluginBench(ENTRY).hint(EventResource.NODE, ActionType.ADD, wanted, None, NODES[0].view()) == "queue"


def test_port_numbers_are_the_signature() -> None:
    bench = PluginBench(ENTRY)

    assert bench.signature(POD.host_port(80).host_port(70)) == bench.signature(POD.host_port(70, "UDP").host_port(80))
    assert bench.signature(POD.host_port(80)) != bench.signature(POD)

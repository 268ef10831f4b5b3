"""NodeName."""

from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.plugins.node_name import ENTRY, REASON_OTHER_NODE
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.plugins.plugin_bench import PluginBench

NODES = (make_node("a"), make_node("b"), make_node("c"))
OTHER = f"{REASON_OTHER_NODE}!"


def test_only_the_named_node_is_left() -> None:
    bench = PluginBench(ENTRY, *NODES)

    assert bench.filter(make_pod()) == {"a": "", "b": "", "c": ""}
    assert bench.filter(make_pod().node("b")) == {"a": OTHER, "b": "", "c": OTHER}
    assert bench.filter(make_pod().node("gone")) == {"a": OTHER, "b": OTHER, "c": OTHER}


def test_slice_of_rows_keeps_its_own_positions() -> None:
    bench = PluginBench(ENTRY, *NODES)
    pod = make_pod().node("c").obj()

    def codes(rows: slice) -> list[int]:
        found: list[int] = bench.plugin.filter_nodes(CycleState(), pod, bench.table, rows).code.tolist()
        return found

    assert codes(slice(1, 3)) == [3, 0]
    assert codes(slice(0, 2)) == [3, 3]


def test_every_new_node_queues_the_pod() -> None:
    bench = PluginBench(ENTRY)

    assert bench.hint(EventResource.NODE, ActionType.ADD, make_pod(), None, NODES[0].view()) == "queue"
    assert bench.signature(make_pod().node("a")) != bench.signature(make_pod())

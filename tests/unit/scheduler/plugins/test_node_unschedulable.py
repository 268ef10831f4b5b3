"""NodeUnschedulable."""

from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.framework.helpers import signers
from schedlab.scheduler.plugins.node_unschedulable import ENTRY, REASON_UNSCHEDULABLE
from schedlab.testing.builders import NodeBuilder, make_node, make_pod
from tests.unit.scheduler.plugins.plugin_bench import PluginBench

OPEN, SHUT = make_node("open"), make_node("shut").unschedulable()
TAINT = "node.kubernetes.io/unschedulable"
POD = make_pod()


def test_cordoned_node_is_turned_down() -> None:
    assert PluginBench(ENTRY, OPEN, SHUT).filter(POD) == {"open": "", "shut": f"{REASON_UNSCHEDULABLE}!"}


def test_pod_that_tolerates_the_taint_may_be_on_a_cordoned_node() -> None:
    bench = PluginBench(ENTRY, OPEN, SHUT)

    assert set(bench.filter(POD.toleration(TAINT, operator="Exists")).values()) == {""}
    assert bench.filter(POD.toleration(TAINT, effect="NoExecute", operator="Exists"))["shut"]


def test_node_that_opens_queues_the_pod() -> None:
    def hint(old: NodeBuilder | None, new: NodeBuilder) -> str:
        before = old.view() if old is not None else None
        return PluginBench(ENTRY).hint(EventResource.NODE, ActionType.ADD, POD, before, new.view())

    assert hint(None, OPEN) == "queue"
    assert hint(None, SHUT) == "skip"
    assert hint(SHUT, OPEN) == "queue"
    assert hint(OPEN, OPEN) == "skip"


def test_own_new_toleration_queues_the_pod_if_it_is_the_right_one() -> None:
    def hint(*, own: bool, key: str) -> str:
        changed = POD.name("pod" if own else "other").toleration(key, operator="Exists").view()
        action = ActionType.UPDATE_POD_TOLERATION
        return PluginBench(ENTRY).hint(EventResource.POD, action, POD, changed, changed)

    assert hint(own=True, key=TAINT) == "queue"
    assert hint(own=True, key="other") == "skip"
    assert hint(own=False, key=TAINT) == "skip"


def test_tolerations_are_the_signature() -> None:
    """Their order does not matter."""
    bench = PluginBench(ENTRY)
    one, other = POD.toleration("a").toleration("b"), POD.toleration("b").toleration("a")

    assert bench.signature(one) == bench.signature(other) != bench.signature(POD)
    assert bench.signature(POD) == ((signers.TOLERATIONS, ()),)

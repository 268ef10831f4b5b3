"""SchedulingGates."""

from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.framework.status import unresolvable
from schedlab.scheduler.plugins.scheduling_gates import ENTRY
from schedlab.testing.builders import make_pod
from tests.unit.scheduler.plugins.plugin_bench import PluginBench

ELIMINATED = ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED


def test_pod_with_gates_waits() -> None:
    """The refusal names the gates."""
    plugin = PluginBench(ENTRY).plugin

    assert plugin.pre_enqueue(make_pod().obj()) is None
    assert plugin.pre_enqueue(make_pod().scheduling_gates("a/b", "c").obj()) == unresolvable(
        "waiting for scheduling gates: [a/b c]"
    )


def test_only_its_own_gates_queue_a_pod() -> None:
    bench = PluginBench(ENTRY)
    own, other = make_pod("own"), make_pod("other")

    assert bench.hint(EventResource.POD, ELIMINATED, own, own.view(), own.view()) == "queue"
    assert bench.hint(EventResource.POD, ELIMINATED, own, other.view(), other.view()) == "skip"

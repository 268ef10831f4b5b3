"""A pod in the queue: who turned it down, and copies."""

from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
from tests.unit.scheduler.queue.builders import make_pod


def test_rejectors_are_those_of_the_last_attempt() -> None:
    """Whoever gated the pod before is forgotten with them."""
    queued = QueuedPodInfo(make_pod("p"), 0)
    queued.unschedulable_plugins, queued.gating_plugin = frozenset({"Old"}), "Gate"
    queued.set_rejectors(["Fit"], ["Waits"])

    assert queued.rejectors == {"Fit", "Waits"}
    assert queued.pending_plugins == {"Waits"}
    assert not queued.gated

    queued.set_rejectors()
    assert queued.rejectors == frozenset()


def test_copy_shares_the_pod_and_nothing_else() -> None:
    queued = QueuedPodInfo(make_pod("p"), 5, attempts=2)
    other = queued.copy()
    queued.attempts, queued.was_flushed = 3, True

    assert other.pod is queued.pod
    assert (other.timestamp_ns, other.attempts, other.was_flushed) == (5, 2, False)

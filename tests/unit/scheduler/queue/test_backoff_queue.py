"""How long pods wait after failed attempts, and in which order they leave."""

import pytest

from schedlab.kernel.clock import EPOCH_NS, MILLISECOND_NS, SECOND_NS
from schedlab.scheduler.queue.backoff_queue import Backoff, BackoffQueue
from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
from tests.unit.scheduler.queue.builders import by_priority, make_pod

NOW = EPOCH_NS + 300 * MILLISECOND_NS


def queued(name: str = "p", priority: int = 0, unschedulable: int = 1, errors: int = 0) -> QueuedPodInfo:
    pod = QueuedPodInfo(make_pod(name, priority=priority), NOW)
    pod.unschedulable_count, pod.consecutive_errors_count = unschedulable, errors
    pod.set_rejectors(() if errors else ("Fit",))
    return pod


@pytest.mark.parametrize(
    ("unschedulable", "errors", "seconds"),
    [(1, 0, 1), (2, 0, 2), (3, 0, 4), (4, 0, 8), (5, 0, 10), (80, 0, 10), (80, 1, 1), (80, 2, 2), (0, 0, None)],
)
def test_each_failure_doubles_the_wait(unschedulable: int, errors: int, seconds: int | None) -> None:
    """Up to the maximum; errors count by themselves, and a pod that never failed does not wait."""
    backoff = Backoff(SECOND_NS, 10 * SECOND_NS, whole_windows=False)

    expected = 0 if seconds is None else NOW + seconds * SECOND_NS

    assert backoff.expiration_ns(queued(unschedulable=unschedulable, errors=errors)) == expected


def test_maximum_of_zero_means_no_backoff() -> None:
    backoff = Backoff(SECOND_NS, 0, whole_windows=True)

    assert not backoff.is_backing_off(queued(), NOW)


@pytest.mark.parametrize(
    ("whole_windows", "last_ms", "first_ms"),
    # The wait of 1 s counts from 0.300 s: until 1.300 s, or until the second in which it ends is over.
    [(False, 1300, 1301), (True, 1999, 2000)],
)
def test_wait_lasts_through_its_last_window(whole_windows: bool, last_ms: int, first_ms: int) -> None:  # noqa: FBT001
    backoff = Backoff(SECOND_NS, 10 * SECOND_NS, whole_windows=whole_windows)

    assert backoff.is_backing_off(queued(), EPOCH_NS + last_ms * MILLISECOND_NS)
    assert not backoff.is_backing_off(queued(), EPOCH_NS + first_ms * MILLISECOND_NS)


def make_queue(*, whole_windows: bool = True) -> BackoffQueue:
    backoff = Backoff(SECOND_NS, 10 * SECOND_NS, whole_windows=whole_windows)
    return BackoffQueue(backoff, by_priority, by_priority=whole_windows)


def test_pods_of_one_window_go_by_priority() -> None:
    queue = make_queue()
    for pod in (queued("low", 1), queued("later", 9, unschedulable=2), queued("high", 5)):
        queue.put(pod)
    queue.validate()

    names = []
    while (popped := queue.pop_rejected()) is not None:
        names.append(popped.pod.name)

    assert names == ["high", "low", "later"]


def test_pods_after_errors_are_not_popped_early_but_completed() -> None:
    queue = make_queue()
    queue.put(queued("error", errors=1))
    queue.validate()

    assert not queue.has_rejected()
    assert queue.pop_rejected() is None
    assert queue.pop_completed(NOW) == []
    assert [pod.pod.name for pod in queue.pop_completed(NOW + 2 * SECOND_NS)] == ["error"]
    assert not queue


def test_next_expiration_is_the_earliest_of_both() -> None:
    queue = make_queue()
    assert queue.next_expiration_ns() is None
    queue.put(queued("rejected", unschedulable=3))
    queue.put(queued("error", errors=2))

    assert queue.next_expiration_ns() == EPOCH_NS + 2 * SECOND_NS


def test_copy_is_independent() -> None:
    queue = make_queue()
    queue.put(queued("a"))
    queue.put(queued("b", errors=1))
    other = queue.copy(Backoff(SECOND_NS, 10 * SECOND_NS, whole_windows=True), by_priority)
    queue.delete("default/a")
    queue.delete("default/b")
    other.validate()

    assert not queue
    assert len(other) == 2

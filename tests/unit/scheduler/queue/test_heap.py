"""The heap of queued pods: order, changes, removal."""

import pytest

from schedlab.scheduler.queue.heap import Heap
from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
from tests.unit.scheduler.queue.builders import by_priority, make_pod


def queued(name: str, priority: int = 0, at: int = 0) -> QueuedPodInfo:
    return QueuedPodInfo(make_pod(name, priority=priority), at)


def drain(heap: Heap) -> list[str]:
    names = []
    while (pod := heap.pop()) is not None:
        heap.validate()
        names.append(pod.pod.name)
    return names


def test_smallest_key_leaves_first_and_equal_ones_in_order_of_arrival() -> None:
    heap = Heap(by_priority)
    for pod in (queued("low"), queued("b", 5, 1), queued("a", 5, 1), queued("late", 5, 2), queued("high", 9)):
        heap.put(pod)

    assert drain(heap) == ["high", "b", "a", "late", "low"]


def test_changed_pod_takes_its_new_place_and_keeps_its_arrival() -> None:
    heap = Heap(by_priority)
    pods = [queued("a"), queued("b"), queued("c")]
    for pod in pods:
        heap.put(pod)
    pods[2].pod = make_pod("c", priority=1)
    heap.put(pods[2])
    heap.put(pods[0])
    heap.validate()

    assert len(heap) == 3
    assert drain(heap) == ["c", "a", "b"]


def test_deleted_pod_is_gone() -> None:
    heap = Heap(by_priority)
    for name in "abc":
        heap.put(queued(name))

    assert heap.delete("default/a") is not None
    assert heap.delete("default/a") is None
    assert "default/a" not in heap
    assert heap.get("default/b") is heap.peek()
    assert drain(heap) == ["b", "c"]


def test_pods_that_come_out_of_turn_leave_between_those_that_came_in_order() -> None:
    heap = Heap(by_priority)
    for number in (3, 1, 4, 1, 5, 9, 2, 6):
        heap.put(queued(f"p{number}-{len(heap)}", 0, number))
    first = heap.pop()
    heap.put(queued("p0-8", 0, 0))

    assert first is not None
    assert first.pod.name == "p1-1"
    assert drain(heap) == ["p0-8", "p1-3", "p2-6", "p3-0", "p4-2", "p5-4", "p6-7", "p9-5"]


@pytest.mark.parametrize("step", [0, 1], ids=["in order", "out of turn"])
def test_removals_do_not_pile_up(step: int) -> None:
    """Stale entries behind the first are dropped in time."""
    heap = Heap(by_priority)
    heap.put(queued("first", 999))
    for index in range(500):
        heap.put(queued(f"p{index}", step * index))
        heap.delete(f"default/p{index}")

    heap.validate()
    assert len(heap._in_order) + len(heap._entries) < 50


def test_copy_is_independent() -> None:
    heap = Heap(by_priority)
    heap.put(queued("a"))
    heap.put(queued("b"))
    other = heap.copy(by_priority)
    heap.delete("default/a")
    b = heap.get("default/b")
    assert b is not None
    b.attempts = 7

    kept = other.get("default/b")
    assert kept is not None
    assert kept.attempts == 0
    assert drain(other) == ["a", "b"]

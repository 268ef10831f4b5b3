"""The pool of pods that wait for an event, by groups of equal rejecting plugins."""

from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
from schedlab.scheduler.queue.unschedulable_pods import UnschedulablePods
from tests.unit.scheduler.queue.builders import make_pod


def queued(name: str, *plugins: str, at: int = 0, gate: str = "") -> QueuedPodInfo:
    pod = QueuedPodInfo(make_pod(name), at)
    pod.set_rejectors([*plugins, gate] if gate else plugins)
    pod.gating_plugin = gate
    return pod


def make_pool() -> UnschedulablePods:
    pool = UnschedulablePods()
    for pod in (
        queued("a", "Fit", at=5),
        queued("b", "Taint", at=3),
        queued("c", "Fit", at=9),
        queued("d", gate="G", at=4),
    ):
        pool.put(pod)
    pool.validate()
    return pool


def names(pods: list[QueuedPodInfo]) -> list[str]:
    return [pod.pod.name for pod in pods]


def test_members_of_groups_come_in_the_order_they_came() -> None:
    pool = make_pool()

    assert len(pool.groups()) == 3
    assert names(pool.members(pool.groups())) == ["a", "b", "c", "d"]
    assert names(pool.members(pool.groups()[:1])) == ["a", "c"]
    assert names(list(pool)) == ["a", "b", "c", "d"]


def test_pod_that_was_changed_moves_to_its_group_and_keeps_its_turn() -> None:
    pool = make_pool()
    pod = pool.get("default/a")
    assert pod is not None
    pod.set_rejectors(["Taint"])
    pool.put(pod)
    pool.validate()

    assert names(pool.members([group for group in pool.groups() if "Taint" in group.unschedulable_plugins])) == [
        "a",
        "b",
    ]
    assert pool.gated_count == 1


def test_removal_and_age() -> None:
    pool = make_pool()
    assert pool.oldest_ns == 3
    assert pool.delete("default/b") is not None
    assert pool.delete("default/b") is None
    pool.validate()

    assert names(pool.older_than(5)) == ["d"]
    assert pool.oldest_ns == 4
    for key in ("default/a", "default/c", "default/d"):
        pool.delete(key)
    pool.validate()
    assert not pool
    assert pool.oldest_ns is None
    assert pool.gated_count == 0


def test_copy_is_independent() -> None:
    pool = make_pool()
    other = pool.copy()
    pool.delete("default/a")
    other.validate()

    assert len(other) == 4
    assert other.get("default/b") is not pool.get("default/b")

"""Nominations: which one counts, and how long it lasts."""

from collections.abc import Sequence
from typing import Any

import pytest

from schedlab.scheduler.framework.interface import NominatingInfo
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.queue.nominator import PodNominator
from tests.unit.scheduler.queue.builders import make_pod


class Pods:
    """A pod lister over some pods."""

    def __init__(self, *pods: PodInfo) -> None:
        self._pods = {pod.key: pod.pod for pod in pods}

    def get(self, name: str, namespace: str = "") -> Any | None:
        return self._pods.get(f"{namespace}/{name}")

    def list(self, namespace: str | None = None) -> Sequence[Any]:
        raise NotImplementedError

    def stored(self, name: str, namespace: str = "") -> None:
        raise NotImplementedError


def make_nominator(*known: PodInfo, pods: Pods | None = None) -> PodNominator:
    queue = {pod.key: pod for pod in known}
    return PodNominator(queue.get, pods)


@pytest.mark.parametrize(
    ("status", "nominating", "expected"),
    [
        ("", None, ""),
        ("n1", None, "n1"),
        ("n1", NominatingInfo("n2"), "n2"),
        ("n1", NominatingInfo(""), ""),
        ("n1", NominatingInfo("n2", override=False), "n1"),
    ],
)
def test_what_the_scheduler_says_beats_the_status(
    status: str, nominating: NominatingInfo | None, expected: str
) -> None:
    pod = make_pod("p", nominated=status)
    nominator = make_nominator(pod)
    nominator.add(pod, nominating)
    nominator.validate()

    assert list(nominator.node_names()) == ([expected] if expected else [])


def test_pods_of_a_node_come_in_order_of_nomination_and_as_the_queue_has_them() -> None:
    a, b = make_pod("a", nominated="n1"), make_pod("b", nominated="n1", priority=3)
    nominator = make_nominator(b)
    nominator.add(b, None)
    nominator.add(a, None)

    first, second = nominator.pods_for_node("n1")

    assert first is b
    # A pod that is not in the queue, because it is in flight, shows its identity only.
    assert (second.key, second.uid, second.pod.status.nominated_node_name) == ("default/a", "uid-a", "")
    assert nominator.pods_for_node("n2") == ()


def test_new_nomination_replaces_the_old_one() -> None:
    pod = make_pod("p")
    nominator = make_nominator(pod)
    nominator.add(pod, NominatingInfo("n1"))
    nominator.add(pod, NominatingInfo("n2"))
    nominator.validate()
    assert nominator.node_names() == ("n2",)

    nominator.delete(pod)
    nominator.delete(pod)
    nominator.validate()
    assert nominator.node_names() == ()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("", "", "n1"), ("", "n2", "n2"), ("n1", "n2", "n2"), ("n1", "", "")],
)
def test_update_keeps_a_nomination_that_the_status_does_not_show_yet(before: str, after: str, expected: str) -> None:
    old, new = make_pod("p", nominated=before), make_pod("p", nominated=after)
    nominator = make_nominator(new)
    nominator.add(old, NominatingInfo("n1"))
    nominator.update(old, new)
    nominator.validate()

    assert list(nominator.node_names()) == ([expected] if expected else [])


@pytest.mark.parametrize("current", [None, make_pod("p", node="n9")], ids=["deleted", "bound"])
def test_pod_that_waits_no_more_is_not_nominated(current: PodInfo | None) -> None:
    pod = make_pod("p")
    nominator = make_nominator(pod, pods=Pods(*([current] if current else [])))
    nominator.add(pod, NominatingInfo("n1"))

    assert nominator.node_names() == ()

"""A client of a live run knows which pods are there and how many of those it waits for are left."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schedlab.scheduler_perf.known_pods import KnownPods, decode_event, decode_pod
from schedlab.scheduler_perf.target import Selection


def _pod(name: str, node: str = "", *, tried: bool = False, namespace: str = "ns") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {"name": name}},
        "spec": {"nodeName": node} if node else {},
        "status": {"conditions": [{"type": "PodScheduled"}] if tried else []},
    }


class _Told:
    """What a client knows after some events."""

    def __init__(self) -> None:
        self.pods = KnownPods()

    def hear(self, kind: str, pod: dict[str, Any]) -> bool:
        return self.pods.heard(decode_event(json.dumps({"type": kind, "object": pod}).encode()))

    def create(self, pod: dict[str, Any]) -> None:
        self.pods.created(decode_pod(json.dumps(pod).encode()))

    def left(self) -> list[str]:
        return [name for _, name in self.pods.left]


def test_pods_are_left_until_they_are_bound_or_gone() -> None:
    told = _Told()
    for name in "abc":
        told.hear("ADDED", _pod(name))
    told.hear("MODIFIED", _pod("a", "node"))

    told.pods.wait_for(Selection(("ns",)), attempted=False)
    assert told.left() == ["b", "c"]

    told.hear("MODIFIED", _pod("b", "node"))
    told.hear("DELETED", _pod("c"))
    told.hear("ADDED", _pod("d"))
    told.hear("ADDED", _pod("e", namespace="other"))
    assert told.left() == ["d"]


@pytest.mark.parametrize(("attempted", "left"), [(False, ["a", "b"]), (True, ["a"])])
def test_pod_that_was_tried_is_left_only_if_it_has_to_be_bound(*, attempted: bool, left: list[str]) -> None:
    told = _Told()
    told.hear("ADDED", _pod("a"))
    told.hear("ADDED", _pod("b", tried=True))

    told.pods.wait_for(Selection(), attempted=attempted)

    assert told.left() == left


def test_pod_is_told_to_be_bound_once() -> None:
    told = _Told()
    told.hear("ADDED", _pod("a"))

    assert [told.hear("MODIFIED", _pod("a", "node")) for _ in range(2)] == [True, False]


def test_created_pod_counts_before_the_watch_tells_of_it_but_not_after_it_has_told_of_its_end() -> None:
    told = _Told()
    told.pods.wait_for(Selection(), attempted=False)

    told.create(_pod("a"))
    told.hear("DELETED", _pod("b"))
    told.create(_pod("b"))
    told.hear("MODIFIED", _pod("c", "node"))
    told.create(_pod("c"))

    assert told.left() == ["a"]
    assert list(told.pods.scheduled_in("ns")) == [("ns", "c")]


def test_labels_select() -> None:
    told = _Told()
    for name in "ab":
        told.hear("ADDED", _pod(name))

    assert told.pods.within(Selection(("ns",), {"name": "b"})) == [("ns", "b")]

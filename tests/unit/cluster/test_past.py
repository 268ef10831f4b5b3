"""What is kept of the past: bounds, times, and how objects differ between two revisions."""

from __future__ import annotations

import pytest

from schedlab.cluster.past import Difference
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.steps import finish
from schedlab.registry.request import DeleteOptions
from tests.support.clusters import Lab

RESOURCES = ("nodes", "pods")


def lab() -> Lab:
    """Return a cluster of one node, on which two pods come and one goes."""
    made = Lab(nodes=1, history=100_000, annotations="off")
    made.create_pod("stays")
    made.run(10)
    return made


def difference(made: Lab, before: int, after: int) -> Difference:
    return finish(made.cluster.past.difference(before, after, RESOURCES))


def test_difference_leads_from_one_revision_to_another_in_both_directions() -> None:
    made = lab()
    past = made.cluster.past
    first = past.newest
    made.create_pod("comes")
    made.run(10)
    second = past.newest
    made.registry.delete("pods", "stays", "default", DeleteOptions(grace_period_seconds=0))
    made.run(10)
    third = past.newest

    for before, after in ((first, third), (third, first), (second, first), (second, third), (first, first)):
        told = difference(made, before, after)
        for resource in RESOURCES:
            there = {**{obj.key: obj for obj in past.objects(before, resource)}, **told[resource]}
            left = [obj for obj in there.values() if obj is not None]
            assert sorted(left, key=lambda obj: obj.key) == past.objects(after, resource)
    assert difference(made, third, second)["pods"]["default/stays"] is not None
    assert difference(made, second, third)["pods"] == {"default/stays": None}
    assert difference(made, first, first) == {"nodes": {}, "pods": {}}


def test_times_of_revisions_and_back() -> None:
    made = lab()
    past = made.cluster.past
    before = past.newest
    made.run(60)
    made.create_pod("late")
    began = made.clock.now_ns()
    made.run(10)

    assert past.time_of(before + 1) == began
    earlier = past.time_of(before)
    assert earlier is not None
    assert earlier < began
    assert past.revision_at(began - SECOND_NS) == before
    assert past.revision_at(made.clock.now_ns()) == past.newest
    assert past.time_of(past.oldest) is not None


def test_what_is_not_kept_is_refused_with_the_reason() -> None:
    made = lab()
    past = made.cluster.past
    assert past.is_whole

    with pytest.raises(SchedlabError, match="has not happened yet"):
        past.require(past.newest + 1)
    made.cluster.store.compact(past.newest)
    assert not Lab(nodes=1, history=0).cluster.past.is_whole
    without = Lab(nodes=1, history=0).cluster.past
    assert without.oldest == without.newest
    with pytest.raises(SchedlabError, match="no longer kept") as found:
        without.require(without.newest - 1)
    assert "--history" in found.value.hint


def test_history_outlives_compaction() -> None:
    """Lists of the API are compacted after some minutes; what history keeps can still be had."""
    made = lab()
    past = made.cluster.past
    revision = past.newest
    made.create_pod("late")
    made.run(10)
    made.cluster.store.compact(past.newest)

    assert [pod.name for pod in past.objects(revision, "pods")] == ["stays"]


def test_old_times_are_forgotten_with_their_revisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedlab.cluster.past._TRIM_EVERY", 3)
    made = Lab(nodes=1, history=1, annotations="off")
    for number in range(20):
        made.create_pod(f"p{number}")
        made.run(5)
        made.cluster.store.compact(made.cluster.past.newest)
    past = made.cluster.past

    assert len(past._revisions) == len(past._times) < 10
    assert past.time_of(past.newest) is not None
    assert past.time_of(1) is None

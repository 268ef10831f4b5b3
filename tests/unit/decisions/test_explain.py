"""An explanation repeats the record: every verdict, every number, the choice and the runner-up."""

from __future__ import annotations

import pytest

from schedlab.decisions.explain import explain, reason_groups
from schedlab.decisions.log import DecisionLog, PodStory
from schedlab.scheduler.framework.record import CycleRecord
from tests.unit.decisions import records


def _story(*cycles: CycleRecord) -> PodStory:
    log = DecisionLog()
    for cycle in cycles:
        log.cycle(cycle)
        if cycle.result == "scheduled":
            log.binding(records.bound(cycle.attempt))
    story = log.find("default", "p")
    assert story is not None
    return story


def test_scheduled_pod_names_choice_and_runner_up() -> None:
    explanation = explain(_story(records.scheduled()))

    assert explanation["answer"] == "Scheduled on c with 370 points, 65 ahead of a (305)."
    assert explanation["runnerUp"] == {
        "node": "a",
        "total": 305,
        "margin": 65,
        "byPlugin": {"TaintToleration": 0, "ImageLocality": 65},
    }
    assert explanation["bind"] == {"DefaultBinder": {"code": "Success", "message": ""}}


def test_every_node_of_the_cluster_is_listed_with_its_verdicts() -> None:
    nodes = {entry["node"]: entry for entry in explain(_story(records.scheduled()))["nodes"]}

    assert {name: entry["verdict"] for name, entry in nodes.items()} == {
        "a": "passed",
        "b": "failed",
        "c": "passed",
        "d": "notVisited",
    }
    assert nodes["b"]["plugins"] == {"TaintToleration": "passed", "NodeResourcesFit": records.NO_CPU}
    assert nodes["b"]["failedPlugin"] == "NodeResourcesFit"
    assert nodes["c"]["scores"]["ImageLocality"] == {"raw": 70, "weight": 1, "final": 70}


def test_failed_pod_begins_with_the_scheduler_s_own_words() -> None:
    explanation = explain(_story(records.failed()))

    assert explanation["answer"] == "Not scheduled: 0/1 nodes are available: 1 Insufficient cpu."
    assert explanation["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert reason_groups(explanation) == [("NodeResourcesFit: Insufficient cpu", ["a"])]


def test_earlier_attempt_can_be_asked_for() -> None:
    story = _story(records.failed(1), records.scheduled(2))

    assert explain(story, 1)["result"] == "unschedulable"
    assert explain(story)["attempts"] == [1, 2]


def test_unknown_attempt_says_which_there_are() -> None:
    with pytest.raises(LookupError, match="no attempt 9; it has: 1, 2"):
        explain(_story(records.failed(1), records.scheduled(2)), 9)


def test_only_fitting_node_needs_no_scores() -> None:
    only = records.scheduled(score=None, selected="c")

    assert explain(_story(only))["answer"] == "Scheduled on c, the only node that fits."


def test_tie_is_said() -> None:
    tied = records.scheduled()
    assert tied.score is not None
    tied.score.total[:] = 370

    assert explain(_story(tied))["answer"] == "Scheduled on c: 2 nodes share the best score of 370."

"""An explanation repeats the record: every verdict, every number, the choice and the runner-up."""

from __future__ import annotations

import numpy as np
import pytest

from schedlab.decisions.explain import PodQuestion, explain, reason_groups
from schedlab.decisions.log import DecisionLog, PodStory
from schedlab.scheduler.framework.record import CycleRecord
from schedlab.scheduler.framework.status import REASONS
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


def test_failed_pod_is_told_in_one_sentence_and_in_the_scheduler_s_own_words() -> None:
    explanation = explain(_story(records.failed()))

    assert explanation["answer"] == "p does not fit on the only node: NodeResourcesFit turns down 1 (Insufficient cpu)."
    assert explanation["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert reason_groups(explanation) == [("NodeResourcesFit: Insufficient cpu", ["a"])]


def test_earlier_attempt_can_be_asked_for() -> None:
    story = _story(records.failed(1), records.scheduled(2))

    assert explain(story, PodQuestion(attempt=1))["result"] == "unschedulable"
    assert explain(story)["attempts"] == [1, 2]


def test_unknown_attempt_says_which_there_are() -> None:
    with pytest.raises(LookupError, match="no attempt 9; it has: 1, 2"):
        explain(_story(records.failed(1), records.scheduled(2)), PodQuestion(attempt=9))


def test_only_fitting_node_needs_no_scores() -> None:
    only = records.scheduled(score=None, selected="c")

    assert explain(_story(only))["answer"] == "Scheduled on c, the only node that fits."


def test_tie_is_said() -> None:
    tied = records.scheduled()
    assert tied.score is not None
    tied.score.total[:] = 370

    assert explain(_story(tied))["answer"] == "Scheduled on c: 2 nodes share the best score of 370."


def test_verdicts_of_every_filter_belong_to_the_node_not_to_the_order_of_the_search() -> None:
    """The search may begin anywhere; the full tables have one column per node of the cluster."""
    cycle = records.scheduled()
    assert cycle.filter is not None
    cycle.filter.visited = np.array([2, 1, 0], np.int32)
    no_cpu = REASONS.id_of((records.NO_CPU,))
    cycle.filter.full_code = np.array([[0, 0, 0, 2], [0, 2, 0, 0]], np.uint8)
    cycle.filter.full_reason = np.array([[0, 0, 0, no_cpu], [0, no_cpu, 0, 0]], np.int32)

    nodes = {entry["node"]: entry["plugins"] for entry in explain(_story(cycle))["nodes"]}

    passed = {"TaintToleration": "passed", "NodeResourcesFit": "passed"}
    assert nodes == {
        "a": passed,
        "b": {**passed, "NodeResourcesFit": records.NO_CPU},
        "c": passed,
        "d": {**passed, "TaintToleration": records.NO_CPU},
    }


def test_what_the_search_said_of_a_node_goes_before_what_a_filter_says_of_it_alone() -> None:
    """With nominated pods counted in a node may be turned down that would fit without them."""
    cycle = records.scheduled()
    assert cycle.filter is not None
    cycle.filter.full_code = np.zeros((2, 4), np.uint8)
    cycle.filter.full_reason = np.zeros((2, 4), np.int32)

    nodes = {entry["node"]: entry for entry in explain(_story(cycle))["nodes"]}

    assert nodes["b"]["verdict"] == "failed"
    assert nodes["b"]["plugins"]["NodeResourcesFit"] == records.NO_CPU


def test_nominated_node_is_named_as_such() -> None:
    cycle = records.scheduled(score=None)
    assert cycle.filter is not None
    cycle.filter.nominated_first = 3

    explanation = explain(_story(cycle))

    assert explanation["nominatedFirst"] is True
    assert explanation["answer"].startswith("Scheduled on c, the node it was nominated to")

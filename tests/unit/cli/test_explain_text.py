"""The text of an explanation shows every verdict and number, readable without colour."""

from __future__ import annotations

from typing import Any

from schedlab.cli.explain_numbers import versus
from schedlab.cli.explain_text import explain_text
from schedlab.decisions.explain import explain
from schedlab.decisions.log import DecisionLog
from schedlab.scheduler.framework.record import CandidateRecord, CycleRecord, PreemptionRecord
from schedlab.scheduler.framework.status import unresolvable
from tests.unit.decisions import records


def _explain(cycle: CycleRecord) -> dict[str, Any]:
    log = DecisionLog()
    log.cycle(cycle)
    story = log.find("default", "p")
    assert story is not None
    return explain(story)


def test_scheduled_pod() -> None:
    text = explain_text(_explain(records.scheduled()))

    assert (
        text
        == """\
Pod default/p, attempt 1, 2026-01-01T00:00:00.000000Z, scheduler default-scheduler

Scheduled on c with 370 points, 65 ahead of a (305).

Filter (ok passed, NO failed, - not asked)
  NODE  TT  NRF  VERDICT
  a     ok  ok   fits
  b     ok  NO   NodeResourcesFit: Insufficient cpu
  c     ok  ok   fits
  d     -   -    not visited, enough nodes were found
  TT TaintToleration, NRF NodeResourcesFit
  not concerned by this pod: NodePorts

Score (normalised x weight, * chosen)
  NODE  TOTAL  TT   IL
  c *   370    300  70
  a     305    300  5
  TT TaintToleration x3, IL ImageLocality x1

Runner-up a (305): c has ImageLocality +65 on it."""
    )


def test_failed_pod_has_no_scores() -> None:
    text = explain_text(_explain(records.failed()))

    assert "kube-scheduler's message:\n  0/1 nodes are available: 1 Insufficient cpu.\n" in text
    assert "Score" not in text


def test_after_an_error_other_nodes_are_not_said_to_be_needless() -> None:
    text = explain_text(_explain(records.scheduled(selected="", result="error", score=None)))

    assert "not visited, an error ended the search" in text
    assert "enough nodes were found" not in text


def test_a_message_of_a_megabyte_is_told_once() -> None:
    """kube-scheduler's message stands there byte for byte, sentence and table have its beginning."""
    message = f"0/1 nodes are available: {'x' * 1_000_000}."
    text = explain_text(
        _explain(records.failed(failure_message=message, pre_filter={"Wordy": unresolvable(message)}, filter=None))
    )

    assert message in text
    assert len(text) < 2_100_000


def test_rejection_before_filtering_is_told() -> None:
    cycle = records.failed()
    cycle.filter, cycle.pre_filter = None, {"VolumeBinding": unresolvable("claim not found")}

    text = explain_text(_explain(cycle))

    assert "Rejected before any node was looked at:\nVolumeBinding: claim not found" in text


def test_preemption_candidates_are_listed() -> None:
    cycle = records.failed()
    cycle.preemption = PreemptionRecord([CandidateRecord("a", ("default/victim",), 1)], {}, 1, ("a",))

    text = explain_text(_explain(cycle))

    assert "  a     default/victim  1" in text


def test_long_lists_are_cut_unless_wide() -> None:
    explanation = _explain(records.many_nodes(1, 100))

    assert "… and 60 more nodes; -o wide shows all" in explain_text(explanation)
    assert "more nodes" not in explain_text(explanation, wide=True)


def test_equal_abbreviations_are_told_apart() -> None:
    text = explain_text(_explain(records.many_nodes(1, 2)))

    assert "P Plugin0, P2 Plugin1" in text


def test_results_of_plugins_and_hooks() -> None:
    text = explain_text(_explain(records.scheduled(custom={"example.com/data": '{"a":1}'})))

    assert text.endswith('Results of plugins and hooks\n  example.com/data: {"a":1}')


def test_a_comparison_without_scores_says_why() -> None:
    found = {"node": "b", "notScored": "b", "verdict": "", "failed": {"NodeResourcesFit": "Insufficient cpu"}}

    assert versus({"versus": {"of": "a", **found}}) == (
        "a and b cannot be compared: b was not scored (NodeResourcesFit: Insufficient cpu)."
    )
    assert versus({"versus": {"of": "", **found}}) == (
        "There is nothing to compare b with, as the pod was put on no node: "
        "b was not scored (NodeResourcesFit: Insufficient cpu)."
    )

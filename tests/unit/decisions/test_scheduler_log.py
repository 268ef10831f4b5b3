"""The lines of a scheduler's log."""

from __future__ import annotations

from schedlab.decisions.scheduler_log import SchedulerLog
from schedlab.kernel.clock import MILLISECOND_NS, VirtualClock
from schedlab.scheduler.framework.record import BindingRecord
from tests.unit.decisions import records


def _log(verbosity: int = 0) -> tuple[SchedulerLog, list[str]]:
    lines: list[str] = []
    clock = VirtualClock()
    clock.advance_to(clock.now_ns() + 123 * MILLISECOND_NS)
    return SchedulerLog(clock, lines.append, verbosity=verbosity, pid=7), lines


def test_a_bound_pod_is_told_with_the_nodes_that_were_looked_at() -> None:
    log, lines = _log()
    cycle = records.scheduled()
    log.cycle(cycle)
    log.binding(BindingRecord(cycle.pod, 1, cycle.selected, 0))

    assert cycle.filter is not None
    assert cycle.feasible is not None
    assert lines == [
        (
            'I0101 00:00:00.123000       7 schedule_one.go:481] "Successfully bound pod to node" '
            f'pod="{cycle.pod.key}" node="{cycle.selected}" '
            f"evaluatedNodes={len(cycle.filter.visited)} feasibleNodes={len(cycle.feasible)}"
        )
    ]


def test_a_pod_without_a_node_is_told_with_the_schedulers_message() -> None:
    log, lines = _log()
    cycle = records.failed()
    log.cycle(cycle)

    assert lines[0].endswith(
        f'"Unable to schedule pod; no fit; waiting" pod="{cycle.pod.key}" err="{cycle.failure_message}"'
    )


def test_a_failed_binding_is_an_error() -> None:
    log, lines = _log()
    cycle = records.scheduled()
    log.cycle(cycle)
    log.binding(BindingRecord(cycle.pod, 1, "n", 0, error='the "disk" is full', failure_reason="SchedulerError"))

    assert lines[0].startswith("E0101 00:00:00.123000       7 schedule_one.go:1243] ")
    assert 'err="the \\"disk\\" is full"' in lines[0]


def test_scores_are_told_at_verbosity_ten() -> None:
    log, lines = _log(verbosity=10)
    cycle = records.scheduled()
    log.cycle(cycle)

    score = cycle.score
    assert score is not None
    plugin_lines = [line for line in lines if '"Plugin scored node for pod"' in line]
    assert len(plugin_lines) == len(score.plugins) * len(score.rows)
    final = [line for line in lines if '"Calculated node\'s final score for pod"' in line]
    assert len(final) == len(score.rows)
    assert final[0].endswith(f"score={int(score.total[0])}")
    assert '"Attempting to schedule pod"' in lines[0]

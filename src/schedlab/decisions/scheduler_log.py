"""What a scheduler writes to its log: one line per attempt with its outcome, in klog's form.

    I1130 19:21:26.123456       1 schedule_one.go:481] "Successfully bound pod to node" pod="shop/db-0" node="node-1" …

verbosity: from 3 on also the begin of each attempt, from 10 on the score of every plugin for every node.

Mirrors: the log lines of pkg/scheduler/schedule_one.go, k8s.io/klog/v2 (v1.36)
Differs: outcomes of attempts are written at any verbosity, upstream's begin at 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from schedlab.apimachinery import gojson
from schedlab.apimachinery.time import format_micro_time

if TYPE_CHECKING:
    from schedlab.kernel.clock import Clock
    from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, QueueMove
    from schedlab.scheduler.framework.types import PodInfo

Severity: TypeAlias = Literal["I", "W", "E"]

_FILE: Final = "schedule_one.go"
_ATTEMPT, _BOUND, _NO_NODES, _NO_FIT, _ERROR = 123, 481, 1235, 1239, 1243
_PLUGIN_SCORE, _NODE_SCORE = 982, 1050


class SchedulerLog:
    """An observer that writes lines. `pid` is the process id in them."""

    def __init__(self, clock: Clock, write: Callable[[str], None], *, verbosity: int = 0, pid: int = 1) -> None:
        self._clock, self._write, self._pid = clock, write, pid
        self.verbosity = verbosity
        #: Nodes that were evaluated and that were feasible, of pods on their way to a node, by uid.
        self._found: dict[str, tuple[int, int]] = {}

    def line(self, severity: Severity, place: str, message: str, **values: object) -> None:
        """Write one line; values are told in their order."""
        self._write(self._line(self._clock.now_ns(), severity, place, message, values))

    # --- Observer ---

    def cycle(self, record: CycleRecord) -> None:
        """Tell of an attempt (Observer)."""
        pod = record.pod
        if self.verbosity >= 3:
            began = {"pod": pod.key}
            place = f"{_FILE}:{_ATTEMPT}"
            self._write(self._line(record.started_ns, "I", place, "Attempting to schedule pod", began))
        if self.verbosity >= 10:
            self._scores(record)
        if record.result == "scheduled":
            evaluated = 0 if record.filter is None else len(record.filter.visited)
            self._found[pod.uid] = evaluated, 0 if record.feasible is None else len(record.feasible)
        elif record.result == "error":
            self._error(pod, record.failure_message)
        elif not record.node_names:
            message = "Unable to schedule pod; no nodes are registered to the cluster; waiting"
            self.line("I", f"{_FILE}:{_NO_NODES}", message, pod=pod.key)
        else:
            self._no_fit(pod, record.failure_message)

    def binding(self, record: BindingRecord) -> None:
        """Tell how a binding ended (Observer)."""
        evaluated, feasible = self._found.pop(record.pod.uid, (0, 0))
        if not record.error:
            self.line(
                "I",
                f"{_FILE}:{_BOUND}",
                "Successfully bound pod to node",
                pod=record.pod.key,
                node=record.node,
                evaluatedNodes=evaluated,
                feasibleNodes=feasible,
            )
        elif record.failure_reason == "Unschedulable":
            self._no_fit(record.pod, record.error)
        else:
            self._error(record.pod, record.error)

    def queue_move(self, move: QueueMove) -> None:
        """Forget a pod that is gone (Observer)."""
        if move.place == "gone":
            self._found.pop(move.pod.uid, None)

    def _scores(self, record: CycleRecord) -> None:
        record.work_out()
        score = record.score
        if score is None or not score.complete:
            return
        pod = record.pod.key
        for column, row in enumerate(score.rows.tolist()):
            node = record.node_names[row]
            for plugin, finals in zip(score.plugins, score.final, strict=True):
                self.line(
                    "I",
                    f"{_FILE}:{_PLUGIN_SCORE}",
                    "Plugin scored node for pod",
                    pod=pod,
                    plugin=plugin,
                    node=node,
                    score=int(finals[column]),
                )
        for row, total in zip(score.rows.tolist(), score.total.tolist(), strict=True):
            message = "Calculated node's final score for pod"
            self.line("I", f"{_FILE}:{_NODE_SCORE}", message, pod=pod, node=record.node_names[row], score=total)

    def _no_fit(self, pod: PodInfo, message: str) -> None:
        self.line("I", f"{_FILE}:{_NO_FIT}", "Unable to schedule pod; no fit; waiting", pod=pod.key, err=message)

    def _error(self, pod: PodInfo, message: str) -> None:
        place = f"{_FILE}:{_ERROR}"
        self.line("E", place, "Error scheduling pod; retrying", err=message, logger="UnhandledError", pod=pod.key)

    def _line(
        self, moment_ns: int, severity: Severity, place: str, message: str, values: dict[str, object] | dict[str, str]
    ) -> str:
        return f"{klog_header(severity, moment_ns, self._pid, place)}{''.join(_words(message, values))}"


def klog_header(severity: Severity, moment_ns: int, pid: int, place: str) -> str:
    """Return how a line of klog begins: severity, month and day, time of day, process id, place in the source."""
    date, _, rest = format_micro_time(moment_ns).partition("T")
    return f"{severity}{date[5:7]}{date[8:10]} {rest[:15]} {pid:7} {place}] "


def _words(message: str, values: dict[str, object] | dict[str, str]) -> Iterator[str]:
    yield gojson.quote(message)
    for key, value in values.items():
        yield f" {key}={gojson.quote(value) if isinstance(value, str) else value}"

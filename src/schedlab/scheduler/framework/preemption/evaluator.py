"""Preemption from the question whether a pod may, over the dry run, to the choice of a node and its victims.

    eligible? -> candidates by dry run -> extenders may object, one after the other -> the best one -> evictions

Mirrors: pkg/scheduler/framework/preemption/preemption.go and PodEligibleToPreemptOthers of
pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (v1.36).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from schedlab.scheduler.framework.interface import NominatingInfo, PostFilterResult, Victims, Work
from schedlab.scheduler.framework.preemption.budgets import Budget, Budgets
from schedlab.scheduler.framework.preemption.candidates import Merit, best_candidates, merits
from schedlab.scheduler.framework.preemption.dry_run import DryRun, Preemptor, Result, collect
from schedlab.scheduler.framework.preemption.dry_run_nodes import dry_run_nodes
from schedlab.scheduler.framework.preemption.executor import DISRUPTION_TARGET, PODS, PREEMPTION_BY_SCHEDULER, Executor
from schedlab.scheduler.framework.record import PREEMPTION_RECORD, CandidateRecord, NodeNames, PreemptionRecord
from schedlab.scheduler.framework.status import Code, Status, error, unschedulable
from schedlab.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.interface import CycleState, Extender, ExtenderAnswer, Handle, NodeToStatus

NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"

_NEVER: Final = unschedulable("not eligible due to preemptionPolicy=Never.")
_TERMINATING: Final = unschedulable("not eligible due to a terminating pod on the nominated node.")
_NO_CANDIDATE: Final = unschedulable("no candidate node for preemption")
_BUDGETS: Final = "poddisruptionbudgets.policy"

Answer = tuple[PostFilterResult | None, Status | None, Work | None]


@dataclass(frozen=True, slots=True)
class _Asking:
    """The note of work that waits for an extender: the merits of the dry run's candidates, those left of them with
    theirs, whom to ask.
    """

    preemptor: PodInfo
    found: Mapping[str, Merit]
    candidates: Mapping[str, Victims]
    merits: Mapping[str, Merit]
    extenders: tuple[Extender, ...]


class Evaluator:
    """Finds room for pods of one profile."""

    def __init__(self, handle: Handle, executor: Executor, *, percentage: int, absolute: int) -> None:
        self._handle = handle
        self._executor = executor
        self._percentage = percentage
        self._absolute = absolute

    def preempt(self, state: CycleState, pod: PodInfo, statuses: NodeToStatus) -> Answer:
        """Find a node and victims for a pod that fits nowhere."""
        self._handle.metrics.preemption_attempted()
        current = self._newest(pod)
        if current is None:
            return None, error(f'pod "{pod.name}" not found'), None
        refusal = self._refusal(current, statuses)
        if refusal is not None:
            return None, refusal, None
        run, found = self._dry_run(state, current, statuses)
        if run.candidates:
            extenders = tuple(self._handle.extenders())
            return self._ask_extenders(state, _Asking(current, found, run.candidates, found, extenders))
        if errors := run.errors():
            return None, error(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"), None
        # A nomination to no node takes an older one back.
        return PostFilterResult(NominatingInfo("")), unschedulable(_summary(len(self._handle.table), run)), None

    def _newest(self, pod: PodInfo) -> PodInfo | None:
        pods = self._handle.listers.lister(PODS)
        view = pods.get(pod.name, pod.namespace)
        if view is None:
            return None
        return pod if view is pod.pod else PodInfo(view, pods.stored(pod.name, pod.namespace))

    # --- Eligibility ---

    def _refusal(self, pod: PodInfo, statuses: NodeToStatus) -> Status | None:
        """Return why the pod may not preempt others, if so."""
        if pod.pod.spec.preemption_policy == "Never":
            return _NEVER
        nominated = pod.pod.status.nominated_node_name
        if not nominated or statuses.get(nominated).code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return None
        row = self._handle.table.row_of.get(nominated)
        if row is None:
            return None
        there = self._handle.table.infos[row].pods
        if any(other.priority < pod.priority and _is_being_preempted(other) for other in there):
            return _TERMINATING
        return None

    # --- Dry run ---

    def _dry_run(self, state: CycleState, pod: PodInfo, statuses: NodeToStatus) -> tuple[DryRun, Mapping[str, Merit]]:
        handle = self._handle
        rows = statuses.rows_with(Code.UNSCHEDULABLE)
        if not len(rows):
            return DryRun(), {}
        offset, wanted = handle.random.below(len(rows)), self._wanted(len(rows))
        rows = np.roll(rows, -offset)
        budgets = Budgets(Budget.of(budget) for budget in handle.listers.lister(_BUDGETS).list())
        preemptor = Preemptor(pod, state, budgets, handle.clock.now_ns())
        run = collect(rows, wanted, lambda some: self._try_rows(preemptor, some))
        found = merits(run.candidates, preemptor.now_ns)
        if handle.observed:
            state.write(PREEMPTION_RECORD, _record(run, NodeNames(handle.table.names, rows), wanted, found))
        return run, found

    def _try_rows(self, preemptor: Preemptor, rows: NDArray[np.int64]) -> Iterable[tuple[str, Result]]:
        nodes = [self._handle.table.infos[row] for row in rows.tolist()]
        return zip([node.name for node in nodes], dry_run_nodes(self._handle, preemptor, nodes), strict=True)

    def _wanted(self, nodes: int) -> int:
        """Return how many candidates will do."""
        return min(max(nodes * self._percentage // 100, self._absolute), nodes)

    # --- Extenders ---

    def _ask_extenders(self, state: CycleState, asking: _Asking) -> Answer:
        """Ask the next extender that wants to be asked; without one, choose."""
        for at, extender in enumerate(asking.extenders if asking.candidates else ()):
            if extender.supports_preemption and extender.is_interested(asking.preemptor):
                request = extender.preemption_request(asking.preemptor, asking.candidates)
                return None, None, Work(calls=(request,), note=replace(asking, extenders=asking.extenders[at:]))
        return self._choose(state, asking)

    def resume(self, state: CycleState, work: Work, answers: Sequence[ExtenderAnswer]) -> Answer:
        """Go on with what an extender said."""
        asking: _Asking = work.note
        extender, left = asking.extenders[0], asking.extenders[1:]
        found = extender.preemption_result(answers[0], self._handle.table)
        if isinstance(found, Status):
            if not extender.ignorable:
                return None, found, None
            found = dict(asking.candidates)
        empty = [name for name, victims in found.items() if not victims.pods]
        if empty and not extender.ignorable:
            return None, error(f'expected at least one victim pod on node "{empty[0]}"'), None
        candidates = {name: victims for name, victims in found.items() if victims.pods}
        rated = merits(candidates, self._handle.clock.now_ns())
        return self._ask_extenders(state, replace(asking, candidates=candidates, merits=rated, extenders=left))

    # --- Choice ---

    def _choose(self, state: CycleState, asking: _Asking) -> Answer:
        if not asking.candidates:
            return None, _NO_CANDIDATE, None
        best = best_candidates(asking.merits)
        node = best[0]
        victims = asking.candidates[node].pods
        record: PreemptionRecord | None = state.find(PREEMPTION_RECORD)
        if record is not None:
            record.victims = tuple(pod.key for pod in self._executor.to_delete(victims))
            if asking.found is not asking.merits:
                best = best_candidates(asking.found)
            # If it is not among the best, extenders have objected to those.
            record.best = best if node in best else ()
        work = self._executor.start(asking.preemptor, node, victims)
        return PostFilterResult(NominatingInfo(node)), None, work


def _record(run: DryRun, order: NodeNames, wanted: int, found: Mapping[str, Merit]) -> PreemptionRecord:
    """Return what an observer wants to know; the order of nodes when not all had to be tried."""
    candidates = [
        CandidateRecord(name, victims.keys, victims.pdb_violations, found[name])
        for name, victims in run.candidates.items()
    ]
    return PreemptionRecord(candidates, run.statuses, wanted, (), order if len(order) > wanted else ())


def _is_being_preempted(pod: PodInfo) -> bool:
    """Whether a pod is on its way out because of a preemption."""
    if pod.pod.metadata.deletion_timestamp is None:
        return False
    condition = pod.pod.status.condition(DISRUPTION_TARGET)
    return condition is not None and condition.status == "True" and condition.reason == PREEMPTION_BY_SCHEDULER


def _summary(nodes: int, run: DryRun) -> str:
    """Return `0/N nodes are available: …` for a dry run without candidates; other nodes were beyond help anyway."""
    counts = Counter(reason for status in run.statuses.values() for reason in status.reasons)
    if len(run.statuses) < nodes:
        counts[NOT_HELPFUL] += nodes - len(run.statuses)
    parts = sorted(f"{count} {reason}" for reason, count in counts.items())
    return f"0/{nodes} nodes are available:" + (f" {', '.join(parts)}." if parts else "")

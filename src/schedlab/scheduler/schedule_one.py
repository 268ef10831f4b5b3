"""One scheduling cycle: from a pod to the node it is assumed on, or to the reason why there is none.

    refresh the table -> pre_filter -> (nominated node) -> filter -> extenders -> pre_score, score -> extenders -> choose
        -> assume -> reserve -> permit                                        fails -> post_filter

The cycle is a generator: it runs through at once unless extenders have to be asked. Then it yields the requests and is
sent the answers; until then no other cycle starts and no event reaches the cache.

Mirrors: pkg/scheduler/schedule_one.go (v1.36).
Differs: the search visits nodes in one fixed order (parallelism 1); extenders that prioritise are asked together, their
answers are read in the order of the extenders.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from schedlab.scheduler.cache.cache import AssumeError
from schedlab.scheduler.extender import add_score
from schedlab.scheduler.framework.interface import (
    CycleState,
    ExtenderAnswer,
    ExtenderRequest,
    NominatingInfo,
    StateCopyError,
)
from schedlab.scheduler.framework.record import (
    NOTHING,
    PREEMPTION_RECORD,
    CycleRecord,
    ExtenderCall,
    FilterRecord,
    ScoreRecord,
)
from schedlab.scheduler.framework.rows import recorded
from schedlab.scheduler.framework.status import REASONS, Code, Status, is_success
from schedlab.scheduler.framework.types import NodeInfo
from schedlab.scheduler.routine_cycle import choose_by_routine
from schedlab.scheduler.runtime.choice import SortedNodes, heap_root
from schedlab.scheduler.runtime.diagnosis import ABSENT, EXTENDER, Diagnosis, FitError, NodeToStatusMap, left_out
from schedlab.scheduler.runtime.errors import error_text
from schedlab.scheduler.runtime.filtering import FilterRun, Search, Verdicts, wanted_nodes
from schedlab.scheduler.runtime.scoring import ScoreFailure, Scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.views.core import Node
    from schedlab.scheduler.framework.interface import Work
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
    from schedlab.scheduler.runtime.batch import OpportunisticBatch
    from schedlab.scheduler.runtime.equal_pods import Evaluation
    from schedlab.scheduler.runtime.framework import Framework, PostFilterAnswer
    from schedlab.scheduler.scheduler import Scheduler

NO_NODES: Final = "no nodes available to schedule pods"
CLEAR_NOMINATION: Final = NominatingInfo("")

Answers = tuple[ExtenderAnswer, ...]
Requests = tuple[ExtenderRequest, ...]


class Failure(msgspec.Struct):
    """Why an attempt failed. `fit` is set when plugins or extenders turned the pod down (or there is no room)."""

    status: Status
    nominating: NominatingInfo | None = CLEAR_NOMINATION
    fit: FitError | None = None

    @property
    def message(self) -> str:
        """The text of the condition."""
        return self.fit.message() if self.fit is not None else self.status.message


class Assignment(msgspec.Struct):
    """The pod is assumed on a node; `waits` are ns per permit plugin that holds it back, `held` is what they say."""

    pod: PodInfo
    node: str
    evaluated: int
    feasible: int
    waits: dict[str, int] = {}
    held: Status | None = None


Outcome = Assignment | Failure
Cycle = Generator[Requests, Answers, Outcome]


class Attempt:
    """One pod's scheduling cycle. `state` goes on into the binding cycle, `record` to the observer."""

    def __init__(self, scheduler: Scheduler, framework: Framework, queued: QueuedPodInfo) -> None:
        self.scheduler = scheduler
        self.framework = framework
        self.queued = queued
        self.pod = queued.pod
        if REASONS.is_full:
            REASONS.turn()
        self.state = CycleState()
        self.started_ns = scheduler.clock.now_ns()
        self.table = scheduler.cache.table
        self.record: CycleRecord | None = None
        self._hint = ""
        self._signature: bytes | None = None
        self._filters: FilterRun | None = None
        self._evaluation: Evaluation | None = None
        # Whether what is recorded of the nodes that were visited is what is recorded of all nodes.
        self._is_known = False
        # What is recorded as nodes that passed all filters: mostly they are feasible, and scored, as well.
        self._passed: NDArray[np.int64] | None = None
        # Nodes as an extender sent them back, by row.
        self._bare: dict[int, NodeInfo] = {}

    def run(self) -> Cycle:
        """Run the cycle."""
        outcome = yield from self.decide()
        return self.assume(outcome) if isinstance(outcome, Assignment) else outcome

    def begin(self) -> None:
        """Bring the table up to date, and begin the record when somebody observes."""
        self.scheduler.cache.refresh()
        if self.scheduler.observer is not None:
            self.record = self._new_record()

    def decide(self) -> Cycle:
        """Choose a node, or make room where there is none."""
        self.begin()
        known = self._by_routine()
        if known is not None:
            return known
        try:
            outcome = yield from self._algorithm()
        except StateCopyError as error:
            outcome = Failure(Status(Code.ERROR, (), "", str(error)))
        if self.scheduler.metrics is not None:
            self.scheduler.metrics.algorithm(self.scheduler.clock.now_ns() - self.started_ns)
        return outcome

    def _by_routine(self) -> Assignment | None:
        found = choose_by_routine(self)
        return None if found is None else Assignment(self.pod, *found)

    def _new_record(self) -> CycleRecord:
        scheduler = self.scheduler
        return CycleRecord(
            pod=self.pod,
            profile=self.framework.profile_name,
            attempt=self.queued.attempts,
            started_ns=self.started_ns,
            revision=scheduler.listed_revision(),
            node_names=self.table.names,
            start=scheduler.next_start_node_index,
            next_start=scheduler.next_start_node_index,
            position=-1 if scheduler.journal is None else scheduler.journal.position,
            nominated=scheduler.queue.nominator.all(),
            chance=scheduler.random.state,
            configuration=scheduler.configuration_digest,
        )

    # --- Choosing a node ---

    def _algorithm(self) -> Cycle:
        if not len(self.table):
            return Failure(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (), "", NO_NODES))
        diagnosis = Diagnosis(NodeToStatusMap(self.table))
        feasible = yield from self._find_feasible(diagnosis)
        if isinstance(feasible, Status):
            self._record_search(diagnosis, None)
            return Failure(feasible)
        self._record_search(diagnosis, feasible)
        if not len(feasible):
            return (yield from self._post_filter(FitError(len(self.table), diagnosis)))
        evaluated = len(feasible) + len(diagnosis.nodes)
        names = self.table.names
        if len(feasible) == 1:
            chosen = names[int(feasible[0])]
            self._store_batch(chosen, None)
            return Assignment(self.pod, chosen, evaluated, 1)
        index = yield from self._choose(feasible)
        if isinstance(index, Status):
            return Failure(index)
        return Assignment(self.pod, names[int(feasible[index])], evaluated, len(feasible))

    def _find_feasible(self, diagnosis: Diagnosis) -> Generator[Requests, Answers, NDArray[np.int64] | Status]:
        framework, record = self.framework, self.record
        outcome = framework.run_pre_filter(
            self.state,
            self.pod,
            None if record is None else record.pre_filter,
            None if record is None else record.pre_filter_nodes,
        )
        if record is not None:
            record.pre_filter_status, record.pre_filter_result = outcome.status, outcome.nodes
        if outcome.restricting:
            diagnosis.unschedulable_plugins = dict.fromkeys(outcome.restricting)
        if outcome.status is not None:
            if not outcome.status.rejected:
                return outcome.status
            diagnosis.nodes.absent = outcome.status
            diagnosis.pre_filter_message = outcome.status.message
            diagnosis.add_plugin_status(outcome.status)
            return _NOBODY
        failure = self._find_hint()
        if failure is not None:
            return failure
        first = self.pod.pod.status.nominated_node_name or self._hint
        if first:
            feasible = yield from self._try_node(first, diagnosis)
            if len(feasible):
                return feasible
        rows = None
        if outcome.nodes is not None:
            known = self.table.row_of
            rows = np.array([known[name] for name in outcome.nodes if name in known], np.int64)
            diagnosis.nodes.absent = left_out(outcome.restricting)
        search = self._search(rows, diagnosis)
        processed = len(search.feasible) + len(diagnosis.nodes)
        start = (self.scheduler.next_start_node_index + processed) % len(self.table)
        self.scheduler.next_start_node_index = start
        if record is not None:
            record.next_start = start
            if search.error is None:
                self._passed = search.feasible
                record.passed_filters = recorded(search.feasible, len(self.table))
        if search.error is not None or not self.scheduler.extenders:
            return search.feasible if search.error is None else search.error
        feasible_or_error = yield from self._ask_filters(search.feasible, diagnosis)
        if not isinstance(feasible_or_error, Status) and len(feasible_or_error) != len(search.feasible):
            diagnosis.unschedulable_plugins[EXTENDER] = None
        return feasible_or_error

    def _try_node(self, name: str, diagnosis: Diagnosis) -> Generator[Requests, Answers, NDArray[np.int64]]:
        """Look at the node the pod is nominated (or hinted) to before all others; errors count as "does not fit"."""
        row = self.table.row_of.get(name)
        if row is None:
            return _NOBODY
        search = self._search(np.array([row], np.int64), diagnosis, single=True)
        if search.error is not None:
            return _NOBODY
        feasible = yield from self._ask_filters(search.feasible, diagnosis)
        return _NOBODY if isinstance(feasible, Status) else feasible

    def _search(self, rows: NDArray[np.int64] | None, diagnosis: Diagnosis, *, single: bool = False) -> Search:
        scheduler, framework = self.scheduler, self.framework
        total = len(self.table) if rows is None else len(rows)
        wanted = 1 if self._takes_any_node() and total else self.wanted(total)
        start = scheduler.next_start_node_index
        if not framework.filter_plugins:
            return _unfiltered(rows, total, wanted, start)
        if self._evaluation is None:
            self._evaluation = framework.evaluation(self.state, self.pod)
        filters = framework.filter_run(self.state, self.pod, kept=self._evaluation)
        filters.is_full = scheduler.full and self.record is not None
        search = filters.search(wanted, start) if rows is None else filters.search_rows(rows, wanted, start)
        self._note(search, filters.names, diagnosis, single=single)
        if self.record is not None:
            self._record_filter(search, filters.names, single=single)
            self._filters = filters
        return search

    def wanted(self, total: int) -> int:
        """Return after how many feasible nodes among so many the search stops."""
        percentage = self.framework.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self.scheduler.percentage_of_nodes_to_score
        return wanted_nodes(percentage, total)

    def _takes_any_node(self) -> bool:
        """Whether nothing ranks nodes and no extender filters them, so that the first fitting one will do."""
        extenders = self.scheduler.extenders
        return not (self.framework.score_plugins or any(each.is_prioritizer or each.is_filter for each in extenders))

    def _note(self, search: Search, names: tuple[str, ...], diagnosis: Diagnosis, *, single: bool) -> None:
        """Take the verdicts of the nodes that were turned down into the diagnosis."""
        verdicts = search.verdicts
        if search.is_clean or len(search.feasible) == len(search.rows):
            return
        is_found = len(search.feasible) and search.error is None and not self.scheduler.extenders
        if is_found and not single and not diagnosis.nodes.named():
            # That is all there is to be known of nodes that were turned down when there are others.
            diagnosis.nodes.count_searched(int(np.count_nonzero(verdicts.code)))
            return
        failed = np.flatnonzero(verdicts.code)
        if search.error is not None:
            failed = failed[:-1]
        if not len(failed):
            return
        code, plugin = verdicts.code[failed], verdicts.plugin[failed]
        for index in np.flatnonzero(np.bincount(plugin)).tolist():
            diagnosis.unschedulable_plugins[names[index]] = None
        pending = plugin[code == Code.PENDING]
        for index in np.flatnonzero(np.bincount(pending)).tolist() if len(pending) else ():
            diagnosis.pending_plugins[names[index]] = None
        statuses = NodeToStatusMap(self.table) if single else diagnosis.nodes
        statuses.set_searched(search.rows[failed], code, verdicts.reason[failed], plugin, names)
        if single:
            for name, status in statuses.explicit().items():
                diagnosis.nodes.set(name, status)

    # --- Extenders that filter ---

    def _ask_filters(
        self, feasible: NDArray[np.int64], diagnosis: Diagnosis
    ) -> Generator[Requests, Answers, NDArray[np.int64] | Status]:
        names = self.table.names
        self._bare = {}
        for extender in self.scheduler.extenders:
            if not len(feasible):
                break
            if not extender.is_interested(self.pod) or not extender.is_filter:
                continue
            asked = [names[row] for row in feasible.tolist()]
            answer = yield from self._call(extender.filter_request(self.pod, asked))
            result = extender.filter_result(answer, asked)
            if isinstance(result, str):
                if extender.ignorable:
                    continue
                return Status(Code.ERROR, (), "", result)
            for name, text in result.failed_and_unresolvable.items():
                self._fail(diagnosis, name, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,)))
            for name, text in result.failed.items():
                if name not in result.failed_and_unresolvable:
                    self._fail(diagnosis, name, Status(Code.UNSCHEDULABLE, (text,)))
            rows = [self.table.row_of[name] for name in result.nodes if name in self.table.row_of]
            feasible = np.array(rows, np.int64)
            if result.objects is not None:
                self._strip(result.objects)
        return feasible

    def _strip(self, nodes: Sequence[Node]) -> None:
        """Go on with the nodes as the extender sent them: from here on upstream knows nothing of their pods."""
        for node in nodes:
            row = self.table.row_of.get(node.metadata.name)
            if row is not None:
                info = self._bare[row] = NodeInfo(node)
                info.row = row

    def _fail(self, diagnosis: Diagnosis, name: str, status: Status) -> None:
        diagnosis.nodes.set(name, status)
        if self.record is not None:
            self.record.extender_failed[name] = status

    def _call(self, request: ExtenderRequest) -> Generator[Requests, Answers, ExtenderAnswer]:
        answers = yield (request,)
        self._record_calls((request,), answers)
        return answers[0]

    # --- Scores and choice ---

    def _choose(self, rows: NDArray[np.int64]) -> Generator[Requests, Answers, int | Status]:
        framework, record = self.framework, self.record
        extenders = self.scheduler.extenders
        if not extenders and not framework.score_plugins:
            return heap_root(np.ones(len(rows), np.int64))
        status = framework.run_pre_score(self.state, self.pod, rows, None if record is None else record.pre_score)
        if status is not None:
            return status
        bare = [self._bare[row] for row in rows.tolist()] if self._bare else None
        scores = framework.run_score(self.state, self.pod, rows, bare, self._evaluation)
        if isinstance(scores, ScoreFailure):
            if record is not None:
                self._record_scores(rows[:1], scores.scores, scores.scores.total, complete=False)
            return scores.status
        total, rated = scores.total, None
        if extenders:
            total, rated = yield from self._ask_scores(rows, scores.total)
        if record is not None:
            self._record_scores(rows, scores, total)
        index = self._pick(total, rated)
        if framework.batch is not None:
            names = self.table.names
            self._store_batch(names[int(rows[index])], SortedNodes(names, rows, total))
        return index

    def _ask_scores(
        self, rows: NDArray[np.int64], total: NDArray[np.int64]
    ) -> Generator[Requests, Answers, tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        """Add what extenders give; also return which nodes any extender spoke of (those are shuffled)."""
        names = [self.table.names[row] for row in rows.tolist()]
        interested = [each for each in self.scheduler.extenders if each.is_interested(self.pod)]
        asked = [each for each in interested if each.is_prioritizer]
        requests = tuple(each.prioritize_request(self.pod, names) for each in asked)
        answers: Answers = ()
        if requests:
            answers = yield requests
            self._record_calls(requests, answers)
        total = total.copy()
        rated = np.zeros(len(rows), np.bool_)
        if len(asked) < len(interested):
            # An extender that does not prioritise gives every node a 0.
            rated[:] = True
        place = {name: at for at, name in enumerate(names)}
        for extender, answer in zip(asked, answers, strict=True):
            result = extender.prioritize_result(answer)
            if isinstance(result, str):
                continue
            for name, score in result:
                at = place.get(name)
                if at is not None:
                    total[at] = add_score(int(total[at]), score, extender.weight)
                    rated[at] = True
        return total, rated

    def _pick(self, total: NDArray[np.int64], rated: NDArray[np.bool_] | None) -> int:
        if rated is not None and rated.any():
            best = np.flatnonzero((total == total.max()) & rated)
            if len(best):
                return int(best[self.scheduler.random.below(len(best))])
        return heap_root(total)

    # --- Batching ---

    def _find_hint(self) -> Status | None:
        """Look for a node to try first; return the error of a plugin that raised when it had to sign the pod."""
        batch = self._batch()
        if batch is None:
            return None
        signature = batch.sign(self.pod)
        if isinstance(signature, Status):
            return signature
        self._signature = signature
        self._hint = batch.node_hint(self.state, self.pod, signature, self.scheduler.scheduling_cycle)
        if self.record is not None:
            self.record.node_hint = self._hint
        return None

    def _store_batch(self, chosen: str, others: SortedNodes | None) -> None:
        batch = self._batch()
        if batch is not None:
            batch.store(self._signature, self._hint, chosen, others, self.scheduler.scheduling_cycle)

    def _batch(self) -> OpportunisticBatch | None:
        # What a group's pods are tried on is taken back, so that no other pod can go on from there.
        return None if self.state.in_pod_group_cycle else self.framework.batch

    # --- Failure: make room ---

    def _post_filter(self, fit: FitError) -> Cycle:
        framework, record = self.framework, self.record
        failure = Failure(Status(Code.UNSCHEDULABLE), CLEAR_NOMINATION, fit)
        if not framework.post_filter_plugins:
            return failure
        steps = framework.run_post_filter(
            self.state,
            self.pod,
            fit.diagnosis.nodes,
            None if record is None else record.post_filter,
            self._begin_work,
        )
        result, status = yield from self._recording_calls(steps)
        if record is not None:
            record.preemption = self.state.find(PREEMPTION_RECORD)
            record.victims = record.preemption.victims if record.preemption is not None else ()
        fit.diagnosis.post_filter_message = "" if status is None else status.message
        failure.nominating = None if result is None else result.nominating
        return failure

    def _begin_work(self, plugin: object, work: Work) -> None:
        self.scheduler.start_background(plugin, self.state, self.pod, work)

    def _recording_calls(
        self, steps: Generator[Requests, Answers, PostFilterAnswer]
    ) -> Generator[Requests, Answers, PostFilterAnswer]:
        answers: Answers | None = None
        while True:
            try:
                requests = next(steps) if answers is None else steps.send(answers)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]  # what the generator's type says it returns
            answers = yield requests
            self._record_calls(requests, answers)

    # --- Success: assume, reserve, permit ---

    def assume(self, assignment: Assignment) -> Outcome:
        """Count the pod in on its node, let plugins reserve what it needs, and ask whether it may go."""
        scheduler, framework, node = self.scheduler, self.framework, assignment.node
        record = self.record
        if record is not None:
            record.selected = node
        try:
            pod = assignment.pod = scheduler.cache.assume_pod(self.pod, node)
        except AssumeError as error:
            return Failure(Status(Code.ERROR, (), "", str(error)))
        scheduler.queue.nominator.delete(pod)
        status = framework.run_reserve(self.state, pod, node, None if record is None else record.reserve)
        if is_success(status):
            status, assignment.waits = framework.run_permit(
                self.state, pod, node, None if record is None else record.permit
            )
            if status is None or status.code == Code.WAIT:
                assignment.held = status
                return assignment
        assert status is not None
        scheduler.unreserve_and_forget(framework, self.state, pod, node)
        return rejection_on_node(NodeToStatusMap(self.table), node, status)

    # --- Records ---

    def _record_filter(self, search: Search, names: tuple[str, ...], *, single: bool) -> None:
        assert self.record is not None
        before, verdicts = self.record.filter, search.verdicts
        made = FilterRecord(
            names,
            recorded(search.rows, len(self.table)),
            verdicts.plugin,
            verdicts.code,
            verdicts.reason,
            len(search.rows) if single else 0,
            verdicts.second_pass,
        )
        self.record.filter = made if before is None else _append(before, made)
        self.record.filter.texts = REASONS.pages
        self._is_known = search.is_known and before is None

    def _record_search(self, diagnosis: Diagnosis, feasible: NDArray[np.int64] | None) -> None:
        record = self.record
        if record is None:
            return
        if diagnosis.nodes.absent is not ABSENT:
            record.absent_nodes_status = diagnosis.nodes.absent
        if feasible is self._passed:
            record.feasible = record.passed_filters
        else:
            record.feasible = recorded(_NOBODY if feasible is None else feasible, len(self.table))
        if self.scheduler.full and record.filter is not None and self._filters is not None:
            said, every = record.filter, self._filters.every_verdict()
            said.full_code, said.full_reason, said.changed_rows, said.changed_code, said.changed_reason = every
            said.follows = self._is_known
            said.texts = said.texts, REASONS.pages  # extenders may have been asked meanwhile

    def _record_scores(
        self, rows: NDArray[np.int64], scores: Scores, total: NDArray[np.int64], *, complete: bool = True
    ) -> None:
        assert self.record is not None
        feasible, nothing = self.record.feasible, NOTHING
        made = self.record.score = ScoreRecord(
            scores.plugins,
            scores.weights,
            recorded(rows, len(self.table)) if rows is not self._passed or feasible is None else feasible,
            scores.raw,
            scores.final,
            scores.total if scores.is_whole else nothing,
            complete,
            scores.offsets,
        )
        if total is not scores.total:
            made.work_out()
            made.total, made.offsets = total, None

    def _record_calls(self, requests: Requests, answers: Answers) -> None:
        if self.record is None:
            return
        for request, answer in zip(requests, answers, strict=True):
            self.record.extender_calls.append(
                ExtenderCall(request.extender.name, request.verb, request.body, answer.result, answer.error)
            )


_NOBODY: Final = np.zeros(0, np.int64)


def rejection_on_node(statuses: NodeToStatusMap, node: str, status: Status) -> Failure:
    """Return the failure of a pod that was turned down after its node was chosen, or met an error there."""
    if not status.rejected:
        return Failure(Status(Code.ERROR, (), status.plugin, error_text(status)))
    diagnosis = Diagnosis(statuses)
    statuses.set(node, status)
    diagnosis.add_plugin_status(status)
    return Failure(status, CLEAR_NOMINATION, FitError(1, diagnosis))


def _unfiltered(rows: NDArray[np.int64] | None, total: int, wanted: int, start: int) -> Search:
    """Return the next nodes in turn: without filters all are feasible and none is visited."""
    places = (start + np.arange(wanted)) % total if total else _NOBODY
    return Search(_NOBODY, Verdicts.passed(0), places if rows is None else rows[places])


def _append(first: FilterRecord, second: FilterRecord) -> FilterRecord:
    def passes(record: FilterRecord) -> NDArray[np.bool_]:
        return np.zeros(len(record.visited), np.bool_) if record.second_pass is None else record.second_pass

    two_passes = first.second_pass is not None or second.second_pass is not None
    return FilterRecord(
        second.plugins,
        np.concatenate([first.visited, second.visited]),
        np.concatenate([first.failed_plugin, second.failed_plugin]),
        np.concatenate([first.code, second.code]),
        np.concatenate([first.reason, second.reason]),
        first.nominated_first,
        np.concatenate([passes(first), passes(second)]) if two_passes else None,
    )

"""Counting the pods that have ended, each exactly once.

    ended, with finalizer ──► noted in the status ──► finalizer taken away ──► counted, note dropped

A pod cannot vanish before it is noted, and is not counted twice, whatever is interrupted.

Mirrors: trackJobStatusAndRemoveFinalizers and what it calls, of pkg/controller/job/job_controller.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Pod
from schedlab.apimachinery.errors import StatusError
from schedlab.controllers.framework.controller import Asking, Steps, ask
from schedlab.controllers.framework.status import new_status
from schedlab.controllers.job.indexes import index_of
from schedlab.controllers.job.pods import without_tracking
from schedlab.controllers.job.state import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    JobState,
    is_tracked,
    new_condition,
)

UNCOUNTED_MAX: Final = 500


class Tracking:
    """The end of one sync: notes, finalizers, counts, conditions."""

    def __init__(self, state: JobState, removing: dict[str, None]) -> None:
        self._state = state
        self._removing = removing
        self._dirty = False
        self._tracked = {pod.uid: None for pod in state.pods if is_tracked(pod) and pod.uid not in state.removing}
        self.is_noted = False
        self.has_ended = False

    def run(self, *, dirty: bool) -> Steps:
        """Bring the status up to date; `has_ended` says afterwards whether that was the end of the Job."""
        state = self._state
        self._dirty = dirty
        self._count_released()
        ended, full = self._note_ended()
        if state.is_indexed:
            self._note_indexes()
        self._note_end()
        if self._dirty:
            yield from self._flush()
            self.is_noted = True
        error = yield from self._release(ended)
        self._count_released()
        if error is not None:
            if self._dirty:
                yield from self._flush()
            raise error
        self.has_ended = not full and self._finish()
        if self._dirty or self.has_ended:
            yield from self._flush()

    def _flush(self) -> Steps:
        state = self._state
        state.stored = yield from ask(new_status(state.stored, state.drafted()))
        self._dirty = False

    # --- Notes -------------------------------------------------------------------------------------------------------

    def _note_ended(self) -> tuple[list[StoredObject], bool]:
        """Note pods that have ended; returns those to let go, and whether there may be more."""
        state = self._state
        pods = sorted(state.pods, key=index_of) if state.is_indexed else state.pods
        ended = []
        new_indexes = 0
        for pod in pods:
            if pod.uid not in self._tracked or not self._may_let_go(pod):
                continue
            ended.append(pod)
            new_indexes += self._note(pod)
            if new_indexes + len(state.uncounted_succeeded) + len(state.uncounted_failed) >= UNCOUNTED_MAX:
                return ended, True
        return ended, False

    def _may_let_go(self, pod: StoredObject) -> bool:
        state = self._state
        view: Pod = pod.view
        if state.view.metadata.deletion_timestamp or state.end is not None or view.status.phase == "Succeeded":
            return True
        waiting = state.waiting_per_index.get(index_of(pod)) if state.is_per_index else None
        return state.is_failed(pod) and (waiting is None or waiting.uid != pod.uid)

    def _note(self, pod: StoredObject) -> int:
        """Note one pod; returns 1 for an index that has newly succeeded."""
        state = self._state
        if pod.view.status.phase == "Succeeded" and pod.uid not in state.uncounted_failed:
            if state.is_indexed:
                new = state.has_valid_index(pod) and index_of(pod) not in state.succeeded_before
                self._dirty = self._dirty or new
                return int(new)
            if pod.uid not in state.uncounted_succeeded:
                self._dirty = True
                state.uncounted_succeeded.append(pod.uid)
            return 0
        stopped = state.end is not None and state.end["type"] != SUCCESS_CRITERIA_MET
        if not state.is_failed(pod) and not stopped:
            return 0
        valid = not state.is_indexed or state.has_valid_index(pod)
        if valid and pod.uid not in state.uncounted_failed and state.judge(pod).counts:
            self._dirty = True
            state.uncounted_failed.append(pod.uid)
        return 0

    def _note_indexes(self) -> None:
        state, status = self._state, self._state.status
        text = str(state.succeeded_indexes)
        failed = None if state.failed_indexes is None else str(state.failed_indexes)
        if text != status.get("completedIndexes", "") or failed != status.get("failedIndexes"):
            self._dirty = True
        status["completedIndexes"] = text
        status["succeeded"] = len(state.succeeded_indexes)
        if failed is None:
            status.pop("failedIndexes", None)
        else:
            status["failedIndexes"] = failed

    def _note_end(self) -> None:
        """Say first that the Job will end and how; that it has ended comes when nothing runs any more."""
        state = self._state
        if state.end is None:
            return
        kind, reason, message = state.end["type"], state.end.get("reason", ""), state.end.get("message", "")
        if kind == FAILURE_TARGET:
            state.conditions.append(state.end)
            self._dirty = True
            state.end = new_condition(FAILED, "True", reason, message, state.now_ns)
        elif kind == SUCCESS_CRITERIA_MET:
            if state.condition(SUCCESS_CRITERIA_MET) is None:
                state.conditions.append(state.end)
                self._dirty = True
            state.end = new_condition(COMPLETE, "True", reason, message, state.now_ns)

    # --- Counts ------------------------------------------------------------------------------------------------------

    def _release(self, ended: Sequence[StoredObject]) -> Asking[StatusError | None]:
        """Take the finalizer away; returns the first error."""
        if not ended:
            return None
        self._removing |= {pod.uid: None for pod in ended}
        outcomes = yield [without_tracking(pod) for pod in ended]
        first_error = None
        for pod, outcome in zip(ended, outcomes, strict=True):
            if outcome.error is not None:
                self._removing.pop(pod.uid, None)
            if outcome.error is None or outcome.error.reason == "NotFound":
                self._tracked.pop(pod.uid, None)
            else:
                first_error = first_error or outcome.error
        return first_error

    def _count_released(self) -> None:
        """Count what is noted and needs no note any more."""
        state = self._state
        for name, noted in (("succeeded", state.uncounted_succeeded), ("failed", state.uncounted_failed)):
            kept = [uid for uid in noted if uid in self._tracked]
            if len(kept) != len(noted):
                self._dirty = True
                state.status[name] = state.status.get(name, 0) + len(noted) - len(kept)
                noted[:] = kept

    def _finish(self) -> bool:
        """Say that the Job has ended, if nothing is left to count or to wait for."""
        state = self._state
        if state.end is None or state.uncounted_succeeded or state.uncounted_failed or state.terminating:
            return False
        kind = state.end["type"]
        state.ensure_condition(kind, "True", state.end.get("reason", ""), state.end.get("message", ""))
        if kind == COMPLETE:
            state.status["completionTime"] = state.end["lastTransitionTime"]
        return True

"""A Job during one sync: what there is, what has ended, and the status that is being drawn up.

Mirrors: syncJobCtx and the functions on it of pkg/controller/job/{job_controller,indexed_job_utils}.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Pod
from schedlab.api.views.workloads import Job
from schedlab.apimachinery.time import format_time
from schedlab.controllers.framework import pods as pod_rules
from schedlab.controllers.framework.status import Condition, find_condition
from schedlab.controllers.job.failures import FailureRecord, finished_ns
from schedlab.controllers.job.indexes import UNKNOWN, Indexes, all_failures_of, failures_of, index_of
from schedlab.controllers.job.policies import Verdict, judge_failure

TRACKING: Final = "batch.kubernetes.io/job-tracking"
COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
FAILURE_TARGET: Final = "FailureTarget"
SUCCESS_CRITERIA_MET: Final = "SuccessCriteriaMet"


def new_condition(kind: str, status: str, reason: str, message: str, now_ns: int) -> dict[str, Any]:
    """Return a condition as of now."""
    now = format_time(now_ns)
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def is_tracked(pod: StoredObject) -> bool:
    """Whether the end of a pod has not been counted yet."""
    return TRACKING in pod.view.metadata.finalizers


class JobState:
    """One sync of one Job."""

    def __init__(
        self,
        stored: StoredObject,
        pods: Sequence[StoredObject],
        removing: Mapping[str, None],
        record: FailureRecord,
        now_ns: int,
    ) -> None:
        self.stored = stored
        self.view: Job = stored.view
        self.pods = list(pods)
        self.removing = removing
        self.now_ns = now_ns
        self.status: dict[str, Any] = dict(stored.raw.get("status") or {})
        uncounted = self.status.get("uncountedTerminatedPods") or {}
        self.uncounted_succeeded: list[str] = list(uncounted.get("succeeded") or ())
        self.uncounted_failed: list[str] = list(uncounted.get("failed") or ())
        self.conditions: list[Condition] = list(self.status.get("conditions") or ())
        self.active_pods = [pod for pod in self.pods if pod_rules.is_active(pod.view)]
        self.active = len(self.active_pods)
        self.ready = sum(pod_rules.is_ready(pod.view) for pod in self.active_pods)
        self.terminating = sum(pod_rules.is_terminating(pod.view) for pod in self.pods)
        self.end: Condition | None = None
        self.succeeded_before = self.succeeded_indexes = Indexes()
        self.failed_indexes: Indexes | None = None
        self.waiting_per_index: dict[int, StoredObject] = {}
        new_succeeded = self._valid(
            dict.fromkeys(self.uncounted_succeeded), lambda pod: pod.view.status.phase == "Succeeded"
        )
        new_failed = self._valid(dict.fromkeys(self.uncounted_failed), self.is_failed)
        counted = [pod for pod in new_failed if self.judge(pod).counts]
        self.succeeded = self.view.status.succeeded + len(new_succeeded) + len(self.uncounted_succeeded)
        self.failed = self.view.status.failed + len(counted) + len(self.uncounted_failed)
        self.record = record.after(new_succeeded, new_failed)

    # --- The Job -----------------------------------------------------------------------------------------------------

    @property
    def is_indexed(self) -> bool:
        return self.view.spec.completion_mode == "Indexed"

    @property
    def completions(self) -> int:
        return self.view.spec.completions or 0

    @property
    def is_per_index(self) -> bool:
        return self.view.spec.backoff_limit_per_index is not None

    @property
    def replaces_failed_only(self) -> bool:
        """Whether a pod that is on its way out is not replaced before it has ended."""
        return self.view.spec.pod_replacement_policy == "Failed" or self.view.spec.pod_failure_policy is not None

    def condition(self, kind: str) -> Condition | None:
        """Return a condition that holds."""
        found = find_condition(self.conditions, kind)
        return found if found is not None and found["status"] == "True" else None

    def ensure_condition(self, kind: str, status: str, reason: str, message: str) -> bool:
        """Set a condition; returns whether that is new. What never held need not be denied."""
        new = new_condition(kind, status, reason, message, self.now_ns)
        for position, known in enumerate(self.conditions):
            if known["type"] == kind:
                if all(known.get(key, "") == new[key] for key in ("status", "reason", "message")):
                    return False
                self.conditions[position] = new
                return True
        if status == "False":
            return False
        self.conditions.append(new)
        return True

    # --- Its pods ----------------------------------------------------------------------------------------------------

    def is_failed(self, pod: StoredObject) -> bool:
        """Whether a pod counts as failed."""
        view: Pod = pod.view
        if view.status.phase == "Failed":
            return True
        going = view.metadata.deletion_timestamp is not None and view.status.phase != "Succeeded"
        return going and not self.replaces_failed_only

    def judge(self, pod: StoredObject) -> Verdict:
        """Return what a pod's failure means."""
        return judge_failure(self.view.spec.pod_failure_policy, pod)

    def has_valid_index(self, pod: StoredObject) -> bool:
        """Whether a pod is for one of the completions."""
        return UNKNOWN < index_of(pod) < self.completions

    def _valid(self, uncounted: Mapping[str, None], matches: Callable[[StoredObject], bool]) -> list[StoredObject]:
        """Return pods that are not counted yet."""
        return [
            pod
            for pod in self.pods
            if is_tracked(pod)
            and pod.uid not in uncounted
            and pod.uid not in self.removing
            and (not self.is_indexed or self.has_valid_index(pod))
            and matches(pod)
        ]

    def failure_message(self) -> str:
        """Return why a pod's failure ends the whole Job, if one's does."""
        if self.view.spec.pod_failure_policy is None:
            return ""
        messages = (self.judge(pod).message for pod in self.pods if self.is_failed(pod))
        return next(filter(None, messages), "")

    # --- Indexes -----------------------------------------------------------------------------------------------------

    def count_indexes(self) -> None:
        """Find out which completions have succeeded and failed."""
        completions = self.completions
        self.succeeded_before = Indexes.parse(self.view.status.completed_indexes, completions)
        new = [
            index_of(pod)
            for pod in self.pods
            if pod.view.status.phase == "Succeeded" and self.has_valid_index(pod) and is_tracked(pod)
        ]
        self.succeeded_indexes = self.succeeded_before | Indexes.of(new)
        self.succeeded = len(self.succeeded_indexes)
        if self.is_per_index:
            known = Indexes.parse(self.view.status.failed_indexes or "", completions)
            failed = (pod for pod in self.pods if self.has_valid_index(pod) and is_tracked(pod))
            self.failed_indexes = known | Indexes.of(index_of(pod) for pod in failed if self._fails_index(pod))

    def _fails_index(self, pod: StoredObject) -> bool:
        if not self.is_failed(pod):
            return False
        verdict = self.judge(pod)
        if verdict.action == "FailIndex":
            return True
        return verdict.counts and failures_of(pod) >= (self.view.spec.backoff_limit_per_index or 0)

    def find_waiting(self) -> None:
        """Find the last failed pod of each index that waits for its next try: it is kept until that is made."""
        active = {index_of(pod): None for pod in self.active_pods}
        for pod in self._valid({}, self.is_failed):
            index = index_of(pod)
            failed = self.failed_indexes is not None and index in self.failed_indexes
            if index in self.succeeded_indexes or failed or index in active:
                continue
            known = self.waiting_per_index.get(index)
            if known is None or (
                all_failures_of(known) <= all_failures_of(pod) and finished_ns(pod) >= finished_ns(known)
            ):
                self.waiting_per_index[index] = pod

    def first_pending_indexes(self, count: int) -> list[int]:
        """Return indexes for which there is no pod and none is needed yet."""
        active = [index_of(pod) for pod in self.active_pods]
        if self.replaces_failed_only:
            active += [index_of(pod) for pod in self.pods if pod_rules.is_terminating(pod.view)]
        taken = self.succeeded_indexes | Indexes.of(index for index in active if index != UNKNOWN)
        if self.failed_indexes is not None:
            taken |= self.failed_indexes
        pending = taken.missing(self.completions)
        return [index for _, index in zip(range(count), pending, strict=False)]

    # --- The status --------------------------------------------------------------------------------------------------

    def drafted(self) -> dict[str, Any]:
        """Return the status as it is to be written."""
        uncounted = {"succeeded": self.uncounted_succeeded, "failed": self.uncounted_failed}
        status = {**self.status, "conditions": self.conditions}
        status["uncountedTerminatedPods"] = {name: list(uids) for name, uids in uncounted.items() if uids}
        for name in ("active", "succeeded", "failed", "completedIndexes", "conditions"):
            if not status.get(name):
                status.pop(name, None)
        return status

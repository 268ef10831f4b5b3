"""The pods of a Job: how they are made, which go first, and the finalizer that keeps them until they are counted.

Mirrors: manageJob and activePodsForRemoval of pkg/controller/job/job_controller.go, indexed_job_utils.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import Object, StoredObject
from schedlab.client.protocol import Write
from schedlab.controllers.framework import kinds
from schedlab.controllers.framework.pod_control import pod_from_template
from schedlab.controllers.framework.pods import sort_for_deletion
from schedlab.controllers.job import indexes
from schedlab.controllers.job.indexes import UNKNOWN, index_of
from schedlab.controllers.job.state import TRACKING, JobState

_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_GENERATED_LENGTH_MAX: Final = 58


def creation(state: JobState, index: int = UNKNOWN) -> Write:
    """Return the creation of a pod (for an index)."""
    job = state.stored
    pod = pod_from_template(job.raw["spec"]["template"], job, kinds.JOB)
    metadata = pod["metadata"]
    finalizers = metadata.get("finalizers") or []
    metadata["finalizers"] = finalizers if TRACKING in finalizers else [*finalizers, TRACKING]
    if index != UNKNOWN:
        _set_index(state, pod, index)
    return Write("create", "pods", job.namespace, "", pod)


def _set_index(state: JobState, pod: Object, index: int) -> None:
    name, metadata = state.stored.name, pod["metadata"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), indexes.INDEX: str(index)}
    metadata["labels"] = {**(metadata.get("labels") or {}), indexes.INDEX: str(index)}
    tail = f"-{index}-"
    metadata["generateName"] = name[: _GENERATED_LENGTH_MAX - len(tail)] + tail
    if state.is_per_index:
        metadata["annotations"] |= _failure_counts(state, state.waiting_per_index.get(index))
    spec = {**pod["spec"], "hostname": f"{name}-{index}"}
    for key in ("initContainers", "containers"):
        if spec.get(key):
            spec[key] = [_with_index_variable(container) for container in spec[key]]
    pod["spec"] = spec


def _with_index_variable(container: Mapping[str, Any]) -> Mapping[str, Any]:
    variables = container.get("env") or []
    if any(variable["name"] == _INDEX_VARIABLE for variable in variables):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{indexes.INDEX}']"}}
    return {**container, "env": [*variables, {"name": _INDEX_VARIABLE, "valueFrom": source}]}


def _failure_counts(state: JobState, replaced: StoredObject | None) -> dict[str, str]:
    failures = ignored = 0
    if replaced is not None:
        failures = indexes.failures_of(replaced)
        ignored = indexes.failures_of(replaced, ignored=True)
        if state.judge(replaced).counts:
            failures += 1
        else:
            ignored += 1
    counts = {indexes.FAILURE_COUNT: str(failures)}
    return {**counts, indexes.IGNORED_FAILURE_COUNT: str(ignored)} if ignored else counts


def without_tracking(pod: StoredObject) -> Write:
    """Return the removal of the finalizer from a pod."""
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}}
    return Write("patch", "pods", pod.namespace, pod.name, patch, patch_type="strategic")


def to_remove(state: JobState, count: int) -> list[StoredObject]:
    """Return at least so many active pods, those first that are for no index or for one that has another pod."""
    removed: list[StoredObject] = []
    left = list(state.active_pods)
    if state.is_indexed:
        removed, left = _duplicates(state)
    missing = count - len(removed)
    if missing > 0:
        removed += _in_order(left)[:missing]
    return removed


def _duplicates(state: JobState) -> tuple[list[StoredObject], list[StoredObject]]:
    by_index: dict[int, list[StoredObject]] = {}
    for pod in sorted(state.active_pods, key=index_of):
        by_index.setdefault(index_of(pod), []).append(pod)
    removed: list[StoredObject] = []
    left: list[StoredObject] = []
    for index, same in by_index.items():
        if index == UNKNOWN or index >= state.completions:
            removed += same
        else:
            ordered = _in_order(same)
            removed += ordered[:-1]
            left.append(ordered[-1])
    return removed, left


def _in_order(pods: Sequence[StoredObject]) -> list[StoredObject]:
    return [pods[position] for position in sort_for_deletion(pods)]

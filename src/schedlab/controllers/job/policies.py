"""What the failure of a pod means for its Job, and when a Job counts as a success.

Mirrors: pkg/controller/job/{pod_failure_policy,success_policy}.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from schedlab.api.object import StoredObject
from schedlab.api.views.workloads import ExitCodes, PodFailurePolicy, PodFailureRule, SuccessPolicy
from schedlab.controllers.job.indexes import Indexes


class Verdict(NamedTuple):
    """How a failed pod is to be taken; `message` says why the whole Job fails."""

    counts: bool = True
    action: str = ""
    message: str = ""


def judge_failure(policy: PodFailurePolicy | None, pod: StoredObject, *, per_index: bool = True) -> Verdict:
    """Return what the first rule that fits says; without one the failure counts."""
    for index, rule in enumerate(policy.rules if policy is not None else ()):
        cause = _cause(rule, pod)
        if not cause or (rule.action == "FailIndex" and not per_index):
            continue
        if rule.action == "Ignore":
            return Verdict(counts=False, action=rule.action)
        if rule.action == "FailJob":
            return Verdict(action=rule.action, message=f"{cause} matching {rule.action} rule at index {index}")
        return Verdict(action=rule.action)
    return Verdict()


def _cause(rule: PodFailureRule, pod: StoredObject) -> str:
    """Return what in the pod fits the rule, in words."""
    status: Mapping[str, Any] = pod.raw.get("status") or {}
    if rule.on_exit_codes is not None:
        return _exit_cause(rule.on_exit_codes, pod, status)
    patterns = [(pattern.type, pattern.status) for pattern in rule.on_pod_conditions]
    for condition in status.get("conditions") or ():
        if (condition["type"], condition["status"]) in patterns:
            return f"Pod {pod.key} has condition {condition['type']}"
    return ""


def _exit_cause(wanted: ExitCodes, pod: StoredObject, status: Mapping[str, Any]) -> str:
    found = _find_exit(wanted, status.get("containerStatuses") or ())
    if found is None:
        found = _find_exit(wanted, status.get("initContainerStatuses") or ())
    if found is None:
        return ""
    code = found["state"]["terminated"]["exitCode"]
    return f"Container {found['name']} for pod {pod.key} failed with exit code {code}"


def _find_exit(wanted: ExitCodes, containers: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    for container in containers:
        terminated = (container.get("state") or {}).get("terminated")
        if terminated is None or wanted.container_name not in (None, container["name"]):
            continue
        code = terminated.get("exitCode", 0)
        if code and (code in wanted.values) == (wanted.operator == "In"):
            return container
    return None


def success_message(policy: SuccessPolicy | None, completions: int, succeeded: Indexes) -> str:
    """Return which rule of a success policy is met, in words; empty when none is."""
    if policy is None or not succeeded.intervals:
        return ""
    for index, rule in enumerate(policy.rules):
        if rule.succeeded_indexes is not None:
            required = Indexes.parse(rule.succeeded_indexes, completions)
            overlap = required.overlap(succeeded)
            met = overlap == len(required) or (rule.succeeded_count is not None and overlap >= rule.succeeded_count)
            if required.intervals and met:
                return f"Matched rules at index {index}"
        elif rule.succeeded_count is not None and len(succeeded) >= rule.succeeded_count:
            return f"Matched rules at index {index}"
    return ""

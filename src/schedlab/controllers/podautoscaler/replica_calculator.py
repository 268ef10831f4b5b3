"""How many replicas the measured usage asks for.

    wanted = ceil(usage / target × ready pods), and nothing changes while usage / target is within the tolerance of 1

Pods without a measurement, and pods that are not ready yet, are taken so that they damp the change.

Mirrors: pkg/controller/podautoscaler/replica_calculator.go, metrics/{client,utilization}.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Container, Pod
from schedlab.apimachinery.quantity import parse_milli
from schedlab.apimachinery.time import parse_time
from schedlab.client.resource_metrics import PodMetrics
from schedlab.controllers.framework.controller import SyncError
from schedlab.kernel.clock import SECOND_NS

CPU_INITIALIZATION_NS: Final = 300 * SECOND_NS
INITIAL_READINESS_NS: Final = 30 * SECOND_NS
TOLERANCE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Tolerances:
    """By how much usage may differ from its target before something is done about it."""

    down: float = TOLERANCE
    up: float = TOLERANCE

    def allow(self, ratio: float) -> bool:
        """Whether a ratio of usage to target is near enough to 1."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


@dataclass(frozen=True, slots=True)
class Measured:
    """One value in thousandths, and when and over which time it was measured."""

    milli: int
    measured_ns: int
    window_ns: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """How many replicas a metric asks for; the average usage in thousandths, and in percent of the requests."""

    replicas: int
    average_milli: int
    utilization: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a metric is about: a resource of the pods of an autoscaler, or of one container of each."""

    resource: str
    container: str
    replicas: int
    tolerances: Tolerances


@dataclass(frozen=True, slots=True)
class _Groups:
    """Pods by what their metrics are worth."""

    ready: int
    unready: Sequence[str]
    missing: Sequence[str]
    ignored: Sequence[str]


def read_metrics(metrics: Sequence[PodMetrics], question: Question) -> dict[str, Measured]:
    """Return the values of pods, by their names; a pod of which a container has none has none."""
    if not metrics:
        raise SyncError("no metrics returned from resource metrics API")
    found: dict[str, Measured] = {}
    for each in metrics:
        if not question.container:
            values = [usage.milli(question.resource) for usage in each.containers.values()]
        elif question.container in each.containers:
            values = [each.containers[question.container].milli(question.resource)]
        else:
            place = f"{each.pod.namespace}/{each.pod.name}"
            raise SyncError(
                f"failed to get container metrics: container {question.container} not present in metrics for pod {place}"
            )
        known = [value for value in values if value is not None]
        if values and len(known) == len(values):
            found[each.pod.name] = Measured(sum(known), each.measured_ns, each.window_ns)
    return found


def by_utilization(
    metrics: dict[str, Measured], pods: Sequence[StoredObject], target: int, question: Question, now_ns: int
) -> Proposal:
    """Answer for a target in percent of what the pods request."""
    groups = _usable(metrics, pods, question, now_ns)
    requests = _requests(pods, question)
    ratio, utilization, average = _utilization(metrics, requests, target)
    rising = bool(groups.unready) and ratio > 1.0
    if not rising and not groups.missing:
        replicas = question.replicas if question.tolerances.allow(ratio) else math.ceil(ratio * groups.ready)
        return Proposal(replicas, average, utilization)
    if groups.missing and ratio != 1.0:
        fallback = max(100, target)
        for name in groups.missing:
            _assume(metrics, name, requests[name] * fallback // 100 if ratio < 1.0 else 0)
    if rising:
        for name in groups.unready:
            _assume(metrics, name, 0)
    changed, _, _ = _utilization(metrics, requests, target)
    return Proposal(_damped(ratio, changed, len(metrics), question), average, utilization)


def by_average(
    metrics: dict[str, Measured], pods: Sequence[StoredObject], target: int, question: Question, now_ns: int
) -> Proposal:
    """Answer for a target that each pod should use on average, in thousandths."""
    groups = _usable(metrics, pods, question, now_ns)
    ratio, average = _average(metrics, target)
    rising = bool(groups.unready) and ratio > 1.0
    if not rising and not groups.missing:
        replicas = question.replicas if question.tolerances.allow(ratio) else math.ceil(ratio * groups.ready)
        return Proposal(replicas, average)
    for name in groups.missing:
        _assume(metrics, name, target if ratio < 1.0 else 0)
    if rising:
        for name in groups.unready:
            _assume(metrics, name, 0)
    changed, _ = _average(metrics, target)
    return Proposal(_damped(ratio, changed, len(metrics), question), average)


def _damped(ratio: float, changed: float, pods: int, question: Question) -> int:
    """Return the replicas for the ratio that counts assumptions in, unless they would turn the direction."""
    current = question.replicas
    if question.tolerances.allow(changed) or (ratio < 1.0 < changed) or (changed < 1.0 < ratio):
        return current
    replicas = math.ceil(changed * pods)
    if (changed < 1.0 and replicas > current) or (changed > 1.0 and replicas < current):
        return current
    return replicas


def _assume(metrics: dict[str, Measured], name: str, milli: int) -> None:
    metrics[name] = Measured(milli, 0, 0)


def _usable(metrics: dict[str, Measured], pods: Sequence[StoredObject], question: Question, now_ns: int) -> _Groups:
    """Take the metrics of pods that do not count out of `metrics`."""
    if not pods:
        raise SyncError("no pods returned by selector while calculating replica count")
    groups = _group(metrics, pods, question.resource, now_ns)
    for name in (*groups.ignored, *groups.unready):
        metrics.pop(name, None)
    if not metrics:
        raise SyncError("did not receive metrics for targeted pods (pods might be unready)")
    return groups


def _group(metrics: Mapping[str, Measured], pods: Iterable[StoredObject], resource: str, now_ns: int) -> _Groups:
    ready = 0
    unready: list[str] = []
    missing: list[str] = []
    ignored: list[str] = []
    for pod in pods:
        view: Pod = pod.view
        if view.metadata.deletion_timestamp is not None or view.status.phase == "Failed":
            ignored.append(pod.name)
        elif view.status.phase == "Pending":
            unready.append(pod.name)
        elif pod.name not in metrics:
            missing.append(pod.name)
        elif resource == "cpu" and _is_unready(view, metrics[pod.name], now_ns):
            unready.append(pod.name)
        else:
            ready += 1
    return _Groups(ready, unready, missing, ignored)


def _is_unready(pod: Pod, measured: Measured, now_ns: int) -> bool:
    """Whether what a pod used of the CPU does not tell what it will use: it is starting."""
    condition = pod.status.condition("Ready")
    if condition is None or not pod.status.start_time:
        return True
    start_ns = parse_time(pod.status.start_time)
    changed_ns = parse_time(condition.last_transition_time) if condition.last_transition_time else 0
    is_down = condition.status == "False"
    if start_ns + CPU_INITIALIZATION_NS > now_ns:
        return is_down or measured.measured_ns < changed_ns + measured.window_ns
    return is_down and start_ns + INITIAL_READINESS_NS > changed_ns


def _requests(pods: Iterable[StoredObject], question: Question) -> dict[str, int]:
    """Return what each pod requests, in thousandths."""
    return {pod.name: _request(pod.view, question) for pod in pods}


def _request(pod: Pod, question: Question) -> int:
    whole = pod.spec.resources
    if whole is not None and whole.requests and not question.container:
        return parse_milli(whole.requests.get(question.resource, "0"))
    total = 0
    for container in _long_running(pod):
        if question.container and container.name != question.container:
            continue
        amount = container.resources.requests.get(question.resource)
        if amount is None:
            raise SyncError(
                f"missing request for {question.resource} in container {container.name} of Pod {pod.metadata.name}"
            )
        total += parse_milli(amount)
    return total


def _long_running(pod: Pod) -> Iterable[Container]:
    yield from pod.spec.containers
    yield from (each for each in pod.spec.init_containers if each.restart_policy == "Always")


def _utilization(metrics: Mapping[str, Measured], requests: Mapping[str, int], target: int) -> tuple[float, int, int]:
    """Return the ratio to the target, the percentage of the requests and the average."""
    known = [(each.milli, requests[name]) for name, each in metrics.items() if name in requests]
    used, requested = sum(milli for milli, _ in known), sum(request for _, request in known)
    if not requested:
        raise SyncError("no metrics returned matched known pods")
    utilization = used * 100 // requested
    return utilization / target, utilization, used // len(known)


def _average(metrics: Mapping[str, Measured], target: int) -> tuple[float, int]:
    average = sum(each.milli for each in metrics.values()) // len(metrics)
    return average / target, average

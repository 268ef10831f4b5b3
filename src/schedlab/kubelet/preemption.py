"""Room for critical pods: where only resources are missing, a kubelet ends other pods instead of refusing them.

Guaranteed pods go only for what all others together do not free, Burstable ones only for what BestEffort ones do not; of
those of a class first the one that frees the largest part of what is missing.

Mirrors: pkg/kubelet/preemption/preemption.go, Preemptable of pkg/kubelet/types/pod_update.go (v1.36).
Differs: of pods that are equally good the last one by name goes, where upstream takes any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from schedlab.api.object import StoredObject
from schedlab.api.rules.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, qos_class
from schedlab.api.rules.requests import CPU, MEMORY, pod_requests
from schedlab.api.views.core import Node, Pod
from schedlab.kubelet import status
from schedlab.kubelet.admission import NodeAccount, Rejection, is_static, rejections

REASON: Final = "Preempting"
MESSAGE: Final = "Preempted in order to admit critical pod"
#: Priorities from here on are those of critical pods.
CRITICAL: Final = 2_000_000_000

#: How much of each resource is missing.
_Missing: TypeAlias = Mapping[str, int]


def is_critical(pod: Pod) -> bool:
    """Whether a node makes room for a pod."""
    return is_static(pod) or (pod.spec.priority or 0) >= CRITICAL


def make_room(
    pod: Pod, node: Node, account: NodeAccount, others: Iterable[StoredObject]
) -> Rejection | Sequence[StoredObject]:
    """Return the pods that have to go for a critical pod that was refused, or why it is refused nevertheless."""
    found = list(rejections(pod, node, account))
    final = next((each for each in found if not each.resource), None)
    if final is not None:
        return final
    missing = {each.resource: each.missing for each in found}
    classes: dict[str, list[StoredObject]] = {BEST_EFFORT: [], BURSTABLE: [], GUARANTEED: []}
    for other in sorted(others, key=lambda each: each.key):
        if _may_preempt(pod, other.view):
            classes[qos_class(other.view)].append(other)
    best_effort, burstable, guaranteed = classes.values()
    if left := _left(missing, [*best_effort, *burstable, *guaranteed]):
        told = "".join(f"(res: {name}, q: {amount}), " for name, amount in left.items())
        return Rejection(
            "UnexpectedAdmissionError",
            "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods "
            f"to preempt: no set of running pods found to reclaim resources: [{told}]",
        )
    last = _nearest(guaranteed, _left(missing, [*best_effort, *burstable]))
    later = _nearest(burstable, _left(missing, [*best_effort, *last]))
    return [*_nearest(best_effort, _left(missing, [*later, *last])), *later, *last]


def preempted_status(pod: Mapping[str, Any], now: str) -> dict[str, Any]:
    """Return the status of a pod that had to go."""
    report = status.ended_status(pod, "Failed", now)
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": "Pod was preempted by Kubelet to accommodate a critical pod.",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "observedGeneration": report["observedGeneration"],
    }
    conditions = status.merge_conditions(report["conditions"], [condition])
    return {**report, "reason": REASON, "message": MESSAGE, "conditions": conditions}


def _may_preempt(pod: Pod, other: Pod) -> bool:
    if not is_critical(other):
        return True
    own, its = pod.spec.priority, other.spec.priority
    return own is not None and its is not None and own > its


def _request(pod: Pod, resource: str) -> int:
    return 1 if resource == "pods" else pod_requests(pod).get(resource, 0)


def _left(missing: _Missing, pods: Iterable[StoredObject]) -> dict[str, int]:
    """Return what is still missing without some pods."""
    gone = list(pods)
    left = {name: amount - sum(_request(each.view, name) for each in gone) for name, amount in missing.items()}
    return {name: amount for name, amount in left.items() if amount > 0}


def _nearest(pods: Sequence[StoredObject], missing: _Missing) -> list[StoredObject]:
    """Return pods that free what is missing, one after the other the nearest to it, of equally near ones the smallest."""
    rest, chosen = list(pods), []
    while missing:
        # Of equal ones the last; there are enough, as all together free what is missing.
        best = min(reversed(rest), key=lambda each: (_distance(each.view, missing), *_size(each.view)))
        rest.remove(best)
        chosen.append(best)
        missing = _left(missing, [best])
    return chosen


def _distance(pod: Pod, missing: _Missing) -> float:
    """Return how far a pod is from freeing everything: each resource counts the same, by its part that would be left."""
    return sum(max(amount - _request(pod, name), 0) ** 2 / amount**2 for name, amount in missing.items())


def _size(pod: Pod) -> tuple[int, int]:
    return _request(pod, MEMORY), _request(pod, CPU)

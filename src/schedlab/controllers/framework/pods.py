"""What controllers ask of a pod: is it alive, ready, available; which of several should go first.

Mirrors: pkg/api/v1/pod/util.go, ActivePods, ActivePodsWithRanks and FindMinNextPodAvailabilityCheck of
pkg/controller/controller_utils.go (v1.36).
Differs: nothing. The logarithm of an age is taken of the whole number, as Go truncates it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from typing import Final

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Pod
from schedlab.apimachinery.time import parse_time
from schedlab.kernel.clock import SECOND_NS

FINISHED: Final = ("Succeeded", "Failed")
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_INT32_MAX: Final = 2**31 - 1


def is_finished(pod: Pod) -> bool:
    """Whether all its containers have ended for good."""
    return pod.status.phase in FINISHED


def is_active(pod: Pod) -> bool:
    """Whether it neither ended nor is asked to."""
    return pod.status.phase not in FINISHED and pod.metadata.deletion_timestamp is None


def is_terminating(pod: Pod) -> bool:
    """Whether it is asked to end and has not yet."""
    return pod.status.phase not in FINISHED and pod.metadata.deletion_timestamp is not None


def is_ready(pod: Pod) -> bool:
    """Whether its Ready condition holds."""
    for condition in pod.status.conditions:
        if condition.type == "Ready":
            return condition.status == "True"
    return False


def ready_ns(pod: Pod) -> int:
    """Return since when it is ready; 0 when it is not, or does not say."""
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status == "True":
            return parse_time(condition.last_transition_time) if condition.last_transition_time else 0
    return 0


def is_available(pod: Pod, min_ready_s: int, now_ns: int) -> bool:
    """Whether it has been ready for so long."""
    if not is_ready(pod):
        return False
    if not min_ready_s:
        return True
    since_ns = ready_ns(pod)
    return bool(since_ns) and since_ns + min_ready_s * SECOND_NS <= now_ns


def next_availability_ns(pods: Iterable[Pod], min_ready_s: int, now_ns: int) -> int | None:
    """Return after what time the next of the ready pods becomes available."""
    if min_ready_s <= 0:
        return None
    since = (ready_ns(pod) for pod in pods)
    delays = [each + min_ready_s * SECOND_NS - now_ns for each in since if each]
    return min((delay for delay in delays if delay > 0), default=None)


def creation_ns(obj: StoredObject) -> int:
    """Return when an object was made, 0 when it does not say."""
    created: str | None = obj.view.metadata.creation_timestamp
    return parse_time(created) if created else 0


def sort_for_deletion(pods: Sequence[StoredObject], ranks: Sequence[int] | None = None, now_ns: int = 0) -> list[int]:
    """Return the positions of pods in the order in which they should be deleted.

    Without ranks as a Job does it, by their age; with ranks (how many pods of the same owner are on the pod's node) as a
    ReplicaSet does it: by deletion cost and rank, too, and by the order of magnitude of ages.
    """
    order = _by_rank(ranks, now_ns) if ranks is not None else _by_age
    facts = [_Facts(index, pod) for index, pod in enumerate(pods)]
    facts.sort(key=cmp_to_key(order))
    return [each.index for each in facts]


class _Facts:
    """What of a pod decides on its place."""

    __slots__ = ("assigned", "cost", "created_ns", "index", "phase", "ready", "ready_ns", "restarts", "uid")

    def __init__(self, index: int, stored: StoredObject) -> None:
        pod: Pod = stored.view
        self.index = index
        self.uid = stored.uid
        self.assigned = bool(pod.spec.node_name)
        self.phase = _PHASES.get(pod.status.phase, 0)
        self.ready = is_ready(pod)
        self.cost = _cost(pod)
        self.ready_ns = ready_ns(pod)
        self.restarts = _restarts(pod)
        self.created_ns = creation_ns(stored)


def _by_rank(ranks: Sequence[int], now_ns: int) -> Callable[[_Facts, _Facts], int]:
    def order(one: _Facts, other: _Facts) -> int:
        first = _compare(
            (one.assigned, one.phase, one.ready, one.cost, -ranks[one.index]),
            (other.assigned, other.phase, other.ready, other.cost, -ranks[other.index]),
        )
        if first:
            return first
        if one.ready and one.ready_ns != other.ready_ns:
            return _younger_first(one, other, one.ready_ns, other.ready_ns, now_ns)
        if one.restarts != other.restarts:
            return _compare(other.restarts, one.restarts)
        if one.created_ns != other.created_ns:
            return _younger_first(one, other, one.created_ns, other.created_ns, now_ns)
        return 0

    return order


def _by_age(one: _Facts, other: _Facts) -> int:
    # 0, a time that is not known, comes first; else the later time does.
    return _compare(
        (one.assigned, one.phase, one.ready, bool(one.ready_ns), -one.ready_ns),
        (other.assigned, other.phase, other.ready, bool(other.ready_ns), -other.ready_ns),
    ) or _compare(
        (tuple(-each for each in one.restarts), bool(one.created_ns), -one.created_ns),
        (tuple(-each for each in other.restarts), bool(other.created_ns), -other.created_ns),
    )


def _younger_first(one: _Facts, other: _Facts, one_ns: int, other_ns: int, now_ns: int) -> int:
    if not one_ns or not other_ns:
        return _compare(one_ns, other_ns)
    difference = _magnitude(now_ns - one_ns) - _magnitude(now_ns - other_ns)
    return difference or _compare(one.uid, other.uid)


def _magnitude(age_ns: int) -> int:
    return age_ns.bit_length() - 1 if age_ns > 0 else -1


def _compare(one: object, other: object) -> int:
    return 0 if one == other else -1 if one < other else 1  # type: ignore[operator] # tuples of equal shape


def _cost(pod: Pod) -> int:
    text = pod.metadata.annotations.get(_DELETION_COST, "")
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or (text[0] == "0" and text != "0"):
        return 0
    value = int(text)
    return value if -_INT32_MAX - 1 <= value <= _INT32_MAX else 0


def _restarts(pod: Pod) -> tuple[int, int]:
    regular = max((status.restart_count for status in pod.status.container_statuses), default=0)
    sidecars = {container.name for container in pod.spec.init_containers if container.restart_policy == "Always"}
    counts = [each.restart_count for each in pod.status.init_container_statuses if each.name in sidecars]
    return regular, max(counts, default=0)

"""The quality-of-service class of a pod.

Mirrors: pkg/apis/core/v1/helper/qos/qos.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from schedlab.api.rules.requests import CPU, MEMORY, exact_amount
from schedlab.api.views.core import Pod, ResourceList, ResourceRequirements

GUARANTEED: Final = "Guaranteed"
BURSTABLE: Final = "Burstable"
BEST_EFFORT: Final = "BestEffort"

_COMPUTE: Final = (CPU, MEMORY)


def qos_class(pod: Pod) -> str:
    """Return the class the pod has, or the one its spec gives it."""
    return pod.status.qos_class or computed_qos_class(pod)


def computed_qos_class(pod: Pod, *, pod_level: bool = True) -> str:
    """Return the class that the spec gives the pod; `pod_level` is the PodLevelResources gate."""
    own = pod.spec.resources
    if pod_level and own is not None:
        # Without any limit of its own a pod is not asked for both of them; it is then never guaranteed anyway.
        limited = not own.limits or _limits_both(own.limits)
        return _class_of([own], limited=limited)
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return _class_of(
        [container.resources for container in containers],
        limited=all(_limits_both(container.resources.limits) for container in containers),
    )


def _class_of(resources: Iterable[ResourceRequirements], *, limited: bool) -> str:
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    for each in resources:
        _add_positive(requests, each.requests)
        _add_positive(limits, each.limits)
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if limited and requests == limits else BURSTABLE


def _limits_both(limits: ResourceList) -> bool:
    return all(name in limits and exact_amount(limits[name]) > 0 for name in _COMPUTE)


def _add_positive(sums: dict[str, int], quantities: ResourceList) -> None:
    for name in _COMPUTE:
        if name in quantities and (amount := exact_amount(quantities[name])) > 0:
            sums[name] = sums.get(name, 0) + amount

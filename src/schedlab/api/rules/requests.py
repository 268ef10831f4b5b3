"""What a pod asks of a node: requests and limits over containers, init containers, sidecars, overhead and resizes.

Sums are exact: amounts are added in billionths, as fine as a quantity can be, and rounded up once at the end.

Mirrors: staging/src/k8s.io/component-helpers/resource/helpers.go and the pod sums of pkg/scheduler/framework/types.go
(v1.36).
Differs: results are integers by resource name (cpu in milli, all else in units), not quantities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Generic, TypeAlias, TypeVar

from schedlab.api.views.core import Container, ContainerStatus, Pod, ResourceList
from schedlab.apimachinery.quantity import NANO, Quantity, parse_cached, parse_milli, parse_value

NonZeroRequest: TypeAlias = tuple[int, int]

CPU: Final = "cpu"
MEMORY: Final = "memory"
HUGE_PAGES_PREFIX: Final = "hugepages-"

DEFAULT_CPU_MILLI: Final = 100
DEFAULT_MEMORY_BYTES: Final = 200 * 1024 * 1024
# What scoring assumes of a container that asks for nothing.
NON_ZERO_DEFAULTS: Final[ResourceList] = {CPU: f"{DEFAULT_CPU_MILLI}m", MEMORY: str(DEFAULT_MEMORY_BYTES)}

POD_RESIZE_PENDING: Final = "PodResizePending"
REASON_INFEASIBLE: Final = "Infeasible"
REASON_DEFERRED: Final = "Deferred"

_INT64_MAX: Final = 2**63 - 1
_NANOS_PER_MILLI: Final = 10**6
_NANOS_PER_UNIT: Final = 10**9


@dataclass(frozen=True, slots=True)
class RequestRules:
    """Which parts of a pod count; the defaults are those of the scheduler with the release's feature gates.

    status: what was allocated and applied counts beside the spec (InPlacePodVerticalScaling).
    pod_level: spec.resources counts (PodLevelResources).
    pod_level_status: status counts for it too (InPlacePodLevelResourcesVerticalScaling).
    container_level, overhead: containers and spec.overhead count.
    """

    status: bool = True
    pod_level: bool = True
    pod_level_status: bool = True
    container_level: bool = True
    overhead: bool = True


SCHEDULER_RULES: Final = RequestRules()
#: Only what the spec says, whatever is applied.
SPEC_RULES: Final = RequestRules(status=False, pod_level_status=False)


def pod_requests(
    pod: Pod, rules: RequestRules = SCHEDULER_RULES, missing: ResourceList | None = None
) -> dict[str, int]:
    """Return what the pod asks for; `missing` stands in for requests that a container does not have."""
    exact = _Sums(pod, exact_amount, 0).requests(rules, missing or {})
    if _all_fit_int64(exact):
        return {name: _rounded_up(name, amount) for name, amount in exact.items()}
    return _values(_Sums(pod, parse_cached, Quantity()).requests(rules, missing or {}))


def pod_limits(pod: Pod, rules: RequestRules = SCHEDULER_RULES) -> dict[str, int]:
    """Return the pod's limits; overhead is added to limits that are not zero."""
    exact = _Sums(pod, exact_amount, 0).limits(rules)
    if _all_fit_int64(exact):
        return {name: _rounded_up(name, amount) for name, amount in exact.items()}
    return _values(_Sums(pod, parse_cached, Quantity()).limits(rules))


def non_zero_request(pod: Pod, rules: RequestRules = SCHEDULER_RULES) -> NonZeroRequest:
    """Return (milli cpu, bytes of memory), with defaults for containers (or pods) that ask for none of them."""
    missing = NON_ZERO_DEFAULTS
    if rules.pod_level and has_pod_level_requests(pod):
        asked = pod_requests(pod, rules)
        missing = {name: amount for name, amount in NON_ZERO_DEFAULTS.items() if name not in asked}
    amounts = pod_requests(pod, rules, missing)
    return amounts.get(CPU, 0), amounts.get(MEMORY, 0)


def amounts_of(quantities: ResourceList) -> dict[str, int]:
    """Return a wire resource list as integers, cpu in milli."""
    return {name: parse_milli(text) if name == CPU else parse_value(text) for name, text in quantities.items()}


def is_pod_level_resource(name: str) -> bool:
    """Whether spec.resources of a pod may speak of the resource."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX)


def has_pod_level_requests(pod: Pod) -> bool:
    """Whether the pod itself, beside its containers, asks for something."""
    return pod.spec.resources is not None and any(map(is_pod_level_resource, pod.spec.resources.requests))


def has_pod_level_limits(pod: Pod) -> bool:
    """Whether the pod itself, beside its containers, has a limit."""
    return pod.spec.resources is not None and any(map(is_pod_level_resource, pod.spec.resources.limits))


def has_pod_level_resources(pod: Pod) -> bool:
    """Whether the pod itself has a request or a limit."""
    return has_pod_level_requests(pod) or has_pod_level_limits(pod)


def is_resize_infeasible(pod: Pod) -> bool:
    """Whether the node said that it can never give what the spec now asks for."""
    return _resize_reason(pod) == REASON_INFEASIBLE


def is_resize_deferred(pod: Pod) -> bool:
    """Whether the node said that it cannot give now what the spec asks for."""
    return _resize_reason(pod) == REASON_DEFERRED


def is_sidecar(container: Container) -> bool:
    """Whether an init container keeps running beside the containers."""
    return container.restart_policy == "Always"


@lru_cache(maxsize=16384)
def exact_amount(text: str) -> int:
    """Return a quantity's text in billionths: exact, since nothing finer is kept."""
    quantity = parse_cached(text)
    billionths: int = quantity.unscaled * 10 ** (quantity.scale - NANO)
    return billionths


# --- The sums ---------------------------------------------------------------------------------------------------------

Number = TypeVar("Number", int, Quantity)


@dataclass(frozen=True, slots=True)
class _Sums(Generic[Number]):
    """The sums of one pod, over exact integers or, where an int64 would overflow, over quantities."""

    pod: Pod
    read: Callable[[str], Number]
    zero: Number

    def requests(self, rules: RequestRules, missing: ResourceList) -> dict[str, Number]:
        pod = self.pod
        own = pod.spec.resources
        sums = self._container_requests(rules, missing) if rules.container_level else {}
        if rules.pod_level and own is not None and has_pod_level_requests(pod):
            effective = None
            if rules.status and rules.pod_level_status and pod.status.resources is not None:
                effective = self._effective_requests(
                    own.requests, pod.status.resources.requests, pod.status.allocated_resources
                )
            sums |= self._pod_level(own.requests, effective)
        if rules.overhead:
            _add(sums, self._amounts(pod.spec.overhead))
        return sums

    def limits(self, rules: RequestRules) -> dict[str, Number]:
        pod = self.pod
        own = pod.spec.resources
        sums = self._container_limits(rules)
        if rules.pod_level and own is not None and has_pod_level_resources(pod):
            effective = None
            if rules.status and rules.pod_level_status and pod.status.resources is not None:
                effective = self._effective_limits(own.limits, pod.status.resources.limits)
            sums |= self._pod_level(own.limits, effective)
        if rules.overhead:
            _add(sums, {name: more for name, more in self._amounts(pod.spec.overhead).items() if sums.get(name)})
        return sums

    def _container_requests(self, rules: RequestRules, missing: ResourceList) -> dict[str, Number]:
        statuses = self._statuses(rules)
        defaults = self._amounts(missing)

        def requests(container: Container) -> dict[str, Number]:
            status = statuses.get(container.name)
            if status is None or status.resources is None:
                amounts = self._amounts(container.resources.requests)
            else:
                amounts = self._effective_requests(
                    container.resources.requests, status.resources.requests, status.allocated_resources
                )
            return {**defaults, **amounts} if defaults else amounts

        return self._aggregate(requests)

    def _container_limits(self, rules: RequestRules) -> dict[str, Number]:
        statuses = self._statuses(rules)

        def limits(container: Container) -> dict[str, Number]:
            status = statuses.get(container.name)
            if status is None or status.resources is None:
                return self._amounts(container.resources.limits)
            return self._effective_limits(container.resources.limits, status.resources.limits)

        return self._aggregate(limits)

    def _aggregate(self, amounts_of_container: Callable[[Container], dict[str, Number]]) -> dict[str, Number]:
        """The containers and sidecars together, or more where an init container with the sidecars before it needs
        more.
        """
        spec = self.pod.spec
        sums: dict[str, Number] = {}
        for container in spec.containers:
            _add(sums, amounts_of_container(container))
        if not spec.init_containers:
            return sums
        sidecars: dict[str, Number] = {}
        starting: dict[str, Number] = {}
        for container in spec.init_containers:
            amounts = amounts_of_container(container)
            if is_sidecar(container):
                _add(sums, amounts)
                _add(sidecars, amounts)
                _raise_to(starting, sidecars)
            else:
                _add(amounts, sidecars)
                _raise_to(starting, amounts)
        _raise_to(sums, starting)
        return sums

    def _statuses(self, rules: RequestRules) -> Mapping[str, ContainerStatus]:
        """By name, of the containers whose applied resources count: init containers that end are none of them."""
        pod: Pod = self.pod
        if not rules.status or not (pod.status.container_statuses or pod.status.init_container_statuses):
            return {}
        ending = {container.name for container in pod.spec.init_containers if not is_sidecar(container)}
        statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
        return {status.name: status for status in statuses if status.name not in ending}

    def _effective_requests(
        self, spec: ResourceList, applied: ResourceList, allocated: ResourceList
    ) -> dict[str, Number]:
        lists = [applied, allocated] if is_resize_infeasible(self.pod) else [spec, applied, allocated]
        return self._greatest(lists)

    def _effective_limits(self, spec: ResourceList, applied: ResourceList) -> dict[str, Number]:
        return self._greatest([applied] if is_resize_infeasible(self.pod) else [spec, applied])

    def _pod_level(self, own: ResourceList, effective: dict[str, Number] | None) -> dict[str, Number]:
        """What the pod's own list puts in place of the containers' sums."""
        names = filter(is_pod_level_resource, own)
        if effective is None:
            return {name: self.read(own[name]) for name in names}
        return {name: effective.get(name, self.zero) for name in names}

    def _greatest(self, lists: Iterable[ResourceList]) -> dict[str, Number]:
        greatest: dict[str, Number] = {}
        for quantities in lists:
            _raise_to(greatest, self._amounts(quantities))
        return greatest

    def _amounts(self, quantities: ResourceList) -> dict[str, Number]:
        return {name: self.read(text) for name, text in quantities.items()}


def _add(sums: dict[str, Number], more: Mapping[str, Number]) -> None:
    for name, amount in more.items():
        sums[name] = sums[name] + amount if name in sums else amount


def _raise_to(sums: dict[str, Number], other: Mapping[str, Number]) -> None:
    for name, amount in other.items():
        if name not in sums or amount > sums[name]:
            sums[name] = amount


def _all_fit_int64(amounts: Mapping[str, int]) -> bool:
    return all(0 <= _rounded_up(name, amount) <= _INT64_MAX for name, amount in amounts.items())


def _rounded_up(name: str, billionths: int) -> int:
    return -(-billionths // (_NANOS_PER_MILLI if name == CPU else _NANOS_PER_UNIT))


def _values(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    """Amounts with upstream's overflow: too big a quantity becomes zero or wraps."""
    return {name: amount.milli_value() if name == CPU else amount.value() for name, amount in quantities.items()}


def _resize_reason(pod: Pod) -> str:
    condition = pod.status.condition(POD_RESIZE_PENDING)
    return condition.reason if condition is not None else ""

"""The search for devices on one node.

    claims -> requests (or alternatives) -> devices: one after the other, first fit, backtracking

Every device that is chosen is noted (in use, counters, capacity, constraints), then the search goes on with what is
needed next; if that fails, the next device is tried. Devices of one request are taken in the order of the pools, so
that no set is tried twice. The first complete solution is taken.

Mirrors: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (v1.36).
Differs: one variant serves every set of features; `DRAListTypeAttributes` is not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from schedlab.api.rules.device_selectors import compile_selector
from schedlab.apimachinery.cel import CelError
from schedlab.scheduler.dra.capacity import consumed_by, fits
from schedlab.scheduler.dra.constraints import Constraint, DistinctAttribute, MatchAttribute
from schedlab.scheduler.dra.counters import Counters
from schedlab.scheduler.dra.requests import ALL, EXACT_COUNT, Request, alternatives
from schedlab.scheduler.dra.results import Chosen, make_result
from schedlab.scheduler.dra.slices import NodeSelectionError, Pool, SliceDevice
from schedlab.scheduler.dra.types import (
    AllocatedState,
    AllocationError,
    Amounts,
    DeviceID,
    add_amounts,
    subtract_capacity,
)

if TYPE_CHECKING:
    from schedlab.api.views.core import Node
    from schedlab.api.views.resource import AllocationResult, DeviceClass, DeviceRequest, DeviceSelector, ResourceClaim
    from schedlab.apimachinery.features import FeatureGates
    from schedlab.scheduler.dra.device_classes import DeviceClasses
    from schedlab.scheduler.dra.slices import Slices

#: How many devices one claim can have.
RESULTS_MAX: Final = 32


class NodeAllocationError(Exception):
    """Nothing was found on this node for a reason worth telling."""


class _TooManyDevicesError(Exception):
    """No solution on this path stays within the limit.

    It never leaves the claim: with the least demanding alternative of each request the limit is kept.
    """


@dataclass(frozen=True, slots=True)
class AllocatorFeatures:
    """What is taken into account; see AllocatorFeatures in dynamicresources.go."""

    admin_access: bool
    prioritized_list: bool
    partitionable_devices: bool
    device_taints: bool
    binding_conditions: bool
    consumable_capacity: bool

    @classmethod
    def of(cls, gates: FeatureGates) -> AllocatorFeatures:
        """Return what the feature gates say."""
        return cls(
            admin_access=gates.enabled("DRAAdminAccess"),
            prioritized_list=gates.enabled("DRAPrioritizedList"),
            partitionable_devices=gates.enabled("DRAPartitionableDevices"),
            device_taints=gates.enabled("DRADeviceTaints"),
            binding_conditions=gates.enabled("DRADeviceBindingConditions")
            and gates.enabled("DRAResourceClaimDeviceStatus"),
            consumable_capacity=gates.enabled("DRAConsumableCapacity"),
        )


class Allocator:
    """Searches for one pod, node by node; nothing that it looks at changes meanwhile."""

    def __init__(
        self,
        features: AllocatorFeatures,
        allocated: AllocatedState,
        classes: DeviceClasses,
        slices: Slices,
        new_share_id: Callable[[], str],
    ) -> None:
        self.features = features
        self.allocated = allocated
        self.classes = classes
        self.new_share_id = new_share_id
        self._slices = slices
        # What is left of the counters of a pool, without what this search takes.
        self.counters_left: dict[str, dict[str, Amounts]] = {}

    def allocate(self, node: Node, claims: Sequence[ResourceClaim]) -> tuple[AllocationResult, ...] | None:
        """Return an allocation for each claim, or None; raises AllocationError and NodeAllocationError."""
        try:
            pools = self._slices.pools_for(node)
        except NodeSelectionError as error:
            raise AllocationError(f"gather pool information: {error}") from None
        try:
            search = _Search(self, node, claims, pools)
            if search.find(_Place(0, 0)):
                return search.results()
        except NodeSelectionError as error:
            raise AllocationError(str(error)) from None
        if any(pool.invalid_reason for pool in pools):
            raise NodeAllocationError("invalid resource pools were encountered")
        return None


class _Place(NamedTuple):
    """What the search looks for: the n-th device of an alternative of a request of a claim.

    `alternative` is None as long as it has to be chosen.
    """

    claim: int
    request: int
    alternative: int | None = None
    device: int = 0


class _Start(NamedTuple):
    """Where in the pools the search for a device begins."""

    pool: int = 0
    slice: int = 0
    device: int = 0


_BEGIN: Final = _Start()


@dataclass(slots=True)
class _ClaimRequest:
    """A request with its alternatives, and which of them was chosen."""

    alternatives: tuple[Request, ...]
    has_alternatives: bool
    chosen: int = 0


class _Search:
    """The state of the search on one node."""

    def __init__(
        self, allocator: Allocator, node: Node, claims: Sequence[ResourceClaim], pools: Sequence[Pool]
    ) -> None:
        self._allocator = allocator
        self._features = allocator.features
        self._node = node
        self._claims = claims
        self._pools = pools
        self._selectable: dict[tuple[int, int], bool] = {}
        # Which claims of the pod are about to get a device.
        self._in_use: dict[DeviceID, dict[int, None]] = {}
        self._capacity: dict[DeviceID, Amounts] = {}
        self._counters = Counters(allocator.allocated, allocator.counters_left)
        self._requests: list[list[_ClaimRequest]] = []
        self._constraints: list[list[Constraint]] = []
        self._chosen: list[list[Chosen]] = [[] for _ in claims]
        for index, claim in enumerate(claims):
            self._requests.append([])
            self._prepare(index, claim)

    def results(self) -> tuple[AllocationResult, ...]:
        """Return the allocations."""
        return tuple(
            make_result(
                claim,
                self._chosen[index],
                [each.alternatives[each.chosen] for each in self._requests[index]],
                self._node.metadata.name,
                with_conditions=self._features.binding_conditions,
            )
            for index, claim in enumerate(self._claims)
        )

    # --- Preparation ---

    def _prepare(self, index: int, claim: ResourceClaim) -> None:
        devices_min = 0
        for request in claim.spec.devices.requests:
            self._check_features(claim, request)
            prepared = _ClaimRequest(alternatives(request), bool(request.first_available))
            self._requests[index].append(prepared)
            for each in prepared.alternatives:
                self._resolve(claim, each)
            devices_min += min(each.count for each in prepared.alternatives)
        if devices_min > RESULTS_MAX:
            raise AllocationError(
                f"claim {_key(claim)}: number of requested devices {devices_min} exceeds the claim limit of {RESULTS_MAX}"
            )
        self._constraints.append(_constraints_of(claim))

    def _check_features(self, claim: ResourceClaim, request: DeviceRequest) -> None:
        key = _key(claim)
        if request.first_available and not self._features.prioritized_list:
            raise AllocationError(
                f"claim {key}, request {request.name}: has subrequests, but the DRAPrioritizedList feature is disabled"
            )
        if self._features.consumable_capacity:
            return
        disabled = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        if request.exactly is not None and request.exactly.capacity is not None:
            raise AllocationError(f"claim {key}, request {request.name}: {disabled}")
        for each in request.first_available:
            if each.capacity is not None:
                raise AllocationError(f"claim {key}, subrequest {each.name}: {disabled}")

    def _resolve(self, claim: ResourceClaim, request: Request) -> None:
        """Find the class of a request, and how many devices it needs."""
        place = f"claim {_key(claim)}, request {request.name}"
        for index, selector in enumerate(request.selectors):
            if selector.cel is None:
                text = f"{place}, selector #{index}: CEL expression empty (unsupported selector type?)"
                raise AllocationError(text)
        if request.speaks_of_admin_access and not self._features.admin_access:
            raise AllocationError(f"{place}: admin access is requested, but the feature is disabled")
        request.device_class = self._class_of(place, request)
        if request.mode == EXACT_COUNT:
            request.count = request.spec.count
        elif request.mode == ALL:
            request.devices = tuple(self._all_devices(claim, place, request))
            request.count = len(request.devices)
        else:
            raise AllocationError(f"{place}: unsupported count mode {request.mode}")

    def _class_of(self, place: str, request: Request) -> DeviceClass:
        name = request.spec.device_class_name
        if not name:
            raise AllocationError(f"{place}: missing device class name (unsupported request type?)")
        found = self._allocator.classes.get(name)
        if found is None:
            raise AllocationError(
                f'{place}: could not retrieve device class {name}: deviceclass.resource.k8s.io "{name}" not found'
            )
        return found

    def _all_devices(self, claim: ResourceClaim, place: str, request: Request) -> list[SliceDevice]:
        found = []
        for pool in self._pools:
            for is_bad, state in ((pool.is_incomplete, "being updated"), (bool(pool.invalid_reason), "invalid")):
                if is_bad:
                    text = f"{place}: asks for all devices, but resource pool {pool.id} is currently {state}"
                    raise AllocationError(text)
            for each in pool.slices:
                found += [
                    device
                    for device in each.devices
                    if self._is_selectable(claim, request, device) and self._has_capacity(request, device)
                ]
        return found

    # --- Search ---

    def find(self, place: _Place, start: _Start = _BEGIN) -> bool:
        """Find what is missing from a place on; False when there is no solution."""
        if place.claim >= len(self._claims):
            return True
        requests = self._requests[place.claim]
        if place.request >= len(requests):
            return self.find(_Place(place.claim + 1, 0))
        prepared = requests[place.request]
        if place.alternative is None:
            if prepared.has_alternatives:
                return self._find_alternative(place, prepared)
            place = _Place(place.claim, place.request, 0)
        return self._find_device(place, start)

    def _find_alternative(self, place: _Place, prepared: _ClaimRequest) -> bool:
        are_too_many = True
        for index in range(len(prepared.alternatives)):
            try:
                is_found = self.find(_Place(place.claim, place.request, index))
            except _TooManyDevicesError:
                continue
            are_too_many = False
            if is_found:
                prepared.chosen = index
                return True
        if are_too_many:
            raise _TooManyDevicesError
        return False

    def _find_device(self, place: _Place, start: _Start) -> bool:
        assert place.alternative is not None
        request = self._requests[place.claim][place.request].alternatives[place.alternative]
        if request.mode == ALL and not request.devices:
            return False
        if place.device >= request.count:
            return self.find(_Place(place.claim, place.request + 1))
        if len(self._chosen[place.claim]) + request.count - place.device > RESULTS_MAX:
            raise _TooManyDevicesError
        if request.mode == ALL:
            return self._try(place, request, request.devices[place.device], _BEGIN, must=True)
        return self._find_in_pools(place, request, start)

    def _find_in_pools(self, place: _Place, request: Request, start: _Start) -> bool:
        claim = self._claims[place.claim]
        if place.device == 0 and self._are_too_few(place, request):
            return False
        for pool_index in range(start.pool, len(self._pools)):
            pool = self._pools[pool_index]
            if not pool.is_usable:
                continue
            in_first_pool = pool_index == start.pool
            for slice_index in range(start.slice if in_first_pool else 0, len(pool.slices)):
                devices = pool.slices[slice_index].devices
                in_first_slice = in_first_pool and slice_index == start.slice
                for device_index in range(start.device if in_first_slice else 0, len(devices)):
                    device = devices[device_index]
                    if self._is_taken(place.claim, request, device) or not self._is_selectable(claim, request, device):
                        continue
                    if not self._has_capacity(request, device):
                        continue
                    following = _Start(pool_index, slice_index, device_index + 1)
                    if self._try(place, request, device, following, must=False):
                        return True
        return False

    def _are_too_few(self, place: _Place, request: Request) -> bool:
        """Whether there are fewer devices than a request needs, so that none of all the ways to choose among them helps.

        Selectors are asked about devices as the search would ask them, and no further, since one may be in error. It is
        known only where a device that is given up leaves nothing behind.
        """
        claim, lacking = self._claims[place.claim], request.count
        if lacking < 2 or request.capacity is not None:
            return False
        usable = [pool for pool in self._pools if pool.is_usable]
        if not all(pool.is_plain for pool in usable):
            return False
        assert request.device_class is not None
        has_selectors = request.selectors or request.device_class.spec.selectors
        if not has_selectors and sum(pool.device_count for pool in usable) < lacking:
            return True
        for device in (device for pool in usable for one in pool.slices for device in one.devices):
            if not self._is_taken(place.claim, request, device) and self._is_selectable(claim, request, device):
                lacking -= 1
                if not lacking:
                    return False
        return True

    def _try(self, place: _Place, request: Request, device: SliceDevice, following: _Start, *, must: bool) -> bool:
        """Choose a device and find the rest, or give the device up again."""
        if not self._choose(place, request, device, must=must):
            return False
        is_found = False
        try:
            after = _Place(place.claim, place.request, place.alternative, place.device + 1)
            is_found = self.find(after, following)
        finally:
            if not is_found:
                self._give_up(place, request, device)
        return is_found

    # --- One device ---

    def _is_taken(self, claim: int, request: Request, device: SliceDevice) -> bool:
        """Whether the device cannot be chosen; with admin access, only if the claim has it already."""
        users = self._in_use.get(device.id)
        if request.has_admin_access:
            return users is not None and claim in users
        return device.id in self._allocator.allocated.devices or bool(users)

    def _has_capacity(self, request: Request, device: SliceDevice) -> bool:
        if not self._features.consumable_capacity:
            return True
        consumed = self._allocator.allocated.capacity.get(device.id, {})
        if request.capacity is None and device.is_taken_whole and not consumed:
            return True
        return fits(request.capacity, device.device, consumed, self._capacity.get(device.id, {}))

    def _is_selectable(self, claim: ResourceClaim, request: Request, device: SliceDevice) -> bool:
        if device.device.binding_conditions and not self._features.binding_conditions:
            return False
        key = id(request), id(device)
        verdict = self._selectable.get(key)
        if verdict is None:
            verdict = self._selectable[key] = self._matches(claim, request, device)
        return verdict

    def _matches(self, claim: ResourceClaim, request: Request, device: SliceDevice) -> bool:
        chosen = request.device_class
        assert chosen is not None
        if not _all_match(f"class {chosen.metadata.name}", chosen.spec.selectors, device):
            return False
        if not _all_match(f"claim {_key(claim)}", request.selectors, device):
            return False
        return device.is_for(self._node)

    def _is_shared(self, device: SliceDevice) -> bool:
        return self._features.consumable_capacity and device.device.allow_multiple_allocations

    def _choose(self, place: _Place, request: Request, device: SliceDevice, *, must: bool) -> bool:
        """Note a device as chosen if it can be. What was noted on the way stays noted if it cannot, as upstream."""
        is_shared = self._is_shared(device)
        if not (is_shared and request.has_admin_access) and self._is_taken(place.claim, request, device):
            return False
        if device.consumed_counters:
            if not self._features.partitionable_devices:
                return False
            is_counted = is_shared and self._is_capacity_in_use(device)
            if not is_counted and not self._counters.take(self._pool_of(device), device):
                return False
        if self._features.device_taints and not request.tolerates(device):
            return False
        if not self._constrain(place, request, device, must=must):
            return False
        users = self._in_use.setdefault(device.id, {})
        if not is_shared:
            users[place.claim] = None
        if not self._has_capacity(request, device):
            return False
        chosen = Chosen(request, device)
        if is_shared:
            chosen.consumed = consumed_by(request.capacity, device.device)
            chosen.share_id = self._allocator.new_share_id()
            add_amounts(self._capacity.setdefault(device.id, {}), chosen.consumed)
        self._chosen[place.claim].append(chosen)
        return True

    def _constrain(self, place: _Place, request: Request, device: SliceDevice, *, must: bool) -> bool:
        names = request.base_and_sub_name
        constraints = self._constraints[place.claim]
        for index, constraint in enumerate(constraints):
            if constraint.add(*names, device):
                continue
            if must:
                raise AllocationError(
                    f"claim {_key(self._claims[place.claim])}, request {request.name}: cannot add device {device.id} "
                    "because a claim constraint would not be satisfied"
                )
            for earlier in constraints[:index]:
                earlier.remove(*names)
            return False
        return True

    def _give_up(self, place: _Place, request: Request, device: SliceDevice) -> None:
        for constraint in self._constraints[place.claim]:
            constraint.remove(*request.base_and_sub_name)
        chosen = self._chosen[place.claim].pop()
        self._in_use[device.id].pop(place.claim, None)
        if self._is_shared(device):
            if chosen.consumed:
                subtract_capacity(self._capacity, device.id, chosen.consumed)
        elif device.consumed_counters and self._features.partitionable_devices:
            self._counters.give_back(self._pool_of(device), device)

    def _is_capacity_in_use(self, device: SliceDevice) -> bool:
        return device.id in self._allocator.allocated.capacity or device.id in self._capacity

    def _pool_of(self, device: SliceDevice) -> Pool:
        return next(pool for pool in self._pools if pool.id == device.slice.pool)


def _all_match(owner: str, selectors: Sequence[DeviceSelector], device: SliceDevice) -> bool:
    for index, selector in enumerate(selectors):
        assert selector.cel is not None, f"{owner} has a selector without an expression"
        expression = selector.cel.expression
        try:
            compile_selector(expression)
        except CelError as error:
            raise AllocationError(f"{owner}: selector #{index}: CEL compile error: {error}") from None
        try:
            if not device.matches(expression):
                return False
        except CelError as error:
            raise AllocationError(f"{owner}: selector #{index}: CEL runtime error: {error}") from None
    return True


def _constraints_of(claim: ResourceClaim) -> list[Constraint]:
    constraints: list[Constraint] = []
    for index, each in enumerate(claim.spec.devices.constraints):
        if each.match_attribute is not None:
            constraints.append(MatchAttribute(each.requests, each.match_attribute))
        elif each.distinct_attribute is not None:
            constraints.append(DistinctAttribute(each.requests, each.distinct_attribute))
        else:
            text = f"claim {_key(claim)}, constraint #{index}: empty constraint (unsupported constraint type?)"
            raise AllocationError(text)
    return constraints


def _key(claim: ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"

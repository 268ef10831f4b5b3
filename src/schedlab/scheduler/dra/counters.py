"""Counters that devices of a pool share.

Mirrors: checkAvailableCounters and deallocateCountersForDevice in allocator_incubating.go of
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from schedlab.apimachinery.quantity import Quantity
from schedlab.scheduler.dra.types import AllocatedState, Amounts, add_amounts

if TYPE_CHECKING:
    from schedlab.scheduler.dra.slices import Pool, SliceDevice

_NOTHING: Final = Quantity()


class Counters:
    """What a search takes. `left` is shared by the searches of a pod: what others left, by name of the pool."""

    def __init__(self, allocated: AllocatedState, left: dict[str, dict[str, Amounts]]) -> None:
        self._allocated = allocated
        self._left = left
        self._taken: dict[str, dict[str, Amounts]] = {}

    def take(self, pool: Pool, device: SliceDevice) -> bool:
        """Take what a device needs; False when some counter of the pool would not be enough."""
        left = self._left_in(pool)
        taken = self._taken.setdefault(pool.id.pool, {})
        for name, counters in device.consumed_counters:
            add_amounts(taken.setdefault(name, {}), counters)
        for name, available in left.items():
            used = taken.get(name, {})
            if any(amount < used.get(counter, _NOTHING) for counter, amount in available.items()):
                self.give_back(pool, device)
                return False
        return True

    def give_back(self, pool: Pool, device: SliceDevice) -> None:
        """Give it back."""
        taken = self._taken.get(pool.id.pool, {})
        for name, counters in device.consumed_counters:
            used = taken.setdefault(name, {})
            for counter, amount in counters.items():
                used[counter] = used.get(counter, _NOTHING) - amount

    def _left_in(self, pool: Pool) -> dict[str, Amounts]:
        name = pool.id.pool
        left = self._left.get(name)
        if left is None:
            left = self._left[name] = {key: dict(counters) for key, counters in pool.counter_sets.items()}
            for each in (*pool.slices, *pool.other_slices):
                for device in each.devices:
                    if device.consumed_counters and self._allocated.is_allocated(device.id):
                        _subtract(left, device)
        return left


def _subtract(left: dict[str, Amounts], device: SliceDevice) -> None:
    for name, counters in device.consumed_counters:
        available = left.get(name, {})
        for counter, amount in counters.items():
            if counter in available:
                # May fall below nothing, which is as good as nothing.
                available[counter] -= amount

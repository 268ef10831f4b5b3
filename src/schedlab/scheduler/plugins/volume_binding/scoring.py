"""Rating nodes by how full the storage there would be.

Mirrors: pkg/scheduler/framework/plugins/volumebinding/scorer.go, and Score in volume_binding.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from schedlab.api.rules.volumes import claim_class, requested_storage, storage_capacity
from schedlab.apimachinery.quantity import parse_value
from schedlab.scheduler.framework.helpers.shape_score import UTILIZATION_MAX, ShapePoint, broken_linear

if TYPE_CHECKING:
    from schedlab.scheduler.plugins.volume_binding.finding import PodVolumes


def score_volumes(shape: Sequence[ShapePoint], volumes: PodVolumes) -> int:
    """Return the mean over the storage classes, rounded half up; only volumes to be made count where none is there."""
    amounts = amounts_of(volumes)
    if not amounts:
        return 0
    total = sum(score_amount(shape, requested, capacity) for requested, capacity in amounts.values())
    return (2 * total + len(amounts)) // (2 * len(amounts))


def amounts_of(volumes: PodVolumes) -> dict[str, tuple[int, int]]:
    """Return (requested, capacity) by storage class."""
    return _static_amounts(volumes) if volumes.static else _provision_amounts(volumes)


def score_amount(shape: Sequence[ShapePoint], requested: int, capacity: int) -> int:
    """Return how good it is to have so much of a capacity taken."""
    is_full = capacity == 0 or requested > capacity
    return broken_linear(shape, UTILIZATION_MAX if is_full else requested * UTILIZATION_MAX // capacity)


def _static_amounts(volumes: PodVolumes) -> dict[str, tuple[int, int]]:
    """Return (requested, capacity) by storage class."""
    amounts: dict[str, tuple[int, int]] = {}
    for binding in volumes.static:
        name = binding.volume.spec.storage_class_name
        requested, capacity = amounts.get(name, (0, 0))
        amounts[name] = (
            requested + requested_storage(binding.claim).value(),
            capacity + storage_capacity(binding.volume).value(),
        )
    return amounts


def _provision_amounts(volumes: PodVolumes) -> dict[str, tuple[int, int]]:
    """Return (requested, capacity) by storage class; all volumes of a class come from the same capacity."""
    amounts: dict[str, tuple[int, int]] = {}
    for provision in volumes.provisions:
        if provision.capacity is not None:
            name = claim_class(provision.claim)
            requested, _ = amounts.get(name, (0, 0))
            capacity = parse_value(provision.capacity.capacity or "0")
            amounts[name] = requested + requested_storage(provision.claim).value(), capacity
    return amounts

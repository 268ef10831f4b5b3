"""Builds slices, classes and claims, and searches for devices on one node."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from schedlab.api.kinds.resourceclaim import default_claim_spec
from schedlab.api.views.resource import AllocationResult, DeviceClass, ResourceClaim, ResourceSlice
from schedlab.apimachinery.features import FeatureGates
from schedlab.scheduler.dra.allocator import Allocator, AllocatorFeatures
from schedlab.scheduler.dra.device_classes import DeviceClasses
from schedlab.scheduler.dra.slices import Slices
from schedlab.scheduler.dra.types import AllocatedState
from schedlab.testing.builders import make_node
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import Raw, device_class

GPU = device_class("gpu")


def slices_of(manifests: Iterable[Raw], *, with_counters: bool = True) -> Slices:
    slices = Slices(with_counters=with_counters)
    for raw in manifests:
        slices.observe(None, msgspec.convert(raw, ResourceSlice))
    return slices


def claim_view(raw: Raw) -> ResourceClaim:
    """Return a claim as the API server has it: with defaults."""
    raw = copy.deepcopy(raw)
    default_claim_spec(raw["spec"])
    return msgspec.convert(raw, ResourceClaim)


class Bench:
    """An allocator over some slices and classes; `taken` are claims that have their devices already."""

    def __init__(
        self,
        *manifests: Raw,
        classes: Sequence[Raw] = (GPU,),
        taken: Sequence[Raw] = (),
        gates: Mapping[str, bool] | None = None,
    ) -> None:
        features = AllocatorFeatures.of(FeatureGates.default().with_overrides(gates or {}))
        known = DeviceClasses()
        for raw in classes:
            known.observe(None, msgspec.convert(raw, DeviceClass))
        allocated = AllocatedState()
        for raw in taken:
            allocated.add(claim_view(raw), with_shares=features.consumable_capacity)
        ids = iter(f"share-{number}" for number in range(1000))
        slices = slices_of(manifests, with_counters=features.partitionable_devices)
        self.allocator = Allocator(features, allocated, known, slices, lambda: next(ids))

    def results(self, *claims: Raw, node: str = "n", **labels: str) -> tuple[AllocationResult, ...] | None:
        """Return the allocations on a node."""
        view = make_node(node).labels(labels).view()
        return self.allocator.allocate(view, [claim_view(raw) for raw in claims])

    def find(self, *claims: Raw, node: str = "n", **labels: str) -> list[str] | None:
        """Return request=device of all claims; None where there is no solution."""
        found = self.results(*claims, node=node, **labels)
        if found is None:
            return None
        return [f"{each.request}={each.device}" for result in found for each in result.devices.results]


def wire(result: AllocationResult) -> Any:
    """Return an allocation as it is written."""
    return msgspec.json.decode(msgspec.json.encode(result))

"""Allocations as they are written into claims.

Mirrors: the end of Allocate, and createNodeSelector, in allocator_incubating.go of
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from schedlab.api.views.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from schedlab.api.views.resource import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from schedlab.scheduler.dra.types import AllocationError, Amounts

if TYPE_CHECKING:
    from schedlab.api.views.resource import ResourceClaim
    from schedlab.scheduler.dra.requests import Request
    from schedlab.scheduler.dra.slices import SliceDevice

FROM_CLASS: Final = "FromClass"
FROM_CLAIM: Final = "FromClaim"


@dataclass(slots=True)
class Chosen:
    """A device for a request; a share of it has an id."""

    request: Request
    device: SliceDevice
    share_id: str | None = None
    consumed: Amounts = field(default_factory=dict)


def make_result(
    claim: ResourceClaim,
    chosen: Sequence[Chosen],
    requests: Sequence[Request],
    node_name: str,
    *,
    with_conditions: bool,
) -> AllocationResult:
    """Return the allocation of a claim; `requests` are the alternatives that were taken, in order."""
    results = tuple(_device_result(each, with_conditions=with_conditions) for each in chosen)
    config = (*_config_of_classes(requests), *_config_of_claim(claim, requests))
    try:
        selector = _node_selector(chosen, node_name)
    except AllocationError as error:
        raise AllocationError(f"create NodeSelector for claim {claim.metadata.name}: {error}") from None
    return AllocationResult(DeviceAllocationResult(results, config), selector)


def _device_result(chosen: Chosen, *, with_conditions: bool) -> DeviceRequestAllocationResult:
    device, request = chosen.device.device, chosen.request
    return DeviceRequestAllocationResult(
        request=request.full_name,
        driver=chosen.device.id.driver,
        pool=chosen.device.id.pool,
        device=chosen.device.id.device,
        admin_access=True if request.has_admin_access else None,
        tolerations=request.tolerations,
        binding_conditions=device.binding_conditions if with_conditions else (),
        binding_failure_conditions=device.binding_failure_conditions if with_conditions else (),
        share_id=chosen.share_id,
        consumed_capacity={name: str(amount) for name, amount in chosen.consumed.items()} or None,
    )


def _config_of_classes(requests: Iterable[Request]) -> Iterator[DeviceAllocationConfiguration]:
    """Each class gives its configuration once, for all the requests that have it."""
    found: dict[str, list[DeviceAllocationConfiguration]] = {}
    for request in requests:
        chosen = request.device_class
        assert chosen is not None, f"request {request.full_name} was never resolved"
        known = found.get(chosen.metadata.name)
        if known is None:
            found[chosen.metadata.name] = [
                DeviceAllocationConfiguration(FROM_CLASS, (request.full_name,), each.opaque)
                for each in chosen.spec.config
            ]
        else:
            known[:] = [replace(each, requests=(*each.requests, request.full_name)) for each in known]
    for configurations in found.values():
        yield from configurations


def _config_of_claim(claim: ResourceClaim, requests: Sequence[Request]) -> Iterator[DeviceAllocationConfiguration]:
    """A configuration that names requests comes once for each of them that was allocated."""
    for config in claim.spec.devices.config:
        made = DeviceAllocationConfiguration(FROM_CLAIM, config.requests, config.opaque)
        if not config.requests:
            yield made
            continue
        for request in requests:
            base, _ = request.base_and_sub_name
            if base in config.requests or request.full_name in config.requests:
                yield made


def _node_selector(chosen: Sequence[Chosen], node_name: str) -> NodeSelector | None:
    """Return where the devices can be used: on this node, on nodes of certain labels, or (None) everywhere."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for each in chosen:
        device, owner = each.device.device, each.device.slice
        of = device if owner.is_per_device else owner.view.spec
        if of.node_name is not None or device.binds_to_node:
            only = NodeSelectorRequirement("metadata.name", "In", (node_name,))
            return NodeSelector((NodeSelectorTerm(match_fields=(only,)),))
        if of.node_selector is not None and of.node_selector.node_selector_terms:
            term, *others = of.node_selector.node_selector_terms
            if others:
                raise AllocationError(f"unsupported ResourceSlice.NodeSelector with {len(others) + 1} terms")
            _add_new(term.match_fields, fields)
            _add_new(term.match_expressions, expressions)
    if not fields and not expressions:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions), tuple(fields)),))


def _add_new(more: Iterable[NodeSelectorRequirement], requirements: list[NodeSelectorRequirement]) -> None:
    for one in more:
        if not any(_is_same(one, other) for other in requirements):
            requirements.append(one)


def _is_same(one: NodeSelectorRequirement, other: NodeSelectorRequirement) -> bool:
    return (one.key, one.operator, sorted(set(one.values))) == (other.key, other.operator, sorted(set(other.values)))

"""What becomes of each resource claim of a pod on a node: what it asks for, what the node offers, and who has that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from schedlab.scheduler.dra.allocator import NodeAllocationError
from schedlab.scheduler.dra.slices import NodeSelectionError
from schedlab.scheduler.dra.types import AllocationError
from schedlab.scheduler.framework.explanations import Fact

if TYPE_CHECKING:
    from schedlab.api.views.core import Node
    from schedlab.api.views.resource import ResourceClaim
    from schedlab.scheduler.dra.allocator import Allocator
    from schedlab.scheduler.dra.devices import Devices
    from schedlab.scheduler.framework.status import Status
    from schedlab.scheduler.framework.types import NodeInfo
    from schedlab.scheduler.plugins.dynamic_resources.state import PodClaim, State

#: So many of the claims that have the node's devices are named.
NAMED_MAX: Final = 3


def explain_filter(own: State, devices: Devices, node: NodeInfo, status: Status | None) -> list[Fact]:
    """Return one fact per claim; `status` is what the filter says of the node."""
    offered = _offered(devices, node.node)
    facts = []
    for index, claim in enumerate(own.claims):
        if claim.is_allocated:
            facts.append(_allocated(own, index, claim, node))
        elif own.allocator is not None and not own.claims.is_extended(index):
            facts.append(_unallocated(own.allocator, claim, node, offered))
    if status is not None and all(fact.fits for fact in facts):
        text = f"{status.message}: together the claims ask for more than the node has left" if facts else status.message
        facts.append(Fact(text, {}, fits=False))
    return facts


def _allocated(own: State, index: int, claim: PodClaim, node: NodeInfo) -> Fact:
    selector = own.node_selectors.get(index)
    fits = selector is None or selector.matches(node.node)
    text = f"claim {claim.key} has its devices, which the node {'can' if fits else 'cannot'} use"
    return Fact(text, {"claim": claim.key, "allocated": True}, fits)


def _unallocated(allocator: Allocator, claim: PodClaim, node: NodeInfo, offered: dict[str, Any]) -> Fact:
    try:
        fits = allocator.allocate(node.node, [claim.view]) is not None
        why = ""
    except (AllocationError, NodeAllocationError) as cause:
        fits, why = False, f": {cause}"
    wanted = ", ".join(_requests(claim.view))
    holders = offered["heldBy"]
    by = f", taken by {', '.join(holders[:NAMED_MAX])}" if holders and not fits else ""
    text = f"claim {claim.key} asks for {wanted}; the node has {offered['free']} of {offered['devices']} devices free{by}{why}"
    return Fact(text, {"claim": claim.key, "requests": wanted, **offered}, fits)


def _requests(claim: ResourceClaim) -> list[str]:
    found = []
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            found.append(_amount(request.exactly))
        else:
            found.append(" or ".join(_amount(each) for each in request.first_available))
    return found


def _amount(request: Any) -> str:
    count = "all devices" if request.allocation_mode == "All" else f"{request.count or 1}"
    return f"{count} of class {request.device_class_name}"


def _offered(devices: Devices, node: Node) -> dict[str, Any]:
    """Count the devices for a node, and name the claims that have some of them."""
    try:
        slices = [each for pool in devices.slices.pools_for(node) for each in pool.slices]
        ids = {device.id: None for each in slices for device in each.devices if device.is_for(node)}
    except NodeSelectionError:
        ids = {}
    taken = devices.claims.allocated_state()
    held = [device for device in ids if taken.is_allocated(device)]
    names = {tuple(device): None for device in held}
    holders: dict[str, None] = {}
    for stored in devices.claims.all():
        allocation = stored.view.status.allocation
        for result in () if allocation is None else allocation.devices.results:
            if (result.driver, result.pool, result.device) in names:
                holders[f"{stored.view.metadata.namespace}/{stored.view.metadata.name}"] = None
    return {"devices": len(ids), "free": len(ids) - len(held), "heldBy": list(holders)}

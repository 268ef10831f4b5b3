"""Which volumes a pod's claims would get on a node.

Mirrors: FindPodVolumes and what it calls in pkg/scheduler/framework/plugins/volumebinding/binder.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from schedlab.api.rules import csi_migration
from schedlab.api.rules.csi_migration import InTreePlugin, TranslationError
from schedlab.api.rules.volumes import (
    NO_PROVISIONER,
    SELECTED_NODE,
    STORAGE,
    affinity_mismatch,
    claim_class,
    claim_key,
    find_matching_volume,
    requested_storage,
    topology_matches,
)
from schedlab.apimachinery.quantity import parse_value
from schedlab.apimachinery.selectors import selector_from_view
from schedlab.scheduler.framework.preemption.go_sort import go_sorted
from schedlab.scheduler.framework.status import Status, error, unresolvable

if TYPE_CHECKING:
    from schedlab.api.views.core import Node
    from schedlab.api.views.storage import (
        CSIDriver,
        CSINode,
        CSIStorageCapacity,
        PersistentVolume,
        PersistentVolumeClaim,
        StorageClass,
    )
    from schedlab.scheduler.plugins.volume_binding.claims import PodClaims, Storage

REASON_NODE_CONFLICT: Final = "node(s) didn't match PersistentVolume's node affinity"
REASON_BIND_CONFLICT: Final = "node(s) didn't find available persistent volumes to bind"
REASON_NOT_ENOUGH_SPACE: Final = "node(s) did not have enough free storage"
REASON_VOLUME_MISSING: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

_ORDER: Final = (REASON_NODE_CONFLICT, REASON_BIND_CONFLICT, REASON_NOT_ENOUGH_SPACE, REASON_VOLUME_MISSING)


@dataclass(frozen=True, slots=True)
class StaticBinding:
    """A volume that is there already, and the claim that gets it."""

    volume: PersistentVolume
    claim: PersistentVolumeClaim


@dataclass(frozen=True, slots=True)
class Provision:
    """A claim that a volume is to be made for, and the capacity it comes from, if that is known."""

    claim: PersistentVolumeClaim
    capacity: CSIStorageCapacity | None = None


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """What the claims of a pod that wait for a node get there."""

    static: tuple[StaticBinding, ...] = ()
    provisions: tuple[Provision, ...] = ()


def rejection(*faults: str | None) -> Status:
    """Return the rejection of a node, reasons in upstream's order."""
    return unresolvable(*(reason for reason in _ORDER if reason in faults))


def find_pod_volumes(storage: Storage, claims: PodClaims, node: Node) -> PodVolumes | Status:
    """Return what the claims get on a node, or why the pod cannot be there."""
    bound_fault = _check_bound(storage, claims.bound, node)
    if isinstance(bound_fault, Status):
        return bound_fault
    found = _find_for_waiting(storage, claims, node)
    if isinstance(found, Status):
        return found
    if isinstance(found, str):
        return rejection(bound_fault, found)
    return found if bound_fault is None else rejection(bound_fault)


# --- Claims that have their volumes ---


def _check_bound(storage: Storage, claims: Sequence[PersistentVolumeClaim], node: Node) -> str | Status | None:
    csi_node: CSINode | None = storage.csi_nodes.get(node.metadata.name)
    for claim in claims:
        volume = storage.volumes.get(claim.spec.volume_name)
        if volume is None:
            return REASON_VOLUME_MISSING
        plugin = migrated_plugin(volume)
        if plugin is not None and csi_migration.is_migrated_on(plugin, csi_node):
            try:
                volume = csi_migration.as_csi(volume)
            except TranslationError as fault:
                return not_translated(fault)
        if affinity_mismatch(volume.spec.node_affinity, node.metadata.labels) is not None:
            return REASON_NODE_CONFLICT
    return None


def migrated_plugin(volume: PersistentVolume) -> InTreePlugin | None:
    """Return the built-in driver of a volume that a CSI driver may have taken over, else None."""
    plugin = csi_migration.plugin_of(volume.spec)
    return plugin if plugin is not None and plugin.is_migrated else None


def not_translated(fault: TranslationError) -> Status:
    """Return the error about a volume that its CSI driver could not have made."""
    return error(f"could not translate pv: {fault}")


# --- Claims that wait ---


def by_size(claims: Sequence[PersistentVolumeClaim]) -> Sequence[PersistentVolumeClaim]:
    """Return the claims with the smallest first: so none takes a volume that a bigger one needs."""
    return go_sorted(claims, lambda one, other: requested_storage(one) < requested_storage(other))


def _find_for_waiting(storage: Storage, claims: PodClaims, node: Node) -> PodVolumes | str | Status:
    to_match, to_provision = [], []
    for claim in claims.waiting:
        selected = claim.metadata.annotations.get(SELECTED_NODE)
        if selected is None:
            to_match.append(claim)
        elif selected == node.metadata.name:
            to_provision.append(claim)
        else:
            return REASON_BIND_CONFLICT
    static, unmatched = _match(claims, to_match, node)
    provisions: list[Provision] = []
    for claim in (*to_provision, *unmatched):
        provision = _provision(storage, claim, node)
        if not isinstance(provision, Provision):
            return provision
        provisions.append(provision)
    return PodVolumes(static, tuple(provisions))


def _match(
    claims: PodClaims, to_match: Sequence[PersistentVolumeClaim], node: Node
) -> tuple[tuple[StaticBinding, ...], list[PersistentVolumeClaim]]:
    labels = node.metadata.labels
    bindings: dict[str, StaticBinding] = {}
    unmatched = []
    for claim in by_size(to_match):
        volumes = claims.volumes[claim_class(claim)]
        volume = find_matching_volume(claim, volumes, bindings, partial(_reaches, labels))
        if volume is None:
            unmatched.append(claim)
        else:
            bindings[volume.metadata.name] = StaticBinding(volume, claim)
    return tuple(bindings.values()), unmatched


def _reaches(labels: dict[str, str], volume: PersistentVolume) -> bool:
    return affinity_mismatch(volume.spec.node_affinity, labels) is None


def _provision(storage: Storage, claim: PersistentVolumeClaim, node: Node) -> Provision | str | Status:
    storage_class = provisioning_class(storage, claim)
    if isinstance(storage_class, str | Status):
        return storage_class
    if not topology_matches(storage_class.allowed_topologies, node.metadata.labels):
        return REASON_BIND_CONFLICT
    capacities = fitting_capacities(storage, claim, storage_class)
    if capacities is None:
        return Provision(claim)
    for capacity in capacities:
        if selector_from_view(capacity.node_topology).matches(node.metadata.labels):
            return Provision(claim, capacity)
    return REASON_NOT_ENOUGH_SPACE


def provisioning_class(storage: Storage, claim: PersistentVolumeClaim) -> StorageClass | str | Status:
    """Return the class that can make a volume for a claim, or why there is none on any node."""
    name = claim_class(claim)
    if not name:
        return error(f'no class for claim "{claim_key(claim)}"')
    found: StorageClass | None = storage.classes.get(name)
    if found is None:
        return error(f'failed to find storage class "{name}"')
    return REASON_BIND_CONFLICT if found.provisioner in ("", NO_PROVISIONER) else found


def fitting_capacities(
    storage: Storage, claim: PersistentVolumeClaim, storage_class: StorageClass
) -> list[CSIStorageCapacity] | None:
    """Return where there is room for the claim's volume; None when nobody keeps account of that."""
    driver: CSIDriver | None = storage.drivers.get(storage_class.provisioner)
    if STORAGE not in claim.spec.resources.requests or driver is None or not driver.spec.storage_capacity:
        return None
    size = requested_storage(claim).value()
    every: Sequence[CSIStorageCapacity] = storage.capacities.list()
    return [
        capacity
        for capacity in every
        if capacity.storage_class_name == storage_class.metadata.name
        and capacity.node_topology is not None
        and capacity.limit is not None
        and parse_value(capacity.limit) >= size
    ]

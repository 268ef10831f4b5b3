"""Which volume serves which claim: classes, ephemeral volumes, node affinity, matching and binding.

Mirrors: staging/src/k8s.io/component-helpers/storage/{volume/helpers.go,volume/pv_helpers.go,ephemeral/ephemeral.go},
MatchTopologySelectorTerms in pkg/apis/core/v1/helper/helpers.go (v1.36).
Differs: of FindMatchingVolume only the scheduler's path, with the node left to the caller.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from schedlab.api.rules.node_affinity import parse_node_selector
from schedlab.api.views.storage import ObjectReference
from schedlab.apimachinery import field
from schedlab.apimachinery.quantity import Quantity, parse_cached
from schedlab.apimachinery.selectors import Selector, selector_from_view

if TYPE_CHECKING:
    from schedlab.api.rules.node_affinity import ParsedTerm
    from schedlab.api.views.core import NodeSelector, Pod, Volume
    from schedlab.api.views.storage import (
        PersistentVolume,
        PersistentVolumeClaim,
        TopologySelectorTerm,
        VolumeNodeAffinity,
    )

STORAGE: Final = "storage"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
AVAILABLE: Final = "Available"
LOST: Final = "Lost"
FILESYSTEM: Final = "Filesystem"

BETA_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"

_NO_QUANTITY: Final = parse_cached("0")


def claim_key(claim: PersistentVolumeClaim) -> str:
    """Return namespace/name."""
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def claim_class(claim: PersistentVolumeClaim) -> str:
    """Return the storage class that a claim asks for, "" for none; the old annotation wins."""
    annotated = claim.metadata.annotations.get(BETA_STORAGE_CLASS)
    return annotated if annotated is not None else claim.spec.storage_class_name or ""


def volume_class(volume: PersistentVolume) -> str:
    """Return the storage class that a volume is of, "" for none; the old annotation wins."""
    annotated = volume.metadata.annotations.get(BETA_STORAGE_CLASS)
    return annotated if annotated is not None else volume.spec.storage_class_name


def claim_name(pod: Pod, volume: Volume) -> str | None:
    """Return the name of the claim behind a volume of a pod, made for the pod or not; None when there is none."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    if volume.ephemeral is not None:
        return f"{pod.metadata.name}-{volume.name}"
    return None


def not_made_for_pod(pod: Pod, claim: PersistentVolumeClaim) -> str | None:
    """Return what is wrong with a claim that should have been made for an ephemeral volume of the pod."""
    owner = claim.metadata.controller()
    mine, its = pod.metadata, claim.metadata
    if its.namespace == mine.namespace and owner is not None and owner.uid == mine.uid:
        return None
    return f"PVC {its.namespace}/{its.name} was not created for pod {mine.namespace}/{mine.name} (pod is not owner)"


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether claim and volume are bound to each other, and the controller is done with it."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def requested_storage(claim: PersistentVolumeClaim) -> Quantity:
    """Return how much a claim asks for."""
    text = claim.spec.resources.requests.get(STORAGE)
    return _NO_QUANTITY if text is None else parse_cached(text)


def storage_capacity(volume: PersistentVolume) -> Quantity:
    """Return how much a volume holds."""
    text = volume.spec.capacity.get(STORAGE)
    return _NO_QUANTITY if text is None else parse_cached(text)


# --- Where a volume can be used ---


@lru_cache(maxsize=1 << 16)
def terms_of_reach(selector: NodeSelector) -> tuple[ParsedTerm, ...]:
    """Return the terms of a volume's node affinity that labels alone decide.

    Upstream asks about a node without a name, so what a term asks of the name is known beforehand.
    """
    terms = parse_node_selector(selector).terms
    met = (term for term in terms if term.errors or all(each.matches("") for each in term.fields))
    return tuple(dataclasses.replace(term, fields=()) for term in met)


def affinity_mismatch(affinity: VolumeNodeAffinity | None, node_labels: Mapping[str, str]) -> str | None:
    """Return why nodes with these labels cannot reach a volume, or None."""
    if affinity is None or affinity.required is None:
        return None
    terms = terms_of_reach(affinity.required)
    if any(not term.errors and (term.labels is None or term.labels.matches(node_labels)) for term in terms):
        return None
    errors = [error for term in terms for error in term.errors]
    return field.aggregate(errors) if errors else "no matching NodeSelectorTerms"


def topology_matches(terms: Iterable[TopologySelectorTerm], node_labels: Mapping[str, str]) -> bool:
    """Whether the allowed topologies of a class let volumes be made for nodes with these labels."""
    terms = tuple(terms)
    return not terms or any(_term_matches(term, node_labels) for term in terms)


def _term_matches(term: TopologySelectorTerm, labels: Mapping[str, str]) -> bool:
    expressions = term.match_label_expressions
    return bool(expressions) and all(labels.get(each.key) in each.values for each in expressions)


# --- Which volume a claim gets ---


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume is bound to the claim, or meant for it by whoever made the volume."""
    ref = volume.spec.claim_ref
    return (
        ref is not None
        and (ref.name, ref.namespace) == (claim.metadata.name, claim.metadata.namespace)
        and ref.uid in ("", claim.metadata.uid)
    )


def access_modes_satisfied(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether the volume has every access mode that the claim asks for."""
    return all(mode in volume.spec.access_modes for mode in claim.spec.access_modes)


def find_matching_volume(
    claim: PersistentVolumeClaim,
    volumes: Iterable[PersistentVolume],
    taken: Collection[str],
    reachable: Callable[[PersistentVolume], bool],
) -> PersistentVolume | None:
    """Return the volume meant for the claim, else the smallest that serves it on a node; of equal ones the first.

    taken: names of volumes that other claims of the pod get. reachable: whether the node can use a volume.
    """
    best: PersistentVolume | None = None
    for volume in volumes:
        if volume.metadata.name in taken or not could_serve(claim, volume):
            continue
        if is_bound_to(volume, claim):
            return volume if reachable(volume) else None
        is_smaller = best is None or storage_capacity(volume) < storage_capacity(best)
        if is_smaller and is_free_for(claim, volume) and reachable(volume):
            best = volume
    return best


def could_serve(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether nothing speaks against the volume even if it was meant for the claim."""
    return (
        (volume.spec.claim_ref is None or is_bound_to(volume, claim))
        and not storage_capacity(volume) < requested_storage(claim)
        and (claim.spec.volume_mode or FILESYSTEM) == (volume.spec.volume_mode or FILESYSTEM)
        and (claim.spec.volume_attributes_class_name or "") == (volume.spec.volume_attributes_class_name or "")
        and volume.metadata.deletion_timestamp is None
    )


def is_free_for(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether a volume that is meant for nobody is one the claim may take."""
    return (
        volume.status.phase == AVAILABLE
        and (claim.spec.selector is None or _selector(claim).matches(volume.metadata.labels))
        and volume_class(volume) == claim_class(claim)
        and access_modes_satisfied(claim, volume)
    )


def _selector(claim: PersistentVolumeClaim) -> Selector:
    return selector_from_view(claim.spec.selector)


def bind_volume(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return the volume as it will be once it is bound to the claim; the same one when it is so already."""
    ref, meta = volume.spec.claim_ref, claim.metadata
    changed = volume
    if ref is None or (ref.name, ref.namespace, ref.uid) != (meta.name, meta.namespace, meta.uid):
        own = ObjectReference(
            kind="PersistentVolumeClaim",
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            api_version="v1",
            resource_version=meta.resource_version,
        )
        changed = replace(changed, spec=replace(volume.spec, claim_ref=own))
    if not is_bound_to(volume, claim) and BOUND_BY_CONTROLLER not in volume.metadata.annotations:
        annotations = {**volume.metadata.annotations, BOUND_BY_CONTROLLER: "yes"}
        changed = replace(changed, metadata=replace(volume.metadata, annotations=annotations))
    return changed

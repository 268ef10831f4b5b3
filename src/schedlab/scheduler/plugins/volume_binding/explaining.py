"""What becomes of each claim of a pod on a node, in words and names."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from schedlab.api.rules.volumes import (
    SELECTED_NODE,
    affinity_mismatch,
    claim_class,
    claim_key,
    requested_storage,
    terms_of_reach,
)
from schedlab.scheduler.framework.explanations import Fact, Formula
from schedlab.scheduler.framework.status import Status
from schedlab.scheduler.plugins.volume_binding.finding import PodVolumes, find_pod_volumes
from schedlab.scheduler.plugins.volume_binding.scoring import amounts_of, score_amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schedlab.api.views.core import Node
    from schedlab.api.views.storage import PersistentVolume, PersistentVolumeClaim
    from schedlab.scheduler.framework.helpers.shape_score import ShapePoint
    from schedlab.scheduler.plugins.volume_binding.claims import PodClaims, Storage


def explain_filter(storage: Storage, claims: PodClaims, node: Node) -> list[Fact]:
    """Return one fact per claim; those that wait for a node are looked at together, as the filter does."""
    found = find_pod_volumes(storage, claims, node)
    facts = [_bound(storage, claim, node) for claim in claims.bound]
    facts += map(partial(_waiting, found, node), claims.waiting)
    if isinstance(found, Status) and all(fact.fits for fact in facts):
        facts.append(Fact(found.message, {}, fits=False))
    return facts


def _bound(storage: Storage, claim: PersistentVolumeClaim, node: Node) -> Fact:
    name, key = claim.spec.volume_name, claim_key(claim)
    values: dict[str, Any] = {"claim": key, "volume": name}
    volume: PersistentVolume | None = storage.volumes.get(name)
    if volume is None:
        return Fact(f"claim {key} is bound to volume {name}, which does not exist", values, fits=False)
    required = None if volume.spec.node_affinity is None else volume.spec.node_affinity.required
    if required is None:
        return Fact(f"claim {key} is bound to volume {name}, which every node can reach", values, fits=True)
    terms = terms_of_reach(required)
    reach = " or ".join(f"({term.labels})" for term in terms if term.labels is not None)
    fits = affinity_mismatch(volume.spec.node_affinity, node.metadata.labels) is None
    keys = [requirement.key for term in terms if term.labels is not None for requirement in term.labels.requirements]
    has = {key: node.metadata.labels.get(key) for key in dict.fromkeys(keys)}
    shown = ", ".join(f"{key}={value}" if value is not None else f"no {key}" for key, value in has.items())
    text = f"claim {key} is bound to volume {name}, which is for nodes with {reach}; the node has {shown}"
    return Fact(text, {**values, "volumeIsFor": reach, "has": has}, fits)


def _waiting(found: PodVolumes | Status, node: Node, claim: PersistentVolumeClaim) -> Fact:
    key, of_class = claim_key(claim), claim_class(claim)
    size = str(requested_storage(claim))
    what = f"claim {key} ({size}, class {of_class})"
    values: dict[str, Any] = {"claim": key, "class": of_class, "size": size}
    if isinstance(found, PodVolumes):
        volume = next((each.volume.metadata.name for each in found.static if each.claim is claim), "")
        text = f"{what} gets volume {volume}" if volume else f"{what} gets a new volume"
        return Fact(text, {**values, "volume": volume}, fits=True)
    selected = claim.metadata.annotations.get(SELECTED_NODE)
    if selected is not None and selected != node.metadata.name:
        return Fact(
            f"{what} is being provisioned for node {selected}", {**values, "selectedNode": selected}, fits=False
        )
    return Fact(f"{what} waits for a node: {found.message}", values, fits=False)


def explain_score(shape: Sequence[ShapePoint], found: PodVolumes) -> Formula:
    """Return the mean over the storage classes; the shape's lines are read off, not written out."""
    amounts = amounts_of(found)
    parts = [str(score_amount(shape, requested, capacity)) for requested, capacity in amounts.values()]
    inputs = {
        "classes": {
            name: {"requested": requested, "capacity": capacity} for name, (requested, capacity) in amounts.items()
        }
    }
    return Formula(f"round(({' + '.join(parts)}) / {len(parts)})" if parts else "0", inputs)

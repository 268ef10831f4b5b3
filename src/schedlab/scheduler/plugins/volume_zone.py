"""Turns down nodes outside the zone or region that a bound volume is labelled with.

Mirrors: pkg/scheduler/framework/plugins/volumezone/volume_zone.go, and LabelZonesToSet of
staging/src/k8s.io/cloud-provider/volume/helpers/zones.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from schedlab.api.rules.topology import REGION, REGION_BETA, ZONE, ZONE_BETA
from schedlab.api.rules.volumes import WAIT_FOR_FIRST_CONSUMER, claim_class
from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.explanations import Fact
from schedlab.scheduler.framework.helpers import signers
from schedlab.scheduler.framework.interface import PluginEntry, PreFilterResult
from schedlab.scheduler.framework.status import SKIP, NodeStatuses, Status, unresolvable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.views.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

REASON_CONFLICT: Final = "node(s) had no available volume zone"

_CONFLICT: Final = unresolvable(REASON_CONFLICT)
_PRE_FILTER_KEY: Final = "PreFilterVolumeZone"
_TOPOLOGY_LABELS: Final = (ZONE_BETA, REGION_BETA, ZONE, REGION)
_STABLE_LABEL: Final[Mapping[str, str]] = {ZONE_BETA: ZONE, REGION_BETA: REGION}
_ZONE_DELIMITER: Final = "__"


class Topology(NamedTuple):
    """A label of a volume: nodes need one of the values."""

    key: str
    values: frozenset[str]


class VolumeZone:
    """The plugin."""

    name = "VolumeZone"
    looks_at = "node"

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._volumes = handle.listers.lister("persistentvolumes")
        self._claims = handle.listers.lister("persistentvolumeclaims")
        self._classes = handle.listers.lister("storageclasses.storage.k8s.io")

    def is_pod_local(self, pod: PodInfo) -> bool:
        return not pod.pod.spec.volumes

    def pre_filter(
        self, state: CycleState, pod: PodInfo, _table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        topologies = self._topologies_of(pod)
        if isinstance(topologies, Status):
            return None, topologies
        if not topologies:
            return None, SKIP
        state.write(_PRE_FILTER_KEY, topologies)
        return None, None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        topologies = self._required(state, pod)
        if isinstance(topologies, Status):
            return topologies
        labels = node.node.metadata.labels
        if not any(key in labels for key in _TOPOLOGY_LABELS):
            # A cluster that knows of no zones is one zone.
            return None
        for key, values in topologies:
            value = labels.get(key, labels.get(_STABLE_LABEL.get(key, key)))
            if value not in values:
                return _CONFLICT
        return None

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        topologies, labels = self._required(state, pod), node.node.metadata.labels
        if isinstance(topologies, Status):
            return (Fact(topologies.message, {}, fits=False),)
        knows_zones = any(key in labels for key in _TOPOLOGY_LABELS)
        facts = []
        for key, values in topologies:
            value = labels.get(key, labels.get(_STABLE_LABEL.get(key, key)))
            wanted = " or ".join(sorted(values))
            has = f"the node has {key}={value}" if value is not None else f"the node has no {key}"
            if not knows_zones:
                has = "the node has no label of a zone or region, which counts as every one"
            described = {"label": key, "wants": sorted(values), "has": value}
            facts.append(Fact(f"a volume is in {key}={wanted}, {has}", described, value in values or not knows_zones))
        return facts

    def filter_nodes(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        topologies = self._required(state, pod)
        size = len(range(*rows.indices(len(table))))
        if isinstance(topologies, Status):
            return NodeStatuses.of([topologies] * size)
        statuses = NodeStatuses.success(size)
        mismatch = np.zeros(len(table), np.bool_)
        for topology in topologies:
            mismatch |= ~_matching(table, topology)
        statuses.reject((mismatch & _has_topology(table))[rows], _CONFLICT)
        return statuses

    def _required(self, state: CycleState, pod: PodInfo) -> Sequence[Topology] | Status:
        if not pod.pod.spec.volumes:
            return ()
        kept: Sequence[Topology] | None = state.find(_PRE_FILTER_KEY)
        return self._topologies_of(pod) if kept is None else kept

    def _topologies_of(self, pod: PodInfo) -> Sequence[Topology] | Status:
        found: list[Topology] = []
        for name in _claim_names(pod):
            volume = self._volume_behind(pod.namespace, name)
            if isinstance(volume, Status):
                return volume
            if volume is not None:
                found += topologies_of(volume)
        return found

    def _volume_behind(self, namespace: str, name: str) -> PersistentVolume | Status | None:
        """Return the volume a claim is bound to, None while a class lets it wait for a node, else what is wrong."""
        if not name:
            return unresolvable("PersistentVolumeClaim had no name")
        claim: PersistentVolumeClaim | None = self._claims.get(name, namespace)
        if claim is None:
            return unresolvable(f'persistentvolumeclaim "{name}" not found')
        if not claim.spec.volume_name:
            return self._why_unbound(claim)
        volume: PersistentVolume | None = self._volumes.get(claim.spec.volume_name)
        if volume is None:
            return unresolvable(f'persistentvolume "{claim.spec.volume_name}" not found')
        return volume

    def _why_unbound(self, claim: PersistentVolumeClaim) -> Status | None:
        name = claim_class(claim)
        if not name:
            return unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
        found: StorageClass | None = self._classes.get(name)
        if found is None:
            return unresolvable(f'storageclass.storage.k8s.io "{name}" not found')
        if found.volume_binding_mode is None:
            return unresolvable(f'VolumeBindingMode not set for StorageClass "{name}"')
        if found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            return None
        return unresolvable("PersistentVolume had no name")

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return ((signers.VOLUMES, pod.volume_sources),), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        add, update = ActionType.ADD, ActionType.UPDATE
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.STORAGE_CLASS, add), _after_class),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, add | ActionType.UPDATE_NODE_LABEL)),
            ClusterEventWithHint(ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, add | update), _after_claim),
            ClusterEventWithHint(ClusterEvent(EventResource.PERSISTENT_VOLUME, add | update), _after_volume),
        )


def _claim_names(pod: PodInfo) -> Sequence[str]:
    """Return the claims the pod names itself; those made for ephemeral volumes do not count here."""
    sources = (volume.persistent_volume_claim for volume in pod.pod.spec.volumes)
    return [source.claim_name for source in sources if source is not None]


def topologies_of(volume: PersistentVolume) -> list[Topology]:
    """Return the zones and regions a volume is labelled with; labels that cannot be read are passed over."""
    labels = volume.metadata.labels
    found = (Topology(key, frozenset(_zones(labels[key]))) for key in _TOPOLOGY_LABELS if key in labels)
    return [topology for topology in found if "" not in topology.values]


def _zones(value: str) -> list[str]:
    return [zone.strip() for zone in value.split(_ZONE_DELIMITER)]


def _after_class(_pod: PodInfo, _old: StorageClass | None, new: StorageClass) -> QueueingHint:
    return QueueingHint.QUEUE if new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else QueueingHint.SKIP


def _after_claim(pod: PodInfo, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> QueueingHint:
    is_named = new.metadata.namespace == pod.namespace and new.metadata.name in _claim_names(pod)
    return QueueingHint.QUEUE if is_named else QueueingHint.SKIP


def _after_volume(_pod: PodInfo, old: PersistentVolume | None, new: PersistentVolume) -> QueueingHint:
    if old is None or topologies_of(old) != topologies_of(new):
        return QueueingHint.QUEUE
    return QueueingHint.SKIP


# --- All nodes at once ---


def _has_topology(table: NodeTable) -> NDArray[np.bool_]:
    """Return bool[N]: the nodes with any label of a zone or region."""
    mask = np.zeros(len(table), np.bool_)
    for key in _TOPOLOGY_LABELS:
        mask |= table.label(key).ids >= 0
    return mask


def _matching(table: NodeTable, topology: Topology) -> NDArray[np.bool_]:
    """Return bool[N]: the nodes with one of the values, under the label itself or, without it, its stable name."""
    own, stable = table.label(topology.key), table.label(_STABLE_LABEL.get(topology.key, topology.key))
    by_own = np.isin(own.ids, [own.values.find(value) for value in topology.values])
    by_stable = np.isin(stable.ids, [stable.values.find(value) for value in topology.values])
    # Values no node has are ABSENT, and so are nodes without the label: those count as no match.
    matched: NDArray[np.bool_] = np.where(own.ids >= 0, by_own, by_stable & (stable.ids >= 0))
    return matched


ENTRY: Final = PluginEntry(VolumeZone.name, VolumeZone)

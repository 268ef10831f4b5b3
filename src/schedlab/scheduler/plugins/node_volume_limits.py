"""Turns down nodes that have no room for more volumes of a CSI driver.

A volume counts once however many pods of the node use it. Claims without a volume count, too: as one that their storage
class will make.

Mirrors: pkg/scheduler/framework/plugins/nodevolumelimits/{csi.go,utils.go} (v1.36).
Differs: what does not depend on the node is found once per cycle; of several missing drivers the first is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from schedlab.api.rules import csi_migration
from schedlab.api.rules.csi_migration import TranslationError
from schedlab.api.rules.volumes import claim_class, claim_key, claim_name, not_made_for_pod
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
from schedlab.scheduler.framework.node_table import take_rows
from schedlab.scheduler.framework.status import SKIP, NodeStatuses, Status, error, unresolvable, unschedulable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.views.core import Pod, Volume
    from schedlab.api.views.storage import (
        CSIDriver,
        CSINode,
        PersistentVolume,
        PersistentVolumeClaim,
        StorageClass,
        VolumeAttachment,
    )
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

REASON_EXCEEDED: Final = "node(s) exceed max volume count"

_EXCEEDED: Final = unschedulable(REASON_EXCEEDED)
_CYCLE_KEY: Final = "NodeVolumeLimits"

#: Volumes that count: driver/handle -> driver.
Volumes: TypeAlias = dict[str, str]


@dataclass(slots=True)
class _Cycle:
    """What was found in a cycle: the pod's volumes on nodes with and without a CSINode, and attachments by node."""

    wanted: dict[bool, Volumes | Status] = field(default_factory=dict)
    attached: dict[str, Volumes] | None = None


class NodeVolumeLimits:
    """The plugin."""

    name = "NodeVolumeLimits"

    def __init__(self, _args: Any, handle: Handle) -> None:
        listers = handle.listers
        self._nodes = listers.lister("csinodes.storage.k8s.io")
        self._claims = listers.lister("persistentvolumeclaims")
        self._volumes = listers.lister("persistentvolumes")
        self._classes = listers.lister("storageclasses.storage.k8s.io")
        self._drivers = listers.lister("csidrivers.storage.k8s.io")
        self._attachments = listers.lister("volumeattachments.storage.k8s.io")
        self._missing_drivers_count = handle.features.enabled("VolumeLimitScaling")
        # Keeps handles of volumes that are yet to be made apart from real ones.
        self._unmade = handle.random.split(self.name).suffix(32)

    # --- Extension points ---

    def is_pod_local(self, pod: PodInfo) -> bool:
        return not pod.pod.spec.volumes

    def pre_filter(
        self, state: CycleState, pod: PodInfo, _table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        if not any(map(_counts, pod.pod.spec.volumes)):
            return None, SKIP
        state.write(_CYCLE_KEY, _Cycle())
        return None, None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if not pod.pod.spec.volumes:
            return None
        return self._judge(state.find(_CYCLE_KEY) or _Cycle(), pod.pod, node, node.pods)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        cycle = state.find(_CYCLE_KEY) or _Cycle()
        status = self.filter(state, pod, node)
        csi_node: CSINode | None = self._nodes.get(node.name)
        wanted = self._wanted(cycle, pod.pod, csi_node)
        if isinstance(wanted, Status):
            return (Fact(wanted.message, {}, fits=False),)
        there: Volumes = {}
        for other in node.pods:
            self._add_volumes(other.pod, csi_node, there, is_new=False)
        attached = {**self._attached(cycle).get(node.name, {}), **there}
        limits, facts = limits_of(csi_node), []
        for driver in dict.fromkeys(wanted.values()):
            new = sum(volume not in there for volume, of in wanted.items() if of == driver)
            used, limit = sum(of == driver for of in attached.values()), limits.get(driver)
            fits = limit is None or not new or used + new <= limit
            most = "has no limit" if limit is None else f"takes {limit}"
            there_are = "1 volume is" if used == 1 else f"{used} volumes are"
            text = f"driver {driver} {most}: {there_are} there, the pod brings {new} more"
            facts.append(Fact(text, {"driver": driver, "limit": limit, "attached": used, "needs": new}, fits))
        if status is not None and all(fact.fits for fact in facts):
            facts.append(Fact(status.message, {}, fits=False))
        return facts

    def filter_nodes(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        infos = table.infos[rows]
        if not pod.pod.spec.volumes:
            return NodeStatuses.success(len(infos))
        cycle = state.find(_CYCLE_KEY) or _Cycle()
        counting = table.column(CountingPods, CountingPods).number[rows].tolist()
        judged = zip(infos, counting, strict=True)
        return NodeStatuses.of([self._judge(cycle, pod.pod, node, node.pods if some else ()) for node, some in judged])

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return ((signers.VOLUMES, pod.volume_sources),), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        add, delete = ActionType.ADD, ActionType.DELETE
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, add)),
            ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE), _after_csi_node),
            ClusterEventWithHint(ClusterEvent(EventResource.POD, delete), _after_pod_deletion),
            ClusterEventWithHint(ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, add), _after_claim),
            ClusterEventWithHint(ClusterEvent(EventResource.VOLUME_ATTACHMENT, delete), _after_attachment),
        )

    # --- One node ---

    def _judge(self, cycle: _Cycle, pod: Pod, node: NodeInfo, others: Sequence[PodInfo]) -> Status | None:
        csi_node: CSINode | None = self._nodes.get(node.name)
        wanted = self._wanted(cycle, pod, csi_node)
        if isinstance(wanted, Status):
            return wanted
        if self._missing_drivers_count:
            for driver in wanted.values():
                if not self._may_serve(driver, csi_node):
                    return unschedulable(f"{driver} CSI driver is not installed on the node")
        limits = limits_of(csi_node)
        if not wanted or not limits:
            return None
        used: Volumes = {}
        for other in others:
            fault = self._add_volumes(other.pod, csi_node, used, is_new=False)
            if fault is not None:
                return fault
        attached = self._attached(cycle).get(node.name, {})
        taken = [*used.values(), *(driver for volume, driver in attached.items() if volume not in used)]
        fresh = [driver for volume, driver in wanted.items() if volume not in used]
        exceeded = any(
            taken.count(driver) + fresh.count(driver) > limits[driver] for driver in fresh if driver in limits
        )
        return _EXCEEDED if exceeded else None

    def _may_serve(self, driver: str, node: CSINode | None) -> bool:
        """Whether the driver is on the node, or does not mind being asked for where it is not."""
        known: CSIDriver | None = self._drivers.get(driver)
        if known is None or not known.spec.prevent_pod_scheduling_if_missing:
            return True
        return node is not None and any(installed.name == driver for installed in node.spec.drivers)

    def _attached(self, cycle: _Cycle) -> Mapping[str, Volumes]:
        """Return the volumes that are attached to each node, or on their way there."""
        if cycle.attached is None:
            cycle.attached = {}
            for attachment in self._attachments.list():
                handle = self._handle_of(attachment)
                if handle is not None:
                    attacher = attachment.spec.attacher
                    cycle.attached.setdefault(attachment.spec.node_name, {})[f"{attacher}/{handle}"] = attacher
        return cycle.attached

    def _handle_of(self, attachment: VolumeAttachment) -> str | None:
        name = attachment.spec.source.persistent_volume_name
        if not attachment.spec.attacher or name is None:
            return None
        volume: PersistentVolume | None = self._volumes.get(name)
        return None if volume is None or volume.spec.csi is None else volume.spec.csi.volume_handle

    # --- The volumes of a pod that count ---

    def _wanted(self, cycle: _Cycle, pod: Pod, node: CSINode | None) -> Volumes | Status:
        """Return what the pod brings to a node, or what is wrong with it."""
        found = cycle.wanted.get(node is None)
        if found is None:
            volumes: Volumes = {}
            found = self._add_volumes(pod, node, volumes, is_new=True) or volumes
            cycle.wanted[node is None] = found
        return found

    def _add_volumes(self, pod: Pod, node: CSINode | None, to: Volumes, *, is_new: bool) -> Status | None:
        """Add the volumes of a pod or say what is wrong; claims that are gone do not count unless the pod is new."""
        for volume in pod.spec.volumes:
            name = claim_name(pod, volume)
            if name is None:
                fault = _add_inline(volume, node, to)
            elif not name:
                fault = error("PersistentVolumeClaim had no name")
            else:
                claim: PersistentVolumeClaim | None = self._claims.get(name, pod.metadata.namespace)
                if claim is not None:
                    fault = self._add_claim(pod, volume, claim, node, to)
                else:
                    fault = _no_claim(pod, name) if is_new else None
            if fault is not None:
                return fault
        return None

    def _add_claim(
        self, pod: Pod, volume: Volume, claim: PersistentVolumeClaim, node: CSINode | None, to: Volumes
    ) -> Status | None:
        foreign = not_made_for_pod(pod, claim) if volume.ephemeral is not None else None
        if foreign is not None:
            return error(foreign)
        driver, handle = self._driver_and_handle(claim, node)
        if driver and handle:
            to[f"{driver}/{handle}"] = driver
        return None

    def _driver_and_handle(self, claim: PersistentVolumeClaim, node: CSINode | None) -> tuple[str, str]:
        """Return the CSI driver of a claim and the handle of its volume, empty when there is none that counts."""
        volume: PersistentVolume | None = self._volumes.get(claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is None:
            return self._from_class(claim, node)
        csi = volume.spec.csi
        if csi is None:
            plugin = csi_migration.plugin_of(volume.spec)
            if plugin is None or not plugin.is_migrated or node is None:
                return "", ""
            try:
                csi = csi_migration.as_csi(volume).spec.csi
            except TranslationError:
                return "", ""
        return ("", "") if csi is None else (csi.driver, csi.volume_handle)

    def _from_class(self, claim: PersistentVolumeClaim, node: CSINode | None) -> tuple[str, str]:
        name = claim_class(claim)
        storage_class: StorageClass | None = self._classes.get(name) if name else None
        if storage_class is None:
            return "", ""
        driver = storage_class.provisioner
        plugin = csi_migration.plugin_named(driver)
        if plugin is not None:
            if not plugin.is_migrated or node is None:
                return "", ""
            driver = plugin.driver
        return driver, f"{self._unmade}-{claim_key(claim)}"


def limits_of(node: CSINode | None) -> dict[str, int]:
    """Return how many volumes of each driver a node takes; drivers that are not named have no limit."""
    if node is None:
        return {}
    drivers = node.spec.drivers
    return {
        driver.name: driver.allocatable.count
        for driver in drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


def _counts(volume: Volume) -> bool:
    """Whether a volume is behind a claim, or of a driver that has been replaced by a CSI driver."""
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or csi_migration.plugin_of(volume) is not None
    )


def _no_claim(pod: Pod, name: str) -> Status:
    return unresolvable(f'looking up PVC {pod.metadata.namespace}/{name}: persistentvolumeclaim "{name}" not found')


def _add_inline(volume: Volume, node: CSINode | None, to: Volumes) -> Status | None:
    plugin = csi_migration.plugin_of(volume)
    if plugin is None or not plugin.is_migrated or node is None:
        return None
    try:
        handle = csi_migration.inline_handle(volume)
    except TranslationError as fault:
        return error(f"converting volume({volume.name}) from inline to csi: {fault}")
    to[f"{plugin.driver}/{handle}"] = plugin.driver
    return None


# --- Queueing hints ---


def _after_csi_node(_pod: PodInfo, old: CSINode, new: CSINode) -> QueueingHint:
    before = limits_of(old)
    more = any(limit > before.get(driver, 0) for driver, limit in limits_of(new).items())
    return QueueingHint.QUEUE if more else QueueingHint.SKIP


def _after_pod_deletion(_pod: PodInfo, old: Pod, _new: Pod | None) -> QueueingHint:
    was_placed = old.spec.node_name or old.status.nominated_node_name
    return QueueingHint.QUEUE if was_placed and any(map(_counts, old.spec.volumes)) else QueueingHint.SKIP


def _after_claim(pod: PodInfo, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> QueueingHint:
    return QueueingHint.QUEUE if claim_key(new) in pod.claim_keys else QueueingHint.SKIP


def _after_attachment(pod: PodInfo, old: VolumeAttachment, _new: VolumeAttachment | None) -> QueueingHint:
    for volume in pod.pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return QueueingHint.QUEUE
        plugin = csi_migration.plugin_of(volume)
        if plugin is None:
            continue
        try:
            csi_migration.inline_handle(volume)
        except TranslationError as fault:
            raise TranslationError(f"converting volume({volume.name}) from inline to csi: {fault}") from fault
        if plugin.driver == old.spec.attacher:
            return QueueingHint.QUEUE
    return QueueingHint.SKIP


# --- All nodes at once ---


class CountingPods:
    """number: int64[N], how many pods on the node have volumes that count."""

    def __init__(self) -> None:
        self.number: NDArray[np.int64] = np.zeros(0, np.int64)

    def reorder(self, old_rows: NDArray[np.int64]) -> None:
        """See Column."""
        self.number = cast("NDArray[np.int64]", take_rows(self.number, old_rows, 0))

    def set_node(self, row: int, info: NodeInfo) -> None:
        """See Column."""
        self.number[row] = sum(map(_has_counting, info.pods))

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        self.number[row] += _has_counting(pod)

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        self.number[row] -= _has_counting(pod)


def _has_counting(pod: PodInfo) -> bool:
    return any(map(_counts, pod.pod.spec.volumes))


ENTRY: Final = PluginEntry(NodeVolumeLimits.name, NodeVolumeLimits)

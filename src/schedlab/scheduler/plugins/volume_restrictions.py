"""Turns down nodes where another pod uses a disk that cannot be shared, and every node for a claim in use alone.

Disks written into the pod itself (GCE, AWS, iSCSI, RBD) are shared by pods of one node at most for reading. A claim
with access mode ReadWriteOncePod serves one pod of the whole cluster.

Mirrors: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from schedlab.api.rules.volumes import READ_WRITE_ONCE_POD
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
from schedlab.scheduler.framework.status import SKIP, NodeStatuses, Status, error, unresolvable, unschedulable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.views.core import Pod, Volume
    from schedlab.api.views.storage import PersistentVolumeClaim
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

REASON_DISK_CONFLICT: Final = "node(s) had no available disk"
REASON_ONE_POD: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)

_DISK_CONFLICT: Final = unschedulable(REASON_DISK_CONFLICT)
_ONE_POD: Final = unschedulable(REASON_ONE_POD)
_PRE_FILTER_KEY: Final = "PreFilterVolumeRestrictions"
_NO_PRE_FILTER: Final = error(f'cannot read "{_PRE_FILTER_KEY}" from cycleState')

#: What makes two mounts one disk.
DiskKey: TypeAlias = tuple[str, ...]


class Mount(NamedTuple):
    """A disk in a pod; an RBD image with several monitors has a mount for each of them."""

    disk: DiskKey
    shares: bool

    def conflicts(self, other: Mount) -> bool:
        """Whether the two cannot be on one node."""
        return self.disk == other.disk and not (self.shares and other.shares)


@dataclass(slots=True)
class ClaimsOfOnePod:
    """The pod's ReadWriteOncePod claims by name, and how often pods on nodes use them."""

    names: frozenset[str]
    uses: int

    def copy(self) -> ClaimsOfOnePod:
        return ClaimsOfOnePod(self.names, self.uses)

    def change(self, pod: PodInfo, sign: int) -> None:
        """Count a pod in or out; claims of the same name in other namespaces count too, as upstream has it."""
        self.uses += sign * sum(name in self.names for name in _claim_names(pod.pod))


class VolumeRestrictions:
    """The plugin."""

    name = "VolumeRestrictions"

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._handle = handle
        self._claims = handle.listers.lister("persistentvolumeclaims")

    def is_pod_local(self, pod: PodInfo) -> bool:
        return not pod.pod.spec.volumes

    def pre_filter(
        self, state: CycleState, pod: PodInfo, table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        if not pod.pod.spec.volumes:
            return None, SKIP
        claims = self._claims_of_one_pod(pod, table)
        if isinstance(claims, Status):
            return None, claims
        if not claims.uses and not any(mounts_of(pod.pod)):
            return None, SKIP
        state.write(_PRE_FILTER_KEY, claims)
        return None, None

    def _claims_of_one_pod(self, pod: PodInfo, table: NodeTable) -> ClaimsOfOnePod | Status:
        names: dict[str, None] = {}
        for name in _claim_names(pod.pod):
            claim: PersistentVolumeClaim | None = self._claims.get(name, pod.namespace)
            if claim is None:
                return unresolvable(f'persistentvolumeclaim "{name}" not found')
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                names[name] = None
        keys = (f"{pod.namespace}/{name}" for name in names)
        uses = sum(any(key in info.claim_counts for info in table.infos) for key in keys)
        return ClaimsOfOnePod(frozenset(names), uses)

    def add_pod(self, state: CycleState, _pod: PodInfo, added: PodInfo, _node: NodeInfo) -> Status | None:
        return self._change(state, added, 1)

    def remove_pod(self, state: CycleState, _pod: PodInfo, removed: PodInfo, _node: NodeInfo) -> Status | None:
        return self._change(state, removed, -1)

    def _change(self, state: CycleState, pod: PodInfo, sign: int) -> Status | None:
        claims: ClaimsOfOnePod | None = state.find(_PRE_FILTER_KEY)
        if claims is None:
            return _NO_PRE_FILTER
        claims.change(pod, sign)
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        wanted = tuple(mounts_of(pod.pod))
        if wanted and any(_conflict(wanted, other.pod) for other in node.pods):
            return _DISK_CONFLICT
        claims: ClaimsOfOnePod | None = state.find(_PRE_FILTER_KEY)
        if claims is None:
            return _NO_PRE_FILTER
        return _ONE_POD if claims.uses > 0 else None

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        facts = []
        for mount in mounts_of(pod.pod):
            holder = next((other.key for other in node.pods if _conflict((mount,), other.pod)), "")
            disk = "/".join(mount.disk)
            text = f"disk {disk} is held by {holder}" if holder else f"disk {disk} is free"
            facts.append(Fact(text, {"disk": disk, "heldBy": holder}, not holder))
        claims: ClaimsOfOnePod | None = state.find(_PRE_FILTER_KEY)
        if claims is not None and claims.names:
            facts += [self._explain_claim(pod, name, in_use=claims.uses > 0) for name in sorted(claims.names)]
        if claims is not None and claims.uses > 0 and all(fact.fits for fact in facts):
            facts.append(Fact("a ReadWriteOncePod claim is held by a pod nominated to a node", {}, fits=False))
        return facts

    def _explain_claim(self, pod: PodInfo, name: str, *, in_use: bool) -> Fact:
        key = f"{pod.namespace}/{name}"
        holders = (
            other.key
            for info in self._handle.table.infos
            if key in info.claim_counts
            for other in info.pods
            if key in other.named_claim_keys
        )
        holder = next(holders, "")
        by = f"is held by {holder}" if holder else "is free"
        return Fact(f"claim {key} (ReadWriteOncePod) {by}", {"claim": key, "heldBy": holder}, not (holder and in_use))

    def filter_nodes(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        size = len(range(*rows.indices(len(table))))
        statuses = NodeStatuses.success(size)
        wanted = tuple(mounts_of(pod.pod))
        if wanted:
            statuses.reject(
                table.column(MountColumn, MountColumn).conflict_mask(wanted, len(table))[rows], _DISK_CONFLICT
            )
        claims: ClaimsOfOnePod | None = state.find(_PRE_FILTER_KEY)
        rest = _NO_PRE_FILTER if claims is None else _ONE_POD if claims.uses > 0 else None
        if rest is not None:
            statuses.reject(np.ones(size, np.bool_), rest)
        return statuses

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return ((signers.VOLUMES, pod.volume_sources),), None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        claim_added = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.DELETE), _after_pod_deletion),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD)),
            ClusterEventWithHint(claim_added, _after_claim),
        )


def _claim_names(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name


def mounts_of(pod: Pod) -> Iterator[Mount]:
    """Yield the disks that the pod names itself."""
    for volume in pod.spec.volumes:
        yield from _mounts(volume)


def _mounts(volume: Volume) -> Iterator[Mount]:
    if volume.gce_persistent_disk is not None:
        yield Mount(("gce", volume.gce_persistent_disk.pd_name), volume.gce_persistent_disk.read_only)
    if volume.aws_elastic_block_store is not None:
        yield Mount(("aws", volume.aws_elastic_block_store.volume_id), shares=False)
    if volume.iscsi is not None:
        yield Mount(("iscsi", volume.iscsi.iqn), volume.iscsi.read_only)
    if volume.rbd is not None:
        for monitor in volume.rbd.monitors:
            yield Mount(("rbd", volume.rbd.pool, volume.rbd.image, monitor), volume.rbd.read_only)


def _conflict(wanted: Sequence[Mount], other: Pod) -> bool:
    return any(mount.conflicts(taken) for taken in mounts_of(other) for mount in wanted)


def _after_pod_deletion(pod: PodInfo, old: Pod, _new: Pod | None) -> QueueingHint:
    if old.metadata.namespace != pod.namespace:
        return QueueingHint.SKIP
    names = frozenset(_claim_names(pod.pod))
    helps = _conflict(tuple(mounts_of(pod.pod)), old) or any(name in names for name in _claim_names(old))
    return QueueingHint.QUEUE if helps else QueueingHint.SKIP


def _after_claim(pod: PodInfo, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> QueueingHint:
    is_named = new.metadata.namespace == pod.namespace and new.metadata.name in _claim_names(pod.pod)
    return QueueingHint.QUEUE if is_named else QueueingHint.SKIP


# --- All nodes at once ---


class MountColumn:
    """Disks in use: by disk and row, how many mounts there are and how many of them share."""

    def __init__(self) -> None:
        self._counts: dict[DiskKey, dict[int, tuple[int, int]]] = {}
        self._disks: dict[int, dict[DiskKey, None]] = {}

    def conflict_mask(self, wanted: Sequence[Mount], size: int) -> NDArray[np.bool_]:
        """Return bool[N]: the nodes where one of the disks is in the way."""
        rows = [
            row
            for mount in wanted
            for row, (total, sharing) in self._counts.get(mount.disk, {}).items()
            if total > (sharing if mount.shares else 0)
        ]
        mask = np.zeros(size, np.bool_)
        mask[rows] = True
        return mask

    def reorder(self, old_rows: NDArray[np.int64]) -> None:
        """See Column."""
        new_rows = {old: new for new, old in enumerate(old_rows.tolist()) if old >= 0}
        self._counts = {
            disk: {new_rows[row]: counts for row, counts in by_row.items() if row in new_rows}
            for disk, by_row in self._counts.items()
        }
        self._disks = {new_rows[row]: disks for row, disks in self._disks.items() if row in new_rows}

    def set_node(self, row: int, info: NodeInfo) -> None:
        """See Column."""
        for disk in self._disks.pop(row, ()):
            self._counts[disk].pop(row, None)
        for pod in info.pods:
            self.add_pod(row, pod)

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        self._change(row, pod, 1)

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """See Column."""
        self._change(row, pod, -1)

    def _change(self, row: int, pod: PodInfo, sign: int) -> None:
        for disk, shares in mounts_of(pod.pod):
            by_row = self._counts.setdefault(disk, {})
            total, sharing = by_row.get(row, (0, 0))
            by_row[row] = total + sign, sharing + sign * shares
            self._disks.setdefault(row, {})[disk] = None


ENTRY: Final = PluginEntry(VolumeRestrictions.name, VolumeRestrictions)

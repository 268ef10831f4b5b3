"""Which changes of storage may help a pod that VolumeBinding turned down.

Mirrors: the isSchedulableAfter functions of pkg/scheduler/framework/plugins/volumebinding/volume_binding.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedlab.api.rules.csi_migration import MIGRATED_PLUGINS
from schedlab.api.rules.volumes import claim_key
from schedlab.apimachinery.quantity import parse_value
from schedlab.scheduler.framework.events import QueueingHint

if TYPE_CHECKING:
    from schedlab.api.views.storage import (
        CSIDriver,
        CSINode,
        CSIStorageCapacity,
        PersistentVolumeClaim,
        StorageClass,
    )
    from schedlab.scheduler.framework.types import PodInfo


def _hint(helps: bool) -> QueueingHint:  # noqa: FBT001 - an answer, not an option
    return QueueingHint.QUEUE if helps else QueueingHint.SKIP


def after_class(_pod: PodInfo, old: StorageClass | None, new: StorageClass) -> QueueingHint:
    """A new class may help, or other topologies; the binding mode cannot change."""
    return _hint(old is None or old.allowed_topologies != new.allowed_topologies)


def after_claim(pod: PodInfo, _old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> QueueingHint:
    """Any change of one of the pod's claims may help."""
    return _hint(claim_key(new) in pod.claim_keys)


def after_csi_node(_pod: PodInfo, old: CSINode | None, new: CSINode) -> QueueingHint:
    """A new one may help, or other drivers that have been taken over."""
    if old is None:
        return QueueingHint.QUEUE
    before, now = old.metadata.annotations, new.metadata.annotations
    return _hint(before.get(MIGRATED_PLUGINS, "") != now.get(MIGRATED_PLUGINS, ""))


def after_csi_driver(pod: PodInfo, old: CSIDriver, new: CSIDriver) -> QueueingHint:
    """A driver of one of the pod's own volumes may stop to keep account of capacity."""
    drivers = [volume.csi.get("driver") for volume in pod.pod.spec.volumes if volume.csi is not None]
    stopped = bool(old.spec.storage_capacity) and not new.spec.storage_capacity
    return _hint(stopped and new.metadata.name in drivers)


def after_capacity(_pod: PodInfo, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> QueueingHint:
    """A new one may help, or room for a bigger volume."""
    if old is None:
        return QueueingHint.QUEUE
    if new.limit is None:
        return QueueingHint.SKIP
    return _hint(old.limit is None or parse_value(new.limit) > parse_value(old.limit))

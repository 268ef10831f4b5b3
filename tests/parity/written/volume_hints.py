"""Which changes of storage bring a waiting pod back: the queueing hints of the volume plugins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from schedlab.testing.builders import PodBuilder, make_node, make_pod
from tests.parity.written import objects
from tests.parity.written.building import (
    HELPLESS,
    NO_VICTIMS,
    QUEUE,
    SKIP,
    Json,
    Step,
    apply,
    case,
    delete,
    happens,
    unavailable,
    waits,
)

_ZONE: Final = "topology.kubernetes.io/zone"
_P: Final = make_pod("p").claim("c")


def cases() -> Iterator[Json]:
    """The cases."""
    yield from _zone()
    yield from _limits()
    yield from _binding()
    yield from _restrictions()


# --- VolumeZone: the volume is in zone zb, the only node in za ---

_ZONE_FILE: Final = "volumezone/volume_zone.go"


def _zone_case(name: str, function: str, *events: Step) -> Json:
    message = unavailable("1 node(s) had no available volume zone", f"1 {HELPLESS}")
    return case(
        f"volume-zone-{name}",
        f"{_ZONE_FILE}: {function}",
        [
            make_node("n1").zone("za").capacity(cpu="4").dict(),
            objects.storage_class(),
            objects.volume("v", labels={_ZONE: "zb"}),
            objects.claim("c", volume="v"),
        ],
        [*waits(_P, message, "VolumeZone"), *events],
    )


def _zone() -> Iterator[Json]:
    plugin = "VolumeZone"
    yield _zone_case(
        "claims",
        "isPVCRequestedFromPod: same namespace and name",
        happens(apply(objects.claim("other")), _P, {"PersistentVolumeClaimAdd": {plugin: SKIP}}),
        happens(apply(objects.claim("c", namespace="far")), _P, {"PersistentVolumeClaimAdd": {plugin: SKIP}}),
        happens(
            apply(objects.claim("c", volume="v", labels={"a": "b"})),
            _P,
            {"PersistentVolumeClaimUpdate": {plugin: QUEUE}},
        ),
    )
    yield _zone_case(
        "relabelled",
        "isSchedulableAfterPersistentVolumeChange: an update counts if the topology labels differ",
        happens(
            apply(objects.volume("v", labels={_ZONE: "zb", "a": "b"})), _P, {"PersistentVolumeUpdate": {plugin: SKIP}}
        ),
        happens(apply(objects.volume("v", labels={_ZONE: "za"})), _P, {"PersistentVolumeUpdate": {plugin: QUEUE}}),
    )
    yield _zone_case(
        "added",
        "isSchedulableAfterPersistentVolumeChange: any new volume counts",
        happens(apply(objects.volume("other")), _P, {"PersistentVolumeAdd": {plugin: QUEUE}}),
    )
    yield _zone_case(
        "classes",
        "isSchedulableAfterStorageClassAdded: only one that waits for the first consumer counts",
        happens(
            apply(objects.storage_class("now", "Immediate")), _P, {"storage.k8s.io/StorageClassAdd": {plugin: SKIP}}
        ),
        happens(apply(objects.storage_class("later")), _P, {"storage.k8s.io/StorageClassAdd": {plugin: QUEUE}}),
    )


# --- NodeVolumeLimits: the only node takes one volume of the driver and has it ---

_LIMITS_FILE: Final = "nodevolumelimits/csi.go"


def _limits_case(name: str, function: str, *events: Step) -> Json:
    message = unavailable("1 node(s) exceed max volume count", f"1 {NO_VICTIMS}")
    return case(
        f"volume-limits-{name}",
        f"{_LIMITS_FILE}: {function}",
        [
            make_node("n1").capacity(cpu="4").dict(),
            objects.csi_node("n1", {objects.DRIVER: 1, "unlimited": None}),
            objects.storage_class(),
            *(objects.volume(each) for each in ("v", "vo")),
            objects.claim("c", volume="v"),
            objects.claim("o", volume="vo"),
            objects.attachment("a", "n1", "vo"),
            make_pod("holder").claim("o").node("n1").dict(),
        ],
        [*waits(_P, message, "NodeVolumeLimits"), *events],
    )


def _limits() -> Iterator[Json]:
    plugin, driver = "NodeVolumeLimits", objects.DRIVER
    updated = "storage.k8s.io/CSINodeUpdate"
    yield _limits_case(
        "raised",
        "isSchedulableAfterCSINodeUpdated: a driver's count is higher than before",
        happens(apply(objects.csi_node("n1", {driver: 1}, labels={"a": "b"})), _P, {updated: {plugin: SKIP}}),
        happens(apply(objects.csi_node("n1", {driver: 2})), _P, {updated: {plugin: QUEUE}}),
    )
    yield _limits_case(
        "new-driver",
        "isSchedulableAfterCSINodeUpdated: a driver that had no count gets one",
        happens(apply(objects.csi_node("n1", {driver: 1, "unlimited": 1})), _P, {updated: {plugin: QUEUE}}),
    )
    yield _limits_case(
        "lowered",
        "isSchedulableAfterCSINodeUpdated: a driver's count is lower than before, then gone",
        happens(apply(objects.csi_node("n1", {driver: 0})), _P, {updated: {plugin: SKIP}}),
        happens(apply(objects.csi_node("n1", {driver: None})), _P, {updated: {plugin: SKIP}}),
    )
    yield _limits_case(
        "claim-added",
        "isSchedulableAfterPVCAdded: same namespace and name",
        happens(apply(objects.claim("other")), _P, {"PersistentVolumeClaimAdd": {plugin: SKIP}}),
        happens(apply(objects.claim("c", namespace="far")), _P, {"PersistentVolumeClaimAdd": {plugin: SKIP}}),
    )
    yield _limits_case(
        "detached",
        "isSchedulableAfterVolumeAttachmentDeleted: the pod names a claim",
        happens(
            delete(objects.attachment("a", "n1", "vo")), _P, {"storage.k8s.io/VolumeAttachmentDelete": {plugin: QUEUE}}
        ),
    )

    yield from _inline_limits()


def _inline_limits() -> Iterator[Json]:
    """The only node takes one disk and has it."""
    plugin, driver, event = "NodeVolumeLimits", "pd.csi.storage.gke.io", "storage.k8s.io/VolumeAttachmentDelete"

    def with_disk(name: str, disk: str) -> PodBuilder:
        volumes = [{"name": "e", "emptyDir": {}}, {"name": "d", "gcePersistentDisk": {"pdName": disk}}]
        return make_pod(name).set("spec.volumes", volumes)

    pod, far, near = (
        with_disk("p", "b"),
        objects.attachment("far", "n1", "v"),
        objects.attachment("near", "n1", "v", driver),
    )
    yield case(
        "volume-limits-inline-detached",
        f"{_LIMITS_FILE}: isSchedulableAfterVolumeAttachmentDeleted: it was of the driver that serves the pod's own disk",
        [
            make_node("n1").capacity(cpu="4").dict(),
            objects.csi_node("n1", {driver: 1}),
            with_disk("holder", "a").node("n1").dict(),
            far,
            near,
        ],
        [
            *waits(pod, unavailable("1 node(s) exceed max volume count", f"1 {NO_VICTIMS}"), plugin),
            happens(delete(far), pod, {event: {plugin: SKIP}}),
            happens(delete(near), pod, {event: {plugin: QUEUE}}),
        ],
    )


# --- VolumeBinding: a class that cannot make volumes, and no volume ---

_BINDING_FILE: Final = "volumebinding/volume_binding.go"
_LOCAL: Final = objects.storage_class("local", provisioner="kubernetes.io/no-provisioner")


def _binding_case(name: str, function: str, *events: Step) -> Json:
    message = unavailable("1 node(s) didn't find available persistent volumes to bind", f"1 {HELPLESS}")
    return case(
        f"volume-binding-{name}",
        f"{_BINDING_FILE}: {function}",
        [
            make_node("n1").capacity(cpu="4").dict(),
            objects.csi_node("n1", {objects.DRIVER: 1}),
            _LOCAL,
            objects.claim("c", "local"),
        ],
        [*waits(_P, message, "VolumeBinding"), *events],
    )


def _binding() -> Iterator[Json]:
    plugin = "VolumeBinding"
    class_updated, class_added = "storage.k8s.io/StorageClassUpdate", "storage.k8s.io/StorageClassAdd"
    allowed = [{"matchLabelExpressions": [{"key": _ZONE, "values": ["za"]}]}]
    yield _binding_case(
        "class-updated",
        "isSchedulableAfterStorageClassChange: an update counts if allowedTopologies differ",
        happens(apply(_LOCAL | {"allowVolumeExpansion": True}), _P, {class_updated: {plugin: SKIP}}),
        happens(apply(_LOCAL | {"allowedTopologies": allowed}), _P, {class_updated: {plugin: QUEUE}}),
    )
    yield _binding_case(
        "class-added",
        "isSchedulableAfterStorageClassChange: any new class counts",
        happens(apply(objects.storage_class("other")), _P, {class_added: {plugin: QUEUE}}),
    )
    yield _binding_case(
        "claims",
        "isSchedulableAfterPersistentVolumeClaimChange: same namespace and name",
        happens(apply(objects.claim("other", "local")), _P, {"PersistentVolumeClaimAdd": {plugin: SKIP}}),
        happens(apply(objects.claim("c", "local", namespace="far")), _P, {"PersistentVolumeClaimAdd": {plugin: SKIP}}),
        happens(
            apply(objects.claim("c", "local", labels={"a": "b"})), _P, {"PersistentVolumeClaimUpdate": {plugin: QUEUE}}
        ),
    )
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"}
    yield _binding_case(
        "csi-node-updated",
        "isSchedulableAfterCSINodeChange: an update counts if the annotation of migrated plugins differs",
        happens(
            apply(objects.csi_node("n1", {objects.DRIVER: 2})), _P, {"storage.k8s.io/CSINodeUpdate": {plugin: SKIP}}
        ),
        happens(
            apply(objects.csi_node("n1", {objects.DRIVER: 2}, annotations=migrated)),
            _P,
            {"storage.k8s.io/CSINodeUpdate": {plugin: QUEUE}},
        ),
    )
    yield _binding_case(
        "csi-node-added",
        "isSchedulableAfterCSINodeChange: any new CSINode counts",
        happens(apply(objects.csi_node("n2", {})), _P, {"storage.k8s.io/CSINodeAdd": {plugin: QUEUE}}),
    )
    yield from _binding_capacity()


def _binding_capacity() -> Iterator[Json]:
    plugin = "VolumeBinding"
    updated, added = "storage.k8s.io/CSIStorageCapacityUpdate", "storage.k8s.io/CSIStorageCapacityAdd"
    yield _binding_case(
        "capacity-added",
        "isSchedulableAfterCSIStorageCapacityChange: any new capacity counts",
        happens(apply(objects.storage_capacity("x", "1Gi")), _P, {added: {plugin: QUEUE}}),
    )
    yield _capacity_case(
        "capacity-updated",
        "isSchedulableAfterCSIStorageCapacityChange: an update counts if the limit has grown",
        "1Gi",
        happens(
            apply(objects.storage_capacity("x", "1Gi", metadata={"labels": {"a": "b"}})), _P, {updated: {plugin: SKIP}}
        ),
        happens(apply(objects.storage_capacity("x", "512Mi")), _P, {updated: {plugin: SKIP}}),
        happens(apply(objects.storage_capacity("x", None)), _P, {updated: {plugin: SKIP}}),
        happens(apply(objects.storage_capacity("x", "1Gi")), _P, {updated: {plugin: QUEUE}}),
    )
    yield _capacity_case(
        "capacity-limited",
        "volumeLimit: maximumVolumeSize, where it is known, counts instead of the capacity",
        "8Gi",
        happens(apply(objects.storage_capacity("x", "16Gi", maximumVolumeSize="4Gi")), _P, {updated: {plugin: SKIP}}),
        happens(apply(objects.storage_capacity("x", "16Gi", maximumVolumeSize="8Gi")), _P, {updated: {plugin: QUEUE}}),
    )
    yield from _inline_driver()


def _capacity_case(name: str, function: str, capacity: str, *events: Step) -> Json:
    whole = _binding_case(name, function, *events)
    return whole | {"objects": [*whole["objects"], objects.storage_capacity("x", capacity)]}


def _inline_driver() -> Iterator[Json]:
    pod = _P.set("spec.volumes", [*_P.get("spec.volumes"), {"name": "i", "csi": {"driver": objects.DRIVER}}])
    message = unavailable("1 node(s) didn't find available persistent volumes to bind", f"1 {HELPLESS}")
    event = "storage.k8s.io/CSIDriverUpdate"
    tracking, other = objects.csi_driver(storageCapacity=True), objects.csi_driver("other", storageCapacity=True)
    yield case(
        "volume-binding-driver",
        f"{_BINDING_FILE}: isSchedulableAfterCSIDriverChange: the driver of an inline volume stops to track capacity",
        [
            make_node("n1").capacity(cpu="4").dict(),
            _LOCAL,
            objects.claim("c", "local"),
            tracking,
            other,
        ],
        [
            *waits(pod, message, "VolumeBinding"),
            happens(apply(objects.csi_driver("other", storageCapacity=False)), pod, {event: {"VolumeBinding": SKIP}}),
            happens(
                apply(objects.csi_driver(storageCapacity=True, requiresRepublish=True)),
                pod,
                {event: {"VolumeBinding": SKIP}},
            ),
            happens(apply(objects.csi_driver(storageCapacity=False)), pod, {event: {"VolumeBinding": QUEUE}}),
        ],
    )


# --- VolumeRestrictions: the only node has a disk that is not shared ---


def _restrictions() -> Iterator[Json]:
    disk = [{"name": "d", "gcePersistentDisk": {"pdName": "disk"}}]
    pod = make_pod("p").set("spec.volumes", disk)
    holder, far = (make_pod("x", each).set("spec.volumes", disk).node("n1") for each in ("default", "far"))
    message = unavailable("1 node(s) had no available disk", f"1 {NO_VICTIMS}")
    event = "AssignedPodDelete"
    yield case(
        "volume-restrictions-disk-freed",
        "volumerestrictions/volume_restrictions.go: isSchedulableAfterPodDeleted: the pod had the disk, in this namespace",
        [make_node("n1").capacity(cpu="4").dict(), holder.dict(), far.dict(), make_pod("bare").node("n1").dict()],
        [
            *waits(pod, message, "VolumeRestrictions"),
            happens(delete(make_pod("bare").dict()), pod, {event: {"VolumeRestrictions": SKIP}}),
            happens(delete(far.dict()), pod, {event: {"VolumeRestrictions": SKIP}}),
            happens(delete(holder.dict()), pod, {event: {"VolumeRestrictions": QUEUE}}),
        ],
    )

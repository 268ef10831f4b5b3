"""Typed views of volumes, claims and what CSI drivers tell of nodes and capacity.

Mirrors: staging/src/k8s.io/api/core/v1/types.go and staging/src/k8s.io/api/storage/v1/types.go (v1.36), the fields in
use here.
"""

from __future__ import annotations

from msgspec import field

from schedlab.api.views.core import (
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    CinderVolume,
    GCEPersistentDisk,
    NodeSelector,
    PortworxVolume,
    ResourceList,
    ResourceRequirements,
    VSphereVolume,
)
from schedlab.api.views.meta import LabelSelector, ObjectMeta, View


class ObjectReference(View):
    """A reference to an object by place and uid."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""


class CSIPersistentVolumeSource(View):
    """spec.csi of a volume: which driver knows it under which handle."""

    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(View):
    """spec.nodeAffinity of a volume: from which nodes it can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(View):
    """spec of a volume."""

    capacity: ResourceList = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    csi: CSIPersistentVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    cinder: CinderVolume | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    vsphere_volume: VSphereVolume | None = None
    portworx_volume: PortworxVolume | None = None


class Phase(View):
    """status of a volume or claim."""

    phase: str = ""


class PersistentVolume(View):
    """core/v1 PersistentVolume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: Phase = Phase()


class PersistentVolumeClaimSpec(View):
    """spec of a claim; a storage class of None was never set, an empty one means none."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: ResourceRequirements = ResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaim(View):
    """core/v1 PersistentVolumeClaim."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: Phase = Phase()


class TopologySelectorLabelRequirement(View):
    """A label and the values of which one must be there."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(View):
    """allowedTopologies[i]: labels that must all match."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(View):
    """storage.k8s.io/v1 StorageClass."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(View):
    """spec.drivers[i].allocatable: how many volumes of the driver a node takes; None is any number."""

    count: int | None = None


class CSINodeDriver(View):
    """spec.drivers[i]: a driver that is installed on the node."""

    name: str = ""
    node_id: str = field(name="nodeID", default="")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(View):
    """spec of a CSINode."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(View):
    """storage.k8s.io/v1 CSINode."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(View):
    """spec of a CSIDriver."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(View):
    """storage.k8s.io/v1 CSIDriver."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(View):
    """storage.k8s.io/v1 CSIStorageCapacity: what a class can still provision for the nodes of a topology."""

    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: str | None = None
    maximum_volume_size: str | None = None

    @property
    def limit(self) -> str | None:
        """The largest volume there is room for; the maximum size is the more exact figure."""
        return self.maximum_volume_size if self.maximum_volume_size is not None else self.capacity


class VolumeAttachmentSource(View):
    """spec.source of an attachment."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(View):
    """spec of an attachment."""

    attacher: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()
    node_name: str = ""


class VolumeAttachment(View):
    """storage.k8s.io/v1 VolumeAttachment."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()

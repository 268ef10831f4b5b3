"""The columns of the storage.k8s.io group's kinds.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing. CSIStorageCapacities have the default columns, because upstream's storage does not use its printer.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from schedlab.apimachinery.table import AGE, NAME, NONE, UNSET, Cell, Column, Object, Printer, age, name_of
from schedlab.apiserver.printers.common import part, shows

_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_DEFAULT_ATTRIBUTES_CLASS: Final = ("volumeattributesclass.alpha.kubernetes.io/is-default-class",)


def _marked_name(obj: Object, annotations: Sequence[str]) -> str:
    """Return the name, with a mark when an annotation makes the object the default one."""
    found = part(obj, "metadata", "annotations")
    is_default = any(found.get(annotation) == "true" for annotation in annotations)
    return f"{name_of(obj)} (default)" if is_default else name_of(obj)


def _class_cells(storage_class: Object, now_ns: int) -> Sequence[Cell]:
    return (
        _marked_name(storage_class, _DEFAULT_CLASS),
        storage_class.get("provisioner", ""),
        storage_class.get("reclaimPolicy") or "Delete",
        storage_class.get("volumeBindingMode") or "Immediate",
        bool(storage_class.get("allowVolumeExpansion")),
        age(storage_class, now_ns),
    )


STORAGE_CLASSES: Final = Printer(
    (
        NAME,
        shows("Provisioner", "storage.v1.StorageClass", "provisioner"),
        shows("ReclaimPolicy", "storage.v1.StorageClass", "reclaimPolicy"),
        shows("VolumeBindingMode", "storage.v1.StorageClass", "volumeBindingMode"),
        shows("AllowVolumeExpansion", "storage.v1.StorageClass", "allowVolumeExpansion"),
        AGE,
    ),
    _class_cells,
)


def _attributes_class_cells(attributes_class: Object, now_ns: int) -> Sequence[Cell]:
    name = _marked_name(attributes_class, _DEFAULT_ATTRIBUTES_CLASS)
    return name, attributes_class.get("driverName", ""), age(attributes_class, now_ns)


VOLUME_ATTRIBUTES_CLASSES: Final = Printer(
    (NAME, shows("DriverName", "storage.v1.VolumeAttributesClass", "driverName"), AGE), _attributes_class_cells
)


def _attachment_cells(attachment: Object, now_ns: int) -> Sequence[Cell]:
    spec = part(attachment, "spec")
    return (
        name_of(attachment),
        spec.get("attacher", ""),
        part(spec, "source").get("persistentVolumeName") or "",
        spec.get("nodeName", ""),
        bool(part(attachment, "status").get("attached")),
        age(attachment, now_ns),
    )


_ATTACHER: Final = shows("Attacher", "storage.v1.VolumeAttachmentSpec", "attacher")
VOLUME_ATTACHMENTS: Final = Printer(
    (
        NAME,
        Column(_ATTACHER.name, format="name", field=_ATTACHER.field),
        shows("PV", "storage.v1.VolumeAttachmentSource", "persistentVolumeName"),
        shows("Node", "storage.v1.VolumeAttachmentSpec", "nodeName"),
        shows("Attached", "storage.v1.VolumeAttachmentStatus", "attached", "boolean"),
        AGE,
    ),
    _attachment_cells,
)


def _csi_node_cells(csi_node: Object, now_ns: int) -> Sequence[Cell]:
    return name_of(csi_node), len(part(csi_node, "spec").get("drivers") or ()), age(csi_node, now_ns)


CSI_NODES: Final = Printer(
    (
        NAME,
        Column("Drivers", "integer", description="Drivers indicates the number of CSI drivers registered on the node"),
        AGE,
    ),
    _csi_node_cells,
)


def _csi_driver_cells(driver: Object, now_ns: int) -> Sequence[Cell]:
    spec = part(driver, "spec")
    attach, tokens = spec.get("attachRequired"), spec.get("tokenRequests")
    audiences = UNSET if tokens is None else ",".join(token.get("audience", "") for token in tokens)
    return (
        name_of(driver),
        True if attach is None else bool(attach),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        audiences,
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age(driver, now_ns),
    )


CSI_DRIVERS: Final = Printer(
    (
        NAME,
        shows("AttachRequired", "storage.v1.CSIDriverSpec", "attachRequired", "boolean"),
        shows("PodInfoOnMount", "storage.v1.CSIDriverSpec", "podInfoOnMount", "boolean"),
        shows("StorageCapacity", "storage.v1.CSIDriverSpec", "storageCapacity", "boolean"),
        shows("TokenRequests", "storage.v1.CSIDriverSpec", "tokenRequests"),
        shows("RequiresRepublish", "storage.v1.CSIDriverSpec", "requiresRepublish", "boolean"),
        shows("Modes", "storage.v1.CSIDriverSpec", "volumeLifecycleModes"),
        AGE,
    ),
    _csi_driver_cells,
)

PRINTERS: Final[Mapping[str, Printer]] = {
    "csidrivers": CSI_DRIVERS,
    "csinodes": CSI_NODES,
    "storageclasses": STORAGE_CLASSES,
    "volumeattachments": VOLUME_ATTACHMENTS,
    "volumeattributesclasses": VOLUME_ATTRIBUTES_CLASSES,
}

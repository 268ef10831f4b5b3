"""StorageObjectInUseProtection: volumes, claims and volume attributes classes stay while somebody uses them.

Each gets a finalizer that the protection controllers take away once nobody does.

Mirrors: plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.core import Core

_CLASSES: Final = "volumeattributesclasses.storage.k8s.io"
_FINALIZERS: Final = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    _CLASSES: "kubernetes.io/vac-protection",
}


def _admit(attributes: Attributes, core: Core) -> None:
    name = attributes.resource.name
    finalizer = _FINALIZERS[name]
    if attributes.operation != "CREATE" or attributes.obj is None:
        return
    if name == _CLASSES and not core.features.enabled("VolumeAttributesClass"):
        return
    metadata = attributes.obj["metadata"]
    present: list[str] = metadata.get("finalizers") or []
    if finalizer not in present:
        metadata["finalizers"] = [*present, finalizer]


STORAGE_OBJECT_IN_USE_PROTECTION: Final = Admission(
    "StorageObjectInUseProtection", mutate=_admit, resources=_FINALIZERS, subresources=("",), repeats=True
)

"""DefaultStorageClass and DefaultIngressClass: who names no class gets the one that is marked as the default.

Of several defaults the youngest counts.

Mirrors: plugin/pkg/admission/storage/storageclass/setdefault/admission.go, pkg/volume/util/storageclass.go
(GetDefaultClass), plugin/pkg/admission/network/defaultingressclass/admission.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schedlab.apimachinery.time import parse_time
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.core import Core

_STORAGE_CLASSES: Final = "storageclasses.storage.k8s.io"
_STORAGE_MARKS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_STORAGE_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_INGRESS_CLASSES: Final = "ingressclasses.networking.k8s.io"
_INGRESS_MARKS: Final = ("ingressclass.kubernetes.io/is-default-class",)
_INGRESS_ANNOTATION: Final = "kubernetes.io/ingress.class"


def _admit_claim(attributes: Attributes, core: Core) -> None:
    _admit(attributes, core, "persistentvolumeclaims", "storageClassName", _STORAGE_ANNOTATION)


def _admit_ingress(attributes: Attributes, core: Core) -> None:
    _admit(attributes, core, "ingresses.networking.k8s.io", "ingressClassName", _INGRESS_ANNOTATION)


def _admit(attributes: Attributes, core: Core, resource: str, key: str, annotation: str) -> None:
    obj = attributes.obj
    if attributes.operation != "CREATE" or obj is None:
        return
    if obj.get("spec", {}).get(key) is not None or annotation in (obj["metadata"].get("annotations") or {}):
        return
    is_claim = resource == "persistentvolumeclaims"
    classes, marks = (_STORAGE_CLASSES, _STORAGE_MARKS) if is_claim else (_INGRESS_CLASSES, _INGRESS_MARKS)
    name = default_class(core, classes, marks)
    if name is not None:
        obj.setdefault("spec", {})[key] = name


def default_class(core: Core, resource: str, marks: Sequence[str]) -> str | None:
    """Return the name of the youngest class with one of the marks; of equally old ones the first."""
    metadata = [obj.view.metadata for obj in core.store.list(resource)]
    marked = [each for each in metadata if any(each.annotations.get(mark) == "true" for mark in marks)]
    marked.sort(key=lambda each: (-parse_time(each.creation_timestamp or "1970-01-01T00:00:00Z"), each.name))
    return marked[0].name if marked else None


DEFAULT_STORAGE_CLASS: Final = Admission(
    "DefaultStorageClass",
    mutate=_admit_claim,
    resources=("persistentvolumeclaims",),
    subresources=("",),
    repeats=True,
)
DEFAULT_INGRESS_CLASS: Final = Admission(
    "DefaultIngressClass",
    mutate=_admit_ingress,
    resources=("ingresses.networking.k8s.io",),
    subresources=("",),
    repeats=True,
)

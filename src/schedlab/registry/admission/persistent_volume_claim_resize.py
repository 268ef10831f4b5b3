"""PersistentVolumeClaimResize: only a bound claim grows, and only if its class allows it.

Mirrors: plugin/pkg/admission/storage/persistentvolume/resize/admission.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.object import Object
from schedlab.apimachinery.quantity import Quantity, parse_cached
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.admission.errors import forbidden
from schedlab.registry.core import Core

_CLASSES: Final = "storageclasses.storage.k8s.io"
_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"


def _validate(attributes: Attributes, core: Core) -> None:
    new, old = attributes.obj, attributes.old
    if attributes.operation != "UPDATE" or new is None or old is None:
        return
    if not _size(new) > _size(old):
        return
    if old.get("status", {}).get("phase") != "Bound":
        raise forbidden(attributes, "Only bound persistent volume claims can be expanded")
    if not _may_grow(new, old, core):
        raise forbidden(
            attributes,
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
            "must support resize",
        )


def _size(claim: Object) -> Quantity:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return parse_cached(requests.get("storage", "0"))


def _may_grow(new: Object, old: Object, core: Core) -> bool:
    name = _class(new)
    if not name or name != _class(old):
        return False
    found = core.find(_CLASSES, "", name)
    return found is not None and bool(found.raw.get("allowVolumeExpansion"))


def _class(claim: Object) -> str:
    annotated: str | None = (claim["metadata"].get("annotations") or {}).get(_ANNOTATION)
    return annotated if annotated is not None else claim["spec"].get("storageClassName") or ""


PERSISTENT_VOLUME_CLAIM_RESIZE: Final = Admission(
    "PersistentVolumeClaimResize",
    validate=_validate,
    resources=("persistentvolumeclaims",),
    subresources=("",),
    repeats=True,
)

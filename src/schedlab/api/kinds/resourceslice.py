"""Resource slices.

Mirrors: pkg/registry/resource/resourceslice/strategy.go, pkg/apis/resource/v1/defaults.go (v1.36)
Differs: only metadata is checked.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.plain import first_generation, metadata_only, metadata_update
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, bump_generation
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery import names
from schedlab.apimachinery.field_selectors import FieldLabels


def _default(slice_: Object, context: Context) -> None:
    for device in slice_["spec"].get("devices") or ():
        for taint in device.get("taints") or ():
            taint.setdefault("timeAdded", context.now)


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    bump_generation(new, old, "spec")


def _field_values(slice_: StoredObject) -> dict[str, str]:
    spec = slice_.raw["spec"]
    return {"spec.nodeName": spec.get("nodeName") or "", "spec.driver": spec.get("driver", "")}


RESOURCE_SLICE: Final = Strategy(
    resource="resourceslices.resource.k8s.io",
    validate=metadata_only(names.name_is_dns_subdomain, namespaced=False),
    update=UpdateStrategy(metadata_update, _prepare_update),
    default=_default,
    prepare=first_generation,
    returns_deleted=True,
    field_labels=FieldLabels(
        frozenset(("metadata.name", "spec.nodeName", "spec.driver")),
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
    ),
    field_values=_field_values,
)

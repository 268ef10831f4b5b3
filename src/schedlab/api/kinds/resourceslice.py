"""Resource slices.

Mirrors: pkg/registry/resource/resourceslice/strategy.go, pkg/apis/resource/{v1/defaults,validation/validation}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.gated_fields import GatedFields, drop_gated
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, bump_generation
from schedlab.api.object import Object, StoredObject
from schedlab.api.validation import meta
from schedlab.api.validation.device_slices import validate_slice_spec
from schedlab.apimachinery import names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.field_selectors import FieldLabels
from schedlab.apimachinery.gojson import quote

_SPEC: Final = Path("spec")
_DEVICE: Final = ("devices", "*")
_GATED: Final[GatedFields] = {
    ("DRADeviceTaints",): ((*_DEVICE, "taints"),),
    ("DRAPartitionableDevices",): (
        ("sharedCounters",),
        ("perDeviceNodeSelection",),
        *((*_DEVICE, key) for key in ("consumesCounters", "nodeName", "nodeSelector", "allNodes")),
    ),
    ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"): tuple(
        (*_DEVICE, key) for key in ("bindingConditions", "bindingFailureConditions", "bindsToNode")
    ),
    ("DRAConsumableCapacity",): (
        (*_DEVICE, "allowMultipleAllocations"),
        (*_DEVICE, "capacity", "*", "requestPolicy"),
    ),
    ("DRANodeAllocatableResources",): ((*_DEVICE, "nodeAllocatableResourceMappings"),),
    ("DRAListTypeAttributes",): tuple(
        (*_DEVICE, "attributes", "*", key) for key in ("bools", "ints", "strings", "versions")
    ),
}


def _default(slice_: Object, context: Context) -> None:
    for device in slice_["spec"].get("devices") or ():
        for taint in device.get("taints") or ():
            taint.setdefault("timeAdded", context.now)
        for mapping in (device.get("nodeAllocatableResourceMappings") or {}).values():
            mapping.setdefault("allocationMultiplier", "1")


def _prepare(slice_: Object, context: Context) -> None:
    slice_["metadata"]["generation"] = 1
    drop_gated(slice_["spec"], {}, _GATED, context.features)


def _validate(slice_: Object, context: Context) -> ErrorList:
    errors = meta.validate(slice_["metadata"], names.name_is_dns_subdomain, namespaced=False)
    errors += validate_slice_spec(slice_["spec"], None, _SPEC)
    if not errors:
        _warn(slice_["spec"], context)
    return errors


def _warn(spec: Object, context: Context) -> None:
    driver = spec.get("driver", "")
    if driver != driver.lower():
        problem = f"driver names should be lowercase; {quote(driver)} contains uppercase characters"
        context.warnings.append(f"spec.driver: {problem}")


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    bump_generation(new, old, "spec")
    drop_gated(new["spec"], old["spec"], _GATED, context.features)


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    errors += validate_slice_spec(new["spec"], old["spec"], _SPEC)
    if not errors:
        _warn(new["spec"], context)
    return errors


def _field_values(slice_: StoredObject) -> dict[str, str]:
    spec = slice_.raw["spec"]
    return {"spec.nodeName": spec.get("nodeName") or "", "spec.driver": spec.get("driver", "")}


RESOURCE_SLICE: Final = Strategy(
    resource="resourceslices.resource.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    default=_default,
    prepare=_prepare,
    returns_deleted=True,
    field_labels=FieldLabels(
        frozenset(("metadata.name", "spec.nodeName", "spec.driver")),
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
    ),
    field_values=_field_values,
)

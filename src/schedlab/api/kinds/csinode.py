"""CSI nodes.

Mirrors: pkg/registry/storage/csinode/strategy.go, pkg/apis/storage/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages, nonnegative
from schedlab.api.validation.volume_sources import csi_driver_name
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import Verbatim, marshal

_DRIVERS: Final = Path("spec", "drivers")
_NODE_ID_MAX: Final = 192


def _validate(node: Object, _context: Context) -> ErrorList:
    errors = meta.validate(node["metadata"], names.name_is_dns_subdomain, namespaced=False)
    return errors + _validate_drivers(node["spec"].get("drivers") or ())


def _validate_drivers(drivers: Sequence[Mapping[str, Any]]) -> ErrorList:
    errors: ErrorList = []
    seen: list[str] = []
    for i, driver in enumerate(drivers):
        errors += _validate_driver(driver, _DRIVERS.index(i))
        name = driver.get("name", "")
        if name in seen:
            errors.append(field.duplicate(_DRIVERS.index(i).child("name"), name))
        seen.append(name)
    return errors


def _validate_driver(driver: Mapping[str, Any], path: Path) -> ErrorList:
    errors = csi_driver_name(driver.get("name", ""), path.child("name"))
    node_id = driver.get("nodeID", "")
    if not node_id:
        errors.append(field.required(path.child("nodeID")))
    elif names.byte_length(node_id) > _NODE_ID_MAX:
        detail = f"must be {_NODE_ID_MAX} characters or less"
        errors.append(field.invalid(path.child("nodeID"), node_id, detail))
    errors += nonnegative(driver.get("allocatable") or {}, path.child("allocatable"), "count")
    keys = driver.get("topologyKeys") or []
    for i, key in enumerate(keys):
        if not key:
            errors.append(field.required(path.index(i)))
        if key in keys[:i]:
            errors.append(field.duplicate(path.index(i), key))
        errors += messages(path.child("topologyKeys"), key, names.check_qualified_name(key))
    return errors


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate(new, context)
    drivers, known = new["spec"].get("drivers") or [], {one["name"]: one for one in old["spec"].get("drivers") or ()}
    for driver in drivers:
        before = known.get(driver.get("name", ""))
        if before is not None and not _same(driver, before, context):
            shown = {
                "Name": driver.get("name", ""),
                "NodeID": driver.get("nodeID", ""),
                "TopologyKeys": driver.get("topologyKeys"),
                "Allocatable": driver.get("allocatable"),
            }
            errors.append(
                field.invalid(Path("CSINode"), Verbatim(marshal(shown, sort_keys=False)), names.FIELD_IMMUTABLE)
            )
    return errors


def _same(driver: Mapping[str, Any], before: Mapping[str, Any], context: Context) -> bool:
    mutable = ("allocatable",) if context.features.enabled("MutableCSINodeAllocatableCount") else ()
    keys = [key for each in (driver, before) for key in each if key not in mutable]
    return all(driver.get(key) == before.get(key) for key in keys)


CSI_NODE: Final = Strategy(
    resource="csinodes.storage.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
    allow_unconditional_update=False,
    returns_deleted=True,
)

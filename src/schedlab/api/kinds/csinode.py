"""CSI nodes.

Mirrors: pkg/registry/storage/csinode/strategy.go, pkg/apis/storage/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages, nonnegative
from schedlab.api.validation.volume_sources import csi_driver_name
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_DRIVERS: Final = Path("spec", "drivers")
_NODE_ID_MAX: Final = 256


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
    if names.byte_length(node_id) > _NODE_ID_MAX:
        detail = f"must be {_NODE_ID_MAX} characters or less"
        errors.append(field.invalid(path.child("nodeID"), node_id, detail))
    errors += nonnegative(driver.get("allocatable") or {}, path.child("allocatable"), "count")
    keys = driver.get("topologyKeys") or []
    for i, key in enumerate(keys):
        if not key:
            errors.append(field.required(path))
        if key in keys[:i]:
            errors.append(field.duplicate(path, key))
        errors += messages(path, key, names.check_qualified_name(key))
    return errors


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate(new, context)
    hidden = ("allocatable",) if context.features.enabled("MutableCSINodeAllocatableCount") else ()
    known = {driver.get("name", ""): driver for driver in old["spec"].get("drivers") or ()}
    for driver in new["spec"].get("drivers") or ():
        before = known.get(driver.get("name", ""))
        if before is None:
            continue
        shown, seen = ({key: value for key, value in one.items() if key not in hidden} for one in (driver, before))
        if shown != seen:
            errors.append(field.invalid(_DRIVERS, internal_text("storage.CSINodeDriver", shown), names.FIELD_IMMUTABLE))
    return errors


CSI_NODE: Final = Strategy(
    resource="csinodes.storage.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
    allow_unconditional_update=False,
    returns_deleted=True,
)

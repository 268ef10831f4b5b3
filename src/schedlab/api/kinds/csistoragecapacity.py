"""CSI storage capacities.

Mirrors: pkg/registry/storage/csistoragecapacity/strategy.go, pkg/apis/storage/validation/validation.go,
pkg/api/storage/util.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import dns_subdomain
from schedlab.api.validation.node_labels import node_label_warning
from schedlab.api.validation.resources import validate_nonnegative
from schedlab.api.validation.workloads import validate_fixed_selector
from schedlab.apimachinery import names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.selectors import validate_label_selector

_TOPOLOGY: Final = Path("nodeTopology")
_CLASS: Final = Path("storageClassName")


def _validate(capacity: Object, context: Context) -> ErrorList:
    errors = _validate_both(capacity, allow_invalid_values=False)
    if not errors:
        _warn(capacity, context)
    return errors


def _validate_both(capacity: Object, *, allow_invalid_values: bool) -> ErrorList:
    errors = meta.validate(capacity["metadata"], names.name_is_dns_subdomain, namespaced=True)
    topology = capacity.get("nodeTopology")
    errors += validate_label_selector(topology, _TOPOLOGY, allow_invalid_values=allow_invalid_values)
    errors += dns_subdomain(capacity.get("storageClassName", ""), _CLASS)
    amount = capacity.get("capacity")
    return errors if amount is None else errors + validate_nonnegative(amount, Path("capacity"))


def _warn(capacity: Object, context: Context) -> None:
    path = _TOPOLOGY.child("matchExpressions")
    for i, expression in enumerate((capacity.get("nodeTopology") or {}).get("matchExpressions") or ()):
        key = expression.get("key", "")
        if warning := node_label_warning(key):
            context.warnings.append(f"{path.index(i).child('key')}: {key} is {warning}")


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    topology, before = new.get("nodeTopology"), old.get("nodeTopology")
    errors = _validate_both(new, allow_invalid_values=bool(validate_label_selector(before, _TOPOLOGY)))
    errors += meta.validate_update(new["metadata"], old["metadata"])
    errors += validate_fixed_selector(topology, before, _TOPOLOGY)
    errors += meta.validate_immutable(new.get("storageClassName", ""), old.get("storageClassName", ""), _CLASS)
    if not errors:
        _warn(new, context)
    return errors


CSI_STORAGE_CAPACITY: Final = Strategy(
    resource="csistoragecapacities.storage.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
    allow_unconditional_update=False,
)

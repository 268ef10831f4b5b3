"""CSI storage capacities.

Mirrors: pkg/registry/storage/csistoragecapacity/strategy.go, pkg/apis/storage/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import dns_subdomain
from schedlab.api.validation.resources import validate_nonnegative
from schedlab.apimachinery import names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.selectors import validate_label_selector


def _validate(capacity: Object, _context: Context) -> ErrorList:
    errors = meta.validate(capacity["metadata"], names.name_is_dns_subdomain, namespaced=True)
    errors += validate_label_selector(capacity.get("nodeTopology"), Path("nodeTopology"))
    errors += dns_subdomain(capacity.get("storageClassName", ""), Path("storageClassName"))
    for key in ("capacity", "maximumVolumeSize"):
        if capacity.get(key) is not None:
            errors += validate_nonnegative(capacity[key], Path(key))
    return errors


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = _validate(new, context)
    for key in ("nodeTopology", "storageClassName"):
        errors += meta.validate_immutable(new.get(key), old.get(key), Path(key))
    return errors


CSI_STORAGE_CAPACITY: Final = Strategy(
    resource="csistoragecapacities.storage.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
    allow_unconditional_update=False,
)

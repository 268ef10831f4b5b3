"""Config maps.

Mirrors: pkg/registry/core/configmap/strategy.go, pkg/apis/core/validation/validation.go (ValidateConfigMap…) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

#: Bytes of data in a config map or a secret.
DATA_SIZE_MAX: Final = 1024 * 1024

_IMMUTABLE: Final = "field is immutable when `immutable` is set"


def _validate(config: Object, _context: Context) -> ErrorList:
    errors = meta.validate(config["metadata"], names.name_is_dns_subdomain, namespaced=True)
    data, binary = config.get("data") or {}, config.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        path = Path("data").key(key)
        errors += messages(path, key, names.check_config_map_key(key))
        if key in binary:
            errors.append(field.invalid(path, key, "duplicate of key present in binaryData"))
        size += names.byte_length(value)
    for key, value in binary.items():
        errors += messages(Path("binaryData").key(key), key, names.check_config_map_key(key))
        size += decoded_size(value)
    if size > DATA_SIZE_MAX:
        errors.append(field.too_long("", DATA_SIZE_MAX))
    return errors


def decoded_size(base64_text: str) -> int:
    """Count the bytes that a base64 text stands for."""
    return len(base64_text) * 3 // 4 - base64_text.count("=", -2)


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    errors += validate_immutable(new, old, "data", "binaryData")
    return errors + _validate(new, context)


def validate_immutable(new: Object, old: Object, *keys: str) -> ErrorList:
    """What a config map or secret that was declared immutable may not change."""
    if not old.get("immutable"):
        return []
    errors: ErrorList = [] if new.get("immutable") else [field.forbidden("immutable", _IMMUTABLE)]
    return errors + [field.forbidden(key, _IMMUTABLE) for key in keys if new.get(key) != old.get(key)]


CONFIG_MAP: Final = Strategy(
    resource="configmaps",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
)

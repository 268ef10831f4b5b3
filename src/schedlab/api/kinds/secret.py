"""Secrets.

Mirrors: pkg/registry/core/secret/strategy.go, pkg/apis/core/validation/validation.go (ValidateSecret…) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final

from schedlab.api.kinds.configmap import DATA_SIZE_MAX, decoded_size, validate_immutable
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object, StoredObject
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages
from schedlab.apimachinery import field, json_reader, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.field_selectors import FieldLabels

_ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
_DATA: Final = Path("data")

#: Type of a secret to the key whose value must be JSON.
_JSON_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def _default(secret: Object, _context: Context) -> None:
    secret.setdefault("type", "Opaque")
    if texts := secret.pop("stringData", None):
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        secret["data"] = {**secret.get("data", {}), **data}


def _validate(secret: Object, _context: Context) -> ErrorList:
    errors = meta.validate(secret["metadata"], names.name_is_dns_subdomain, namespaced=True)
    data: Mapping[str, str] = secret.get("data") or {}
    for key in data:
        errors += messages(_DATA.key(key), key, names.check_config_map_key(key))
    if sum(map(decoded_size, data.values())) > DATA_SIZE_MAX:
        errors.append(field.too_long(_DATA, DATA_SIZE_MAX))
    kind = secret.get("type", "")
    if kind == "kubernetes.io/service-account-token":
        if not (secret["metadata"].get("annotations") or {}).get(_ACCOUNT_NAME):
            errors.append(field.required(Path("metadata", "annotations").key(_ACCOUNT_NAME)))
    elif kind in _JSON_KEYS:
        errors += _validate_json(data, _JSON_KEYS[kind])
    elif kind == "kubernetes.io/basic-auth":
        if "username" not in data and "password" not in data:
            errors += [field.required(_DATA.key(key)) for key in ("username", "password")]
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            errors.append(field.required(_DATA.key("ssh-privatekey")))
    elif kind == "kubernetes.io/tls":
        errors += [field.required(_DATA.key(key)) for key in ("tls.crt", "tls.key") if key not in data]
    return errors


def _validate_json(data: Mapping[str, str], key: str) -> ErrorList:
    if key not in data:
        return [field.required(_DATA.key(key))]
    text = base64.b64decode(data[key])
    if problem := json_reader.syntax_error(text):
        return [field.invalid(_DATA.key(key), "<secret contents redacted>", problem)]
    return []


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    # Old clients do not know of types.
    if not new.get("type"):
        new["type"] = old.get("type", "")


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    errors += meta.validate_immutable(new.get("type", ""), old.get("type", ""), Path("type"))
    errors += validate_immutable(new, old, "data")
    return errors + _validate(new, context)


def _field_values(secret: StoredObject) -> dict[str, str]:
    return {"type": str(secret.raw.get("type", ""))}


SECRET: Final = Strategy(
    resource="secrets",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    default=_default,
    field_labels=FieldLabels(frozenset(("metadata.name", "metadata.namespace", "type"))),
    field_values=_field_values,
)

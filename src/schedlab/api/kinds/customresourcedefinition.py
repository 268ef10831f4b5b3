"""Definitions of custom resources.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go,
pkg/apis/apiextensions/v1/defaults.go, pkg/apiserver/validation/formats.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Final

from schedlab.api.kinds.strategy import (
    RESETS_SPEC,
    RESETS_STATUS,
    Context,
    Strategy,
    UpdateStrategy,
    bump_generation,
    keep_spec,
    keep_status,
)
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.definitions.spec import (
    validate_approval,
    validate_immutable_names,
    validate_names,
    validate_spec,
    validate_stored_versions,
)
from schedlab.api.validation.definitions.walking import subschemas
from schedlab.api.validation.x509 import bundle_problem
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import quote

#: The resource, named as kubectl names it.
DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_ACCEPTED_NAMES: Final = Path("status", "acceptedNames")
#: Formats of texts that values are checked for, without their hyphens.
_TEXT_FORMATS: Final = frozenset(
    [
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
        "k8sshortname",
        "k8slongname",
    ]
)
_NUMBER_FORMATS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}


def _default(crd: Object, _context: Context) -> None:
    spec, own = crd["spec"], crd["spec"]["names"]
    if not own.get("singular"):
        own["singular"] = own.get("kind", "").lower()
    if not own.get("listKind") and own.get("kind"):
        own["listKind"] = f"{own['kind']}List"
    conversion = spec.get("conversion")
    if conversion is None:
        spec["conversion"] = {"strategy": "None"}
    else:
        service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", 443)
    if not crd["status"].get("storedVersions"):
        _add_stored_version(crd)


def _add_stored_version(crd: Object) -> None:
    """Note that objects may be stored in the version that is the storage version now."""
    stored: list[str] = list(crd["status"].get("storedVersions") or ())
    versions = crd["spec"].get("versions") or ()
    name = next((version.get("name", "") for version in versions if version.get("storage")), None)
    if name is not None and name not in stored:
        crd["status"] = {**crd["status"], "storedVersions": [*stored, name]}


def _prepare(crd: Object, context: Context) -> None:
    crd["metadata"]["generation"] = 1
    crd["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}
    _add_stored_version(crd)
    _drop_observed_generation(crd, None, context)


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    keep_status(new, old)
    bump_generation(new, old, "spec")
    _add_stored_version(new)
    _drop_observed_generation(new, old, context)


def _prepare_status(new: Object, old: Object, context: Context) -> None:
    keep_spec(new, old)
    _drop_observed_generation(new, old, context)


def _drop_observed_generation(crd: Object, old: Object | None, context: Context) -> None:
    if context.features.enabled("CRDObservedGenerationTracking") or (old is not None and _tracks_generation(old)):
        return
    crd["status"].pop("observedGeneration", None)
    for condition in crd["status"].get("conditions") or ():
        condition.pop("observedGeneration", None)


def _tracks_generation(crd: Object) -> bool:
    holders = (crd["status"], *(crd["status"].get("conditions") or ()))
    return any(holder.get("observedGeneration") for holder in holders)


def _validate(crd: Object, context: Context) -> ErrorList:
    spec = crd["spec"]
    wanted = f"{spec['names'].get('plural', '')}.{spec.get('group', '')}"

    def check_name(name: str, *, prefix: bool = False) -> list[str]:
        found = names.name_is_dns_subdomain(name, prefix=prefix)
        return found if name == wanted else [*found, 'must be spec.names.plural+"."+spec.group']

    errors = meta.validate(crd["metadata"], check_name, namespaced=False)
    errors += validate_spec(spec, check_bundle=False) + _validate_rest(crd, None)
    if not errors:
        context.warnings.extend(f"unrecognized format {quote(text)}" for text in _unknown_formats(spec))
    return errors


def _validate_rest(crd: Object, old: Object | None) -> ErrorList:
    errors = validate_names(crd["status"].get("acceptedNames") or {}, _ACCEPTED_NAMES)
    errors += validate_stored_versions(crd) + validate_approval(crd, old)
    if crd["spec"].get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        errors.append(field.invalid(Path("spec", "preserveUnknownFields"), True, detail))
    return errors


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    spec, before = new["spec"], old["spec"]
    established = is_established(old)
    errors = meta.validate_update(new["metadata"], old["metadata"])
    errors += validate_spec(spec, check_bundle=established and _has_sound_bundle(before))
    errors += validate_immutable_names(spec, before, is_established=established)
    errors += _validate_rest(new, old)
    if not errors:
        known = set(_unknown_formats(before))
        new_ones = (text for text in _unknown_formats(spec) if text not in known)
        context.warnings.extend(f"unrecognized format {quote(text)}" for text in new_ones)
    return errors


def _has_sound_bundle(spec: Object) -> bool:
    """Whether the certificates of a webhook are sound so far, or missing."""
    webhook = (spec.get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle") or ""
    return not bundle or not bundle_problem(base64.b64decode(bundle))


def is_established(crd: Object) -> bool:
    """Whether objects of a definition are served."""
    conditions = crd["status"].get("conditions") or ()
    return any(entry.get("type") == "Established" and entry.get("status") == "True" for entry in conditions)


def _unknown_formats(spec: Object) -> Iterator[str]:
    for version in spec.get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        for part in subschemas(schema):
            form = part.get("format") or ""
            if form and not _is_known_format(form, part.get("type") or ""):
                yield form


def _is_known_format(form: str, kind: str) -> bool:
    if kind in ("", "string"):
        return form.replace("-", "") in _TEXT_FORMATS
    return form in _NUMBER_FORMATS.get(kind, ())


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    return errors + validate_names(new["status"].get("acceptedNames") or {}, _ACCEPTED_NAMES)


CUSTOM_RESOURCE_DEFINITION: Final = Strategy(
    resource=DEFINITIONS,
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, RESETS_STATUS),
    default=_default,
    prepare=_prepare,
    subresources={"status": UpdateStrategy(_validate_status, _prepare_status, RESETS_SPEC)},
    allow_unconditional_update=False,
    returns_deleted=True,
)

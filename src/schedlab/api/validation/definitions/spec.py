"""CustomResourceDefinitions: names, versions, conversion, and approval of groups that belong to Kubernetes.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
pkg/apihelpers/helpers.go (v1.36)
Differs: definitions that were stored under older rules do not exist, so there is nothing to be lenient about.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from schedlab.api.internal_form import internal_text
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import required
from schedlab.api.validation.definitions.versions import Layout, layout, validate_shared, validate_versions
from schedlab.api.validation.definitions.walking import subschemas
from schedlab.api.validation.webhooks import validate_service, validate_url
from schedlab.api.validation.x509 import bundle_problem
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_APPROVAL: Final = "api-approved.kubernetes.io"
_SCOPES: Final = ("Cluster", "Namespaced")
_STRATEGIES: Final = ("None", "Webhook")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_PROTECTED: Final = ("k8s.io", "kubernetes.io")
_SEE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"


def validate_spec(spec: Object, *, check_bundle: bool) -> ErrorList:
    """Check a spec; `check_bundle` says whether certificates of a webhook must be sound."""
    group, own = spec.get("group", ""), _SPEC.child("group")
    inside = layout(spec)
    errors: ErrorList = []
    if not group:
        errors.append(field.required(own))
    elif problems := names.check_dns1123_subdomain(group):
        errors.append(field.invalid(own, group, ",".join(problems)))
    elif "." not in group:
        errors.append(field.invalid(own, group, "should be a domain with at least one dot"))
    errors += _enumerated(spec.get("scope", ""), _SCOPES, _SPEC.child("scope"))
    errors += _validate_presence(spec)
    errors += validate_versions(inside, _SPEC)
    errors += _validate_version_set(inside)
    errors += required(spec["names"], _SPEC.child("names"), "plural", "singular", "kind", "listKind")
    errors += validate_names(spec["names"], _SPEC.child("names"))
    errors += validate_shared(inside, _SPEC)
    return errors + _validate_conversion(spec, check_bundle=check_bundle)


def _enumerated(value: str, supported: tuple[str, ...], path: Path) -> ErrorList:
    if not value:
        return [field.required(path)]
    return [] if value in supported else [field.not_supported(path, value, supported)]


def _validate_presence(spec: Object) -> ErrorList:
    """Check that every version has a schema, and that nothing but schemas says which fields there are."""
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") for version in spec.get("versions") or ()]
    errors = [
        field.required(_SPEC.child("versions").index(i).child("schema", "openAPIV3Schema"))
        for i, schema in enumerate(schemas)
        if schema is None
    ]
    parts = (part for schema in schemas if schema is not None for part in subschemas(schema))
    if spec.get("preserveUnknownFields") and any(part.get("default") is not None for part in parts):
        detail = "must be false in order to use defaults in the schema"
        errors.append(field.invalid(_SPEC.child("preserveUnknownFields"), True, detail))
    return errors


def _validate_version_set(inside: Layout) -> ErrorList:
    """Check the versions together."""
    path, all_names = _SPEC.child("versions"), [version.get("name", "") for version in inside.versions]
    shown = internal_text("[]apiextensions.CustomResourceDefinitionVersion", inside.versions)
    errors: ErrorList = []
    if len(set(all_names)) != len(all_names):
        errors.append(field.invalid(path, shown, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in inside.versions) != 1:
        errors.append(field.invalid(path, shown, "must have exactly one version marked as storage version"))
    first = all_names[0] if all_names else ""
    if first and (problems := names.check_dns1035_label(first)):
        errors.append(field.invalid(_SPEC.child("version"), first, ",".join(problems)))
    return errors


def validate_names(known: Mapping[str, Any], path: Path) -> ErrorList:
    """Check the names under which a resource is known, as far as there are any."""
    errors: ErrorList = []
    for key in ("plural", "singular"):
        errors += _validate_label(known.get(key) or "", path.child(key))
    for key in ("kind", "listKind"):
        value = known.get(key) or ""
        if value and (problems := names.check_dns1035_label(value.lower())):
            detail = f"may have mixed case, but should otherwise match: {','.join(problems)}"
            errors.append(field.invalid(path.child(key), value, detail))
    for i, name in enumerate(known.get("shortNames") or ()):
        errors += _validate_label(name, path.child("shortNames").index(i), allow_empty=False)
    if known.get("kind") and known.get("kind") == known.get("listKind"):
        errors.append(field.invalid(path.child("listKind"), known["kind"], "kind and listKind may not be the same"))
    for i, name in enumerate(known.get("categories") or ()):
        errors += _validate_label(name, path.child("categories").index(i), allow_empty=False)
    return errors


def _validate_label(value: str, path: Path, *, allow_empty: bool = True) -> ErrorList:
    problems = names.check_dns1035_label(value)
    if not problems or (allow_empty and not value):
        return []
    return [field.invalid(path, value, ",".join(problems))]


def _validate_conversion(spec: Object, *, check_bundle: bool) -> ErrorList:
    conversion, path = spec.get("conversion"), _SPEC.child("conversion")
    if conversion is None:
        return []
    strategy, errors = conversion.get("strategy", ""), ErrorList()
    if strategy != "None" and spec.get("preserveUnknownFields"):
        detail = "must be None if spec.preserveUnknownFields is true"
        errors.append(field.invalid(path.child("strategy"), strategy, detail))
    errors += _enumerated(strategy, _STRATEGIES, path.child("strategy"))
    webhook = conversion.get("webhook") or {}
    client, own = webhook.get("clientConfig"), path.child("webhookClientConfig")
    versions, reviews = webhook.get("conversionReviewVersions") or [], path.child("conversionReviewVersions")
    if strategy == "Webhook":
        if client is None:
            errors.append(field.required(own, "required when strategy is set to Webhook"))
        else:
            errors += _validate_client(client, own, check_bundle=check_bundle)
        return errors + _validate_review_versions(versions, reviews)
    detail = "should not be set when strategy is not set to Webhook"
    if client is not None:
        errors.append(field.forbidden(own, detail))
    return [*errors, field.forbidden(reviews, detail)] if versions else errors


def _validate_client(client: Mapping[str, Any], path: Path, *, check_bundle: bool) -> ErrorList:
    url, service, bundle = client.get("url"), client.get("service"), client.get("caBundle") or ""
    errors: ErrorList = []
    if (url is None) == (service is None):
        errors.append(field.required(path, "exactly one of url or service is required"))
    elif url is not None:
        errors += validate_url(url, path.child("url"))
    elif service is not None:
        errors += validate_service(service, path.child("service"))
    if bundle and check_bundle and (problem := bundle_problem(base64.b64decode(bundle))):
        detail = f"unable to load root certificates: {problem}"
        errors.append(field.invalid(path.child("caBundle"), bundle, detail))
    return errors


def _validate_review_versions(versions: list[str], path: Path) -> ErrorList:
    if not versions:
        return [field.required(path)]
    errors: ErrorList = []
    for i, version in enumerate(versions):
        found = ["duplicate version"] if version in versions[:i] else names.check_dns1035_label(version)
        errors += [field.invalid(path.index(i), version, text) for text in found]
    if not set(versions) & set(_REVIEW_VERSIONS):
        detail = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        errors.append(field.invalid(path, versions, detail))
    return errors


def validate_stored_versions(crd: Object) -> ErrorList:
    """Check that every version that objects may be stored in is still known."""
    path, stored = Path("status", "storedVersions"), crd["status"].get("storedVersions")
    versions = crd["spec"].get("versions") or ()
    if not stored:
        return [field.invalid(path, stored, "must have at least one stored version")]
    errors = [
        field.invalid(path, stored, f"must have the storage version {version['name']}")
        for version in versions
        if version.get("storage") and version.get("name", "") not in stored
    ]
    known = [version.get("name", "") for version in versions]
    for i, name in enumerate(stored):
        if name not in known:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
                f"until a storage migration ensures no data remains persisted in {name} and removes {name} from "
                "status.storedVersions"
            )
            errors.append(field.invalid(path.index(i), name, detail))
    return errors


def validate_approval(crd: Object, old: Object | None) -> ErrorList:
    """Check that Kubernetes' own groups are used with approval."""
    group = crd["spec"].get("group", "")
    if not any(group == domain or group.endswith(f".{domain}") for domain in _PROTECTED):
        return []
    text = _approval(crd)
    state = _approval_state(text)
    if state == "fine" or (old is not None and _approval_state(_approval(old)) == state):
        return []
    path = Path("metadata", "annotations").key(_APPROVAL)
    needed = f'protected groups must have approval annotation "{_APPROVAL}"'
    if state == "missing":
        return [field.required(path, f"{needed}, {_SEE}")]
    return [field.invalid(path, text, f'{needed} with either a URL or a reason starting with "unapproved", {_SEE}')]


def _approval(crd: Object) -> str:
    text: str = (crd["metadata"].get("annotations") or {}).get(_APPROVAL, "")
    return text


def _approval_state(text: str) -> str:
    if not text:
        return "missing"
    if text.startswith("unapproved"):
        return "fine"
    try:
        parts = urlsplit(text)
    except ValueError:
        return "invalid"
    return "fine" if parts.scheme and parts.netloc else "invalid"


def validate_immutable_names(spec: Object, old: Object, *, is_established: bool) -> ErrorList:
    """Check that a resource stays what it is."""
    errors: ErrorList = []
    own, before, path = spec["names"], old["names"], _SPEC.child("names")
    if is_established:
        errors += meta.validate_immutable(spec.get("scope", ""), old.get("scope", ""), _SPEC.child("scope"))
        errors += meta.validate_immutable(own.get("kind", ""), before.get("kind", ""), path.child("kind"))
    errors += meta.validate_immutable(spec.get("group", ""), old.get("group", ""), _SPEC.child("group"))
    return errors + meta.validate_immutable(own.get("plural", ""), before.get("plural", ""), path.child("plural"))

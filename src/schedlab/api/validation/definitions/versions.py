"""Versions of a CustomResourceDefinition: what is served, under which subresources, and in which columns.

Inside, kube-apiserver keeps what all versions have in common in the spec itself; errors name it there.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
pkg/apis/apiextensions/v1/conversion.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.object import Object
from schedlab.api.validation.common import required
from schedlab.api.validation.definitions.field_paths import PathError, resolve
from schedlab.api.validation.definitions.schemas import validate_schema
from schedlab.api.validation.definitions.structural import conversion_problem
from schedlab.api.validation.definitions.walking import Schema
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SHARED: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES: Final = ("string", "boolean", "integer")
_SELECTABLE_MAX: Final = 8
_WARNING_LENGTH_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class Layout:
    """What all versions have in common, and the versions without that."""

    shared: Mapping[str, Any]
    versions: Sequence[Object]


def layout(spec: Object) -> Layout:
    """Bring the versions of a definition into the form that they have inside."""
    versions: list[Object] = spec.get("versions") or []
    if not versions:
        return Layout({}, [])
    first = versions[0]
    same = [key for key in _SHARED if all(_equal(version.get(key), first.get(key)) for version in versions)]
    rest = [{key: value for key, value in version.items() if key not in same} for version in versions]
    return Layout({key: first.get(key) for key in same}, rest)


def _equal(one: object, other: object) -> bool:
    return one == other or (one in (None, []) and other in (None, []))


def validate_versions(inside: Layout, spec_path: Path) -> ErrorList:
    """Check each version for itself."""
    are_shared = all(version.get("subresources") is None for version in inside.versions)
    errors: ErrorList = []
    for i, version in enumerate(inside.versions):
        path = spec_path.child("versions").index(i)
        name = version.get("name", "")
        if problems := names.check_dns1035_label(name):
            errors.append(field.invalid(path.child("name"), name, ",".join(problems)))
        subresources = inside.shared.get("subresources") if are_shared else version.get("subresources")
        errors += _validate_version(version, path, has_status=_has_status(subresources))
    return errors


def validate_shared(inside: Layout, spec_path: Path) -> ErrorList:
    """Check what all versions have in common."""
    shared, path = inside.shared, spec_path.child("validation")
    holders = (shared.get("subresources"), *(version.get("subresources") for version in inside.versions))
    schema = shared.get("schema")
    errors: ErrorList = []
    if schema is not None and schema.get("openAPIV3Schema") is not None:
        has_status = any(_has_status(subresources) for subresources in holders)
        errors += validate_schema(schema["openAPIV3Schema"], path, has_status=has_status)
    errors += _validate_subresources(shared.get("subresources"), spec_path.child("subresources"))
    errors += _validate_columns(shared.get("additionalPrinterColumns"), spec_path)
    selectable, own = shared.get("selectableFields") or [], spec_path.child("selectableFields")
    if selectable and schema is None:
        errors.append(field.invalid(own, "", "may only be set when validations.schema is included"))
    if selectable and schema is not None:
        errors += _validate_selectable(selectable, schema.get("openAPIV3Schema") or {}, own, spec_path)
    return errors


def _has_status(subresources: Object | None) -> bool:
    return subresources is not None and subresources.get("status") is not None


def _validate_version(version: Object, path: Path, *, has_status: bool) -> ErrorList:
    warning = version.get("deprecationWarning")
    problems = _warning_problems(warning, is_deprecated=bool(version.get("deprecated")))
    errors = [field.invalid(path.child("deprecationWarning"), warning, problem) for problem in problems]
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        errors += validate_schema(schema, path.child("schema"), has_status=has_status)
    errors += _validate_subresources(version.get("subresources"), path.child("subresources"))
    errors += _validate_columns(version.get("additionalPrinterColumns"), path)
    selectable, own = version.get("selectableFields") or [], path.child("selectableFields")
    if selectable and schema is None:
        detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
        errors.append(field.invalid(own, "", detail))
    if selectable and schema is not None:
        errors += _validate_selectable(selectable, schema, own, path)
    return errors


def _warning_problems(warning: str | None, *, is_deprecated: bool) -> list[str]:
    if warning is None:
        return []
    if not is_deprecated:
        return ["can only be set for deprecated versions"]
    problems: list[str] = []
    if names.byte_length(warning) > _WARNING_LENGTH_MAX:
        problems.append(f"must be <= {_WARNING_LENGTH_MAX} characters long")
    if not warning:
        problems.append("must not be an empty string")
    unprintable = next((i for i, char in enumerate(warning) if not char.isprintable()), None)
    if unprintable is not None:
        place = names.byte_length(warning[:unprintable])
        problems.append(f"must only contain printable UTF-8 characters; non-printable character found at index {place}")
    return problems


def _validate_subresources(subresources: Object | None, path: Path) -> ErrorList:
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors: ErrorList = []
    for key, roots, place in (
        ("specReplicasPath", (".spec.",), "under .spec"),
        ("statusReplicasPath", (".status.",), "under .status"),
        ("labelSelectorPath", (".spec.", ".status."), "under either .spec or .status"),
    ):
        text, own = scale.get(key) or "", path.child("scale", key)
        if not text and key != "labelSelectorPath":
            errors.append(field.required(own))
        elif text and not text.startswith("."):
            errors.append(field.invalid(own, text, "must be a simple json path starting with ."))
        elif text and not text.startswith(roots):
            errors.append(field.invalid(own, text, f"should be a json path {place}"))
    return errors


def _validate_columns(columns: Sequence[Object] | None, holder: Path) -> ErrorList:
    errors: ErrorList = []
    for i, column in enumerate(columns or ()):
        errors += _validate_column(column, holder.child("additionalPrinterColumns").index(i))
    return errors


def _validate_column(column: Object, path: Path) -> ErrorList:
    errors = required(column, path, "name")
    kind, form, place = (column.get(key) or "" for key in ("type", "format", "jsonPath"))
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        errors.append(field.required(path.child("type"), types))
    elif kind not in _COLUMN_TYPES:
        errors.append(field.invalid(path.child("type"), kind, types))
    if form and form not in _COLUMN_FORMATS:
        errors.append(field.invalid(path.child("format"), form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    if not place:
        errors.append(field.required(path.child("JSONPath")))
    elif not place.startswith("."):
        errors.append(field.invalid(path.child("JSONPath"), place, "must be a simple json path starting with ."))
    return errors


def _validate_selectable(selectable: Sequence[Object], schema: Schema, path: Path, holder: Path) -> ErrorList:
    """Check fields that objects can be selected by."""
    errors: ErrorList = []
    if problem := conversion_problem(schema):
        errors.append(field.invalid(holder.child("schema", "openAPIV3Schema"), "", problem))
        schema = {}
    seen: list[tuple[str, ...]] = []
    for i, entry in enumerate(selectable):
        own, place = path.index(i).child("jsonPath"), entry.get("jsonPath") or ""
        if not place:
            errors.append(field.required(own))
            continue
        try:
            steps, found = resolve(place, schema, allow_brackets=False)
        except PathError as error:
            errors.append(field.invalid(own, place, f"is an invalid path: {error}"))
            continue
        errors += _validate_selected(steps, found, place, own)
        if steps in seen:
            errors.append(field.duplicate(own, place))
        else:
            seen.append(steps)
    if len(seen) > _SELECTABLE_MAX:
        errors.append(field.too_many(path, len(seen), _SELECTABLE_MAX))
    return errors


def _validate_selected(steps: tuple[str, ...], schema: Schema | None, place: str, path: Path) -> ErrorList:
    errors: ErrorList = []
    if steps[0] == "metadata":
        errors.append(field.invalid(path, place, "must not point to fields in metadata"))
    if schema is None or schema.get("type") not in _SELECTABLE_TYPES:
        detail = (
            "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are "
            "allowed."
        )
        errors.append(field.invalid(path, place, detail))
    return errors

"""The rules of one version of a custom resource, made from its definition.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/{strategy,status_strategy,validator}.go
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.kinds.scales import ScaleRules
from schedlab.api.kinds.strategy import RESETS_STATUS, Context, Conversion, Strategy, UpdateStrategy, keep
from schedlab.api.object import Object, StoredObject
from schedlab.api.validation import meta
from schedlab.api.validation.definitions.walking import Schema
from schedlab.apimachinery import field, names
from schedlab.apimachinery.errors import new_forbidden, new_invalid
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.field_selectors import FieldLabels
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.gvk import GroupKind, GroupResource, GroupVersionKind
from schedlab.registry.custom import json_path
from schedlab.registry.custom.invariants import check_embedded, check_lists
from schedlab.registry.custom.pruning import drop_nulls, fill_defaults
from schedlab.registry.custom.rules import check_rules, has_rules
from schedlab.registry.custom.scaling import find_value
from schedlab.registry.custom.validation import NOTHING, type_name, validate

_INT32_MAX: Final = 2**31 - 1
_FINALIZERS: Final = ("orphan", "foregroundDeletion", "kubernetes")
_LABELS: Final = frozenset(("metadata.name", "metadata.namespace"))


@dataclass(frozen=True, slots=True)
class Version:
    """What one version of a definition says."""

    gvk: GroupVersionKind
    namespaced: bool
    schema: Schema
    has_status: bool = False
    scale: ScaleRules | None = None
    #: Steps to the text that selects what is scaled.
    selector: Sequence[str] = ()
    #: JSON paths of fields that can be selected by.
    selectable: Sequence[str] = ()
    is_terminating: bool = False


def make_strategy(resource: str, stored_as: str, stored_version: str, version: Version) -> Strategy:
    """Return the strategy of a version whose objects are stored in another, or the same, one."""
    return _Rules(version, resource.partition(".")[0]).strategy(
        resource, stored_as, f"{version.gvk.group}/{stored_version}"
    )


class _Rules:
    """The functions of the strategy."""

    def __init__(self, version: Version, plural: str) -> None:
        self._version = version
        self._plural = plural
        self._schema = version.schema
        self._has_rules = has_rules(version.schema)
        self._status_schema: Schema = (version.schema.get("properties") or {}).get("status") or {}

    def strategy(self, resource: str, stored_as: str, stored_version: str) -> Strategy:
        """Put the functions together."""
        version = self._version
        resets: Mapping[str, Any] = {"reset_fields": RESETS_STATUS} if version.has_status else {}
        status = UpdateStrategy(self._validate_status, _prepare_status, (("metadata",), ("spec",)))
        paths = {path.removeprefix("."): json_path.parse(path) for path in version.selectable}

        def values(stored: StoredObject) -> Mapping[str, str]:
            obj = stored.raw
            return {name: "".join(map(json_path.to_text, path.find(obj)[:1])) for name, path in paths.items()}

        return Strategy(
            resource=resource,
            validate=self._validate,
            update=UpdateStrategy(self._validate_update, self._prepare_update, **resets),
            default=self._default,
            prepare=self._prepare,
            subresources={"status": status} if version.has_status else {},
            allow_unconditional_update=False,
            returns_deleted=False,
            field_labels=FieldLabels(_LABELS | frozenset(paths)),
            field_values=values if paths else None,
            scale=version.scale,
            conversion=Conversion(stored_as, _to_version(stored_version), self._from_stored),
        )

    # --- forms -------------------------------------------------------------------------------------------------------

    def _default(self, obj: Object, _context: Context) -> None:
        drop_nulls(obj, self._schema)
        fill_defaults(obj, self._schema)

    def _from_stored(self, obj: Object) -> Object:
        """Return a stored object in this version, with the defaults that its schema has now."""
        shown = {**obj, "apiVersion": f"{self._version.gvk.group}/{self._version.gvk.version}"}
        fill_defaults(shown, self._schema)
        return shown

    # --- preparation -------------------------------------------------------------------------------------------------

    def _prepare(self, obj: Object, context: Context) -> None:
        if self._version.is_terminating:
            group = GroupResource(self._version.gvk.group, self._plural)
            cause = "create not allowed while custom resource definition is terminating"
            raise new_forbidden(group, obj["metadata"].get("name", ""), cause)
        if self._version.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1
        _warn_of_finalizers(obj, {}, context)

    def _prepare_update(self, new: Object, old: Object, context: Context) -> None:
        if self._version.has_status:
            keep(new, old, "status")
        if any(new.get(key) != old.get(key) for key in {**new, **old} if key != "metadata"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        _warn_of_finalizers(new, old["metadata"], context)

    # --- validation --------------------------------------------------------------------------------------------------

    def _validate(self, obj: Object, _context: Context) -> ErrorList:
        self._refuse_other_kind(obj)
        check_name = names.name_is_dns_subdomain
        errors = meta.validate_generic(obj["metadata"], check_name, namespaced=self._version.namespaced)
        errors += validate(obj, self._schema) + self._scale_errors(obj, with_spec=True)
        errors += check_embedded(obj, self._schema) + check_lists(obj, self._schema)
        return errors + self._rule_errors(obj, None, errors)

    def _validate_update(self, new: Object, old: Object, _context: Context) -> ErrorList:
        self._refuse_other_kind(new)
        errors = meta.validate_update(new["metadata"], old["metadata"])
        errors += validate(new, self._schema, old=old) + self._scale_errors(new, with_spec=True)
        errors += check_embedded(new, self._schema) + self._new_list_errors(new, old)
        return errors + self._rule_errors(new, old, errors)

    def _validate_status(self, new: Object, old: Object, _context: Context) -> ErrorList:
        self._refuse_other_kind(new)
        errors = meta.validate_update(new["metadata"], old["metadata"])
        if "status" in new:
            errors += validate(new["status"], self._status_schema, "status", old.get("status", NOTHING))
        errors += self._scale_errors(new, with_spec=False) + self._new_list_errors(new, old)
        return errors + self._rule_errors(new, old, errors)

    def _new_list_errors(self, new: Object, old: Object) -> ErrorList:
        """Check lists, unless something was wrong with them before."""
        return [] if check_lists(old, self._schema) else check_lists(new, self._schema)

    def _rule_errors(self, new: Object, old: Object | None, errors: ErrorList) -> ErrorList:
        return check_rules(new, self._schema, old, errors) if self._has_rules else []

    def _refuse_other_kind(self, obj: Object) -> None:
        """Refuse an object of another kind under its own name."""
        found, wanted = obj.get("kind", ""), self._version.gvk.kind
        if found != wanted:
            wrong = field.invalid(Path("kind"), found, f"must be {wanted}")
            raise new_invalid(GroupKind(self._version.gvk.group, found), obj["metadata"].get("name", ""), [wrong])

    def _scale_errors(self, obj: Object, *, with_spec: bool) -> ErrorList:
        scale = self._version.scale
        if scale is None:
            return []
        errors: ErrorList = []
        for path in (scale.wanted, scale.present) if with_spec else (scale.present,):
            errors += _replicas_errors(obj, path)
        if selector := self._version.selector:
            found = find_value(obj, selector)
            if found is not None and not isinstance(found, str):
                errors.append(field.invalid(f".{'.'.join(selector)}", "", _wrong_type(selector, found, "string")))
        return errors


def _replicas_errors(obj: Object, path: Sequence[str]) -> ErrorList:
    found = find_value(obj, path)
    place = f".{'.'.join(path)}"
    if found is None:
        return []
    if isinstance(found, bool) or not isinstance(found, int):
        return [field.invalid(place, 0, _wrong_type(path, found, "int64"))]
    if found < 0:
        return [field.invalid(place, found, "should be a non-negative integer")]
    if found > _INT32_MAX:
        return [field.invalid(place, found, f"should be less than or equal to {_INT32_MAX}")]
    return []


def _wrong_type(path: Sequence[str], value: object, wanted: str) -> str:
    """Say as Go's unstructured helpers do that a value has another type."""
    go = {"string": "string", "boolean": "bool", "number": "float64", "integer": "int64"}
    found = go.get(type_name(value), "map[string]interface {}" if isinstance(value, dict) else "[]interface {}")
    return f".{'.'.join(path)} accessor error: {_shown(value)} is of the type {found}, expected {wanted}"


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _to_version(api_version: str) -> Callable[[Object], Object]:
    return lambda obj: {**obj, "apiVersion": api_version}


def _prepare_status(new: Object, old: Object, _context: Context) -> None:
    """Take the old object but for its status and who manages which field."""
    status, managed = new.get("status"), new["metadata"].get("managedFields")
    has_status = "status" in new
    new.clear()
    new.update(old)
    new["metadata"] = dict(old["metadata"])
    if managed is not None:
        new["metadata"]["managedFields"] = managed
    else:
        new["metadata"].pop("managedFields", None)
    if has_status:
        new["status"] = status
    else:
        new.pop("status", None)


def _warn_of_finalizers(obj: Object, before: Mapping[str, Any], context: Context) -> None:
    """Advise on the names of new finalizers."""
    known = before.get("finalizers") or ()
    for finalizer in sorted(set(obj["metadata"].get("finalizers") or ()) - set(known)):
        place = f"metadata.finalizers: {quote(finalizer)}"
        context.warnings.extend(f"{place}: {problem}" for problem in names.check_qualified_name(finalizer))
        if "/" in finalizer or finalizer in _FINALIZERS:
            continue
        form = " including a path (/)" if "." in finalizer else ""
        advice = f"prefer a domain-qualified finalizer name{form} to avoid accidental conflicts"
        context.warnings.append(f"{place}: {advice} with other finalizer writers")

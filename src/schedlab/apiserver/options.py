"""Query parameters as the options of a request: how each is parsed, and what is refused about it.

Mirrors: staging/src/k8s.io/apimachinery/pkg/apis/meta/internalversion/validation/validation.go,
apis/meta/v1/validation/validation.go (options), runtime/conversion.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.apimachinery import field, gojson
from schedlab.apimachinery.errors import BadRequest, Invalid, new_bad_request, new_invalid
from schedlab.apimachinery.field import ErrorList
from schedlab.apimachinery.gvk import GroupKind
from schedlab.apimachinery.user import User
from schedlab.apiserver.authentication import UserInfo
from schedlab.apiserver.request import Request
from schedlab.apiserver.request_info import Query, to_bool
from schedlab.registry.request import DeleteOptions, WriteOptions

_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_UINT64_MAX: Final = 2**64 - 1
_FIELD_MANAGER_BYTES_MAX: Final = 128
_DECIMAL: Final = re.compile(r"[+-]?[0-9]+")
_FIELD_VALIDATIONS: Final = ("", "Ignore", "Strict", "Warn")
_PROPAGATION_POLICIES: Final = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What a list, a watch or a deletion of a collection asks for; selectors are still texts."""

    label_selector: str = ""
    field_selector: str = ""
    watch: bool = False
    allow_watch_bookmarks: bool = False
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_s: int | None = None
    limit: int = 0
    continue_token: str = ""
    send_initial_events: bool | None = None


_NO_LIST_QUERY: Final = ListQuery()


def read_list_query(query: Query, *, watch: bool | None = None) -> ListQuery:
    """Read and check the options of a list or watch; raises BadRequest, Invalid.

    `watch` overrides the parameter for paths that are always watches.
    """
    if not query and not watch:
        return _NO_LIST_QUERY
    send = query.get("sendInitialEvents")
    options = ListQuery(
        label_selector=read_text(query, "labelSelector"),
        field_selector=read_text(query, "fieldSelector"),
        watch=read_flag(query, "watch") if watch is None else watch,
        allow_watch_bookmarks=read_flag(query, "allowWatchBookmarks"),
        resource_version=read_text(query, "resourceVersion"),
        resource_version_match=read_text(query, "resourceVersionMatch"),
        timeout_s=read_integer(query, "timeoutSeconds"),
        limit=read_integer(query, "limit") or 0,
        continue_token=read_text(query, "continue"),
        send_initial_events=None if send is None else to_bool(send[0]),
    )
    # Checked as upstream sees it: a watch from "" or "0" sends initial events as if it had asked for them.
    errors = _watch_errors(options) if options.watch else _list_errors(options)
    if errors:
        raise _invalid("ListOptions", errors)
    return options


def _list_errors(options: ListQuery) -> ErrorList:
    errors: ErrorList = []
    match = options.resource_version_match
    name = "resourceVersionMatch"
    if match:
        if not options.resource_version:
            errors.append(field.forbidden(name, f"{name} is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            errors.append(field.forbidden(name, f"{name} is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            errors.append(field.not_supported(name, match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.resource_version == "0":
            errors.append(field.forbidden(name, f'{name} "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        errors.append(field.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(options: ListQuery) -> ErrorList:
    errors: ErrorList = []
    match = options.resource_version_match
    name = "resourceVersionMatch"
    if options.send_initial_events is not None and match != "NotOlderThan":
        errors.append(field.forbidden(name, f"sendInitialEvents requires setting {name} to NotOlderThan"))
    if match:
        if options.send_initial_events is None:
            errors.append(field.forbidden(name, f"{name} is forbidden for watch unless sendInitialEvents is provided"))
        if match != "NotOlderThan":
            errors.append(field.not_supported(name, match, ("NotOlderThan",)))
        if options.continue_token:
            errors.append(field.forbidden(name, f"{name} is forbidden when continue is provided"))
    return errors


def read_write_options(request: Request, kind: str, *, apply: bool = False) -> WriteOptions:
    """Read and check the options of a create, update or patch (`kind` names them); raises BadRequest, Invalid."""
    query = request.query
    errors: ErrorList = []
    manager, validation = read_text(query, "fieldManager"), read_text(query, "fieldValidation")
    force = query.get("force")
    if kind == "PatchOptions":
        if apply and not manager:
            errors.append(field.required("fieldManager", "is required for apply patch"))
        if not apply and force is not None:
            errors.append(field.forbidden("force", "may not be specified for non-apply patch"))
    errors += _field_manager_errors(manager)
    dry_run = query.get("dryRun", ())
    errors += _dry_run_errors(dry_run)
    if validation not in _FIELD_VALIDATIONS:
        errors.append(field.not_supported("fieldValidation", validation, _FIELD_VALIDATIONS))
    if errors:
        raise _invalid(kind, errors)
    user = request.user
    return WriteOptions(
        field_manager=manager,
        user_agent=request.user_agent,
        dry_run=bool(dry_run),
        force=to_bool(force[0]) if force else False,
        field_validation="Strict" if validation == "Strict" else "Ignore" if validation == "Ignore" else "Warn",
        user=User(user.name, user.groups, user.uid, user.extra),
        warnings=request.warnings,
    )


def _field_manager_errors(manager: str) -> ErrorList:
    errors: ErrorList = []
    if len(manager.encode()) > _FIELD_MANAGER_BYTES_MAX:
        errors.append(field.too_long("fieldManager", _FIELD_MANAGER_BYTES_MAX))
    at = 0
    for char in manager:
        if not char.isprintable():
            shown = f"U+{ord(char):04X}"
            errors.append(field.invalid("fieldManager", manager, f"invalid character {shown} (at position {at})"))
        at += len(char.encode())
    return errors


def _dry_run_errors(values: Sequence[str]) -> ErrorList:
    if all(value == "All" for value in values):
        return []
    # Go prints the slice of texts as JSON.
    return [field.not_supported("dryRun", gojson.Verbatim(gojson.marshal(list(values))), ("All",))]


def read_delete_query(query: Query) -> dict[str, Any]:
    """Read DeleteOptions from the query, as a body would carry them; raises BadRequest."""
    found: dict[str, Any] = {}
    grace = read_integer(query, "gracePeriodSeconds")
    if grace is not None:
        found["gracePeriodSeconds"] = grace
    if "orphanDependents" in query:
        found["orphanDependents"] = read_flag(query, "orphanDependents")
    if "propagationPolicy" in query:
        found["propagationPolicy"] = read_text(query, "propagationPolicy")
    if "dryRun" in query:
        found["dryRun"] = list(query["dryRun"])
    return found


def to_delete_options(options: Mapping[str, Any], user: UserInfo) -> DeleteOptions:
    """Check DeleteOptions as the wire has them and return them as the registry takes them; raises Invalid."""
    errors: ErrorList = []
    policy, orphan = options.get("propagationPolicy"), options.get("orphanDependents")
    if orphan is not None and policy is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(field.invalid("propagationPolicy", policy, detail))
    if policy is not None and policy not in _PROPAGATION_POLICIES:
        errors.append(field.not_supported("propagationPolicy", policy, (*_PROPAGATION_POLICIES, "nil")))
    dry_run = options.get("dryRun") or ()
    errors += _dry_run_errors(dry_run)
    if errors:
        raise _invalid("DeleteOptions", errors)
    preconditions = options.get("preconditions") or {}
    return DeleteOptions(
        grace_period_seconds=options.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        propagation_policy=policy,
        orphan_dependents=orphan,
        dry_run=bool(dry_run),
        user=User(user.name, user.groups, user.uid, user.extra),
    )


def read_include_object(query: Query) -> str:
    """Read how much of the objects a Table carries: Metadata, Object or None; raises BadRequest."""
    value = read_text(query, "includeObject")
    if value in ("", "Metadata", "Object", "None"):
        return value or "Metadata"
    error = field.invalid("includeObject", value, "must be 'Metadata', 'Object', 'None', or empty")
    raise new_bad_request(f"Unable to convert to Table as requested: {error}")


def read_revision(text: str) -> int:
    """Parse a resourceVersion; raises ValueError with the words of kube-apiserver."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        detail = f"strconv.ParseUint: parsing {gojson.quote(text)}: invalid syntax"
        raise ValueError(str(field.invalid("resourceVersion", text, detail)))
    number = int(text)
    if number > _UINT64_MAX:
        detail = f"strconv.ParseUint: parsing {gojson.quote(text)}: value out of range"
        raise ValueError(str(field.invalid("resourceVersion", text, detail)))
    return number


def read_int64(text: str) -> int:
    """Parse a number as strconv.ParseInt does; raises BadRequest with its words."""
    if not _DECIMAL.fullmatch(text):
        raise _syntax(text, "invalid syntax")
    number = int(text)
    if not _INT64_MIN <= number <= _INT64_MAX:
        raise _syntax(text, "value out of range")
    return number


def _syntax(text: str, problem: str) -> BadRequest:
    return new_bad_request(f"strconv.ParseInt: parsing {gojson.quote(text)}: {problem}")


def read_text(query: Query, name: str) -> str:
    """Read a parameter, empty when it is missing."""
    values = query.get(name)
    return values[0] if values else ""


def read_flag(query: Query, name: str) -> bool:
    """Read a boolean parameter, false when it is missing."""
    values = query.get(name)
    return to_bool(values[0]) if values else False


def read_integer(query: Query, name: str) -> int | None:
    """Read a number; raises BadRequest."""
    values = query.get(name)
    return read_int64(values[0]) if values else None


def _invalid(kind: str, errors: ErrorList) -> Invalid:
    return new_invalid(GroupKind("meta.k8s.io", kind), "", errors)

"""Events: one storage, two forms (core/v1, in which they are stored, and events.k8s.io/v1).

Mirrors: pkg/registry/core/event/strategy.go, pkg/apis/core/validation/events.go, pkg/apis/events/v1/conversion.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from schedlab.api.kinds.strategy import Context, Conversion, Strategy, UpdateStrategy
from schedlab.api.object import Object, StoredObject
from schedlab.api.rules.likeness import SECOND, SUBDOMAIN, Likeness, Place
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.field_selectors import FieldLabels

#: Fields of the stored form beside what they are called in the new one.
_RENAMED: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_BACK: Final = {new: old for old, new in _RENAMED.items()}
#: What Go writes even when it is empty.
_STORED_ZEROS: Final[Mapping[str, Any]] = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
_EMPTY_TEXTS: Final = ("reportingController", "reportingInstance")

_TTL_S: Final = 3600
_TEXT_MAX: Final = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_INVOLVED: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def _to_new_form(event: Object) -> Object:
    made = {_RENAMED.get(key, key): value for key, value in event.items()}
    made["apiVersion"] = "events.k8s.io/v1"
    return {key: value for key, value in made.items() if value != "" or key not in _EMPTY_TEXTS}


def _to_stored_form(event: Object) -> Object:
    made = {_BACK.get(key, key): value for key, value in event.items()}
    made["apiVersion"] = "v1"
    for key, zero in _STORED_ZEROS.items():
        if made.get(key) is None:
            made[key] = zero
    return made


def _validate(event: Object, _context: Context) -> ErrorList:
    return _validate_legacy(event, "reportingComponent")


def _validate_legacy(event: Object, controller_field: str) -> ErrorList:
    """Check what events of both forms keep to."""
    own = event["metadata"].get("namespace", "")
    about = event["involvedObject"].get("namespace", "")
    mismatch = [field.invalid(Path("involvedObject", "namespace"), about, "does not match event.namespace")]
    errors: ErrorList = []
    if event.get("eventTime") is None:
        if own != about and not (not about and own == "default"):
            errors += mismatch
    else:
        if not about and own not in ("default", "kube-system"):
            errors += mismatch
        errors += _validate_texts(event, controller_field)
    return errors + messages(Path("namespace"), own, names.check_dns1123_subdomain(own))


def _validate_texts(event: Object, controller_field: str) -> ErrorList:
    controller, path = event.get("reportingComponent", ""), Path(controller_field)
    errors: ErrorList = [] if controller else [field.required(path)]
    errors += messages(path, controller, names.check_qualified_name(controller))
    for key, longest in _TEXT_MAX.items():
        text = event.get(key, "")
        if not text and key != "message":
            errors.append(field.required(Path(key)))
        if names.byte_length(text) > longest:
            errors.append(field.invalid(Path(key), "", f"can have at most {longest} characters"))
    return errors


def _validate_new_form(event: Object, _context: Context) -> ErrorList:
    """Check an event that was created in its new form; the old fields must be unused."""
    errors = _validate_legacy(event, "reportingController")
    errors += meta.validate(event["metadata"], names.name_is_dns_subdomain, namespaced=True)
    errors += _validate_series(event)
    if event.get("eventTime") is None:
        errors.append(field.required(Path("eventTime")))
    kind = event.get("type", "")
    if kind not in ("Normal", "Warning"):
        errors.append(field.invalid(Path("type"), "", f"has invalid value: {kind}"))
    unset = ("firstTimestamp", "lastTimestamp", "count", "source")
    return errors + [field.invalid(Path(key), "", "needs to be unset") for key in unset if event.get(key)]


def _validate_series(event: Object) -> ErrorList:
    series = event.get("series")
    if series is None:
        return []
    errors: ErrorList = []
    if series.get("count", 0) < 2:
        errors.append(field.invalid(Path("series.count"), "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(field.required(Path("series.lastObservedTime")))
    return errors


def _validate_update(new: Object, _old: Object, context: Context) -> ErrorList:
    return _validate(new, context)


def _validate_new_form_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = _validate_legacy(new, "reportingController")
    errors += meta.validate_update(new["metadata"], old["metadata"])
    if new.get("series") != old.get("series"):
        errors += _validate_series(new)
    fixed = (
        "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason", "type",
        "eventTime", "action", "related", "reportingComponent", "reportingInstance",
    )  # fmt: skip
    for key in fixed:
        path = Path("reportingController" if key == "reportingComponent" else key)
        errors += meta.validate_immutable(new.get(key), old.get(key), path)
    return errors


def _values(event: StoredObject, subject: str, prefix: str, component_field: str) -> dict[str, str]:
    raw = event.raw
    about: Mapping[str, Any] = raw.get(subject) or {}
    values = {f"{prefix}.{key}": str(about.get(key, "")) for key in _INVOLVED}
    values["reason"], values["type"] = raw.get("reason", ""), raw.get("type", "")
    values[component_field] = raw.get(component_field) or ""
    return values


def _field_values(event: StoredObject) -> dict[str, str]:
    values = _values(event, "involvedObject", "involvedObject", "reportingComponent")
    source: Mapping[str, Any] = event.raw.get("source") or {}
    values["source"] = source.get("component") or values["reportingComponent"]
    return values


def _new_form_field_values(event: StoredObject) -> dict[str, str]:
    return _values(event, "regarding", "regarding", "reportingController")


def _labels(prefix: str, more: Iterable[str]) -> FieldLabels:
    about = (f"{prefix}.{key}" for key in _INVOLVED)
    return FieldLabels(frozenset((*about, "reason", "type", "metadata.name", "metadata.namespace", *more)))


#: Most of the times that there are.
_TIME: Final = (
    rb"20[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z"
)
_LIKENESS: Final = Likeness(
    name=re.compile(SUBDOMAIN),
    places=(
        *(Place(b'"%b":"' % key, rb"[ !#-\[\]-~]{1,1024}") for key in (b"message", b"note", b"name", b"uid")),
        Place(b'"resourceVersion":"', rb"[0-9]{1,20}"),
        Place(b'"eventTime":"', _TIME),
        Place(b'Timestamp":"', SECOND),  # the first and the last, in the words of both forms
    ),
    metadata_places=(Place(b'"creationTimestamp":"', SECOND),),
    managed_places=(Place(b'"time":"', SECOND),),
    unlike=(b'"series":',),
    tells_times=True,
)

EVENT: Final = Strategy(
    resource="events",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
    allow_create_on_update=True,
    no_dependents=True,
    field_labels=_labels("involvedObject", ("reportingComponent", "source")),
    field_values=_field_values,
    ttl_s=_TTL_S,
    likeness=_LIKENESS,
)
EVENT_V1: Final = Strategy(
    resource="events.events.k8s.io",
    validate=_validate_new_form,
    update=UpdateStrategy(_validate_new_form_update),
    allow_create_on_update=True,
    no_dependents=True,
    field_labels=_labels("regarding", ("reportingController",)),
    field_values=_new_form_field_values,
    ttl_s=_TTL_S,
    likeness=_LIKENESS,
    conversion=Conversion("events", to_stored=_to_stored_form, from_stored=_to_new_form, keeps_metadata=True),
)

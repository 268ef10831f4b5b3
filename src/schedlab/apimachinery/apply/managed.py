"""metadata.managedFields: which manager owns which fields, since when.

Mirrors: staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/{managedfields,capmanagers}.go (v1.36)
Differs: a manager is a tuple where upstream has the JSON of its entry; the order of both is the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from schedlab.apimachinery import gojson
from schedlab.apimachinery.apply import fieldset
from schedlab.apimachinery.apply.fieldset import FieldSet

UPDATE: Final = "Update"
APPLY: Final = "Apply"

#: More managers of updates than this are joined into one.
UPDATE_MANAGERS_MAX: Final = 10
_OLD_UPDATES: Final = "ancient-changes"


class ManagedFieldsError(ValueError):
    """Entries that cannot be read."""


class Manager(NamedTuple):
    """Who manages fields: the key of an entry. An apply keeps its entry whatever version it uses."""

    name: str
    operation: str
    api_version: str
    subresource: str

    def __str__(self) -> str:
        """As conflicts show it."""
        text = gojson.quote(self.name)
        if self.subresource:
            text += f" with subresource {gojson.quote(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text

    @property
    def identifier(self) -> str:
        """The text by which upstream knows and orders managers."""
        parts = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        return gojson.marshal({key: text for key, text in parts.items() if text}, sort_keys=False)


class Owned(NamedTuple):
    """The fields of one manager, named in one version."""

    fields: FieldSet
    api_version: str
    applied: bool


@dataclass(slots=True)
class Managed:
    """All managers of an object; changed in place while a request is worked on."""

    owned: dict[Manager, Owned] = field(default_factory=dict)
    times: dict[Manager, str | None] = field(default_factory=dict)

    def drop_empty(self) -> None:
        for manager in [manager for manager, owned in self.owned.items() if not owned.fields]:
            del self.owned[manager]


def manager_of(name: str, operation: str, api_version: str, subresource: str) -> Manager:
    return Manager(name or "unknown", operation, "" if operation == APPLY else api_version, subresource)


def read(entries: Sequence[Mapping[str, Any]], *, trusted: bool = False) -> Managed:
    """Read the entries of an object; those that this package wrote can be trusted to be in canonical form.

    Raises ManagedFieldsError.
    """
    if not trusted or not entries:
        return _read(entries, trusted=trusted)
    known = _trusted.get(id(entries))
    if known is None or known[0] is not entries:
        if len(_trusted) >= _TRUSTED_MAX:
            _trusted.clear()
        known = _trusted[id(entries)] = entries, _read(entries, trusted=True)
    return Managed(dict(known[1].owned), dict(known[1].times))


# Stored objects share their entries; what was read from some is kept with them, so that their id stays theirs.
_trusted: dict[int, tuple[Sequence[Mapping[str, Any]], Managed]] = {}
_TRUSTED_MAX: Final = 4096


def _read(entries: Sequence[Mapping[str, Any]], *, trusted: bool) -> Managed:
    managed = Managed()
    for position, entry in enumerate(entries):
        operation, api_version = entry.get("operation"), entry.get("apiVersion") or ""
        if operation not in (APPLY, UPDATE):
            raise ManagedFieldsError("operation must be `Apply` or `Update`")
        if not api_version:
            raise ManagedFieldsError("apiVersion must not be empty")
        fields_type = entry.get("fieldsType") or ""
        if fields_type != "FieldsV1":
            problem = f"invalid fieldsType {gojson.quote(fields_type)}" if fields_type else "missing fieldsType"
            raise ManagedFieldsError(f"{problem} in managed fields entry {position}")
        fields = entry.get("fieldsV1") or {}
        try:
            owned = Owned(fields if trusted else fieldset.read(fields), api_version, operation == APPLY)
        except fieldset.FieldSetError as error:
            raise ManagedFieldsError(f"error decoding set: {error}") from None
        name, subresource = entry.get("manager") or "", entry.get("subresource") or ""
        manager = Manager(name, operation, "" if operation == APPLY else api_version, subresource)
        managed.owned[manager] = owned
        managed.times[manager] = entry.get("time")
    return managed


def write(managed: Managed) -> list[dict[str, Any]]:
    """Write all managers as entries, in the order of Kubernetes: by operation, time and name."""
    entries = []
    for manager, owned in managed.owned.items():
        entry: dict[str, Any] = {"manager": manager.name, "operation": APPLY if owned.applied else manager.operation}
        entry["apiVersion"] = owned.api_version
        time = managed.times.get(manager)
        if time is not None:
            entry["time"] = time
        entry["fieldsType"] = "FieldsV1"
        entry["fieldsV1"] = owned.fields
        if manager.subresource:
            entry["subresource"] = manager.subresource
        entries.append(entry)
    if len(entries) > 1:
        entries.sort(key=_entry_order)
    return entries


def _entry_order(entry: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return tuple(entry.get(name) or "" for name in names)


def cap_update_managers(managed: Managed) -> None:
    """Join the oldest managers of updates until there are few enough, per version."""
    updaters = [manager for manager, owned in managed.owned.items() if not owned.applied]
    excess = len(updaters) - UPDATE_MANAGERS_MAX
    if excess <= 0:
        return
    updaters.sort(key=lambda manager: (managed.times.get(manager) or "", manager.identifier))
    first_of_version: dict[str, Manager] = {}
    for manager in updaters:
        if excess <= 0:
            return
        owned = managed.owned[manager]
        first = first_of_version.setdefault(owned.api_version, manager)
        if first is manager:
            continue
        bucket = Manager(_OLD_UPDATES, UPDATE, owned.api_version, "")
        if bucket not in managed.owned:
            managed.owned[bucket] = managed.owned.pop(first)
        joined = fieldset.union(owned.fields, managed.owned[bucket].fields)
        managed.owned[bucket] = Owned(fieldset.in_order(joined), owned.api_version, owned.applied)
        del managed.owned[manager]
        managed.times[bucket] = managed.times.get(manager)
        excess -= 1


def without_managed_fields(obj: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of an object that does not carry managedFields."""
    metadata = obj.get("metadata") or {}
    if "managedFields" not in metadata:
        return dict(obj)
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**obj, "metadata": kept}


def restore_times(new: dict[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """Give an update that changes nothing but times of managedFields the old times back, so that nothing is written.

    Mirrors: apiserver/pkg/endpoints/handlers/fieldmanager/equality.go
    """
    before = (old.get("metadata") or {}).get("managedFields") or []
    after = (new.get("metadata") or {}).get("managedFields") or []
    if not after or len(before) != len(after) or before == after:
        return new
    if any({**one, "time": None} != {**other, "time": None} for one, other in zip(before, after, strict=True)):
        return new
    if without_managed_fields(new) != without_managed_fields(old):
        return new
    return {**new, "metadata": {**new["metadata"], "managedFields": before}}

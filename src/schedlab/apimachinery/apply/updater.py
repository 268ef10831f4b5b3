"""Ownership: what an update or an apply does to the field sets of all managers.

Mirrors: sigs.k8s.io/structured-merge-diff/v6/merge/{update,conflict}.go (v1.36)
Differs: conflicts are listed in the order of their managers; Go's order is random.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from schedlab.apimachinery.apply import fieldset, typed
from schedlab.apimachinery.apply.fieldset import FieldSet, Path
from schedlab.apimachinery.apply.managed import Manager, Owned
from schedlab.apimachinery.apply.paths import created_paths
from schedlab.apimachinery.schema import Struct

JSONObject: TypeAlias = Mapping[str, Any]
Owners: TypeAlias = dict[Manager, Owned]


class Versioned(NamedTuple):
    """An object in another version, with its type."""

    object: JSONObject
    type: Struct


#: Brings an object into another version; None when there is no such version (any more).
Convert: TypeAlias = Callable[[JSONObject, str], Versioned | None]


class Conflict(NamedTuple):
    """A field that an apply would take from another manager."""

    manager: Manager
    path: Path


class Conflicts(ValueError):
    """An apply that must not go on without force."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        super().__init__(conflicts)
        self.conflicts = conflicts


@dataclass(frozen=True, slots=True)
class Updater:
    """The rules for one type in one version; `ignored` are the fields that a request to it cannot set."""

    api_version: str
    type: Struct
    ignored: Mapping[str, FieldSet] = field(default_factory=dict)
    convert: Convert | None = None

    def update(self, live: JSONObject, new: JSONObject, owners: Owners, manager: Manager) -> Owners:
        """Own what changed, take it from all others."""
        owners = self._reconciled(live, owners)
        owners, comparison = self._disown(live, new, owners, manager, force=True)
        own = owners[manager].fields if manager in owners else {}
        fields = fieldset.difference(own, comparison.removed)
        fields = fieldset.union(fieldset.union(fields, comparison.modified), comparison.added)
        fields = fieldset.recursive_difference(fields, self._ignored(self.api_version))
        if fields:
            owners[manager] = Owned(fields, self.api_version, applied=False)
        else:
            owners.pop(manager, None)
        return owners

    def note(self, owners: Owners) -> None:
        """Remember that these sets follow the type: they were made by it."""
        for owned in owners.values():
            if owned.api_version == self.api_version:
                _note_reconciled(owned.fields, self.type, owned.fields)

    def created(self, obj: JSONObject) -> FieldSet:
        """Say what the creator of an object owns; raises TypedError."""
        return fieldset.recursive_difference(created_paths(obj, self.type), self._ignored(self.api_version))

    def apply(
        self, live: JSONObject, config: JSONObject, owners: Owners, manager: Manager, *, force: bool
    ) -> tuple[JSONObject | None, Owners]:
        """Merge a configuration and own its fields; the object is None when it does not change.

        Raises Conflicts, and TypedError when the two do not merge.
        """
        owners = self._reconciled(live, owners)
        merged: JSONObject = typed.merge(live, config, self.type)
        last = owners.get(manager)
        fields = typed.field_set(config, self.type)
        fields = fieldset.recursive_difference(fields, self._ignored(self.api_version))
        owners[manager] = Owned(fields, self.api_version, applied=True)
        if last is not None and last.fields:
            merged = self._prune(merged, owners, last)
        owners, _comparison = self._disown(live, merged, owners, manager, force=force)
        return (None if merged == live else merged), owners

    def _ignored(self, api_version: str) -> FieldSet:
        return self.ignored.get(api_version, {})

    def _in_version(self, obj: JSONObject, api_version: str) -> Versioned | None:
        if api_version == self.api_version:
            return Versioned(obj, self.type)
        return self.convert(obj, api_version) if self.convert else None

    def _disown(
        self, live: JSONObject, new: JSONObject, owners: Owners, acting: Manager, *, force: bool
    ) -> tuple[Owners, typed.Comparison]:
        """Take changed and removed fields from all managers but the acting one; raises Conflicts unless forced."""
        own = typed.compare(live, new, self.type).without(self._ignored(self.api_version))
        comparisons: dict[str, typed.Comparison | None] = {self.api_version: own}
        kept: Owners = {}
        conflicts: list[Conflict] = []
        for manager, owned in owners.items():
            if manager == acting:
                kept[manager] = owned
                continue
            if owned.api_version not in comparisons:
                comparisons[owned.api_version] = self._compare_in_version(live, new, owned.api_version)
            comparison = comparisons[owned.api_version]
            if comparison is None:
                continue  # a version that is gone
            changed = fieldset.union(comparison.modified, comparison.added)
            taken = fieldset.intersection(owned.fields, changed)
            if not force:
                conflicts += [Conflict(manager, path) for path in fieldset.iterate(taken)]
            fields = fieldset.difference(fieldset.difference(owned.fields, taken), comparison.removed)
            if fields:
                kept[manager] = owned if fields is owned.fields else owned._replace(fields=fields)
        if conflicts:
            raise Conflicts(sorted(conflicts, key=lambda conflict: conflict.manager.identifier))
        if acting in kept and not kept[acting].fields:
            del kept[acting]
        return kept, own

    def _compare_in_version(self, live: JSONObject, new: JSONObject, api_version: str) -> typed.Comparison | None:
        before, after = self._in_version(live, api_version), self._in_version(new, api_version)
        if before is None or after is None:
            return None
        return typed.compare(before.object, after.object, after.type).without(self._ignored(api_version))

    def _reconciled(self, live: JSONObject, owners: Owners) -> Owners:
        """Follow changes of types from granular to atomic; drop managers of versions that are gone."""
        out: Owners = {}
        for manager, owned in owners.items():
            versioned = self._in_version(live, owned.api_version)
            if versioned is not None:
                fields = _reconciled_fields(owned.fields, versioned.type)
                out[manager] = owned if fields is owned.fields else owned._replace(fields=fields)
        return out

    # --- pruning: what an earlier apply set and this one leaves out --------------------------------------------------

    def _prune(self, merged: JSONObject, owners: Owners, last: Owned) -> JSONObject:
        """Remove what the manager applied last time, except what it or another one still owns."""
        versioned = self._in_version(merged, last.api_version)
        if versioned is None:
            return merged
        last_fields = fieldset.named_fields_as_members(last.fields, versioned.type)
        pruned = Versioned(typed.remove(versioned.object, last_fields, versioned.type), versioned.type)
        pruned = self._add_back_owned(versioned, pruned, last.api_version, owners)
        pruned = self._add_back_dangling(versioned, pruned, last_fields)
        if last.api_version == self.api_version:
            return pruned.object
        back = self.convert(pruned.object, self.api_version) if self.convert else None
        return merged if back is None else back.object

    def _add_back_owned(self, merged: Versioned, pruned: Versioned, first: str, owners: Owners) -> Versioned:
        """Put back the fields that anyone owns, version by version, that of the pruned object first."""
        by_version: dict[str, FieldSet] = {}
        for owned in owners.values():
            by_version[owned.api_version] = fieldset.union(by_version.get(owned.api_version, {}), owned.fields)
        for api_version in sorted(by_version, key=lambda one: (one != first, one)):
            whole, part = merged, pruned
            if api_version != first:
                converted = self._in_version(merged.object, api_version), self._in_version(pruned.object, api_version)
                if converted[0] is None or converted[1] is None:
                    continue
                whole, part = converted[0], converted[1]
            merged, pruned = whole, self._keep_owned(whole, part, by_version[api_version])
            first = api_version
        return pruned

    @staticmethod
    def _keep_owned(merged: Versioned, pruned: Versioned, owned: FieldSet) -> Versioned:
        kept = fieldset.union(_named(pruned), fieldset.named_fields_as_members(owned, merged.type))
        lost = fieldset.difference(_named(merged), kept)
        return Versioned(typed.remove(merged.object, lost, merged.type), merged.type)

    @staticmethod
    def _add_back_dangling(merged: Versioned, pruned: Versioned, last_fields: FieldSet) -> Versioned:
        """Remove only what the last apply itself owned: the rest of a pruned object belongs to nobody and stays."""
        lost = fieldset.difference(_named(merged), _named(pruned))
        gone = fieldset.intersection(lost, last_fields)
        return Versioned(typed.remove(merged.object, gone, merged.type), merged.type)


# Sets that stored objects share, with their types and what came out; kept, so that their ids stay theirs.
_reconciled: dict[tuple[int, int], tuple[FieldSet, Struct, FieldSet]] = {}
_RECONCILED_MAX: Final = 4096


def _reconciled_fields(fields: FieldSet, type: Struct) -> FieldSet:
    known = _reconciled.get((id(fields), id(type)))
    if known is not None and known[0] is fields and known[1] is type:
        return known[2]
    found = typed.reconcile(fields, type)
    _note_reconciled(fields, type, found)
    return found


def _note_reconciled(fields: FieldSet, type: Struct, found: FieldSet) -> None:
    if len(_reconciled) >= _RECONCILED_MAX:
        _reconciled.clear()
    _reconciled[id(fields), id(type)] = fields, type, found


def _named(versioned: Versioned) -> FieldSet:
    fields = typed.field_set(versioned.object, versioned.type)
    return fieldset.named_fields_as_members(fields, versioned.type)

"""Field management of one resource: from a request to the object with its managedFields.

    create, update, patch → FieldManager.update: the manager owns what it changes
    apply                 → FieldManager.apply: the manager owns what it applies, and only that

An object whose managedFields are empty stays untracked until the first apply; what it has then belongs to
`before-first-apply`. kubectl's own annotation of the last applied configuration is honoured as upstream does.

Mirrors: staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/{fieldmanager,structuredmerge,
managedfieldsupdater,stripmeta,skipnonapplied,lastappliedmanager,lastappliedupdater,buildmanagerinfo}.go,
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go managerOrUserAgent (v1.36)
Differs: objects are wire forms, so defaulting is left to the caller, before an update and after an apply.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import orjson

from schedlab.apimachinery import gojson, strict
from schedlab.apimachinery.apply import fieldset, typed
from schedlab.apimachinery.apply import managed as managed_fields
from schedlab.apimachinery.apply.fieldset import FieldSet
from schedlab.apimachinery.apply.managed import APPLY, UPDATE, Managed, ManagedFieldsError, Manager, Owned
from schedlab.apimachinery.apply.shapes import TypedError
from schedlab.apimachinery.apply.updater import Conflict, Conflicts, Convert, JSONObject, Updater
from schedlab.apimachinery.errors import StatusError, new_apply_conflict, new_bad_request, new_unknown
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.schema import Struct

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
ANNOTATIONS_SIZE_MAX: Final = 256 * 1024

_BEFORE_FIRST_APPLY: Final = "before-first-apply"
_MANAGER_BYTES_MAX: Final = 128
_SELF: Final = Manager("current-operation", UPDATE, "", "")

#: Fields that belong to nobody.
_UNMANAGED: Final = fieldset.of_paths(
    [
        ("apiVersion",),
        ("kind",),
        ("metadata",),
        *(
            ("metadata", name)
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        ),
    ]
)


@lru_cache(maxsize=1024)
@lru_cache(maxsize=128)
def default_manager(manager: str, user_agent: str) -> str:
    """Name the manager of a request: the one it gives, else the start of its user agent."""
    if manager:
        return manager
    name = "".join(char for char in user_agent.partition("/")[0] if char.isprintable())
    return name.encode()[:_MANAGER_BYTES_MAX].decode("utf-8", "ignore")


@dataclass(frozen=True, slots=True)
class FieldManager:
    """Field management of a resource or subresource in one version.

    `ignored` are per apiVersion the fields that a request to it cannot set, because its strategy resets them.
    """

    gvk: GroupVersionKind
    type: Struct
    subresource: str = ""
    ignored: Mapping[str, FieldSet] = field(default_factory=dict)
    convert: Convert | None = None
    _updater: Updater = field(init=False)

    def __post_init__(self) -> None:
        updater = Updater(self.gvk.api_version, self.type, self.ignored, self.convert)
        object.__setattr__(self, "_updater", updater)

    def update(self, live: JSONObject | None, new: JSONObject, manager: str, now: str) -> dict[str, Any]:
        """Return the new object with the managedFields it has after a create (no live object), update or patch.

        Give the object defaulted, before admission and the strategy's preparation have changed it.
        """
        managed = self._read(live or {}, new)
        new = managed_fields.without_managed_fields(new)
        if managed.owned or not ((live or {}).get("metadata") or {}).get("uid"):
            try:
                if live is None and not managed.owned:
                    self._own(self._updater.created(new), managed, manager, now)
                else:
                    before = self._empty() if live is None else managed_fields.without_managed_fields(live)
                    self._update(before, new, managed, manager, now)
            except TypedError:
                # Upstream logs this as a bug of its own and goes on without managed fields.
                return new
        return self._finished(new, managed)

    def _read(self, live: JSONObject, new: JSONObject) -> Managed:
        """Managers so far: those of the request, if it may and does give any, else those of the stored object."""
        stored = (live.get("metadata") or {}).get("managedFields") or []
        if not self.subresource:
            given = (new.get("metadata") or {}).get("managedFields")
            if given is not None and given != stored:
                if not given or given == [{}]:
                    return Managed()
                try:
                    return managed_fields.read(given)
                except ManagedFieldsError:
                    pass  # upstream falls back to what is stored, without a word
        try:
            return managed_fields.read(stored, trusted=True)
        except ManagedFieldsError:
            return Managed()

    def _update(self, live: JSONObject, new: JSONObject, managed: Managed, manager: str, now: str) -> None:
        managed.owned = self._updater.update(live, new, managed.owned, _SELF)
        current = managed.owned.pop(_SELF, None)
        self._own(current.fields if current else {}, managed, manager, now)
        managed_fields.cap_update_managers(managed)

    def _own(self, changed: FieldSet, managed: Managed, manager: str, now: str) -> None:
        """Let the manager of an update own what it changed, beside what it owns already."""
        owners = managed.owned
        fields = fieldset.difference(changed, _UNMANAGED)
        if fields:
            who = managed_fields.manager_of(manager, UPDATE, self.gvk.api_version, self.subresource)
            previous = owners.get(who)
            if previous is not None:
                fields = fieldset.in_order(fieldset.union(fields, previous.fields))
            owners[who] = Owned(fields, self.gvk.api_version, applied=False)
            managed.times[who] = now

    def apply(
        self, live: JSONObject | None, patch: JSONObject, manager: str, now: str, *, force: bool
    ) -> dict[str, Any]:
        """Return the object after an apply, in canonical form but not defaulted, with its managedFields.

        Raises BadRequest, Conflict, and a StatusError of code 500 for a configuration that does not fit its type.
        """
        self._check(patch)
        try:
            managed = managed_fields.read((live or {}).get("metadata", {}).get("managedFields") or [], trusted=True)
        except ManagedFieldsError as error:
            raise new_unknown(f"failed to decode managed fields: {error}") from None
        before = self._empty() if live is None else managed_fields.without_managed_fields(live)
        if not managed.owned and live is not None:
            try:
                self._update(self._empty(), before, managed, _BEFORE_FIRST_APPLY, now)
            except TypedError as error:
                raise new_unknown(f"failed to create typed live object ({self._describe(before)}): {error}") from None
        merged = self._apply(before, patch, managed, manager, now, force=force)
        if manager == "kubectl" and _annotations(merged).get(LAST_APPLIED):
            merged = _with_last_applied(merged, patch)
        return self._finished(merged, managed)

    def _check(self, patch: JSONObject) -> None:
        api_version, kind = _text(patch.get("apiVersion")), _text(patch.get("kind"))
        if (api_version, kind) != (self.gvk.api_version, self.gvk.kind):
            group, _, version = api_version.rpartition("/")
            raise new_bad_request(f"invalid object type: {group}/{version}, Kind={kind}")
        if _metadata(patch).get("managedFields") is not None:
            raise new_bad_request("metadata.managedFields must be nil")

    def _apply(
        self, live: JSONObject, patch: JSONObject, managed: Managed, manager: str, now: str, *, force: bool
    ) -> dict[str, Any]:
        try:
            typed.validate(patch, self.type)
        except TypedError as error:
            raise new_unknown(f"failed to create typed patch object ({self._describe(patch)}): {error}") from None
        who = managed_fields.manager_of(manager, APPLY, self.gvk.api_version, self.subresource)
        try:
            merged, owners = self._merge(live, patch, managed.owned, who, force=force)
        except TypedError as error:
            raise new_unknown(f"failed to merge config: {error}") from None
        except Conflicts as error:
            raise _conflict(error.conflicts) from None
        managed.owned = owners
        own = owners.get(who)
        if own is not None:
            fields = fieldset.difference(own.fields, _UNMANAGED)
            if fields:
                owners[who] = own._replace(fields=fieldset.in_order(fields))
            else:
                del owners[who]
        if merged is None:
            return dict(live)
        managed.times[who] = now
        return self._restored(merged, patch)

    def _merge(
        self, live: JSONObject, patch: JSONObject, owners: dict[Manager, Owned], who: Manager, *, force: bool
    ) -> tuple[JSONObject | None, dict[Manager, Owned]]:
        """Apply; kubectl may take what its own annotation shows that it applied before it used server-side apply."""
        try:
            return self._updater.apply(live, patch, owners, who, force=force)
        except Conflicts as error:
            allowed = self._last_applied_fields(live) if who.name == "kubectl" else None
            if allowed is None:
                raise
            left = [conflict for conflict in error.conflicts if not fieldset.contains(allowed, conflict.path)]
            if left:
                raise Conflicts(left) from None
        return self._updater.apply(live, patch, owners, who, force=True)

    def _last_applied_fields(self, live: JSONObject) -> FieldSet | None:
        """Fields of kubectl's annotation that the object still has as they were applied; None without a good one."""
        text = _annotations(live).get(LAST_APPLIED)
        if not text:
            return None
        try:
            config = orjson.loads(text)
            if not isinstance(config, dict) or config.get("apiVersion") != self.gvk.api_version:
                return None
            typed.validate(config, self.type)
            comparison = typed.compare(config, live, self.type)
        except (orjson.JSONDecodeError, TypedError):
            return None
        fields = typed.field_set(config, self.type)
        for changed in (comparison.modified, comparison.added, comparison.removed):
            fields = fieldset.difference(fields, changed)
        return fields

    def _restored(self, merged: JSONObject, patch: JSONObject) -> dict[str, Any]:
        try:
            return strict.restore(dict(merged), self.type).value
        except strict.DecodeError as error:
            reason = f"unable to convert unstructured object to {self.gvk}: {error}"
            where = self._describe(patch)
            raise new_unknown(f"failed to convert new object ({where}) to proper version: {reason}") from None

    def _finished(self, obj: dict[str, Any], managed: Managed) -> dict[str, Any]:
        entries = managed_fields.write(managed)
        self._updater.note(managed.owned)
        if entries:
            obj["metadata"] = {**(obj.get("metadata") or {}), "managedFields": entries}
        return strict.as_stored(obj, self.type)

    def _empty(self) -> dict[str, Any]:
        """What an object is before it has any field: Go writes some of its fields even then."""
        empty: dict[str, Any] = self.type.empty()
        return {**empty, "apiVersion": self.gvk.api_version, "kind": self.gvk.kind}

    def _describe(self, obj: JSONObject) -> str:
        metadata = _metadata(obj)
        return f"{_text(metadata.get('namespace'))}/{_text(metadata.get('name'))}; {self.gvk}"


def _text(value: object) -> str:
    """Return a text; what is none counts as empty."""
    return value if isinstance(value, str) else ""


def _metadata(obj: JSONObject) -> Mapping[str, Any]:
    """Return the metadata of an object that nobody has checked yet."""
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def _annotations(obj: JSONObject) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("annotations") or {}


def _with_last_applied(obj: dict[str, Any], patch: JSONObject) -> dict[str, Any]:
    """Keep kubectl's annotation in step, unless that would make the annotations too large."""
    metadata = dict(patch.get("metadata") or {})
    given = metadata.get("annotations")
    if given is not None:
        metadata["annotations"] = {key: text for key, text in given.items() if key != LAST_APPLIED}
    text = gojson.marshal({**patch, "metadata": metadata}) + "\n"
    annotations = {**_annotations(obj), LAST_APPLIED: text}
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > ANNOTATIONS_SIZE_MAX:
        del annotations[LAST_APPLIED]
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _conflict(conflicts: list[Conflict]) -> StatusError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {conflict.manager}",
            "field": fieldset.show(conflict.path),
        }
        for conflict in conflicts
    ]
    if len(conflicts) == 1:
        only = conflicts[0]
        shown = f"conflict with {only.manager}: {fieldset.show(only.path)}"
        return new_apply_conflict(causes, f"Apply failed with 1 conflict: {shown}")
    lines: list[str] = []
    for manager in dict.fromkeys(conflict.manager for conflict in conflicts):
        lines.append(f"conflicts with {manager}:")
        lines += [f"- {fieldset.show(conflict.path)}" for conflict in conflicts if conflict.manager == manager]
    return new_apply_conflict(causes, f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines))

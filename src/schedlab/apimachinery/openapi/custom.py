"""Schemas of custom resources beside those of the built-in types.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/controller/openapi/{builder,v2} (v1.36)
Differs: nothing that a client reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.openapi.schemas import META, JSONSchema, SchemaTable
from schedlab.apimachinery.resources import ResourceType

_POD: Final = "io.k8s.api.core.v1.Pod"
_POD_LIST: Final = "io.k8s.api.core.v1.PodList"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
#: What Swagger 2.0 cannot say.
_ONLY_IN_3: Final = frozenset(("allOf", "anyOf", "oneOf", "not", "nullable", "default"))


class CustomSchemas:
    """The schemas of a server: those of built-in types, and one for each custom type with one for its lists."""

    def __init__(self, table: SchemaTable, custom: Mapping[ResourceType, Mapping[str, Any] | None]) -> None:
        self._table = table
        self._custom = {_name(entry.gvk): (entry, schema or {_PRESERVE: True}) for entry, schema in custom.items()}
        self._lists = {_name(entry.gvk.group_version.with_kind(entry.list_kind)): entry for entry in custom}
        self._kinds = frozenset(entry.gvk for entry in custom)

    def is_custom(self, gvk: GroupVersionKind) -> bool:
        return gvk in self._kinds

    def name_of(self, group: str, version: str, kind: str) -> str:
        """Return the definition of a kind; raises KeyError."""
        name = _name(GroupVersionKind(group, version, kind))
        return name if name in self._custom or name in self._lists else self._table.name_of(group, version, kind)

    def closure(self, names: Iterable[str]) -> list[str]:
        """Return these types and all that they refer to, by name."""
        own: dict[str, None] = {}
        others: list[str] = []
        for name in names:
            if name in self._lists:
                own[name] = own[_name(self._lists[name].gvk)] = None
                others.append(META + "ListMeta")
            elif name in self._custom:
                own[name] = None
            else:
                others.append(name)
        if own:
            others.append(META + "ObjectMeta")
        return sorted((*own, *self._table.closure(others)))

    def render(self, name: str, version: int, group_version: tuple[str, str] | None = None) -> JSONSchema:
        """Render a type for OpenAPI 2 or 3."""
        if name in self._custom:
            entry, schema = self._custom[name]
            whole = self._with_type_fields(schema, version, is_root=True)
            return {**whole, "type": "object", **_kind_of(entry.gvk)}
        if name in self._lists:
            return self._list(self._lists[name], version)
        return self._table.render(name, version, group_version)

    def _list(self, entry: ResourceType, version: int) -> JSONSchema:
        own = self._table.render(_POD_LIST, version)["properties"]
        prefix = "#/components/schemas/" if version == 3 else "#/definitions/"
        items = {
            "type": "array",
            "description": f"List of {entry.resource}. More info: "
            "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
            "items": {"$ref": prefix + _name(entry.gvk)},
        }
        return {
            "description": f"{entry.list_kind} is a list of {entry.kind}",
            "type": "object",
            "required": ["items"],
            "properties": {**{key: own[key] for key in ("apiVersion", "kind", "metadata")}, "items": items},
            **_kind_of(entry.gvk.group_version.with_kind(entry.list_kind)),
        }

    def _with_type_fields(self, schema: Mapping[str, Any], version: int, *, is_root: bool = False) -> JSONSchema:
        """Return a schema with the fields that every object has, in it and in what is embedded."""
        out: JSONSchema = dict(schema)
        if version == 2:
            out = _as_v2(out)
        if isinstance(out.get("properties"), dict):
            out["properties"] = {
                name: self._with_type_fields(inner, version) for name, inner in out["properties"].items()
            }
        for key in ("items", "additionalProperties"):
            if isinstance(out.get(key), dict):
                out[key] = self._with_type_fields(out[key], version)
        if is_root or schema.get(_EMBEDDED):
            own = self._table.render(_POD, version)["properties"]
            fields = {key: own[key] for key in ("apiVersion", "kind", "metadata")}
            out["properties"] = {**(out.get("properties") or {}), **fields}
        return out


def _as_v2(schema: JSONSchema) -> JSONSchema:
    out = {key: value for key, value in schema.items() if key not in _ONLY_IN_3}
    if schema.get("nullable"):
        for key in ("type", "items", "properties"):
            out.pop(key, None)
    if schema.get(_INT_OR_STRING):
        out.pop("type", None)
    if schema.get(_PRESERVE):
        for key in ("items", "properties"):
            out.pop(key, None)
    return out


def _kind_of(gvk: GroupVersionKind) -> JSONSchema:
    return {"x-kubernetes-group-version-kind": [{"group": gvk.group, "kind": gvk.kind, "version": gvk.version}]}


def _name(gvk: GroupVersionKind) -> str:
    return f"{'.'.join(reversed(gvk.group.split('.')))}.{gvk.version}.{gvk.kind}"

"""JSON schemas of the built-in types, for OpenAPI v3 and v2.

The two differ in how a reference may have neighbours (v3 wraps it in allOf), in defaults (v3 has Go's zero values, v2
has none) and in types that are more than one JSON type.

Mirrors: k8s.io/kube-openapi/pkg/{generators,common,builder3/util} (v1.36)
Differs: unions (x-kubernetes-unions) are left out; nothing reads them.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from schedlab.apimachinery.schema import read_data

JSONSchema: TypeAlias = dict[str, Any]

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."

_PREFIX: Final = {3: "#/components/schemas/", 2: "#/definitions/"}
_ZERO: Final = {"string": "", "integer": 0, "boolean": False, "number": 0}
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"

#: Types that are not simply what the table says.
_SPECIAL: Final[Mapping[tuple[str, int], JSONSchema]] = {
    (_QUANTITY, 3): {"oneOf": [{"type": "string"}, {"type": "number"}]},
    (_QUANTITY, 2): {"type": "string"},
    (_INT_OR_STRING, 3): {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    (_INT_OR_STRING, 2): {"type": "string", "format": "int-or-string"},
}
#: Kinds of any group: a document lists them for its own group version and the core one.
_OF_EVERY_GROUP: Final = frozenset((META + "DeleteOptions", META + "WatchEvent"))


class SchemaTable:
    """Renders types of the compiled table."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = read_data("types.json.gz")
        self._number = {entry["n"]: number for number, entry in enumerate(self._entries)}
        texts = read_data("descriptions.json.gz")
        self._descriptions: dict[str, tuple[str, dict[str, str]]] = texts["types"]
        self._enums: dict[str, dict[str, str]] = texts["enums"]

    def __contains__(self, name: str) -> bool:
        return name in self._number

    def name_of(self, group: str, version: str, kind: str) -> str:
        """Return the definition of a kind; raises KeyError."""
        return self._by_gvk[group, version, kind]

    @functools.cached_property
    def _by_gvk(self) -> dict[tuple[str, str, str], str]:
        return {tuple(gvk): entry["n"] for entry in self._entries for gvk in entry.get("gvk", ())}

    def closure(self, names: Iterable[str]) -> list[str]:
        """Return these types and all that they refer to, by name."""
        found: dict[str, None] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found[name] = None
            waiting += [self._entries[number]["n"] for number in self._references(self._entries[self._number[name]])]
        return sorted(found)

    def _references(self, entry: Mapping[str, Any]) -> Iterator[int]:
        for field in entry.get("f", {}).values():
            yield from _references_of(field["t"])

    def render(self, name: str, version: int, group_version: tuple[str, str] | None = None) -> JSONSchema:
        """Render a type for OpenAPI 2 or 3; `group_version` is that of the document, if it has one."""
        entry = self._entries[self._number[name]]
        description, field_texts = self._descriptions[name]
        out: JSONSchema = {"description": description} if description else {}
        if (name, version) in _SPECIAL:
            return {**out, **_SPECIAL[name, version]}
        if "f" in entry:
            out["properties"] = {
                field: self._property(source, field_texts.get(field, ""), version)
                for field, source in sorted(entry["f"].items())
            }
            out["type"] = "object"
        elif entry.get("t", "any") != "any":
            out["type"] = entry["t"]
        if "format" in entry:
            out["format"] = entry["format"]
        if "r" in entry:
            out["required"] = entry["r"]
        if "a" in entry:
            out["x-kubernetes-map-type"] = "atomic"
        gvks = [dict(zip(("group", "version", "kind"), gvk, strict=True)) for gvk in entry.get("gvk", ())]
        if name in _OF_EVERY_GROUP and group_version is not None:
            gvks = [gvk for gvk in gvks if (gvk["group"], gvk["version"]) in (group_version, ("", "v1"))]
        if gvks:
            out["x-kubernetes-group-version-kind"] = gvks
        return out

    def _property(self, source: Mapping[str, Any], description: str, version: int) -> JSONSchema:
        spec = source["t"]
        enum = spec.get("enum") if isinstance(spec, dict) else None
        if enum and self._enums.get(enum):
            description += self._enum_text(enum)
        out: JSONSchema = {"description": description} if description else {}
        embedded = "p" not in source
        out.update(self._type(spec, version, embedded=embedded, alone=not description))
        if "d" in source and version == 3:
            out["default"] = source["d"]
        elif version == 3 and embedded and "o" not in source and out.get("type") in _ZERO and "format" not in out:
            out["default"] = _ZERO[out["type"]]
        if "s" in source:
            out["x-kubernetes-patch-strategy"] = ",".join(source["s"])
        if "k" in source:
            out["x-kubernetes-patch-merge-key"] = source["k"]
        return out

    def _enum_text(self, enum: str) -> str:
        lines = sorted(f' - `"{value}"` {text}' for value, text in self._enums[enum].items())
        return "\n".join(["\n\nPossible enum values:", *lines])

    def _type(self, spec: Any, version: int, *, embedded: bool, alone: bool) -> JSONSchema:
        """Render a type where it is used; `alone` when nothing but a reference would stand there."""
        if isinstance(spec, int) or "ref" in spec:
            return self._reference(spec, version, embedded=embedded, alone=alone)
        if "l" in spec:
            out: JSONSchema = {"type": "array", "items": self._element(spec["l"], version)}
            if "lt" in spec:
                out["x-kubernetes-list-type"] = spec["lt"]
            if "lk" in spec:
                out["x-kubernetes-list-map-keys"] = spec["lk"]
            return out
        if "m" in spec:
            out = {"type": "object", "additionalProperties": self._element(spec["m"], version)}
            if "a" in spec:
                out["x-kubernetes-map-type"] = "atomic"
            return out
        out = {} if spec["c"] == "any" else {"type": spec["c"]}
        if "f" in spec:
            out["format"] = spec["f"]
        if self._enums.get(spec.get("enum", "")):
            out["enum"] = sorted(self._enums[spec["enum"]])
        return out

    def _element(self, spec: Any, version: int) -> JSONSchema:
        out = self._type(spec, version, embedded=True, alone=version == 2)
        if version == 3 and out.get("type") in _ZERO and "format" not in out:
            out["default"] = _ZERO[out["type"]]
        return out

    def _reference(self, spec: Any, version: int, *, embedded: bool, alone: bool) -> JSONSchema:
        number = spec if isinstance(spec, int) else spec["ref"]
        entry = self._entries[number]
        reference = {"$ref": _PREFIX[version] + entry["n"]}
        extra: JSONSchema = {}
        if not isinstance(spec, int):
            extra["x-kubernetes-map-type"] = "atomic" if spec["a"] else "granular"
        if version == 2:
            return {**reference, **extra}
        if embedded and "f" in entry:
            extra["default"] = {}
        return reference if alone and not extra else {"allOf": [reference], **extra}


def _references_of(spec: Any) -> Iterator[int]:
    if isinstance(spec, int):
        yield spec
    elif "ref" in spec:
        yield spec["ref"]
    else:
        for inner in ("l", "m"):
            if inner in spec:
                yield from _references_of(spec[inner])

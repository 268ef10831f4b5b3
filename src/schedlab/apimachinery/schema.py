"""What the types of API objects look like: fields, Go types, list and map semantics, patch strategies.

One description of a type serves decoding, strategic merge patch, server-side apply and OpenAPI. The table of all
built-in types is compiled beforehand (tools/generate_schema.py) and opened on first use; a type is built, together
with the types it refers to, when it is first asked for.

    Type ← Scalar        string, integer, number, boolean, or a scalar with a form of its own (quantity, time, …)
         ← Struct        named fields; also the root of an object
         ← Map           string keys, one type of value
         ← List          atomic, set, or map (elements found by key fields)
         ← Untyped       any JSON value

Mirrors: k8s.io/kube-openapi/pkg/schemaconv, sigs.k8s.io/structured-merge-diff/v6/schema (v1.36)
Differs: a type also tells how Go encodes it (what is left out when empty), because objects are stored as their wire
form and never exist as Go structs.
"""

import functools
import gzip
import importlib.resources
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

from schedlab.apimachinery.gvk import GroupVersionKind

ScalarKind: TypeAlias = Literal[
    "string", "integer", "number", "boolean", "bytes", "quantity", "time", "micro-time", "int-or-string"
]
ListType: TypeAlias = Literal["atomic", "set", "map"]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."

#: Types whose JSON form is not what their Go declaration suggests.
_SPECIAL_SCALARS: Final[dict[str, ScalarKind]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    _META + "Time": "time",
    _META + "MicroTime": "micro-time",
}
_ATOMIC_UNTYPED: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_SCHEMA_PROPERTIES: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
#: What the schema of a definition gives in two forms, as a schema or as something else.
ARRAY_UNION: Final = f"{_SCHEMA_PROPERTIES}OrArray"
BOOL_UNION: Final = f"{_SCHEMA_PROPERTIES}OrBool"
UNIONS: Final = frozenset((ARRAY_UNION, BOOL_UNION, f"{_SCHEMA_PROPERTIES}OrStringArray"))
_GRANULAR_UNTYPED: Final = UNIONS | {
    _META + "FieldsV1",
    _META + "Patch",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
}
_GO_SCALARS: Final = {
    ("string", ""): "string",
    ("string", "byte"): "[]uint8",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("number", "double"): "float64",
    ("boolean", ""): "bool",
}
_EMPTY: Final[dict[ScalarKind, object]] = {
    "string": "",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "bytes": None,
    "quantity": "0",
    "time": None,
    "micro-time": None,
    "int-or-string": 0,
}


class Type:
    """Base of all types; `go` is the name kube-apiserver prints when a value does not fit."""

    __slots__ = ("go",)

    def __init__(self, go: str) -> None:
        self.go = go

    def empty(self) -> Any:
        """Wire form of the Go zero value; a new object each time."""
        return None


class Scalar(Type):
    """A value without parts."""

    __slots__ = ("enum", "format", "kind", "name")

    def __init__(self, kind: ScalarKind, go: str, *, format: str = "", enum: str = "", name: str = "") -> None:
        super().__init__(go)
        self.kind: ScalarKind = kind
        self.format = format
        #: Name of the Go type whose constants are the possible values.
        self.enum = enum
        #: Name of the OpenAPI definition, for the scalars that have one.
        self.name = name

    def empty(self) -> Any:
        return _EMPTY[self.kind]

    @property
    def is_go_struct(self) -> bool:
        """Whether Go writes the zero value even where `omitempty` asks to leave it out."""
        return self.kind in ("quantity", "time", "micro-time", "int-or-string")


class Untyped(Type):
    """Any JSON value; `atomic` says that it has one owner as a whole."""

    __slots__ = ("atomic", "name")

    def __init__(self, go: str, *, atomic: bool, name: str = "") -> None:
        super().__init__(go)
        self.atomic = atomic
        self.name = name


class Map(Type):
    """An object with free keys."""

    __slots__ = ("atomic", "element")

    def __init__(self, element: Type, go: str, *, atomic: bool = False) -> None:
        super().__init__(go)
        self.element = element
        self.atomic = atomic


class List(Type):
    """An array; `keys` are the fields that tell the elements of a `map` list apart."""

    __slots__ = ("_key_defaults", "element", "keys", "list_type")

    def __init__(self, element: Type, go: str, list_type: ListType = "atomic", keys: Sequence[str] = ()) -> None:
        super().__init__(go)
        self.element = element
        self.list_type: ListType = list_type
        self.keys = tuple(sorted(keys))
        self._key_defaults: tuple[tuple[str, Any], ...] | None = None

    @property
    def key_defaults(self) -> tuple[tuple[str, Any], ...]:
        """Per key field its value where an element leaves it out; None when there is no such value."""
        if self._key_defaults is None:
            element = self.element
            assert isinstance(element, Struct)
            self._key_defaults = tuple(
                (key, element.fields[key].key_default if key in element.fields else None) for key in self.keys
            )
        return self._key_defaults


class Field:
    """One field of a struct."""

    __slots__ = (
        "always_written",
        "default",
        "drops_empty",
        "embedded",
        "merge_key",
        "name",
        "omit_empty",
        "pointer",
        "strategies",
        "type",
    )

    def __init__(self, name: str, type: Type, source: dict[str, Any]) -> None:
        self.name = name
        self.type = type
        self.pointer = "p" in source
        self.omit_empty = "o" in source
        #: Go names of the structs that the field is embedded through, joined by dots.
        self.embedded: str = source.get("e", "")
        #: Strategic merge patch: merge, replace, retainKeys.
        self.strategies: tuple[str, ...] = tuple(source.get("s", ()))
        self.merge_key: str = source.get("k", "")
        self.default: Any = source.get("d")
        #: Whether Go writes the field even when it was never set: `omitempty` does not hold for structs.
        self.always_written = not self.omit_empty or (_is_go_struct(type) and not self.pointer and "z" not in source)
        #: Whether an empty value (zero, "", [], {}) is left out, not only null.
        self.drops_empty = self.omit_empty and not self.pointer

    @property
    def key_default(self) -> Any:
        """Value of the field as a list key when an element leaves it out: its default, or Go's zero value."""
        if self.default is not None:
            return self.default
        if self.omit_empty or self.pointer or not isinstance(self.type, Scalar):
            return None
        return self.type.empty()

    def empty(self) -> Any:
        """Wire form of the field when it was never set."""
        return None if self.pointer else self.type.empty()


def _is_go_struct(type: Type) -> bool:
    return isinstance(type, Struct) or (isinstance(type, Scalar) and type.is_go_struct)


class Struct(Type):
    """An object with known fields."""

    __slots__ = ("_always", "atomic", "decoder", "fields", "gvks", "name", "open", "required")

    def __init__(self, name: str, *, atomic: bool = False, go: str = "") -> None:
        super().__init__(go or ".".join(name.rsplit(".", 2)[-2:]))
        self.name = name
        self.atomic = atomic
        self.fields: dict[str, Field] = {}
        self.required: tuple[str, ...] = ()
        self.gvks: tuple[GroupVersionKind, ...] = ()
        #: A struct without fields: OpenAPI then says that anything may be in it.
        self.open = False
        #: What makes an object of a JSON value in place of `strict.decode`, for objects that are no Go structs.
        self.decoder: Callable[[Any], Any] | None = None
        self._always: tuple[Field, ...] | None = None

    def variant(self, *, atomic: bool) -> "Struct":
        """Return the same type for a field that says otherwise whether it has one owner as a whole."""
        other = Struct(self.name, atomic=atomic, go=self.go)
        other.fields = self.fields  # shared, and filled in later when the type is still being built
        other.required = self.required
        other.open = self.open
        return other

    @property
    def short_name(self) -> str:
        """Name without the package, as Go prints it in front of a field."""
        return self.name.rpartition(".")[2]

    @property
    def always_written(self) -> tuple[Field, ...]:
        if self._always is None:
            self._always = tuple(field for field in self.fields.values() if field.always_written)
        return self._always

    def empty(self) -> Any:
        return {field.name: field.empty() for field in self.always_written}


class Table:
    """All built-in types, each built on first use."""

    def __init__(self, entries: Sequence[dict[str, Any]]) -> None:
        self._entries = entries
        self._number = {entry["n"]: number for number, entry in enumerate(entries)}
        self._built: dict[int, Type] = {}
        self._by_gvk: dict[GroupVersionKind, int] = {
            GroupVersionKind(*gvk): number for number, entry in enumerate(entries) for gvk in entry.get("gvk", ())
        }

    def __contains__(self, name: str) -> bool:
        return name in self._number

    def names(self) -> Iterator[str]:
        return iter(self._number)

    def gvks(self) -> Iterator[GroupVersionKind]:
        return iter(self._by_gvk)

    def named(self, name: str) -> Type:
        """Return the type of an OpenAPI definition name; raises KeyError."""
        return self._get(self._number[name])

    def find(self, gvk: GroupVersionKind) -> Struct | None:
        """Return the type of an object, None when it is not built in."""
        number = self._by_gvk.get(gvk)
        return None if number is None else self._struct(number)

    def _struct(self, number: int) -> Struct:
        built = self._get(number)
        assert isinstance(built, Struct)
        return built

    def _get(self, number: int) -> Type:
        built = self._built.get(number)
        return self._build(number) if built is None else built

    def _build(self, number: int) -> Type:
        entry = self._entries[number]
        name: str = entry["n"]
        go = ".".join(name.rsplit(".", 2)[-2:])
        if name in _SPECIAL_SCALARS:
            self._built[number] = scalar = Scalar(_SPECIAL_SCALARS[name], go, name=name)
            return scalar
        if name == _ATOMIC_UNTYPED or name in _GRANULAR_UNTYPED:
            self._built[number] = untyped = Untyped(go, atomic=name == _ATOMIC_UNTYPED, name=name)
            return untyped
        struct = Struct(name, atomic="a" in entry)
        self._built[number] = struct  # before its fields: a type may contain itself
        fields: dict[str, Any] = entry.get("f", {})
        struct.fields.update((key, Field(key, self._type(source["t"]), source)) for key, source in fields.items())
        struct.required = tuple(entry.get("r", ()))
        struct.gvks = tuple(GroupVersionKind(*gvk) for gvk in entry.get("gvk", ()))
        struct.open = not fields
        return struct

    def _type(self, spec: Any) -> Type:
        if isinstance(spec, int):
            return self._get(spec)
        if "ref" in spec:
            return self._struct(spec["ref"]).variant(atomic=bool(spec["a"]))
        if "l" in spec:
            element = self._type(spec["l"])
            return List(element, spec["g"] or f"[]{element.go}", spec.get("lt", "atomic"), spec.get("lk", ()))
        if "m" in spec:
            element = self._type(spec["m"])
            return Map(element, spec["g"] or f"map[string]{element.go}", atomic="a" in spec)
        kind, form = spec["c"], spec.get("f", "")
        if kind == "object":
            return Untyped(spec.get("g", "map[string]interface {}"), atomic=False)
        return Scalar(
            "bytes" if form == "byte" else kind,
            spec.get("g") or _GO_SCALARS[kind, form],
            format=form,
            enum=spec.get("enum", ""),
        )


def read_data(name: str) -> Any:
    """Read one file of the compiled table."""
    folder = importlib.resources.files(__package__).joinpath("schema_data")
    return json.loads(gzip.decompress(folder.joinpath(name).read_bytes()))


@functools.cache
def builtin() -> Table:
    """Return the table of the built-in types."""
    return Table(read_data("types.json.gz"))


def schema_properties() -> Struct:
    """Return the type of the schemas that definitions have."""
    found = builtin().named(_SCHEMA_PROPERTIES)
    assert isinstance(found, Struct)
    return found


@functools.cache
def schema_for(group: str, version: str, kind: str) -> Struct:
    """Return the type of a built-in object; raises KeyError when there is none."""
    found = builtin().find(GroupVersionKind(group, version, kind))
    if found is None:
        raise KeyError(f"{group}/{version}, Kind={kind}")
    return found

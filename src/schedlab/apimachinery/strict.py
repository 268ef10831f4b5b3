"""Turning what a client sent into an object: unknown and repeated fields, wrong types, what Go leaves out.

`decode` checks a JSON value against a type and returns it as kube-apiserver would write it back: unknown fields
dropped, nulls and empty optional values left out, fields that Go always writes filled in, quantities and times in
their canonical form. Problems that only strict validation minds (unknown and repeated fields) are collected, wrong
types raise DecodeError with the text of Go's JSON decoder.

`restore` does the same for the result of a strategic merge patch, which upstream turns into an object by another way
and with other words.

Mirrors: sigs.k8s.io/json decode.go, staging/src/k8s.io/apimachinery/pkg/runtime/{serializer/json,converter.go} (v1.36)
Differs: when an object is repeated inside a map, the two are merged; Go keeps the second.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, TypeAlias

import msgspec

from schedlab.apimachinery import gojson, json_reader, plain_decode, quantity
from schedlab.apimachinery.json_reader import JSONValue, Repeated
from schedlab.apimachinery.scalars import (
    INTEGER_LIMITS,
    base64_error,
    canonical_micro_time,
    canonical_quantity,
    canonical_time,
)
from schedlab.apimachinery.schema import (
    ARRAY_UNION,
    BOOL_UNION,
    UNIONS,
    Field,
    List,
    Map,
    Scalar,
    Struct,
    Type,
    Untyped,
    schema_properties,
)

Directive: TypeAlias = Literal["Strict", "Warn", "Ignore"]

_STRICT_ERRORS_MAX: Final = 100
_TEXTS: Final = List(Scalar("string", "string"), "[]string", "atomic")


@cache
def _schemas() -> List:
    return List(schema_properties(), "[]v1.JSONSchemaProps", "atomic")


class DecodeError(ValueError):
    """A value that does not fit its type; the message is kube-apiserver's."""


class Decoded(msgspec.Struct):
    """An object in canonical form and what strict validation has against the text it came from."""

    value: dict[str, Any]
    strict_errors: list[str] = []


def decode(value: JSONValue, type: Struct, known: Mapping[str, Any] | None = None) -> Decoded:
    """Check a JSON value and bring it into canonical form; raises DecodeError.

    What is the very same value in `known`, an object in canonical form that the value was made from, is taken over as
    it is; objects right below the root are copied, so that changing one does not change the other.
    """
    if type.decoder is not None:
        made_by_type: Decoded = type.decoder(value)
        return made_by_type
    try:
        return Decoded(plain_decode.decode_changed(value, type, known or {}))
    except plain_decode.Unusual:
        walk = _Walk()
    made = walk.struct(value, type)
    if walk.first_error is not None:
        raise DecodeError(walk.first_error)
    return Decoded(made, list(walk.strict_errors))


def restore(value: dict[str, JSONValue], type: Struct, known: Mapping[str, Any] | None = None) -> Decoded:
    """Like `decode`, for an object that was made from a stored one by a patch; raises DecodeError."""
    if type.decoder is not None:
        made_by_type: Decoded = type.decoder(value)
        return made_by_type
    try:
        return Decoded(plain_decode.decode_changed(value, type, known or {}))
    except plain_decode.Unusual:
        walk = _Restoration()
    made = walk.struct(value, type)
    return Decoded(made, sorted(walk.strict_errors))


def decode_text(text: bytes, type: Struct) -> Decoded:
    """Read and decode a JSON text; raises DecodeError."""
    try:
        return decode(json_reader.read(text), type)
    except json_reader.JSONSyntaxError as error:
        raise DecodeError(str(error)) from None
    except DecodeError:
        # Once more with the literals of numbers, which a message may have to show.
        return decode(json_reader.read_exact(text), type)


def as_stored(obj: dict[str, Any], type: Struct) -> dict[str, Any]:
    """Make empty lists and maps that Go always writes null, as storing an object as protobuf does.

    Only what an object and its spec and status have; further down such fields may not be empty.
    """
    for name in _nullable_fields(type):
        if obj.get(name) in ([], {}):
            obj[name] = None
    for field in type.always_written:
        inner = obj.get(field.name)
        if isinstance(field.type, Struct) and isinstance(inner, dict):
            names = [name for name in _nullable_fields(field.type) if inner.get(name) in ([], {})]
            if names:
                obj[field.name] = {**inner, **dict.fromkeys(names)}
    return obj


@cache
def _nullable_fields(type: Struct) -> tuple[str, ...]:
    return tuple(field.name for field in type.always_written if isinstance(field.type, (List, Map)))


def decode_list(value: JSONValue, type: List) -> "_Walk":
    """Check a list; its first error and its strict errors are left to the caller."""
    walk = _Walk()
    walk.list_of(value, type)
    return walk


def has_repeated(value: JSONValue) -> bool:
    """Whether an object somewhere in a value names a key more than once."""
    if isinstance(value, dict):
        return value.__class__ is Repeated or any(map(has_repeated, value.values()))
    return isinstance(value, list) and any(map(has_repeated, value))


def repeated_fields(value: JSONValue) -> list[str]:
    """List the strict errors of a value without a type: its repeated keys."""
    if not has_repeated(value):
        return []
    walk = _Walk()
    walk.any_value(value)
    return list(walk.strict_errors)


def joined(value: dict[str, JSONValue]) -> dict[str, Any]:
    """Make a plain copy of an object in which repeated keys are joined as Go's decoder does."""
    out: dict[str, Any] = {}
    for key, item in value.pairs if isinstance(value, Repeated) else value.items():
        plain = _plain(item)
        present = out.get(key)
        out[key] = _join(present, plain) if isinstance(present, dict) else plain
    return out


def _plain(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return joined(value)
    return list(map(_plain, value)) if isinstance(value, list) else value


def strict_error(errors: Sequence[str]) -> str:
    """Join strict errors into the one message that a Strict request is refused with."""
    return "strict decoding error: " + ", ".join(errors)


class _Step:
    """A place on the way down: a field of a struct, an index, or a key of a map."""

    __slots__ = ("field", "struct", "text")

    def __init__(self, text: str, struct: Struct | None = None, field: Field | None = None) -> None:
        self.text = text
        self.struct = struct
        self.field = field


class _Walk:
    """One decoding: the path to the current value and what was found so far."""

    def __init__(self) -> None:
        self.path: list[_Step] = []
        self.strict_errors: dict[str, None] = {}
        self.first_error: str | None = None

    # --- messages ---------------------------------------------------------------------------------------------------

    def _strict(self, problem: str, name: str) -> None:
        if len(self.strict_errors) >= _STRICT_ERRORS_MAX:
            return
        path = "".join(step.text for step in self.path)
        self.strict_errors[f"{problem} {gojson.quote(f'{path}.{name}'[not path :])}"] = None

    def _mismatch(self, found: str, go: str) -> str:
        """Word a wrong type as encoding/json does, with the innermost struct and the path of field names."""
        fields = [step for step in self.path if step.field is not None]
        if not fields:
            return f"json: cannot unmarshal {found} into Go value of type {go}"
        names = []
        for step in fields:
            assert step.field is not None
            names += [step.field.embedded, step.field.name] if step.field.embedded else [step.field.name]
        struct = fields[-1].struct
        assert struct is not None
        where = f"{struct.short_name}.{'.'.join(names)}"
        return f"json: cannot unmarshal {found} into Go struct field {where} of type {go}"

    def _save(self, message: str) -> None:
        if self.first_error is None:
            self.first_error = message

    def _wrong_type(self, value: JSONValue, type: Type) -> None:
        self._save(self._mismatch(kind_of(value), type.go))

    # --- containers -------------------------------------------------------------------------------------------------

    def struct(self, value: JSONValue, type: Struct) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if isinstance(value, dict):
            fields = type.fields
            for key, item in self._pairs(value, fields):
                field = fields.get(key)
                if field is None:
                    self._strict("unknown field", key)
                    continue
                if item.__class__ is str and field.type.__class__ is Scalar and field.type.kind == "string":
                    if item or not field.drops_empty:
                        out[key] = item
                    continue
                made = self._field(item, field, type)
                if made is not None or field.always_written:
                    out[key] = made
        elif value is not None:
            self._wrong_type(value, type)
        for field in type.always_written:
            if field.name not in out:
                out[field.name] = field.empty()
        return out

    def _pairs(self, value: dict[str, JSONValue], fields: dict[str, Field] | None) -> Any:
        """Items of an object; those of a repeated key are reported, and objects under one key are joined."""
        return value.items() if value.__class__ is dict else self._repeated_pairs(value, fields)

    def _repeated_pairs(self, value: dict[str, JSONValue], fields: dict[str, Field] | None) -> Any:
        seen: dict[str, JSONValue] = {}
        for key, item in value.pairs if isinstance(value, Repeated) else value.items():
            joined = item
            if key in seen:
                if fields is None or key in fields:
                    self._strict("duplicate field", key)
                joined = _join(seen[key], item)
            seen[key] = joined
            yield key, joined

    def _field(self, item: JSONValue, field: Field, owner: Struct) -> Any:
        """Decode the value of a field; None when Go would leave the field out or write null."""
        if item is None and field.pointer:
            return None
        self.path.append(_Step(f".{field.name}"[not self.path :], owner, field))
        made = self._value(item, field.type)
        self.path.pop()
        return None if not made and field.drops_empty and not field.always_written else made

    def _value(self, item: JSONValue, type: Type) -> Any:
        if isinstance(type, Scalar):
            return getattr(self, _SCALARS[type.kind])(item, type)
        if isinstance(type, Struct):
            return self.struct(item, type)
        if isinstance(type, List):
            return self.list_of(item, type)
        if isinstance(type, Map):
            return self._map(item, type)
        assert isinstance(type, Untyped)
        return self._union(item, type) if type.name in UNIONS else item

    def _union(self, item: JSONValue, type: Untyped) -> Any:
        """Decode what a schema of a definition gives in two forms.

        Go has methods of their own for these, which know no path and mind no unknown field.
        """
        walk = _Walk()
        found: Any = None
        if isinstance(item, dict):
            found = walk.struct(item, schema_properties())
        elif isinstance(item, bool) and type.name == BOOL_UNION:
            found = item
        elif type.name == BOOL_UNION:
            self._save("boolean or JSON schema expected")
        elif isinstance(item, list):
            found = walk.list_of(item, _schemas() if type.name == ARRAY_UNION else _TEXTS)
        if walk.first_error is not None:
            self._save(walk.first_error)
        return found

    def list_of(self, items: JSONValue, type: List) -> list[Any] | None:
        if items is None:
            return None
        if not isinstance(items, list):
            self._wrong_type(items, type)
            return None
        element = type.element
        out = []
        step = _Step("")
        self.path.append(step)
        for number, item in enumerate(items):
            step.text = f"[{number}]"
            out.append(self._value(item, element))
        self.path.pop()
        return out

    def _map(self, items: JSONValue, type: Map) -> dict[str, Any] | None:
        if items is None:
            return None
        if not isinstance(items, dict):
            self._wrong_type(items, type)
            return None
        element = type.element
        plain = isinstance(element, Scalar) and element.kind == "string"
        out = {}
        step = _Step("")
        for key, item in self._pairs(items, None):
            if plain and item.__class__ is str:
                out[key] = item
                continue
            step.text = f".{key}" if self.path else key
            self.path.append(step)
            made = self._value(item, element)
            out[key] = "" if made is None and plain_decode.is_bytes(element) else made
            self.path.pop()
        return out

    def any_value(self, value: JSONValue) -> None:
        """Look for repeated keys in a value of any type."""
        if isinstance(value, dict):
            for key, item in self._pairs(value, None):
                self.path.append(_Step(f".{key}" if self.path else key))
                self.any_value(item)
                self.path.pop()
        elif isinstance(value, list):
            for number, item in enumerate(value):
                self.path.append(_Step(f"[{number}]"))
                self.any_value(item)
                self.path.pop()

    # --- scalars ----------------------------------------------------------------------------------------------------

    def string(self, value: JSONValue, type: Scalar) -> str:
        if isinstance(value, str):
            return value
        if value is not None:
            self._wrong_type(value, type)
        return ""

    def boolean(self, value: JSONValue, type: Scalar) -> bool:
        if isinstance(value, bool):
            return value
        if value is not None:
            self._wrong_type(value, type)
        return False

    def integer(self, value: JSONValue, type: Scalar) -> int:
        if value.__class__ is int:
            low, high = INTEGER_LIMITS[type.format or "int64"]
            if low <= value <= high:
                return int(value)
        if value is not None:
            self._save(self._mismatch(_with_literal(value), type.go))
        return 0

    def number(self, value: JSONValue, type: Scalar) -> float:
        if is_number(value):
            return value  # type: ignore[no-any-return]
        if value is not None:
            self._wrong_type(value, type)
        return 0

    def bytes(self, value: JSONValue, type: Scalar) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str):
            self._wrong_type(value, type)
            return None
        problem = base64_error(value)
        if problem is not None:
            self._bad_base64(f"illegal base64 data at input byte {problem}")
        return value.replace("\n", "").replace("\r", "")

    def _bad_base64(self, message: str) -> None:
        self._save(message)

    def quantity(self, value: JSONValue, _type: Scalar) -> str:
        if value.__class__ is str:
            return str(_or_fail(lambda: canonical_quantity(value)))
        return str(_or_fail(lambda: quantity.from_json(value)))

    def time(self, value: JSONValue, _type: Scalar) -> str | None:
        return self._time(value, canonical_time)

    def micro_time(self, value: JSONValue, _type: Scalar) -> str | None:
        return self._time(value, canonical_micro_time)

    def _time(self, value: JSONValue, canonical: Callable[[str], str | None]) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str):
            raise DecodeError(self._mismatch(kind_of(value), "string"))
        text: str = value
        made: str | None = _or_fail(lambda: canonical(text))
        return made

    def int_or_string(self, value: JSONValue, _type: Scalar) -> int | str:
        """An integer is read as int32 by a decoder of its own, whose error ends everything."""
        if isinstance(value, str):
            return value
        if value is None:
            return 0
        low, high = INTEGER_LIMITS["int32"]
        if value.__class__ is int and low <= value <= high:
            return int(value)
        raise DecodeError(self._mismatch(_with_literal(value), "int32"))


class _Restoration(_Walk):
    """Decoding by reflection from a map: the first wrong type ends it, strict errors are sorted."""

    def _pairs(self, value: dict[str, JSONValue], fields: dict[str, Field] | None) -> Any:
        pairs = super()._pairs(value, fields)
        if fields is None:
            return pairs
        rank = {name: number for number, name in enumerate(fields)}
        return sorted(pairs, key=lambda pair: rank.get(pair[0], len(rank)))

    def _mismatch(self, found: str, go: str) -> str:
        return f"json: cannot unmarshal {found} into Go value of type {go}"

    def _wrong_type(self, value: JSONValue, type: Type) -> None:
        kind = _go_kind(value)
        if isinstance(type, Struct):
            raise DecodeError(f"cannot restore struct from: {kind}")
        if isinstance(type, Map):
            raise DecodeError(f"cannot restore map from {kind}")
        if isinstance(type, List) or type.go == "[]uint8":
            raise DecodeError(f"cannot restore slice from {kind}")
        assert isinstance(type, Scalar)
        if type.kind == "string" and kind == "int64":  # Go would convert a code point
            raise DecodeError(f"cannot convert int64 to {type.go}")
        raise DecodeError(f"unrecognized type: {_GO_KINDS.get(type.kind) or type.format}")

    def _bad_base64(self, message: str) -> None:
        raise DecodeError(f"error decoding from json: {message}")

    def integer(self, value: JSONValue, type: Scalar) -> int:
        if value is None:
            return 0
        if not is_number(value):
            self._wrong_type(value, type)
        if isinstance(value, float) and not value.is_integer():
            raise DecodeError(f"cannot convert float64 to {type.go}")
        span = 2**32 if type.format == "int32" else 2**64
        return (int(value) + span // 2) % span - span // 2


_GO_KINDS: Final = {"string": "string", "boolean": "bool", "number": "float64"}


def _go_kind(value: JSONValue) -> str:
    """Name the reflect.Kind of a decoded JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (str, int, float)):
        return {str: "string", int: "int64"}.get(value.__class__, "float64")
    return "slice" if isinstance(value, list) else "map"


#: Methods that decode each kind of scalar.
_SCALARS: Final = {
    "string": "string",
    "boolean": "boolean",
    "integer": "integer",
    "number": "number",
    "bytes": "bytes",
    "quantity": "quantity",
    "time": "time",
    "micro-time": "micro_time",
    "int-or-string": "int_or_string",
}


def _or_fail(parse: Callable[[], Any]) -> Any:
    """Run a parser whose error ends the decoding, as that of a type with its own decoder does in Go."""
    try:
        return parse()
    except ValueError as error:
        raise DecodeError(str(error)) from None


def _with_literal(value: JSONValue) -> str:
    """Name the JSON type of a value, a number with its literal."""
    return f"number {json_reader.number_text(value)}" if is_number(value) else kind_of(value)


def is_number(value: JSONValue) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def kind_of(value: JSONValue) -> str:
    """Name the JSON type of a value in Go's words."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    return "array" if isinstance(value, list) else "object"


def _join(first: JSONValue, second: JSONValue) -> JSONValue:
    """Go decodes a repeated object into the one that is there already."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    pairs = second.pairs if isinstance(second, Repeated) else list(second.items())
    joined = dict(first)
    for key, item in pairs:
        joined[key] = _join(joined[key], item) if key in joined else item
    return joined

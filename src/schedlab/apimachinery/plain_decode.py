"""Decoding of values that are as they should be: the short way of `strict.decode`.

Each type is compiled to functions that take a JSON value and return its canonical form. They know no messages: for
whatever is not plainly right (an unknown or repeated field, a wrong type, a number out of range) they raise Unusual,
and `strict` looks at the whole value again, the long way.

Mirrors: nothing; what comes out is what `strict` makes of the same value.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from schedlab.apimachinery.json_reader import JSONValue, Repeated
from schedlab.apimachinery.scalars import (
    INTEGER_LIMITS,
    base64_error,
    canonical_micro_time,
    canonical_quantity,
    canonical_time,
)
from schedlab.apimachinery.schema import (
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

#: Makes the canonical form of a value; None where Go would write null or leave a field out.
Make: TypeAlias = Callable[[JSONValue], Any]


class Unusual(Exception):
    """A value that only the long way can judge."""


def decode_object(value: JSONValue, type: Struct) -> dict[str, Any]:
    """Bring an object into canonical form; raises Unusual."""
    made: dict[str, Any] = _struct(type)(value)
    return made


def decode_changed(value: JSONValue, type: Struct, known: Mapping[str, Any], depth: int = 2) -> dict[str, Any]:
    """Bring an object into canonical form that was made from the object `known`, which is in it; raises Unusual.

    What is the very same value in both is taken over as it is; above the given depth it is copied, so that changing one
    of the two objects there does not change the other.
    """
    if not known:
        return decode_object(value, type)
    if value.__class__ is Repeated or not isinstance(value, dict):
        raise Unusual
    out: dict[str, Any] = {}
    for key, item in value.items():
        field, before = type.fields.get(key), known.get(key)
        if field is None:
            raise Unusual
        inner = field.type
        if item is before and item is not None:
            out[key] = dict(item) if depth > 1 and isinstance(item, dict) else item
            continue
        if depth > 1 and isinstance(inner, Struct) and isinstance(before, dict) and isinstance(item, dict):
            made: Any = decode_changed(item, inner, before, depth - 1)
            made = made if made or not field.drops_empty or field.always_written else None
        else:
            made = _field(field)(item)
        if made is not None or field.always_written:
            out[key] = made
    for field in type.always_written:
        if field.name not in out:
            out[field.name] = field.empty()
    return out


# --- objects and lists ----------------------------------------------------------------------------------------------


@cache
def _struct(type: Struct) -> Make:
    # How a field is made, whether it is written when there is nothing, whether it is a text, dropped when it is empty.
    makers: dict[str, tuple[Make, bool, bool, bool]] = {}
    always = type.always_written
    complete: bool = False

    def make(value: JSONValue) -> Any:
        nonlocal complete
        if not complete:  # not before the first value: a type may contain itself
            makers.update((name, _maker(field)) for name, field in type.fields.items())
            complete = True
        if value.__class__ is not dict:
            raise Unusual
        out = {}
        for key, item in value.items():
            maker = makers.get(key)
            if maker is None:
                raise Unusual
            make_field, always_written, is_text, drops = maker
            if is_text and item.__class__ is str:  # most are; a call for each would take the most time
                if item or not drops:
                    out[key] = item
                continue
            made = make_field(item)
            if made is not None or always_written:
                out[key] = made
        for field in always:
            if field.name not in out:
                out[field.name] = field.empty()
        return out

    return make


def _maker(field: Field) -> tuple[Make, bool, bool, bool]:
    return _field(field), field.always_written, _is_text(field.type), _drops(field) and not field.pointer


def _drops(field: Field) -> bool:
    return field.drops_empty and not field.always_written


@cache
def _field(field: Field) -> Make:
    value = _value(field.type)

    if field.pointer:

        def make(item: JSONValue) -> Any:
            return None if item is None else value(item)

        return make
    if not _drops(field):
        return value

    def make_or_drop(item: JSONValue) -> Any:
        return value(item) or None

    return make_or_drop


def _value(type: Type) -> Make:
    if isinstance(type, Scalar):
        return _INTEGERS[type.format or "int64"] if type.kind == "integer" else _SCALARS[type.kind]
    if isinstance(type, Struct):
        return _struct(type)
    if isinstance(type, List):
        return _list(_value(type.element), plain=_is_text(type.element))
    if isinstance(type, Map):
        # Bytes in a map are stored, and null is stored as no bytes.
        make = _some_bytes if is_bytes(type.element) else _value(type.element)
        return _map(make, plain=_is_text(type.element))
    assert isinstance(type, Untyped)
    return _union(type.name) if type.name in UNIONS else _as_it_is


def _union(name: str) -> Make:
    """Decode a schema in a schema, or the plain forms of what may stand in its place."""

    def make(value: JSONValue) -> Any:
        if value.__class__ is dict:
            return _struct(schema_properties())(value)
        if value.__class__ is bool and name == BOOL_UNION:
            return value
        raise Unusual

    return make


def is_bytes(type: Type) -> bool:
    """Say whether values are base64 texts."""
    return isinstance(type, Scalar) and type.kind == "bytes"


def _is_text(type: Type) -> bool:
    return isinstance(type, Scalar) and type.kind == "string"


def _list(element: Make, *, plain: bool) -> Make:
    def make(items: JSONValue) -> Any:
        if items.__class__ is list:
            return [_text(item) for item in items] if plain else [element(item) for item in items]
        if items is None:
            return None
        raise Unusual

    return make


def _map(element: Make, *, plain: bool) -> Make:
    def make(items: JSONValue) -> Any:
        if items.__class__ is dict:
            if plain:
                for item in items.values():
                    if item.__class__ is not str:
                        raise Unusual
                return dict(items)
            return {key: element(item) for key, item in items.items()}
        if items is None:
            return None
        raise Unusual

    return make


# --- scalars --------------------------------------------------------------------------------------------------------


def _as_it_is(value: JSONValue) -> Any:
    return value


def _text(value: JSONValue) -> str:
    if value.__class__ is str:
        return value
    if value is None:
        return ""
    raise Unusual


def _boolean(value: JSONValue) -> bool:
    if value is True or value is False:
        return value
    if value is None:
        return False
    raise Unusual


def _integer(low: int, high: int) -> Make:
    def make(value: JSONValue) -> int:
        if value.__class__ is int and low <= value <= high:
            return value
        if value is None:
            return 0
        raise Unusual

    return make


def _number(value: JSONValue) -> float:
    if value.__class__ is float or value.__class__ is int:
        return value
    if value is None:
        return 0
    raise Unusual


def _bytes(value: JSONValue) -> str | None:
    if value is None:
        return None
    if value.__class__ is not str or base64_error(value) is not None:
        raise Unusual
    return value.replace("\n", "").replace("\r", "")


def _some_bytes(value: JSONValue) -> str:
    return _bytes(value) or ""


def _parsed(canonical: Callable[[str], str | None]) -> Make:
    def make(value: JSONValue) -> str | None:
        if value.__class__ is not str:
            raise Unusual
        try:
            return canonical(value)
        except ValueError:
            raise Unusual from None

    return make


def _or_null(parsed: Make) -> Make:
    def make(value: JSONValue) -> Any:
        return None if value is None else parsed(value)

    return make


def _int_or_string(value: JSONValue) -> Any:
    return value if value.__class__ is str else _INTEGERS["int32"](value)


_INTEGERS: Final = {name: _integer(*limits) for name, limits in INTEGER_LIMITS.items()}
_SCALARS: Final[dict[str, Make]] = {
    "string": _text,
    "boolean": _boolean,
    "number": _number,
    "bytes": _bytes,
    "quantity": _parsed(canonical_quantity),
    "time": _or_null(_parsed(canonical_time)),
    "micro-time": _or_null(_parsed(canonical_micro_time)),
    "int-or-string": _int_or_string,
}

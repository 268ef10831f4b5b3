"""From the JSON form of an object to the bytes of its message.

Mirrors: the Marshal methods of the generated.pb.go files (v1.36)
Differs: only what the dict holds is written, so zero values are left out; keys that the message lacks are ignored.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import orjson

from schedlab.apimachinery.protobuf import wire
from schedlab.apimachinery.protobuf.decoding import DEPTH_MAX
from schedlab.apimachinery.protobuf.messages import Field, Message
from schedlab.apimachinery.protobuf.special import SPECIALS
from schedlab.apimachinery.protobuf.wire import ProtobufError

_EXTENSIONS: Final = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOr"
_RAW_EXTENSION: Final = "k8s.io.apimachinery.pkg.runtime.RawExtension"


def encode(message: Message, value: Any, depth: int = 0) -> bytes:
    """Encode a value as a message; raise ProtobufError when it does not fit."""
    if depth > DEPTH_MAX:
        raise ProtobufError(f"object is nested more than {DEPTH_MAX} levels deep")
    known = SPECIALS.get(message.name)
    if known is not None:
        return b"" if value is None else known.to_wire(value)
    if message.name == _RAW_EXTENSION:
        return b"" if value is None else wire.write_bytes(1, orjson.dumps(value))
    if message.name.startswith(_EXTENSIONS):
        return _encode_union(message, value, depth)
    if message.is_list:
        return _encode_field(message.fields[0], value or [], depth)
    if not isinstance(value, Mapping):
        raise ProtobufError(f"{message.name}: expected an object, found {_shown(value)}")
    parts = [_encode_member(field, value, depth) for field in _in_wire_order(message)]
    return b"".join(parts)


def _in_wire_order(message: Message) -> list[Field]:
    return sorted(message.fields, key=lambda field: field.number)


def _encode_member(field: Field, value: Mapping[str, Any], depth: int) -> bytes:
    if field.json:
        member = value.get(field.json)
        return b"" if member is None else _encode_field(field, member, depth)
    # The fields of an embedded message stand among those of the message around it.
    assert field.message is not None
    embedded = encode(field.message, value, depth + 1)
    return wire.write_bytes(field.number, embedded) if embedded else b""


def _encode_field(field: Field, value: Any, depth: int) -> bytes:
    if field.is_map:
        if not isinstance(value, Mapping):
            raise ProtobufError(f"{field.json}: expected an object, found {_shown(value)}")
        return b"".join(_encode_entry(field, key, value[key], depth) for key in sorted(value))
    if field.repeated:
        if not isinstance(value, list):
            raise ProtobufError(f"{field.json}: expected a list, found {_shown(value)}")
        return b"".join(_encode_value(field, field.number, item, depth) for item in value)
    return _encode_value(field, field.number, value, depth)


def _encode_entry(field: Field, key: str, value: Any, depth: int) -> bytes:
    entry = wire.write_bytes(1, key.encode("utf-8", "replace")) + _encode_value(field, 2, value, depth)
    return wire.write_bytes(field.number, entry)


def _encode_value(field: Field, number: int, value: Any, depth: int) -> bytes:
    if field.message is not None:
        return wire.write_bytes(number, encode(field.message, value, depth + 1))
    if field.code == "s" and isinstance(value, str):
        return wire.write_bytes(number, value.encode("utf-8", "replace"))
    if field.code == "b" and isinstance(value, str):
        return wire.write_bytes(number, _base64(field, value))
    if field.code == "t" and isinstance(value, bool):
        return wire.write_number(number, int(value))
    if field.code in ("i", "l") and isinstance(value, int) and not isinstance(value, bool):
        return wire.write_number(number, _in_range(field, value))
    if field.code == "d" and isinstance(value, (int, float)):
        return wire.write_double(number, float(value))
    expected = {"s": "a string", "b": "base64 text", "t": "true or false", "d": "a number"}.get(
        field.code, "an integer"
    )
    raise ProtobufError(f"{field.json}: expected {expected}, found {_shown(value)}")


def _in_range(field: Field, value: int) -> int:
    limit = 2 ** (31 if field.code == "i" else 63)
    if not -limit <= value < limit:
        raise ProtobufError(f"{field.json}: {value} does not fit an int{32 if field.code == 'i' else 64}")
    return value


def _base64(field: Field, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ProtobufError(f"{field.json}: expected base64 text: {error}") from error


def _encode_union(message: Message, value: Any, depth: int) -> bytes:
    first, second = message.fields
    if isinstance(value, bool):
        return wire.write_number(1, int(value))
    if isinstance(value, list):
        return _encode_field(second, value, depth)
    if message.name.endswith("OrBool"):
        # Upstream sets the truth value beside a schema.
        return wire.write_number(1, 1) + _encode_field(second, value, depth)
    return _encode_field(first, value, depth)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 50 else f"{text[:50]}…"

"""From the bytes of a message to the dict that Go's JSON encoder would show.

Mirrors: the Unmarshal methods of the generated.pb.go files, and encoding/json for the structs they fill (v1.36)
Differs: nesting is limited to 100 levels.
"""

import base64
from typing import Any, Final

from schedlab.apimachinery.protobuf import special, wire
from schedlab.apimachinery.protobuf.envelope import MAGIC, unwrap
from schedlab.apimachinery.protobuf.messages import Field, Message, messages
from schedlab.apimachinery.protobuf.special import ABSENT, SPECIALS
from schedlab.apimachinery.protobuf.wire import ProtobufError, WireValue

DEPTH_MAX: Final = 100

_EXTENSIONS: Final = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOr"
_RAW_EXTENSION: Final = "k8s.io.apimachinery.pkg.runtime.RawExtension"
_WIRE_TYPES: Final = {
    "s": wire.BYTES,
    "b": wire.BYTES,
    "m": wire.BYTES,
    "i": wire.VARINT,
    "l": wire.VARINT,
    "t": wire.VARINT,
    "d": wire.FIXED64,
}


def decode(message: Message, data: bytes, depth: int = 0) -> Any:
    """Decode a message; the result is ABSENT where JSON shows nothing for it."""
    if depth > DEPTH_MAX:
        raise ProtobufError(f"message is nested more than {DEPTH_MAX} levels deep")
    found = _collect(message, data)
    known = SPECIALS.get(message.name)
    if known is not None:
        return known.from_wire(found)
    if message.name == _RAW_EXTENSION:
        return _decode_raw_extension(special.last_bytes(found, 1), depth)
    if message.name.startswith(_EXTENSIONS):
        return _decode_union(message, found, depth)
    if message.is_list:
        return [_decode_value(message.fields[0], value, depth) for value in found.get(1, ())]
    decoded: dict[str, Any] = {}
    for field in message.fields:
        if field.number in found:
            _show(field, _decode_field(field, found[field.number], depth), decoded)
    return decoded


def _collect(message: Message, data: bytes) -> dict[int, list[WireValue]]:
    """Gather the values of each known field in order of arrival."""
    found: dict[int, list[WireValue]] = {}
    by_number = message.by_number
    for number, wire_type, value in wire.read_fields(data):
        field = by_number.get(number)
        if field is None:
            continue
        expected = wire.BYTES if field.is_map else _WIRE_TYPES[field.code]
        values = found.setdefault(number, [])
        if wire_type == expected:
            values.append(value)
        elif field.repeated and expected == wire.VARINT and isinstance(value, bytes):
            values.extend(wire.read_packed(value))
        else:
            name = field.json[:1].upper() + field.json[1:]
            raise ProtobufError(f"proto: wrong wireType = {wire_type} for field {name}")
    return found


def _show(field: Field, value: Any, decoded: dict[str, Any]) -> None:
    """Put a field's value where Go's JSON shows it, if it does."""
    if value is ABSENT:
        return
    if not field.json:
        decoded.update(value)
    elif value or not _is_left_out_when_empty(field):
        decoded[field.json] = value


def _is_left_out_when_empty(field: Field) -> bool:
    # omitempty has no effect on a struct; omitzero does.
    return field.omits_zero or (field.omits_empty and field.code != "m")


def _decode_field(field: Field, values: list[WireValue], depth: int) -> Any:
    if field.is_map:
        return dict(_decode_entry(field, value, depth) for value in values)
    if field.repeated:
        return [_decode_item(field, value, depth) for value in values]
    if field.code == "m" and len(values) > 1:
        # A message in several parts is their concatenation.
        return _decode_value(field, b"".join(value for value in values if isinstance(value, bytes)), depth)
    return _decode_value(field, values[-1], depth)


def _decode_item(field: Field, value: WireValue, depth: int) -> Any:
    item = _decode_value(field, value, depth)
    return None if item is ABSENT else item


def _decode_entry(field: Field, value: WireValue, depth: int) -> tuple[str, Any]:
    assert isinstance(value, bytes)
    key, content = "", None
    for number, wire_type, part in wire.read_fields(value):
        if number == 1 and isinstance(part, bytes):
            key = part.decode("utf-8", "replace")
        elif number == 2 and wire_type == _WIRE_TYPES[field.code]:
            content = part
    if content is None:
        content = b"" if _WIRE_TYPES[field.code] == wire.BYTES else 0
    return key, _decode_item(field, content, depth)


def _decode_value(field: Field, value: WireValue, depth: int) -> Any:
    if isinstance(value, bytes):
        if field.code == "s":
            return value.decode("utf-8", "replace")
        if field.code == "b":
            return base64.b64encode(value).decode()
        assert field.message is not None
        return decode(field.message, value, depth + 1)
    if field.code == "i":
        return wire.to_int32(value)
    if field.code == "l":
        return wire.to_int64(value)
    return bool(value) if field.code == "t" else wire.to_double(value)


def _decode_raw_extension(raw: bytes, depth: int) -> Any:
    """An embedded object: JSON, or protobuf with its own envelope."""
    if not raw.startswith(MAGIC):
        return special.read_json(raw)
    inner = unwrap(raw)
    decoded = decode(messages().get(inner.api_version, inner.kind), inner.raw, depth + 1)
    return {"kind": inner.kind, "apiVersion": inner.api_version, **decoded}


def _decode_union(message: Message, found: dict[int, list[WireValue]], depth: int) -> Any:
    """A schema, or else a truth value or a list, whichever the type of union has."""
    first, second = message.fields
    if message.name.endswith("OrBool"):
        if 2 not in found:
            return bool(special.last_number(found, 1))
        return _decode_field(second, found[2], depth)
    if 2 in found:
        return _decode_field(second, found[2], depth)
    return _decode_field(first, found[1], depth) if 1 in found else ABSENT

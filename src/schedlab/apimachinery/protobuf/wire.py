"""The protobuf wire format: tags, varints and lengths.

Mirrors: what gogo/protobuf generates for Unmarshal and Marshal (v1.36), with its error texts
Differs: nothing.
"""

import struct
from collections.abc import Iterator
from typing import Final, TypeAlias

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
GROUP_START: Final = 3
GROUP_END: Final = 4
FIXED32: Final = 5

#: Wire value: an unsigned integer, or the bytes of a string or message.
WireValue: TypeAlias = int | bytes


class ProtobufError(ValueError):
    """Bytes that are no message of the expected kind, or a value that a message cannot hold."""


_UNEXPECTED_END: Final = "unexpected EOF"


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned 64-bit number; return it and the position behind it."""
    result = shift = 0
    while True:
        if shift >= 64:
            raise ProtobufError("proto: integer overflow")
        if position >= len(data):
            raise ProtobufError(_UNEXPECTED_END)
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7


def read_fields(data: bytes) -> Iterator[tuple[int, int, WireValue]]:
    """Read the fields of a message: number, wire type, value. Groups are skipped."""
    position, end = 0, len(data)
    while position < end:
        tag, position = read_varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == GROUP_END:
            raise ProtobufError("proto: wiretype end group for non-group")
        if not 0 < number < 2**31:
            raise ProtobufError(f"proto: illegal tag {number} (wire type {tag})")
        if wire_type == GROUP_START:
            position = _skip_group(data, position)
            continue
        value, position = _read_value(data, position, wire_type)
        yield number, wire_type, value


def _read_value(data: bytes, position: int, wire_type: int) -> tuple[WireValue, int]:
    if wire_type == VARINT:
        return read_varint(data, position)
    if wire_type == BYTES:
        length, position = read_varint(data, position)
        return _slice(data, position, length)
    if wire_type in (FIXED64, FIXED32):
        width = 8 if wire_type == FIXED64 else 4
        chunk, position = _slice(data, position, width)
        return int.from_bytes(chunk, "little"), position
    raise ProtobufError(f"proto: illegal wireType {wire_type}")


def _slice(data: bytes, position: int, length: int) -> tuple[bytes, int]:
    if length >= 2**63:
        raise ProtobufError("proto: negative length found during unmarshaling")
    if position + length > len(data):
        raise ProtobufError(_UNEXPECTED_END)
    return data[position : position + length], position + length


def _skip_group(data: bytes, position: int) -> int:
    depth = 1
    while depth:
        tag, position = read_varint(data, position)
        wire_type = tag & 7
        if wire_type == GROUP_START:
            depth += 1
        elif wire_type == GROUP_END:
            depth -= 1
        else:
            _, position = _read_value(data, position, wire_type)
    return position


def to_int64(number: int) -> int:
    """Read a varint as a signed 64-bit number."""
    return number - 2**64 if number >= 2**63 else number


def to_int32(number: int) -> int:
    """Read a varint as a signed 32-bit number; higher bits are dropped."""
    number &= 0xFFFF_FFFF
    return number - 2**32 if number >= 2**31 else number


def to_double(number: int) -> float:
    unpacked: float = struct.unpack("<d", number.to_bytes(8, "little"))[0]
    return unpacked


def read_packed(data: bytes) -> list[int]:
    """Read repeated varints that are packed into one field."""
    numbers = []
    position = 0
    while position < len(data):
        number, position = read_varint(data, position)
        numbers.append(number)
    return numbers


def write_varint(number: int) -> bytes:
    """Write an integer; negative ones take ten bytes."""
    number &= 0xFFFF_FFFF_FFFF_FFFF
    if number < 0x80:
        return bytes((number,))
    written = bytearray()
    while number >= 0x80:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def write_number(field: int, number: int) -> bytes:
    return write_varint(field << 3 | VARINT) + write_varint(number)


def write_double(field: int, number: float) -> bytes:
    return write_varint(field << 3 | FIXED64) + struct.pack("<d", number)


def write_bytes(field: int, value: bytes) -> bytes:
    return write_varint(field << 3 | BYTES) + write_varint(len(value)) + value

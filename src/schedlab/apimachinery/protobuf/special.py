"""Messages whose JSON is not an object with their fields: quantities, times, raw JSON and unions.

Each has a pair of functions. `from_wire` gets the fields of the message, by number and in order of arrival, and
returns the JSON value; ABSENT stands for Go's zero value, which JSON leaves out. `to_wire` does the reverse.

Mirrors: the hand-written Marshal and Unmarshal of resource.Quantity, intstr.IntOrString, metav1.Time, MicroTime,
FieldsV1, runtime.RawExtension and apiextensions' JSON types (v1.36)
Differs: nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from schedlab.apimachinery import quantity, time
from schedlab.apimachinery.protobuf import wire
from schedlab.apimachinery.protobuf.wire import ProtobufError, WireValue

#: The value of a message that stands for "not set".
ABSENT: Final = object()

Fields = Mapping[int, list[WireValue]]
FromWire = Callable[[Fields], Any]
ToWire = Callable[[Any], bytes]


@dataclass(frozen=True, slots=True)
class Special:
    """How a message is read and written."""

    from_wire: FromWire
    to_wire: ToWire


def last_number(fields: Fields, number: int) -> int:
    value = fields.get(number, [0])[-1]
    if not isinstance(value, int):
        raise ProtobufError(f"proto: wrong wireType = 2 for field {number}")
    return value


def last_bytes(fields: Fields, number: int) -> bytes:
    value = fields.get(number, [b""])[-1]
    if not isinstance(value, bytes):
        raise ProtobufError(f"proto: wrong wireType = 0 for field {number}")
    return value


def last_text(fields: Fields, number: int) -> str:
    return last_bytes(fields, number).decode("utf-8", "replace")


def _read_quantity(fields: Fields) -> str:
    if 1 not in fields:
        return "0"
    try:
        return str(quantity.parse_cached(last_text(fields, 1)))
    except quantity.QuantityError as error:
        raise ProtobufError(str(error)) from error


def _write_quantity(value: object) -> bytes:
    try:
        return wire.write_bytes(1, str(quantity.from_json(value)).encode())
    except quantity.QuantityError as error:
        raise ProtobufError(str(error)) from error


def _read_int_or_string(fields: Fields) -> int | str:
    return last_text(fields, 3) if last_number(fields, 1) == 1 else wire.to_int32(last_number(fields, 2))


def _write_int_or_string(value: object) -> bytes:
    if isinstance(value, str):
        return wire.write_number(1, 1) + wire.write_number(2, 0) + wire.write_bytes(3, value.encode())
    if isinstance(value, int):
        return wire.write_number(1, 0) + wire.write_number(2, value) + wire.write_bytes(3, b"")
    raise ProtobufError(f"expected a number or a string, found {value!r}")


def _read_moment(fields: Fields, write: Callable[[int], str], resolution_ns: int) -> Any:
    if not fields:
        return ABSENT
    seconds = wire.to_int64(last_number(fields, 1))
    if not -62_135_596_800 <= seconds <= 253_402_300_799:
        raise ProtobufError("time: the year is outside of the range [0,9999]")
    nanoseconds = wire.to_int32(last_number(fields, 2))
    return write(seconds * time.SECOND + nanoseconds // resolution_ns * resolution_ns)


def _write_moment(value: object, read: Callable[[str], int], resolution_ns: int) -> bytes:
    try:
        moment_ns = read(str(value))
    except time.TimeError as error:
        raise ProtobufError(str(error)) from error
    seconds, nanoseconds = divmod(moment_ns, time.SECOND)
    return wire.write_number(1, seconds) + wire.write_number(2, nanoseconds // resolution_ns * resolution_ns)


def _read_duration(fields: Fields) -> str:
    return time.format_duration(wire.to_int64(last_number(fields, 1)))


def _write_duration(value: object) -> bytes:
    try:
        return wire.write_number(1, time.parse_duration(str(value)))
    except time.TimeError as error:
        raise ProtobufError(str(error)) from error


def read_json(raw: bytes) -> Any:
    """Parse the JSON text that a message holds; no text is no value."""
    if not raw:
        return ABSENT
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise ProtobufError(f"invalid JSON inside of a message: {error}") from error


def _read_raw(fields: Fields) -> Any:
    return read_json(last_bytes(fields, 1))


def _write_raw(value: object) -> bytes:
    return wire.write_bytes(1, orjson.dumps(value))


SPECIALS: Final[Mapping[str, Special]] = {
    "k8s.io.apimachinery.pkg.api.resource.Quantity": Special(_read_quantity, _write_quantity),
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": Special(_read_int_or_string, _write_int_or_string),
    "k8s.io.apimachinery.pkg.apis.meta.v1.Time": Special(
        lambda fields: _read_moment(fields, time.format_time, time.SECOND),
        lambda value: _write_moment(value, time.parse_time, time.SECOND),
    ),
    "k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime": Special(
        lambda fields: _read_moment(fields, time.format_micro_time, time.MICROSECOND),
        lambda value: _write_moment(value, time.parse_micro_time, time.MICROSECOND),
    ),
    "k8s.io.apimachinery.pkg.apis.meta.v1.Duration": Special(_read_duration, _write_duration),
    "k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1": Special(_read_raw, _write_raw),
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON": Special(_read_raw, _write_raw),
}

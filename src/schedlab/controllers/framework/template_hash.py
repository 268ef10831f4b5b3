"""The hash of a pod template that names ReplicaSets, DaemonSet revisions and the pods of both.

Upstream prints the Go value with all its fields and types and takes FNV-1a of the text; so the types are part of the
hash, and are compiled beforehand (tools/generate_template_types.py).

Mirrors: ComputeHash of pkg/controller/controller_utils.go, DeepHashObject of pkg/util/hash, ForHash of k8s.io/utils/dump,
the formatter of go-spew, SafeEncodeString of staging/src/k8s.io/apimachinery/pkg/util/rand (v1.36).
Differs: nothing.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from schedlab.apimachinery import quantity
from schedlab.apimachinery.time import parse_time

_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193
_MASK: Final = 0xFFFFFFFF
_SAFE: Final = "bcdfghjklmnpqrstvwxz2456789"
_NIL: Final = "<nil>"
#: Seconds from Go's zero time, the year 1, to the Unix epoch.
_ZERO_TIME_S: Final = 62_135_596_800

#: Prints a value without its type; None is Go's zero value.
Printer: TypeAlias = Callable[[Any], str]


def compute_hash(template: Mapping[str, Any], collision_count: int | None = None) -> str:
    """Return the hash of a pod template in canonical form; the count tells equal hashes of different ones apart."""
    text = "(v1.PodTemplateSpec)" + _printer("v1.PodTemplateSpec")(template)
    tail = b"" if collision_count is None else (collision_count & _MASK).to_bytes(8, "little")
    return safe_encode(str(fnv1a(text.encode() + tail)))


def fnv1a(data: bytes) -> int:
    """Return the 32-bit FNV-1a hash."""
    value = _FNV_OFFSET
    for byte in data:
        value = ((value ^ byte) * _FNV_PRIME) & _MASK
    return value


def fnv1(data: bytes) -> int:
    """Return the 32-bit FNV-1 hash."""
    value = _FNV_OFFSET
    for byte in data:
        value = ((value * _FNV_PRIME) & _MASK) ^ byte
    return value


def safe_encode(text: str) -> str:
    """Write a text in letters that make no words."""
    return "".join(_SAFE[ord(char) % len(_SAFE)] for char in text)


@functools.cache
def _types() -> Mapping[str, Any]:
    text = importlib.resources.files(__package__).joinpath("template_types.json").read_text()
    types: Mapping[str, Any] = json.loads(text)
    return types


@functools.cache
def _printer(kind: str) -> Printer:
    """Return how values of a Go type are printed."""
    special = _SPECIAL.get(kind)
    if special is not None:
        return special
    if kind.startswith("*"):
        inner = _printer(kind[1:])
        return lambda value: _NIL if value is None else inner(value)
    if kind.startswith("[]"):
        inner = _printer(kind[2:])
        return lambda value: f"[{' '.join(map(inner, value))}]" if value else _NIL
    if kind.startswith("map["):
        inner = _printer(kind.partition("]")[2])
        return lambda value: f"map[{_pairs(inner, value)}]" if value else _NIL
    found = _types()[kind]
    return _printer(found) if isinstance(found, str) else _struct(found)


def _pairs(inner: Printer, value: Mapping[str, Any]) -> str:
    return " ".join(f"{key}:{inner(value[key])}" for key in sorted(value))


def _struct(fields: Iterable[tuple[str, str, str]]) -> Printer:
    # Embedded fields have no name on the wire: what is in them stands beside the others.
    members = [(f"{name}:({kind})", wire_name, _printer(kind)) for name, wire_name, kind in fields]

    def print_struct(value: Mapping[str, Any] | None) -> str:
        known = value or {}
        parts = [start + inner(known.get(wire_name) if wire_name else known) for start, wire_name, inner in members]
        return f"{{{' '.join(parts)}}}"

    return print_struct


def _print_text(value: str | None) -> str:
    return value or ""


def _print_number(value: int | None) -> str:
    return str(value or 0)


def _print_bool(value: object) -> str:
    return "true" if value else "false"


def _print_int_or_string(value: int | str | None) -> str:
    kind, number, text = (1, 0, value) if isinstance(value, str) else (0, value or 0, "")
    return f"{{Type:(intstr.Type){kind} IntVal:(int32){number} StrVal:(string){text}}}"


def _print_time(value: str | None) -> str:
    seconds = parse_time(value) // 10**9 + _ZERO_TIME_S if value else 0
    return f"{{Time:(time.Time){{wall:(uint64)0 ext:(int64){seconds} loc:(*time.Location){_NIL}}}}}"


def _print_quantity(value: Any) -> str:
    known = quantity.from_json(value)
    number, scale, text = known.unscaled, known.scale, known.text
    decimal = _NIL
    if value is None:
        return _quantity_text(0, 0, _NIL, "", "")
    if known.is_big:
        decimal = _print_decimal(number, -scale)
        number, scale = 0, 0
    elif not number and value == "0":
        text = "0"
    return _quantity_text(number, scale, decimal, text, known.format.value)


def _quantity_text(number: int, scale: int, decimal: str, text: str, kind: str) -> str:
    amount = f"i:(resource.int64Amount){{value:(int64){number} scale:(resource.Scale){scale}}}"
    big = f"d:(resource.infDecAmount){{Dec:(*inf.Dec){decimal}}}"
    return f"{{{amount} {big} s:(string){text} Format:(resource.Format){kind}}}"


def _print_decimal(unscaled: int, scale: int) -> str:
    words, rest = [], abs(unscaled)
    while rest:
        words.append(str(rest & (2**64 - 1)))
        rest >>= 64
    negative = _print_bool(unscaled < 0)
    absolute = f"[{' '.join(words)}]" if words else _NIL
    return f"{{unscaled:(big.Int){{neg:(bool){negative} abs:(big.nat){absolute}}} scale:(inf.Scale){scale}}}"


_SPECIAL: Final[Mapping[str, Printer]] = {
    "string": _print_text,
    "types.UID": _print_text,
    "bool": _print_bool,
    "int32": _print_number,
    "int64": _print_number,
    "intstr.IntOrString": _print_int_or_string,
    "v1.Time": _print_time,
    "resource.Quantity": _print_quantity,
    # A template has none.
    "v1.ManagedFieldsEntry": _print_text,
}

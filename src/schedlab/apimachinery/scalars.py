"""Scalars with a form of their own: how a text becomes the one that is stored.

Mirrors: the MarshalJSON of resource.Quantity, metav1.Time and metav1.MicroTime, encoding/base64 (v1.36)
Differs: nothing.
"""

from functools import lru_cache
from typing import Final

from schedlab.apimachinery import quantity
from schedlab.apimachinery.time import format_micro_time, format_time, parse_micro_time, parse_time

INTEGER_LIMITS: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}

_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_GO_ZERO_NS: Final = parse_time("0001-01-01T00:00:00Z")


@lru_cache(maxsize=4096)
def canonical_quantity(text: str) -> str:
    """Return the stored form of a quantity; raises ValueError."""
    return str(quantity.from_json(text))


@lru_cache(maxsize=4096)
def canonical_time(text: str) -> str | None:
    """Return the stored form of a metav1.Time, None for Go's zero time; raises ValueError."""
    moment_ns = parse_time(text)
    return None if moment_ns == _GO_ZERO_NS else format_time(moment_ns)


@lru_cache(maxsize=4096)
def canonical_micro_time(text: str) -> str | None:
    """Return the stored form of a metav1.MicroTime, None for Go's zero time; raises ValueError."""
    moment_ns = parse_micro_time(text)
    return None if moment_ns == _GO_ZERO_NS else format_micro_time(moment_ns)


def base64_error(text: str) -> int | None:
    """Return the position that Go's base64 decoder complains about, None when the text is good."""
    encoded = text.encode()
    digits = 0
    for position, char in enumerate(encoded):
        if char in b"\r\n":
            continue
        if char == ord("="):
            return _padding_error(encoded, position, digits % 4)
        if char not in _BASE64:
            return position
        digits += 1
    return len(encoded) - digits % 4 if digits % 4 else None


def _padding_error(encoded: bytes, position: int, digits: int) -> int | None:
    """Check what follows the first `=` after so many digits of the last group."""
    if digits < 2:
        return position
    rest = [at for at in range(position + 1, len(encoded)) if encoded[at] not in b"\r\n"]
    if digits == 2:
        if not rest:
            return len(encoded)
        if encoded[rest[0]] != ord("="):
            return rest[0] - 1
        rest = rest[1:]
    return rest[0] if rest else None

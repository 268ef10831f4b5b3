"""Fixed-point numbers with a suffix: `500m`, `1.5Gi`, `12e6`.

A quantity is `unscaled * 10**scale` and remembers the kind of suffix it was written with. Kubernetes keeps small ones
in an int64 and others in an arbitrary-precision decimal; the two differ in what happens on overflow (0 for the first,
wrapping for the second), so the distinction is kept here although Python's integers need none.

Mirrors: staging/src/k8s.io/apimachinery/pkg/api/resource (v1.36)
Differs: values are immutable; numbers with more than 4,096 digits or an exponent beyond 4,096 are refused, where Go
computes with them until memory ends.
"""

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache, total_ordering
from typing import Final

from schedlab.apimachinery import gojson

NANO: Final = -9
MILLI: Final = -3

_INT64_MAX: Final = 2**63 - 1
_INT64_MIN: Final = -(2**63)
_DIGITS_MAX: Final = 4096
_EXPONENT_MAX: Final = 4096
#: Decimal digits that certainly fit an int64.
_INT64_DIGITS: Final = 18

ERR_FORMAT: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
ERR_NUMERIC: Final = "unable to parse numeric part of quantity"
ERR_SUFFIX: Final = "unable to parse quantity's suffix"

# More permissive than the message says, as upstream's scanner is: the number may be empty.
# Possessive, so that a long bad text costs no more than its length.
_SCANNER: Final = re.compile(r"([+-]?+)0*+([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[-+]?+[0-9]*+)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]{1,19})")

_DECIMAL_SUFFIXES: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES: Final = {exponent: name for name, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_NAMES: Final = {0: "", **{exponent: name for name, exponent in _BINARY_SUFFIXES.items()}}


class QuantityError(ValueError):
    """A text that is no quantity."""


class Format(StrEnum):
    """The kind of suffix a quantity is printed with."""

    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An exact number `unscaled * 10**scale`; equality and order look at the number only."""

    unscaled: int = 0
    scale: int = 0
    format: Format = Format.DECIMAL_SI
    #: Kept as an arbitrary-precision decimal (`inf.Dec`) rather than an int64.
    is_big: bool = False
    #: The text it was parsed from, where that is printed as it is.
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.text or self._canonical()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self._compare(other) == 0

    def __lt__(self, other: "Quantity") -> bool:
        return self._compare(other) < 0

    def __hash__(self) -> int:
        return hash(_strip_zeros(self.unscaled, self.scale, 10))

    def __bool__(self) -> bool:
        return self.unscaled != 0

    def __add__(self, other: "Quantity") -> "Quantity":
        kind = self.format if self.unscaled else other.format
        if not self.is_big and not other.is_big:
            small = _add_int64(self, other)
            if small is not None:
                return Quantity(*small, kind)
        scale = min(self.scale, other.scale)
        total = self.unscaled * 10 ** (self.scale - scale) + other.unscaled * 10 ** (other.scale - scale)
        return Quantity(total, scale, kind, is_big=True)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return self + -other

    def __neg__(self) -> "Quantity":
        return replace(self, unscaled=-self.unscaled, text="")

    def _compare(self, other: "Quantity") -> int:
        scale = min(self.scale, other.scale)
        left: int = self.unscaled * 10 ** (self.scale - scale)
        right: int = other.unscaled * 10 ** (other.scale - scale)
        return (left > right) - (left < right)

    @property
    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    def value(self) -> int:
        """The number rounded up to an integer."""
        return self.scaled_value(0)

    def milli_value(self) -> int:
        """The number of thousandths, rounded up."""
        return self.scaled_value(MILLI)

    def scaled_value(self, scale: int) -> int:
        """The number in units of `10**scale`, rounded up."""
        if self.is_big:
            return _scale_big(self.unscaled, self.scale - scale)
        if self.scale < scale:
            return _divide_away_from_zero(self.unscaled, 10 ** (scale - self.scale))
        result = self.unscaled * 10 ** (self.scale - scale)
        return result if _INT64_MIN <= result <= _INT64_MAX else 0

    def as_approximate_float64(self) -> float:
        return float(self.unscaled) if self.scale == 0 else float(self.unscaled) * _pow10(self.scale)

    def round_up(self, scale: int) -> "Quantity":
        """Drop what is finer than `10**scale`, away from zero."""
        if self.scale >= scale:
            return self
        unscaled = _divide_away_from_zero(self.unscaled, 10 ** (scale - self.scale))
        return replace(self, unscaled=unscaled, scale=scale, text="")

    def _canonical(self) -> str:
        """Render without a fraction and with the largest suffix that loses nothing."""
        if self.unscaled == 0:
            return "0"
        whole = self.unscaled * 10**self.scale if self.scale >= 0 else self._exact_integer()
        # Small numbers and fractions are printed with decimal suffixes, so that nothing is rounded.
        if self.format is Format.BINARY_SI and whole is not None and abs(whole) >= 1024:
            amount, times = _strip_zeros(whole, 0, 1024)
            return f"{amount}{_BINARY_NAMES.get(times * 10, '')}"
        amount, exponent = _strip_zeros(self.unscaled, self.scale, 10)
        shift = exponent % 3
        amount, exponent = amount * 10**shift, exponent - shift
        if self.format is Format.DECIMAL_EXPONENT:
            return f"{amount}e{exponent}" if exponent else f"{amount}"
        return f"{amount}{_DECIMAL_NAMES.get(exponent, '')}"

    def _exact_integer(self) -> int | None:
        quotient, remainder = divmod(self.unscaled, 10**-self.scale)
        return quotient if remainder == 0 else None


def _add_int64(left: Quantity, right: Quantity) -> tuple[int, int] | None:
    """Add at the finer scale; None when an int64 cannot hold it."""
    if right.unscaled == 0:
        return left.unscaled, left.scale
    if left.unscaled == 0:
        return right.unscaled, right.scale
    scale = min(left.scale, right.scale)
    a = left.unscaled * 10 ** (left.scale - scale)
    b = right.unscaled * 10 ** (right.scale - scale)
    fits = all(_INT64_MIN <= number <= _INT64_MAX for number in (a, b, a + b))
    return (a + b, scale) if fits else None


def _divide_away_from_zero(number: int, divisor: int) -> int:
    quotient = -(-abs(number) // divisor)
    return quotient if number >= 0 else -quotient


def _scale_big(unscaled: int, shift: int) -> int:
    """Multiply by `10**shift` into an int64 as upstream does, wrapping on overflow.

    Rounding adds one to the truncated quotient, for negative numbers too.
    """
    if shift == 0:
        return _wrap_int64(unscaled)
    if shift > 0:
        factor: int = 10**shift if shift < 19 else _INT64_MIN
        return _wrap_int64(_wrap_int64(unscaled) * factor)
    divisor: int = 10**-shift
    if unscaled < _INT64_MAX and -shift < 19:
        small = _wrap_int64(unscaled)
        quotient = abs(small) // divisor * (1 if small >= 0 else -1)
        return quotient + 1 if small % divisor else quotient
    quotient, remainder = divmod(unscaled, divisor)
    return _wrap_int64(_wrap_int64(quotient) + (1 if remainder else 0))


def _wrap_int64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _pow10(exponent: int) -> float:
    """Go's math.Pow10: infinity above the range of a float64 and zero below."""
    if exponent > 308:
        return float("inf")
    return float(f"1e{exponent}")


def _strip_zeros(number: int, exponent: int, base: int) -> tuple[int, int]:
    """Move factors of `base` into the exponent; zero has exponent 0."""
    if number == 0:
        return 0, 0
    while number % base == 0:
        number //= base
        exponent += 1
    return number, exponent


def parse(text: str) -> Quantity:
    """Parse a quantity; raise QuantityError with Kubernetes' text when it is none."""
    if not text:
        raise QuantityError(ERR_FORMAT)
    matched = _SCANNER.fullmatch(text)
    if matched is None:
        raise QuantityError(ERR_FORMAT)
    sign, number, fraction, suffix = matched.groups()
    digits, fraction = number or "0", fraction or ""
    base, exponent, kind = _interpret_suffix(suffix)
    if len(digits) + len(fraction) > _DIGITS_MAX:
        raise QuantityError(ERR_NUMERIC)
    mantissa, fits = 1, False
    if base == 10:
        fits = len(digits) + len(fraction) <= _INT64_DIGITS
    elif not fraction:
        mantissa = 1 << exponent
        fits = len(digits) + exponent * 3 // 10 + 1 <= 15
    scale = (exponent if base == 10 else 0) - len(fraction)
    unscaled = int(digits + fraction)
    if fits and scale >= NANO and unscaled * mantissa <= _INT64_MAX:
        kept = text if _is_canonical(digits + fraction, unscaled, scale, kind) else ""
        signed = -unscaled * mantissa if sign == "-" else unscaled * mantissa
        return Quantity(signed, scale, kind, text=kept)
    if not number and not fraction and "0" not in text[: len(text) - len(suffix)]:
        raise QuantityError(ERR_NUMERIC)  # no digit at all
    return _parse_big(-unscaled if sign == "-" else unscaled, len(fraction), base, exponent, kind)


def _is_canonical(digits: str, unscaled: int, scale: int, kind: Format) -> bool:
    """Whether upstream keeps the text it parsed instead of rendering it anew."""
    if kind is Format.BINARY_SI:
        return unscaled & 7 != 0
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _interpret_suffix(suffix: str) -> tuple[int, int, Format]:
    """Split a suffix into base, exponent and format."""
    if suffix in _DECIMAL_SUFFIXES:
        return 10, _DECIMAL_SUFFIXES[suffix], Format.DECIMAL_SI
    if suffix in _BINARY_SUFFIXES:
        return 2, _BINARY_SUFFIXES[suffix], Format.BINARY_SI
    matched = _EXPONENT.fullmatch(suffix)
    if matched is not None and abs(int(matched[1])) <= _EXPONENT_MAX:
        return 10, int(matched[1]), Format.DECIMAL_EXPONENT
    raise QuantityError(ERR_SUFFIX)


def _parse_big(unscaled: int, decimals: int, base: int, exponent: int, kind: Format) -> Quantity:
    """Finish parsing a number that does not fit an int64 at a scale of nano or coarser."""
    if unscaled == 0:
        return Quantity(0, 0, kind, is_big=True)
    magnitude, scale = abs(unscaled), -decimals
    if base == 10:
        scale += exponent
    else:
        magnitude <<= exponent
    if scale > NANO:
        magnitude *= 10 ** (scale - NANO)
    else:
        magnitude = _divide_away_from_zero(magnitude, 10 ** (NANO - scale))
    one = 10**-NANO
    if kind is Format.BINARY_SI:
        magnitude = min(magnitude, _INT64_MAX * one)
        if magnitude < one:
            kind = Format.DECIMAL_SI
    return Quantity(magnitude if unscaled > 0 else -magnitude, NANO, kind, is_big=True)


def from_json(value: object) -> Quantity:
    """Read a quantity from a decoded JSON value: a text, a number, or null for zero."""
    if isinstance(value, str):
        return parse(value.strip())
    if value is None:
        return Quantity()
    return parse(gojson.marshal(value))


@lru_cache(maxsize=16384)
def parse_cached(text: str) -> Quantity:
    """Parse a text that recurs: the same few requests and capacities in many objects."""
    return parse(text)


@lru_cache(maxsize=16384)
def parse_value(text: str) -> int:
    """The integer value of a quantity's text, rounded up."""
    return parse(text).value()


@lru_cache(maxsize=16384)
def parse_milli(text: str) -> int:
    """The thousandths of a quantity's text, rounded up."""
    return parse(text).milli_value()


def of_int(value: int, kind: Format = Format.DECIMAL_SI) -> Quantity:
    return Quantity(value, 0, kind)


def of_milli(value: int, kind: Format = Format.DECIMAL_SI) -> Quantity:
    return Quantity(value, MILLI, kind)

"""Text as Go writes it: JSON of encoding/json, %q and %v of fmt.

Status messages, decision annotations and table cells are compared byte for byte with what Go programs print, so the
few formatting rules that differ from Python's live here.

Mirrors: Go encoding/json encode.go, strconv/quote.go, fmt/print.go
Differs: a mapping is always a Go map (sorted keys) unless the caller says that it stands for a struct.
"""

import math
from collections.abc import Mapping, Sequence

import orjson

_QUOTE_ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}


class Verbatim(str):
    """A text that is already rendered; `marshal` and field errors print it unchanged."""

    __slots__ = ()


def quote(text: str) -> str:
    """Render %q: a double-quoted Go string literal."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_quote_rune, text)) + '"'


def _quote_rune(char: str) -> str:
    escaped = _QUOTE_ESCAPES.get(char)
    if escaped is not None:
        return escaped
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote_list(items: Sequence[str]) -> str:
    """Render %q of a string slice: `["a" "b"]`."""
    return "[" + " ".join(map(quote, items)) + "]"


def format_float(value: float) -> str:
    """Render %v of a float64: shortest digits, exponent form from 1e+06 and below 1e-04."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return _float_text(value, exponent_min=-4, exponent_max=5, exponent_digits_min=2)


def format_json_float(value: float) -> str:
    """Render a float64 as encoding/json does; NaN and infinities have no JSON form."""
    if not math.isfinite(value):
        raise ValueError(f"json: unsupported value: {format_float(value)}")
    return _float_text(value, exponent_min=-6, exponent_max=20, exponent_digits_min=1)


def _float_text(value: float, *, exponent_min: int, exponent_max: int, exponent_digits_min: int) -> str:
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return f"{sign}0"
    mantissa, _, exponent_text = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole) if whole != "0" else len(digits) - len(fraction)
    exponent = leading - 1 + int(exponent_text or 0)
    digits = digits.rstrip("0")
    if not exponent_min <= exponent <= exponent_max:
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        # encoding/json shortens only negative exponents (e-09 to e-9); positive ones have two digits anyway.
        return f"{sign}{digits[0]}{tail}e{'-' if exponent < 0 else '+'}{abs(exponent):0{exponent_digits_min}d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    if len(digits) <= exponent + 1:
        return sign + digits + "0" * (exponent + 1 - len(digits))
    return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


def escape_html(encoded: bytes) -> bytes:
    r"""Write `<`, `>`, `&` and the two Unicode line separators of a JSON text as \u escapes."""
    return (
        encoded.replace(b"&", b"\\u0026")
        .replace(b"<", b"\\u003c")
        .replace(b">", b"\\u003e")
        .replace(b"\xe2\x80\xa8", b"\\u2028")
        .replace(b"\xe2\x80\xa9", b"\\u2029")
    )


def marshal_bytes(value: object, *, sort_keys: bool = True, html: bool = True) -> bytes:
    """Encode as json.Marshal: compact, map keys sorted, HTML characters escaped.

    `sort_keys=False` keeps the order of the mappings, which is what Go does for structs.
    """
    option = orjson.OPT_SORT_KEYS if sort_keys else 0
    encoded = orjson.dumps(_go_numbers(value), option=option)
    return escape_html(encoded) if html else encoded


def marshal(value: object, *, sort_keys: bool = True, html: bool = True) -> str:
    """Encode as json.Marshal, as text."""
    if isinstance(value, Verbatim):
        return str(value)
    return marshal_bytes(value, sort_keys=sort_keys, html=html).decode()


def _go_numbers(value: object) -> object:
    """Replace by fragments what orjson writes otherwise or not at all: floats (Go writes 1.0 as 1) and big integers."""
    if value.__class__ is str:  # most are, and the other questions take ten times as long
        return value
    if isinstance(value, float):
        return orjson.Fragment(format_json_float(value).encode())
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else orjson.Fragment(str(value).encode())
    if isinstance(value, Verbatim):
        return orjson.Fragment(value.encode())
    if isinstance(value, Mapping):
        return {key: _go_numbers(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_go_numbers(item) for item in value]
    return value


def sprint(value: object) -> str:
    """Render %v of a JSON-shaped value: `map[a:1 b:[x y]]`, `<nil>`, `true`."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format_float(value)
    if isinstance(value, Mapping):
        return "map[" + " ".join(f"{key}:{sprint(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, (list, tuple)):
        return "[" + " ".join(map(sprint, value)) + "]"
    return str(value)

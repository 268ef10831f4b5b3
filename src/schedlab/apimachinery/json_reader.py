"""JSON as kube-apiserver reads it: repeated keys are seen, and a malformed text is reported in Go's words.

`read` is the fast path. A text in which an object names a key twice comes back with `Repeated` in that place, a dict
that remembers all its pairs. `read_exact` also remembers how each number was written, for messages.

Mirrors: sigs.k8s.io/json (a case-sensitive encoding/json that keeps integers), Go encoding/json scanner.go (v1.36)
Differs: nesting is limited to 254 levels instead of 10,000.
"""

import json
import re
from typing import Any, Final, Self, TypeAlias

import orjson

from schedlab.apimachinery import gojson

#: dict, list, str, int, float, bool or None.
JSONValue: TypeAlias = Any

#: What is nested deeper cannot be written again.
_DEPTH_MAX: Final = 254
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_SPACE: Final = b" \t\r\n"
_LITERALS: Final = {b"t": b"true", b"f": b"false", b"n": b"null"}
#: What a number looks like whose literal its value does not show: a fraction, an exponent, many digits.
_ODD_NUMBER: Final = re.compile(rb"(?:^|[:\[,])\s*-?(?:\d+[.eE]|\d{19})")


class JSONSyntaxError(ValueError):
    """A text that is not JSON; the message is Go's."""


class Repeated(dict[str, JSONValue]):
    """An object that names a key more than once; as a dict, later values win."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, JSONValue]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


class FloatLiteral(float):
    """A number with the text it was written as."""

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number


def read(text: bytes) -> JSONValue:
    """Read a JSON text; raises JSONSyntaxError."""
    try:
        value = orjson.loads(text)
        # A compact text that comes out as it went in has no repeated key; any other one is read again to be sure.
        return value if orjson.dumps(value) == text else _PLAIN.decode(text.decode())
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return _read_odd(text)


def read_compact(text: bytes) -> JSONValue:
    """Read a JSON text that is as short as it can be, and so has no repeated key; None for every other."""
    try:
        value = orjson.loads(text)
        return value if orjson.dumps(value) == text else None
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None


def read_exact(text: bytes) -> JSONValue:
    """Read a JSON text and keep the literals of its numbers; raises JSONSyntaxError."""
    try:
        value = orjson.loads(text)
        is_plain = not _ODD_NUMBER.search(text) and orjson.dumps(value) == text
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return _read_odd(text)
    return value if is_plain else _EXACT.decode(text.decode())


def _read_odd(text: bytes) -> JSONValue:
    """Read a text that the fast reader refuses: it is malformed, or only Go takes it."""
    problem = syntax_error(text)
    if problem:
        raise JSONSyntaxError(problem)
    return _EXACT.decode(text.decode("utf-8", "replace"))


def _object(pairs: list[tuple[str, JSONValue]]) -> dict[str, JSONValue]:
    made = dict(pairs)
    return made if len(made) == len(pairs) else Repeated(pairs)


def _integer(text: str) -> int | float:
    number = int(text) if len(text) < 25 else float(text)
    return number if isinstance(number, float) or _INT64_MIN <= number <= _INT64_MAX else FloatLiteral(text)


_PLAIN: Final = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, strict=False)
_EXACT: Final = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=FloatLiteral, strict=False)


def number_text(value: float) -> str:
    """Return the literal of a number as Go shows it in a message."""
    if isinstance(value, FloatLiteral):
        return value.text
    return str(value) if isinstance(value, int) else gojson.format_json_float(value)


def syntax_error(text: bytes) -> str:
    """Say what is wrong with a JSON text, empty when it is well-formed."""
    return _Scanner(text).run()


class _EndOfText(Exception):
    """The text ends inside a value."""


class _Wrong(Exception):
    """A byte that may not stand where it does."""


class _Scanner:
    """Follows the grammar byte by byte; its state is a stack of the brackets that are open."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = 0
        self._open: list[bytes] = []

    def run(self) -> str:
        try:
            self._value()
            while self._open:
                self._next_item()
            self._spaces()
            if self._at < len(self._text):
                self._fail("after top-level value")
        except _EndOfText:
            return "unexpected end of JSON input"
        except _Wrong as wrong:
            return str(wrong)
        return ""

    def _fail(self, context: str) -> None:
        char = chr(self._text[self._at])
        shown = {"'": r"'\''", '"': "'\"'"}.get(char) or f"'{gojson.quote(char)[1:-1]}'"
        raise _Wrong(f"invalid character {shown} {context}")

    def _spaces(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1

    def _peek(self) -> bytes:
        if self._at >= len(self._text):
            raise _EndOfText
        return self._text[self._at : self._at + 1]

    def _value(self) -> None:
        """Read one value; an object or array that is not empty is left open, up to its first item."""
        self._spaces()
        char = self._peek()
        if char == b"{":
            self._begin(char, b"}")
        elif char == b"[":
            self._begin(char, b"]")
        elif char == b'"':
            self._string()
        elif char in _LITERALS:
            self._literal(_LITERALS[char])
        elif char == b"-" or char.isdigit():
            self._number()
        else:
            self._fail("looking for beginning of value")

    def _begin(self, bracket: bytes, closing: bytes) -> None:
        if len(self._open) == _DEPTH_MAX:
            raise _Wrong("exceeded max depth")
        self._at += 1
        self._spaces()
        if self._peek() == closing:
            self._at += 1
            return
        self._open.append(bracket)
        if bracket == b"{":
            self._key()
        self._value()

    def _key(self) -> None:
        self._spaces()
        if self._peek() != b'"':
            self._fail("looking for beginning of object key string")
        self._string()
        self._spaces()
        if self._peek() != b":":
            self._fail("after object key")
        self._at += 1

    def _next_item(self) -> None:
        """Read what follows a value inside the innermost bracket."""
        in_object = self._open[-1] == b"{"
        self._spaces()
        char = self._peek()
        if char == (b"}" if in_object else b"]"):
            self._open.pop()
            self._at += 1
        elif char == b",":
            self._at += 1
            if in_object:
                self._key()
            self._value()
        else:
            self._fail("after object key:value pair" if in_object else "after array element")

    def _literal(self, word: bytes) -> None:
        for offset in range(1, len(word)):
            self._at += 1
            if self._peek() != word[offset : offset + 1]:
                self._fail(f"in literal {word.decode()} (expecting '{chr(word[offset])}')")
        self._at += 1

    def _string(self) -> None:
        self._at += 1
        while (char := self._peek()) != b'"':
            if char < b" ":
                self._fail("in string literal")
            self._at += 1
            if char == b"\\":
                self._escape()
        self._at += 1

    def _escape(self) -> None:
        char = self._peek()
        if char not in b'bfnrt\\/"u':
            self._fail("in string escape code")
        self._at += 1
        if char == b"u":
            for _ in range(4):
                if self._peek() not in b"0123456789abcdefABCDEF":
                    self._fail("in \\u hexadecimal character escape")
                self._at += 1

    def _number(self) -> None:
        if self._peek() == b"-":
            self._at += 1
            if not self._peek().isdigit():
                self._fail("in numeric literal")
        if self._peek() == b"0":
            self._at += 1
        else:
            self._digits()
        if self._text[self._at : self._at + 1] == b".":
            self._at += 1
            if not self._peek().isdigit():
                self._fail("after decimal point in numeric literal")
            self._digits()
        if self._text[self._at : self._at + 1] in (b"e", b"E"):
            self._at += 1
            if self._peek() in b"+-":
                self._at += 1
            if not self._peek().isdigit():
                self._fail("in exponent of numeric literal")
            self._digits()

    def _digits(self) -> None:
        while self._at < len(self._text) and self._text[self._at : self._at + 1].isdigit():
            self._at += 1

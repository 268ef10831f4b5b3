"""What Stages ask of an object: jq queries and CEL expressions.

Mirrors: KWOK's pkg/utils/expression and pkg/utils/cel.
Differs: jq itself, not gojq. Words of jq that can run without end (`range`, `def`, `while` and the like) or that look
outside the object (`env`, `input`) are refused. CEL knows `Now()` and `Rand()` of KWOK's own functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from schedlab.api.object import StoredObject
from schedlab.apimachinery import cel
from schedlab.apimachinery.cel import CelError, NoSuchKeyError
from schedlab.apimachinery.time import format_nano_time
from schedlab.kernel.randomness import RandomSource

if TYPE_CHECKING:
    import jq

_NOT_CODE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|#[^\n]*')
_FORBIDDEN: Final = re.compile(
    r"(?<![.\w$@])(range|repeat|until|while|combinations|def|recurse|inputs?|input_line_number|debug|stderr|halt|halt_error|env"
    r"|import|include)\b|\$ENV\b"
)
_CALLS: Final = {re.compile(r"\bNow\(\)"): "__now", re.compile(r"\bRand\(\)"): "__rand"}


class ExpressionError(ValueError):
    """An expression that is none, or that has no result for an object."""


class Subject:
    """One version of an object as expressions see it; made once, asked many times."""

    def __init__(self, stored: StoredObject, now_ns: int, random: RandomSource) -> None:
        self.stored = stored
        self.now_ns = now_ns
        self._random = random
        self._text = ""

    @property
    def labels(self) -> Mapping[str, str]:
        return self.stored.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        annotations: Mapping[str, str] = self.stored.view.metadata.annotations
        return annotations

    @property
    def text(self) -> str:
        """The object as JSON, without managedFields."""
        if not self._text:
            self._text = self.stored.bare_json().decode()
        return self._text

    def variables(self) -> Mapping[str, object]:
        """The values of a CEL expression's variables."""
        now = format_nano_time(self.now_ns)
        return {"self": self.stored.raw, "__now": now, "__rand": self._random.fraction()}


class Query:
    """A jq program; raises ExpressionError when it is none."""

    def __init__(self, source: str) -> None:
        found = _FORBIDDEN.search(_NOT_CODE.sub("", source))
        if found is not None:
            raise ExpressionError(f"jq: {found[0]} cannot be used in a Stage")
        try:
            self._program = _compile(source)
        except ValueError as error:
            raise ExpressionError(_one_line(str(error))) from None

    def run(self, subject: Subject) -> Sequence[Any]:
        """Return what the program finds; nulls are left out, and where it fails it finds nothing."""
        try:
            found = self._program.input_text(subject.text).all()
        except ValueError:
            return ()
        return [value for value in found if value is not None]


@cache
def _compile(source: str) -> jq._Program:
    # Loaded when the first Stage is: most clusters have none.
    import jq

    return jq.compile(source)


class Condition:
    """A CEL expression; raises ExpressionError when it is none."""

    _environment: Final = cel.Variables("self", "__now", "__rand")

    def __init__(self, source: str) -> None:
        for call, name in _CALLS.items():
            source = call.sub(f"timestamp({name})" if name == "__now" else name, source)
        try:
            self._expression = self._environment.compile(source)
        except CelError as error:
            raise ExpressionError(f"cel: {_one_line(str(error))}") from None

    def value(self, subject: Subject) -> object:
        """Return the value; raises ExpressionError."""
        try:
            return self._evaluated(subject)
        except CelError as error:
            raise ExpressionError(f"cel: {_one_line(str(error))}") from None

    def _evaluated(self, subject: Subject) -> object:
        return self._expression.evaluate(self._environment.bind(subject.variables()))[0]

    def holds(self, subject: Subject) -> bool:
        """Say whether the condition holds; what it cannot find does not. Raises ExpressionError."""
        try:
            value = self._evaluated(subject)
        except NoSuchKeyError:
            return False
        except CelError as error:
            raise ExpressionError(f"cel: {_one_line(str(error))}") from None
        if not isinstance(value, bool):
            raise ExpressionError(f"cel: the result is {value!r}, neither true nor false")
        return value


def duration_ns(value: object) -> int:
    """Return a duration as CEL has it; a number counts as seconds. Raises ExpressionError."""
    if isinstance(value, timedelta):
        return (value.days * 86_400 + value.seconds) * 1_000_000_000 + value.microseconds * 1_000
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value * 1_000_000_000):
        return int(value * 1_000_000_000)
    raise ExpressionError(f"cel: the result is {value!r}, no duration")


def _one_line(text: str) -> str:
    return " ".join(text.split())

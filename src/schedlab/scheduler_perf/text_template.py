"""The part of Go's text/template that scheduler_perf's templates use.

    {{.Index}}   {{ AddInt .Index 1 }}   {{ Mod (DivideInt .Index 2) 3 }}   {{ .Index | printf "%03d" }}

Mirrors: text/template and getTemplateFuncs of test/integration/scheduler_perf/operations.go (v1.36).
Differs: conditions, loops, variables and definitions are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from schedlab.kernel.errors import SchedlabError

Environment: TypeAlias = Mapping[str, Any]
Expression: TypeAlias = Callable[[Environment], Any]

_ACTION: Final = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.DOTALL)
_TOKEN: Final = re.compile(r'\s*(?:(\.\w+)|(-?\d+\.\d+|-?\d+)|("(?:[^"\\]|\\.)*")|(\w+)|([()|]))')
_KEYWORDS: Final = frozenset(("if", "else", "end", "range", "with", "define", "template", "block", "break", "continue"))
_VERB: Final = re.compile(r"%(?:%|[-+ 0#]*\d*(?:\.\d+)?[dsvfqx])")


class TemplateError(SchedlabError):
    """A template that cannot be read or carried out."""


class TextTemplate:
    """A text with actions; `render` fills them in."""

    def __init__(self, text: str, location: str = "") -> None:
        self._location = location
        self._parts: list[str | Expression] = []
        end, trim = 0, False
        for action in _ACTION.finditer(text):
            self._literal(text[end : action.start()], left=trim, right=bool(action[1]))
            if not (action[2].startswith("/*") and action[2].endswith("*/")):
                self._parts.append(_Parser(action[2], self._fail).whole())
            end, trim = action.end(), bool(action[3])
        self._literal(text[end:], left=trim, right=False)

    @property
    def constant(self) -> bool:
        """Whether every rendering is the same."""
        return all(isinstance(part, str) for part in self._parts)

    def render(self, environment: Environment) -> str:
        """Return the text for `.Index`, `.Count` and whatever else `environment` names; raises TemplateError."""
        try:
            return "".join(part if isinstance(part, str) else _text(part(environment)) for part in self._parts)
        except KeyError as error:
            raise self._fail(f"there is no value for .{error.args[0]}") from error
        except (ValueError, TypeError, ZeroDivisionError, OverflowError) as error:
            raise self._fail(str(error)) from error

    def _literal(self, text: str, *, left: bool, right: bool) -> None:
        text = text.lstrip() if left else text
        text = text.rstrip() if right else text
        if text:
            if "{{" in text:
                raise self._fail("an action is not closed")
            self._parts.append(text)

    def _fail(self, message: str) -> TemplateError:
        return TemplateError(
            message,
            location=self._location,
            hint=f"templates can use .Index, .Count, templateParams and {', '.join(sorted(FUNCTIONS))}",
        )


class _Parser:
    """One action: commands joined by pipes, each an operand or a function with operands."""

    def __init__(self, text: str, fail: Callable[[str], TemplateError]) -> None:
        self._text, self._fail = text, fail
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise fail(f"cannot read {text[at:]!r} in {{{{{text}}}}}")
            kind = ("field", "number", "text", "name", "sign")[(found.lastindex or 1) - 1]
            self._tokens.append((kind, found[found.lastindex or 1]))
            at = found.end()

    def whole(self) -> Expression:
        made = self._pipeline()
        if self._tokens:
            raise self._fail(f"unexpected {self._tokens[0][1]!r} in {{{{{self._text}}}}}")
        return made

    def _pipeline(self) -> Expression:
        made = self._command(None)
        while self._tokens and self._tokens[0][1] == "|":
            self._tokens.pop(0)
            made = self._command(made)
        return made

    def _command(self, piped: Expression | None) -> Expression:
        if not self._tokens:
            raise self._fail(f"nothing to do in {{{{{self._text}}}}}")
        kind, text = self._tokens[0]
        if kind != "name":
            operand = self._operand()
            if piped is not None:
                raise self._fail(f"{text} is no function in {{{{{self._text}}}}}")
            return operand
        self._tokens.pop(0)
        if text in _KEYWORDS:
            raise self._fail(f"{{{{{text}}}}} is not supported")
        if text not in FUNCTIONS:
            raise self._fail(f'function "{text}" not defined')
        function, operands = FUNCTIONS[text], []
        while self._tokens and self._tokens[0][1] not in {")", "|"}:
            operands.append(self._operand())
        if piped is not None:
            operands.append(piped)
        return lambda environment: function(*(operand(environment) for operand in operands))

    def _operand(self) -> Expression:
        kind, text = self._tokens.pop(0)
        if kind == "field":
            return lambda environment: environment[text[1:]]
        if kind == "number":
            number = float(text) if "." in text else int(text)
            return lambda _: number
        if kind == "text":
            word = text[1:-1].encode().decode("unicode_escape")
            return lambda _: word
        if text == "(":
            made = self._pipeline()
            if not self._tokens or self._tokens.pop(0)[1] != ")":
                raise self._fail(f"missing ) in {{{{{self._text}}}}}")
            return made
        raise self._fail(f"unexpected {text!r} in {{{{{self._text}}}}}")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _divide(first: Any, second: Any) -> float:
    if float(second) == 0:
        raise ZeroDivisionError("division by zero")
    return float(first) / float(second)


def _remainder(first: Any, second: Any) -> int:
    return int(math.fmod(int(float(first)), int(float(second))))


def _printf(form: str, *values: Any) -> str:
    left = list(values)

    def put(verb: re.Match[str]) -> str:
        if verb[0] == "%%":
            return "%"
        value = left.pop(0)
        if verb[0].endswith("q"):
            return f'"{value}"'
        plain = _text(value) if verb[0][-1] in "sv" else value
        return (verb[0][:-1] + "s" if verb[0].endswith("v") else verb[0]) % plain

    return _VERB.sub(put, form)


def _numbers(combine: Callable[[Sequence[float]], float]) -> Callable[..., float]:
    return lambda *values: combine([float(value) for value in values])


_add: Final = _numbers(sum)
_multiply: Final = _numbers(math.prod)

FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "AddFloat": _add,
    "AddInt": lambda *values: int(_add(*values)),
    "DivideFloat": _divide,
    "DivideInt": lambda first, second: int(_divide(first, second)),
    "Mod": _remainder,
    "MultiplyFloat": _multiply,
    "MultiplyInt": lambda *values: int(_multiply(*values)),
    "SubtractFloat": lambda first, second: float(first) - float(second),
    "SubtractInt": lambda first, second: int(float(first) - float(second)),
    "printf": _printf,
}

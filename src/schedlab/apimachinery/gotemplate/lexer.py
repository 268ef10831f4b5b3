"""Splits a template into texts and actions, and an action into words.

Mirrors: text/template/parse/lex.go (Go 1.25). Differs: other delimiters than {{ and }} cannot be chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from schedlab.apimachinery.gotemplate.values import TemplateError

Kind: TypeAlias = Literal["space", "string", "char", "number", "field", "variable", "name", "sign"]

_SPACE: Final = " \t\r\n"
_WORDS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("space", re.compile(r"[ \t\r\n]+")),
    ("string", re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`')),
    ("char", re.compile(r"'(?:[^'\\\n]|\\.)+'")),
    (
        "number",
        re.compile(
            r"[+-]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][+-]?\d+)?)(?![\w.])"
        ),
    ),
    ("field", re.compile(r"\.[^\W\d]\w*")),
    ("variable", re.compile(r"\$\w*")),
    ("name", re.compile(r"[^\W\d]\w*")),
    ("sign", re.compile(r":=|[=|(),.]")),
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of an action."""

    kind: Kind
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Action:
    """What stands between {{ and }}."""

    words: tuple[Word, ...]
    line: int


def split(source: str) -> Iterator[str | Action]:
    """Yield the texts and actions of a template in order; comments are left out."""
    at, line, trim = 0, 1, False
    while True:
        start = source.find("{{", at)
        text = source[at:] if start < 0 else source[at:start]
        end_line = line + text.count("\n")
        opens_trimmed = start >= 0 and source[start + 2 : start + 3] == "-" and source[start + 3 : start + 4] in _SPACE
        shown = text.lstrip(_SPACE) if trim else text
        shown = shown.rstrip(_SPACE) if opens_trimmed else shown
        if shown:
            yield shown
        if start < 0:
            return
        at, line = start + (3 if opens_trimmed else 2), end_line
        if source[at:].lstrip(_SPACE).startswith("/*"):
            at, line, trim = _comment_end(source, at, line)
            continue
        words, at, line, trim = _read_action(source, at, line)
        yield Action(words, end_line)


def _comment_end(source: str, at: int, line: int) -> tuple[int, int, bool]:
    end = source.find("*/", at)
    if end < 0:
        raise TemplateError("unclosed comment", line)
    rest = source[end + 2 :]
    trim = rest[:1] in (" ", "\t", "\r", "\n") and rest.lstrip(_SPACE).startswith("-}}")
    close = source.find("}}", end)
    if close < 0 or source[end + 2 : close].strip(_SPACE + "-"):
        raise TemplateError("comment ends before closing delimiter", line)
    return close + 2, line + source.count("\n", at, close), trim


def _read_action(source: str, at: int, line: int) -> tuple[tuple[Word, ...], int, int, bool]:
    words: list[Word] = []
    while True:
        if source.startswith("}}", at):
            return tuple(words), at + 2, line, False
        if words and words[-1].kind == "space" and source.startswith("-}}", at):
            return tuple(words), at + 3, line, True
        if at >= len(source):
            raise TemplateError("unclosed action", line)
        word = _word(source, at, line)
        words.append(word)
        at += len(word.text)
        line += word.text.count("\n")


def _word(source: str, at: int, line: int) -> Word:
    for kind, pattern in _WORDS:
        found = pattern.match(source, at)
        if found is not None:
            return Word(kind, found[0], line)
    char = source[at]
    raise TemplateError("unterminated quoted string" if char in "\"`'" else f"unexpected {char!r} in action", line)

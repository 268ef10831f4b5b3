"""Paths of fields within a schema: `.spec.hosts['a.b']`.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go (ValidFieldPath) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
from typing import Final

from schedlab.api.validation.definitions.walking import Schema, value_schema

_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "'": "'", "\\": "\\"}


class PathError(Exception):
    """Why a path names no field."""


def resolve(text: str, schema: Schema, *, allow_brackets: bool = True) -> tuple[tuple[str, ...], Schema | None]:
    """Return the steps of a path and the schema of the field at its end; raises PathError."""
    parts = _TOKEN.findall(text)
    steps: list[str] = []
    found: Schema | None = schema
    while parts:
        part = parts.pop(0)
        if part == "[" and allow_brackets:
            step = _quoted(_next(parts))
        elif part == ".":
            step = _next(parts)
        elif part == "[":
            raise PathError("array notation is not allowed")
        else:
            raise PathError(f"expected [ or . but got: {part}")
        found = _child(found or {}, step)
        steps.append(step)
        if part == "[" and (end := _next(parts)) != "]":
            raise PathError(f"expected ] but got {end}")
    return tuple(steps), found


def _next(parts: list[str]) -> str:
    if not parts:
        raise PathError("unexpected end of JSON path")
    return parts.pop(0)


def _quoted(part: str) -> str:
    if len(part) < 2 or not part.startswith("'") or not part.endswith("'"):
        raise PathError(f"expected single quoted string but got {part}")
    return _ESCAPE.sub(_unescaped, part[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    if found[1] not in _ESCAPED:
        raise PathError(f"invalid string literal: invalid escape char {found[0]}")
    return _ESCAPED[found[1]]


def _child(schema: Schema, name: str) -> Schema | None:
    properties = schema.get("properties")
    if properties:
        if name in properties:
            found: Schema = properties[name]
            return found
    elif "additionalProperties" in schema:
        return value_schema(schema)
    raise PathError("does not refer to a valid field")

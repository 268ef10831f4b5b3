"""Values of templates: what is true, what is printed, what can be compared.

JSON is kept as Python has it, but for numbers: they stay the text that they were written as, as with Go's json.Number,
so `{{ if .replicas }}` holds for 0, too. Numbers of the template itself are int and float.

Mirrors: truth, indirection and printing of text/template/{exec,funcs}.go and fmt (Go 1.25).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from schedlab.apimachinery import gojson


class TemplateError(ValueError):
    """A template that cannot be parsed or run; `line` is counted from 1, 0 if it is not known."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


class Number(str):
    """A number of the data, as it was written."""

    __slots__ = ()


class _Missing:
    """What a map does not have."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<no value>"


MISSING: Final = _Missing()


def from_json(value: Any) -> Any:
    """Return decoded JSON as templates see it, in new containers."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return Number(gojson.marshal_bytes(value).decode())
    if isinstance(value, Mapping):
        return {key: from_json(each) for key, each in value.items()}
    return [from_json(each) for each in value]


def to_json(value: Any) -> Any:
    """Return a value with its numbers as numbers."""
    if isinstance(value, Number):
        return float(value) if any(char in value for char in ".eE") else int(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return None if value is MISSING else value


def truth(value: Any) -> bool:
    """Whether a value is not the zero value of its type."""
    if value is None or value is MISSING:
        return False
    return bool(value)


def text_of(value: Any) -> str:
    """Return what `{{ value }}` prints."""
    return "<no value>" if value is None or value is MISSING else go_text(value)


def go_text(value: Any) -> str:
    """Return a value as fmt's verb v prints it."""
    if value is None or value is MISSING:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return gojson.format_float(value)
    if isinstance(value, Mapping):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(go_text, value))}]"
    return str(value)


def kind_of(value: Any) -> str:
    """Return the basic kind of a value: bool, int, float, string, or "" for all others."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    return "string" if isinstance(value, str) else ""


def equal(first: Any, others: Iterable[Any]) -> bool:
    """Whether a value equals one of the others; raises TemplateError for types that cannot be compared."""
    kind = kind_of(first)
    for other in others:
        if kind != kind_of(other):
            if not (_is_nothing(first) or _is_nothing(other)):
                raise TemplateError("incompatible types for comparison")
        elif kind:
            if first == other:
                return True
        elif _is_nothing(first) or _is_nothing(other):
            if _is_nothing(first) and _is_nothing(other):
                return True
        else:
            raise TemplateError(f"non-comparable types {go_text(first)}, {go_text(other)}")
    return False


def less(first: Any, second: Any) -> bool:
    """Whether a value is less than another one; raises TemplateError for what has no order."""
    kind = kind_of(first)
    if kind != kind_of(second):
        raise TemplateError("incompatible types for comparison")
    if kind in ("", "bool"):
        raise TemplateError("invalid type for comparison")
    smaller: bool = first < second
    return smaller


def _is_nothing(value: Any) -> bool:
    return value is None or value is MISSING


def field(value: Any, name: str) -> Any:
    """Return a member of a map; one that is not there is MISSING, and so are its own members."""
    if value is MISSING:
        return MISSING
    if isinstance(value, Mapping):
        return value.get(name, MISSING)
    if value is None:
        raise TemplateError(f"nil has no field {name}")
    raise TemplateError(f"can't evaluate field {name} in type {type_name(value)}")


def type_name(value: Any) -> str:
    """Return how Go calls the type of a value."""
    if isinstance(value, Number):
        return "json.Number"
    if isinstance(value, float):
        return "float64"
    if isinstance(value, Mapping):
        return "map[string]interface {}"
    if isinstance(value, list | tuple):
        return "[]interface {}"
    if value is None or value is MISSING:
        return "<nil>"
    return kind_of(value)


def index(value: Any, *keys: Any) -> Any:
    """Return what is found under an index or a key, one after the other."""
    if value is None or value is MISSING:
        raise TemplateError("index of untyped nil")
    for key in keys:
        if isinstance(value, Mapping):
            if kind_of(key) != "string":
                raise TemplateError(f"value has type {type_name(key)}; should be string")
            value = value.get(key, MISSING)
        elif isinstance(value, list | tuple | str) and not isinstance(value, Number):
            if kind_of(key) != "int":
                raise TemplateError(f"cannot index slice/array with type {type_name(key)}")
            if not 0 <= key < len(value):
                raise TemplateError(f"index out of range: {key}")
            value = value[key]
        elif value is None or value is MISSING:
            raise TemplateError("index of nil pointer")
        else:
            raise TemplateError(f"can't index item of type {type_name(value)}")
    return value

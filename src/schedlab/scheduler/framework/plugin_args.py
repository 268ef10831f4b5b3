"""Arguments of plugins that do not come with the scheduler: from a mapping of the configuration to the plugin's own class.

The class is a dataclass or a msgspec.Struct. Fields of a dataclass are camelCase in the configuration (`node_label` is
`nodeLabel`); a Struct says itself what its fields are called. Nothing is guessed: unknown fields, wrong types and
missing values are all named, each with its path below `args`.

Mirrors: DecodeInto of pkg/scheduler/framework/runtime/registry.go (v1.36).
Differs: strict, where upstream ignores unknown fields of plugins it does not know.
"""

from __future__ import annotations

import dataclasses
import difflib
import types
from collections.abc import Mapping
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

# What kube-scheduler's own arguments carry; harmless in others.
_TYPE_FIELDS: Final = ("apiVersion", "kind")


class PluginArgsError(ValueError):
    """Arguments that do not fit: (path below `args`, what is wrong) of every mistake, and what may have been meant."""

    def __init__(self, problems: list[tuple[str, str]], hint: str = "") -> None:
        super().__init__(", ".join(f"args{path}: {text}" for path, text in problems))
        self.problems = tuple(problems)
        self.hint = hint


@dataclasses.dataclass(frozen=True, slots=True)
class _Field:
    """A field of a class of arguments: its name in Python, its type, whether it must be given."""

    name: str
    type: Any
    required: bool


def is_args_class(candidate: object) -> bool:
    """Whether it is a class that arguments can be decoded into."""
    return isinstance(candidate, type) and (
        dataclasses.is_dataclass(candidate) or issubclass(candidate, msgspec.Struct)
    )


def fields_of(type_: type[Any]) -> tuple[str, ...]:
    """Return the names of the fields in the configuration; raises NameError or TypeError when a type is unknown."""
    return tuple(_fields(type_))


def decode_args(raw: object, type_: type[Any]) -> Any:
    """Return an instance of the class of arguments; raises PluginArgsError."""
    walk = _Walk()
    if isinstance(raw, Mapping):
        known = _fields(type_)
        raw = {key: value for key, value in raw.items() if key not in _TYPE_FIELDS or key in known}
    made = walk.value(raw, type_, "")
    if walk.problems:
        raise PluginArgsError(walk.problems, walk.hint)
    return made


class _Walk:
    """Goes through a document beside the class it should fit; collects what does not."""

    def __init__(self) -> None:
        self.problems: list[tuple[str, str]] = []
        self.hint = ""

    def value(self, raw: Any, type_: Any, path: str) -> Any:
        """Return the value as the type; after a mistake what is returned means nothing."""
        type_ = _without_none(type_)
        if is_args_class(type_):
            return self._object(raw, type_, path)
        origin, inner = get_origin(type_), get_args(type_)
        if origin is list and isinstance(raw, list):
            return [self.value(item, inner[0], f"{path}[{index}]") for index, item in enumerate(raw)]
        if origin is tuple and inner[1:] == (...,) and isinstance(raw, list):
            return tuple(self.value(item, inner[0], f"{path}[{index}]") for index, item in enumerate(raw))
        if origin is dict and isinstance(raw, Mapping):
            return {key: self.value(item, inner[1], f"{path}[{key}]") for key, item in raw.items()}
        try:
            return msgspec.convert(raw, type_)
        except msgspec.ValidationError as error:
            self.problems.append((path, str(error)))
            return None

    def _object(self, raw: Any, type_: type[Any], path: str) -> Any:
        if not isinstance(raw, Mapping):
            self.problems.append((path, f"Expected `object`, got `{type(raw).__name__}`"))
            return None
        known = _fields(type_)
        before = len(self.problems)
        values = {}
        for key, item in raw.items():
            field = known.get(key)
            if field is None:
                self._unknown(str(key), path, known)
            elif item is not None:
                values[field.name] = self.value(item, field.type, f"{path}.{key}")
        for key, field in known.items():
            if field.required and raw.get(key) is None:
                self.problems.append((f"{path}.{key}", "Required value"))
        if len(self.problems) > before:
            return None
        try:
            return type_(**values)
        except (ValueError, TypeError) as error:
            self.problems.append((path, str(error) or type(error).__name__))
            return None

    def _unknown(self, key: str, path: str, known: Mapping[str, _Field]) -> None:
        self.problems.append((f"{path}.{key}", "unknown field"))
        close = difflib.get_close_matches(key, known, 1)
        if self.hint:
            return
        if close:
            self.hint = f"args{path}.{key}: did you mean {close[0]}?"
        else:
            self.hint = f"fields of args{path} are: {', '.join(known)}" if known else f"args{path} has no fields"


def _fields(type_: type[Any]) -> dict[str, _Field]:
    """Return the fields of a class by their names in the configuration."""
    hints = get_type_hints(type_, include_extras=True)
    if issubclass(type_, msgspec.Struct):
        return {
            field.encode_name: _Field(field.name, hints[field.name], field.required)
            for field in msgspec.structs.fields(type_)
        }
    return {
        _camel_case(field.name): _Field(
            field.name,
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(type_)
        if field.init
    }


def _without_none(type_: Any) -> Any:
    """Return T of `T | None`; null in the configuration counts as "not given"."""
    if get_origin(type_) in {Union, types.UnionType}:
        rest = [inner for inner in get_args(type_) if inner is not types.NoneType]
        if len(rest) == 1:
            return rest[0]
    return type_


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)

"""Writes docs/reference/python.md from the public API: signatures and docstrings of `schedlab.laboratory` and the test kit.

Whatever stands in an `__all__` of theirs gets a section; what has no docstring is an error.
"""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from schedlab import laboratory, testing

_BUILDERS = (type(testing.make_pod()), type(testing.make_node()))

_STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}


class UndocumentedError(Exception):
    """A public name has no docstring."""


def page() -> str:
    """The page."""
    lines = ["# Python API", ""]
    lines += ["[A cluster in a notebook](../notebooks/a-cluster-in-a-notebook.ipynb) shows it at work.", ""]
    lines += section(laboratory)
    lines += ["## The test kit", "", *section(testing)]
    for builder in _BUILDERS:
        lines += [f"### `{builder.__name__}`", "", _text(builder, builder.__name__), ""]
        lines += [*(f"- `{_call(name, method)}`{_line(method)}" for name, method in _members(builder)), ""]
    return "\n".join(lines).rstrip() + "\n"


def section(module: ModuleType) -> Iterator[str]:
    """The lines about one module; raises UndocumentedError."""
    yield from (_text(module, module.__name__), "")
    named = {name: getattr(module, name) for name in module.__all__}
    listed = "\n".join(f"    {name}," for name in named)
    yield from ("```python", f"from {module.__name__} import (\n{listed}\n)", "```", "")
    for name, value in named.items():
        if inspect.isclass(value):
            yield from _class(name, value)
        elif inspect.isfunction(value):
            yield from (f"### `{_call(name, value)}`", "", _text(value, name), "")
        else:
            yield from (f"### `{name}`", "", f"`{_plain(value)}`", "")


def _plain(value: Any) -> str:
    """A constant or a type alias, without the modules of its parts."""
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z_])", "", str(value))


def _class(name: str, value: type) -> Iterator[str]:
    yield from (f"### `{name}`", "", _text(value, name), "")
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield f"- `{field.name}: {field.type}`"
        yield ""
    elif "__init__" in vars(value) and not issubclass(value, Exception):
        init = vars(value)["__init__"]
        yield from (f"#### `{_call(name, init)}`", "", _text(init, f"{name}.__init__"), "")
    for member, function in _members(value):
        yield from (f"#### `{_call(member, function)}`", "", _text(function, f"{name}.{member}"), "")


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties of a class, its own and those of private bases."""
    found: dict[str, Any] = {}
    for owner in reversed([one for one in value.__mro__ if one is value or one.__name__.startswith("_")]):
        found |= vars(owner)
    for name, member in found.items():
        is_called = inspect.isfunction(member) or isinstance(member, property | classmethod)
        if is_called and not name.startswith("_"):
            yield name, getattr(member, "__func__", member)


def _call(name: str, value: Any) -> str:
    if isinstance(value, property):
        return f"{name}: {value.fget.__annotations__['return']}"
    signature = inspect.signature(value)
    parts: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in "".join(part[:1] for part in parts):
            parts.append("*")
        star = _STARS.get(parameter.kind.name, "")
        default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
        parts.append(f"{star}{parameter.name}: {_annotation(parameter.annotation)}{default}")
    result = signature.return_annotation
    back = "" if result in (signature.empty, "None") else f" -> {_annotation(result)}"
    return f"{name}({', '.join(parts)}){back}"


def _default(value: Any) -> str:
    return f"{type(value).__name__}()" if dataclasses.is_dataclass(value) else repr(value)


def _annotation(value: Any) -> str:
    return value if isinstance(value, str) else getattr(value, "__name__", str(value))


def _text(value: Any, name: str) -> str:
    text = inspect.getdoc(value)
    if not text:
        raise UndocumentedError(f"{name} has no docstring")
    return text


def _line(value: Any) -> str:
    text = inspect.getdoc(value)
    return f": {text.splitlines()[0]}" if text else ""

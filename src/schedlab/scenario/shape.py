"""Whether a document has the shape of a type: every field that is unknown, missing or of another kind, not only the first.

`msgspec.convert` stops at the first mistake; so the types are walked here, and converted when nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from msgspec import inspect

from schedlab.scenario.mistakes import Mistake, Path

T = TypeVar("T")
_WORDS: Final[Mapping[type[Any], str]] = {
    dict: "a mapping",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "nothing",
}
#: Kinds of values that each leaf takes; a whole number is good where a number is asked for.
_LEAVES: Final[Mapping[type[inspect.Type], tuple[type[Any], ...]]] = {
    inspect.StrType: (str,),
    inspect.IntType: (int,),
    inspect.FloatType: (float, int),
    inspect.BoolType: (bool,),
    inspect.NoneType: (type(None),),
    inspect.DictType: (dict,),
    inspect.ListType: (list,),
    inspect.StructType: (dict,),
}


def mistakes_of(value: object, kind: type[Any], path: Path = ()) -> Iterator[Mistake]:
    """Yield what keeps a value from being converted to a struct type."""
    yield from _check(value, inspect.type_info(kind), path)


def is_open(kind: type[Any], path: Path) -> bool:
    """Whether a path leads into a part of a struct type whose fields nobody names, like a manifest."""
    members = [inspect.type_info(kind)]
    for step in path:
        flat = [one for member in members for one in _members(member)]
        fields = {
            one.encode_name: one.type
            for member in flat
            if isinstance(member, inspect.StructType)
            for one in member.fields
        }
        if step in fields:
            members = [fields[step]]
            continue
        if any(isinstance(one, inspect.DictType) and isinstance(one.value_type, inspect.AnyType) for one in flat):
            return True
        members = [one.item_type for one in flat if isinstance(one, inspect.ListType)]
    return False


def _check(value: object, kind: inspect.Type, path: Path) -> Iterator[Mistake]:
    if isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.AnyType):
        return
    if isinstance(kind, inspect.UnionType):
        members = [*_members(kind)]
        fitting = next((member for member in members if _takes(member, value)), None)
        if fitting is None:
            yield _wrong(value, members, path)
        else:
            yield from _check(value, fitting, path)
        return
    if isinstance(kind, inspect.LiteralType):
        if value not in kind.values or type(value) not in {type(one) for one in kind.values}:
            choices = ", ".join(map(str, kind.values))
            yield Mistake(path, f"{value!r} is not possible", f"write {'one of ' * (len(kind.values) > 1)}{choices}")
        return
    if not _takes(kind, value):
        yield _wrong(value, [kind], path)
        return
    yield from _check_inside(value, kind, path)


def _members(kind: inspect.Type) -> Iterator[inspect.Type]:
    """Yield the kinds of values that a union takes, of unions inside of it, too."""
    if isinstance(kind, inspect.Metadata):
        yield from _members(kind.type)
    elif isinstance(kind, inspect.UnionType):
        for one in kind.types:
            yield from _members(one)
    else:
        yield kind


def _check_inside(value: Any, kind: inspect.Type, path: Path) -> Iterator[Mistake]:
    """Look into a value of the right kind."""
    match kind:
        case inspect.StructType():
            yield from _check_fields(value, kind, path)
        case inspect.ListType():
            if kind.min_length and len(value) < kind.min_length:
                yield Mistake(path, "is empty", "give at least one")
            for index, item in enumerate(value):
                yield from _check(item, kind.item_type, (*path, index))
        case inspect.DictType():
            for key, item in value.items():
                yield from _check(item, kind.value_type, (*path, key))
        case inspect.IntType() | inspect.FloatType() if kind.ge is not None and value < kind.ge:
            yield Mistake(path, f"is {value}", f"give {kind.ge} or more")
        case inspect.IntType() | inspect.FloatType() if kind.le is not None and value > kind.le:
            yield Mistake(path, f"is {value}", f"give {kind.le} at most")


def _check_fields(value: Mapping[str, object], kind: inspect.StructType, path: Path) -> Iterator[Mistake]:
    fields = {one.encode_name: one for one in kind.fields}
    for key in value:
        if key not in fields:
            close = get_close_matches(str(key), fields, 1)
            hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(fields)}"
            yield Mistake((*path, key), "there is no such field", hint)
    for name, one in fields.items():
        if name in value:
            yield from _check(value[name], one.type, (*path, name))
        elif one.required:
            yield Mistake(path, f"{name} is missing", f"add {name}")


def _takes(kind: inspect.Type, value: object) -> bool:
    if isinstance(kind, inspect.AnyType | inspect.LiteralType):
        return True
    return type(value) in _LEAVES[type(kind)]


def _wrong(value: object, kinds: list[inspect.Type], path: Path) -> Mistake:
    wanted = dict.fromkeys(_WORDS[_LEAVES[type(kind)][0]] for kind in kinds if not isinstance(kind, inspect.NoneType))
    shown = repr(value) if isinstance(value, (int, float, str, bool)) else _WORDS[type(value)]
    hint = "put it in quotes" if "a text" in wanted and isinstance(value, (int, float, bool)) else ""
    return Mistake(path, f"is {shown}, not {' or '.join(wanted)}", hint)

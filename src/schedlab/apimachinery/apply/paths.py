"""The paths of a value that is there as a whole, and of an object that was just created.

Types are compiled to functions, because every created object and every added field is walked.

Mirrors: sigs.k8s.io/structured-merge-diff/v6/typed/tofieldset.go (v1.36)
Differs: nothing.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, TypeAlias

from schedlab.apimachinery.apply import fieldset
from schedlab.apimachinery.apply.fieldset import FieldSet
from schedlab.apimachinery.apply.shapes import ANYTHING, field_type, grouped, is_atomic
from schedlab.apimachinery.json_reader import JSONValue
from schedlab.apimachinery.schema import Field, List, Scalar, Struct, Type


def all_paths(value: JSONValue, type: Type) -> FieldSet:
    """Node with every path of a value that is there as a whole: leaves and the objects and lists around them."""
    return _walker(type)(value)


_Walker: TypeAlias = Callable[[JSONValue], FieldSet]
_LEAF: Final[FieldSet] = {}


def _leaf(_value: JSONValue) -> FieldSet:
    return _LEAF


@cache
def _walker(type: Type) -> _Walker:
    """Compile `all_paths` for a type."""
    if isinstance(type, Scalar):
        return _leaf
    if isinstance(type, List):
        return _leaf if type.list_type == "atomic" else _list_walker(type)
    if is_atomic(type):
        return _leaf
    return _struct_walker(type) if isinstance(type, Struct) else _map_walker(type)


def _struct_walker(type: Struct) -> _Walker:
    walkers: dict[str, tuple[str, _Walker]] = {}

    def walk(value: JSONValue) -> FieldSet:
        if not value or not isinstance(value, dict):
            return _LEAF
        out: FieldSet = {fieldset.SELF: _LEAF}
        for name in sorted(value):
            known = walkers.get(name)
            if known is None:  # not before it is asked for: a type may contain itself
                known = f"f:{name}", _walker(type.fields[name].type if name in type.fields else ANYTHING)
                if name in type.fields:
                    walkers[name] = known
            out[known[0]] = known[1](value[name])
        return out

    return walk


def _map_walker(type: Type) -> _Walker:
    element: _Walker | None = None

    def walk(value: JSONValue) -> FieldSet:
        nonlocal element
        if not value or not isinstance(value, dict):
            return _LEAF
        if element is None:
            element = _walker(field_type(type, "") or ANYTHING)
        out: FieldSet = {fieldset.SELF: _LEAF}
        for name in sorted(value):
            out["f:" + name] = element(value[name])
        return out

    return walk


def _list_walker(type: List) -> _Walker:
    def walk(value: JSONValue) -> FieldSet:
        if not value or not isinstance(value, list):
            return _LEAF
        groups = grouped(value, type)
        element = _walker(type.element)
        out: FieldSet = {fieldset.SELF: _LEAF}
        for key in sorted(groups, key=fieldset.order) if len(groups) > 1 else groups:
            same = groups[key]
            out[key] = _LEAF if len(same) > 1 else element(same[0])
        return out

    return walk


# --- created objects ------------------------------------------------------------------------------------------------


def created_paths(obj: Mapping[str, JSONValue], type: Struct) -> FieldSet:
    """The paths in which an object differs from one without any field: what its creator comes to own.

    Says what a comparison with the empty object says is added or modified.
    """
    return _creation_walker(type)(obj) or {}


_CreationWalker: TypeAlias = Callable[[JSONValue], "FieldSet | None"]


@cache
def _creation_walker(type: Struct) -> _CreationWalker:
    walkers: dict[str, tuple[str, _CreationWalker]] = {}

    def walk(value: JSONValue) -> FieldSet | None:
        out: FieldSet = {}
        for name in sorted(value):
            known = walkers.get(name)
            if known is None:
                known = walkers[name] = f"f:{name}", _field_walker(type.fields.get(name))
            node = known[1](value[name])
            if node is not None:
                out[known[0]] = node
        return out or None

    return walk


def _field_walker(field: Field | None) -> _CreationWalker:
    if field is None:
        return _walker(ANYTHING)
    if not field.always_written:
        return _walker(field.type)
    inner, empty = field.type, field.empty()
    granular = not isinstance(inner, Scalar) and not is_atomic(inner)
    if isinstance(inner, Struct) and granular and not field.pointer:
        below = _creation_walker(inner)
        return lambda value: None if value == empty else below(value) if value else _LEAF
    contents = _walker(inner)

    def walk(value: JSONValue) -> FieldSet | None:
        if value == empty:
            return None
        if not granular or not value:
            return _LEAF
        # The container was there, empty; only what is in it is new.
        return {key: node for key, node in contents(value).items() if key != fieldset.SELF}

    return walk

"""The paths of a value that is there as a whole.

Types are compiled to functions, because every created object and every added field is walked.

Mirrors: sigs.k8s.io/structured-merge-diff/v6/typed/tofieldset.go (v1.36)
Differs: nothing.
"""

from collections.abc import Callable
from functools import cache
from typing import Final, TypeAlias

from schedlab.apimachinery.apply import fieldset
from schedlab.apimachinery.apply.fieldset import FieldSet
from schedlab.apimachinery.apply.shapes import ANYTHING, field_type, grouped, is_atomic
from schedlab.apimachinery.json_reader import JSONValue
from schedlab.apimachinery.schema import List, Scalar, Struct, Type


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

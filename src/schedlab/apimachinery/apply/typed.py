"""Values read with their types: which fields they set, how two differ, merging one into another, removing fields.

Each function walks a value along its type. A scalar, an atomic list or map, and an empty list or map is a leaf: it is
owned, compared and replaced as a whole. A path is a tuple of path elements as in `fieldset`.

Mirrors: sigs.k8s.io/structured-merge-diff/v6/typed/{validate,tofieldset,compare,merge,remove,helpers}.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from schedlab.apimachinery import gojson
from schedlab.apimachinery.apply import fieldset
from schedlab.apimachinery.apply.fieldset import FieldSet
from schedlab.apimachinery.apply.paths import all_paths
from schedlab.apimachinery.apply.shapes import (
    ANYTHING,
    ElementError,
    TypedError,
    element_of,
    field_type,
    grouped,
    is_atomic,
    is_declared,
)
from schedlab.apimachinery.json_reader import JSONValue
from schedlab.apimachinery.schema import List, Map, Scalar, Struct, Type, Untyped

#: In place of a value that is not there; null is a value.
ABSENT: Final = object()


_NUMERIC: Final = frozenset(("integer", "number"))
_TEXT: Final = frozenset(("string", "bytes"))


# --- validation -----------------------------------------------------------------------------------------------------


def validate(value: JSONValue, type: Type) -> None:
    """Check a value against its type, duplicate list elements included; raises TypedError."""
    errors: list[str] = []
    _validate(value, type, "", errors)
    if errors:
        raise TypedError(errors)


def _validate(value: JSONValue, type: Type, path: str, errors: list[str]) -> None:
    if value is None:
        return
    if isinstance(type, Scalar):
        problem = _scalar_problem(value, type)
        if problem:
            errors.append(_at(path, problem))
    elif isinstance(type, List):
        if not isinstance(value, list):
            errors.append(_at(path, f"expected list, got {_pointer(value)}"))
        else:
            _validate_list(value, type, path, errors)
    elif isinstance(type, (Struct, Map)):
        if not isinstance(value, dict):
            errors.append(_at(path, f"expected map, got {_pointer(value)}"))
        else:
            _validate_object(value, type, path, errors)


def _validate_object(value: Mapping[str, JSONValue], type: Type, path: str, errors: list[str]) -> None:
    for name, item in value.items():
        inner = field_type(type, name)
        if inner is None:
            errors.append(_at(f"{path}.{name}", "field not declared in schema"))
            return
        _validate(item, inner, f"{path}.{name}", errors)


def _validate_list(items: Sequence[JSONValue], type: List, path: str, errors: list[str]) -> None:
    seen: set[str] = set()
    for position, item in enumerate(items):
        if type.list_type == "atomic":
            shown = f"[{position}]"
        else:
            try:
                element = element_of(type, item)
            except ElementError as error:
                errors.append(_at(path, f"element {position}: {error}"))
                return
            shown = fieldset.show_element(element)
            if element in seen:
                errors.append(_at(path, f"duplicate entries for key {shown}"))
            seen.add(element)
        _validate(item, type.element, path + shown, errors)


def _at(path: str, problem: str) -> str:
    return f"{path}: {problem}" if path else problem


def _scalar_problem(value: JSONValue, type: Scalar) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if type.kind in _NUMERIC:
        return "" if number else f"expected numeric (int or float), got {_go_type(value)}"
    if type.kind in _TEXT:
        return "" if isinstance(value, str) else f"expected string, got {_go_syntax(value)}"
    if type.kind == "boolean":
        return "" if isinstance(value, bool) else f"expected boolean, got {_pointer(value)}"
    scalar = number or isinstance(value, (str, bool)) or type.kind == "int-or-string"
    return "" if scalar else f"expected any scalar, got {_pointer(value)}"


def _pointer(value: JSONValue) -> str:
    """How Go prints its wrapper around a value with %v."""
    return f"&{{{gojson.sprint(value)}}}"


def _go_type(value: JSONValue) -> str:
    """How Go prints the type of a value with %T."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "[]interface {}" if isinstance(value, list) else "map[string]interface {}"


def _go_syntax(value: JSONValue) -> str:
    """How Go prints its wrapper around a value with %#v."""
    return f"&value.valueUnstructured{{Value:{_go_literal(value)}}}"


def _go_literal(value: JSONValue) -> str:
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return gojson.quote(value)
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(_go_literal, value)) + "}"
    if isinstance(value, dict):
        pairs = ", ".join(f"{gojson.quote(name)}:{_go_literal(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{pairs}}}"
    return gojson.sprint(value)


def _as_list(value: JSONValue) -> Sequence[JSONValue]:
    """Return a value of a list's type; raises TypedError when it is something else."""
    if value is None or isinstance(value, list):
        return value or ()
    raise TypedError([f"expected list, got {_pointer(value)}"])


def _as_object(value: JSONValue) -> Mapping[str, JSONValue]:
    """Return a value of an object's type; raises TypedError when it is something else."""
    if value is None or isinstance(value, dict):
        return value or {}
    raise TypedError([f"expected map, got {_pointer(value)}"])


# --- field sets -----------------------------------------------------------------------------------------------------


def field_set(value: Mapping[str, JSONValue], type: Struct) -> FieldSet:
    """All fields that an applied configuration sets."""
    return _fields(value, type) or {}


def _fields(value: JSONValue, type: Type) -> FieldSet | None:
    """Node of a value; None when neither the value nor anything in it counts by itself."""
    if isinstance(value, list) and isinstance(type, List):
        return {} if type.list_type == "atomic" else _list_fields(value, type)
    if isinstance(value, dict) and not isinstance(type, (Scalar, List)):
        return {} if is_atomic(type) else _object_fields(value, type)
    if value is None and not isinstance(type, Scalar) and not is_atomic(type):
        return None
    return {}


def _object_fields(value: Mapping[str, JSONValue], type: Type) -> FieldSet | None:
    out: FieldSet = {}
    for name, item in value.items():
        node = _fields(item, field_type(type, name) or ANYTHING)
        if item is None or item == {} or not is_declared(type, name):
            node = fieldset.with_self(node)
        if node is not None:
            out[f"f:{name}"] = node
    return out or None


def _list_fields(items: Sequence[JSONValue], type: List) -> FieldSet | None:
    out: FieldSet = {}
    for element, same in grouped(items, type).items():
        out[element] = {} if len(same) > 1 else fieldset.with_self(_fields(same[0], type.element))
    return out or None


# --- comparison -----------------------------------------------------------------------------------------------------


class Comparison:
    """What one value has that another has not, and where they differ."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self, added: FieldSet, modified: FieldSet, removed: FieldSet) -> None:
        self.added = added
        self.modified = modified
        self.removed = removed

    def without(self, ignored: FieldSet) -> "Comparison":
        if not ignored:
            return self
        return Comparison(
            fieldset.recursive_difference(self.added, ignored),
            fieldset.recursive_difference(self.modified, ignored),
            fieldset.recursive_difference(self.removed, ignored),
        )


def compare(old: Mapping[str, JSONValue], new: Mapping[str, JSONValue], type: Struct) -> Comparison:
    """Compare two objects of one type; raises TypedError when a list cannot be read."""
    walk = _Differences()
    walk.object(old, new, type)
    return Comparison(walk.added or {}, walk.modified or {}, walk.removed or {})


class _Differences:
    """Differences below one path: nodes, None where there are none."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added: FieldSet | None = None
        self.modified: FieldSet | None = None
        self.removed: FieldSet | None = None

    def value(self, old: JSONValue, new: JSONValue, type: Type) -> None:
        if old is ABSENT:
            self.added = all_paths(new, type)
        elif new is ABSENT:
            self.removed = all_paths(old, type)
        elif old == new and (old.__class__ is new.__class__ or _both_numbers(old, new)):
            return
        elif isinstance(type, Untyped):
            self._untyped(old, new, type)
        elif isinstance(type, Scalar) or is_atomic(type) or not (old or new):
            self.modified = {}
        elif isinstance(type, List):
            self._list(_as_list(old), _as_list(new), type)
        else:
            self.object(_as_object(old), _as_object(new), type)

    def _untyped(self, old: JSONValue, new: JSONValue, type: Untyped) -> None:
        granular = [isinstance(side, dict) and bool(side) and not type.atomic for side in (old, new)]
        if not any(granular):
            self.modified = None if old == new else {}
            return
        was_object, is_object = isinstance(old, dict) or old is None, isinstance(new, dict) or new is None
        if not (was_object and is_object):
            self.modified = {}
        self.object(old if isinstance(old, dict) else {}, new if isinstance(new, dict) else {}, type)

    def object(self, old: Mapping[str, JSONValue], new: Mapping[str, JSONValue], type: Type) -> None:
        for name in sorted({*old, *new}):
            before, after = old.get(name, ABSENT), new.get(name, ABSENT)
            if before is after:
                continue
            inner = field_type(type, name) or ANYTHING
            if before is ABSENT:
                self._add("f:" + name, all_paths(after, inner))
            else:
                self._descend("f:" + name, before, after, inner)

    def _list(self, old: Sequence[JSONValue], new: Sequence[JSONValue], type: List) -> None:
        before, after = grouped(old, type), grouped(new, type)
        for element in dict.fromkeys((*before, *after)):
            was, now = before.get(element, []), after.get(element, [])
            if len(was) <= 1 and len(now) <= 1:
                self._descend(element, was[0] if was else ABSENT, now[0] if now else ABSENT, type.element)
            elif len(was) > 1 and len(now) > 1:
                if was != now:
                    self.modified = fieldset.union(self.modified or {}, {element: {}})
            else:
                self._duplicates(element, was, now, type)

    def _duplicates(self, element: str, was: list[JSONValue], now: list[JSONValue], type: List) -> None:
        """Elements that have duplicates only before or only after count as a whole, not by their fields."""
        if len(was) > 1:
            if now:
                self._descend(element, ABSENT, now[0], type.element)
            self.removed = fieldset.union(self.removed or {}, {element: {}})
        else:
            if was:
                self._descend(element, was[0], ABSENT, type.element)
            self._add(element, {})

    def _descend(self, element: str, old: JSONValue, new: JSONValue, type: Type) -> None:
        inner = _Differences()
        inner.value(old, new, type)
        if inner.added is not None:
            self._add(element, inner.added)
        if inner.modified is not None:
            self.modified = {**(self.modified or {}), element: inner.modified}
        if inner.removed is not None:
            self.removed = {**(self.removed or {}), element: inner.removed}

    def _add(self, element: str, node: FieldSet) -> None:
        if self.added is None:
            self.added = {element: node}
        else:
            self.added[element] = node


def _both_numbers(left: JSONValue, right: JSONValue) -> bool:
    return not isinstance(left, bool) and not isinstance(right, bool)


# --- merge ----------------------------------------------------------------------------------------------------------


def merge(live: Mapping[str, JSONValue], config: Mapping[str, JSONValue], type: Struct) -> dict[str, JSONValue]:
    """Merge a configuration into an object: its values win, lists merge by their keys. Raises TypedError."""
    merged = _merge(live, config, type)
    return {} if merged is ABSENT else merged


def _merge(left: JSONValue, right: JSONValue, type: Type) -> JSONValue:
    if right is ABSENT or left is ABSENT:
        only = left if right is ABSENT else right
        return only if not only or isinstance(type, Scalar) or is_atomic(type) else _merge_one_side(only, type)
    if isinstance(type, Scalar) or is_atomic(type) or (not left and not right):
        return right
    if isinstance(type, Untyped):
        objects = isinstance(left, dict) and (isinstance(right, dict) or right is None)
        return _merge_objects(left, right or {}, type) if objects else right
    if isinstance(type, List):
        return _merge_lists(_as_list(left), _as_list(right), type)
    return _merge_objects(_as_object(left), _as_object(right), type)


def _merge_one_side(only: JSONValue, type: Type) -> JSONValue:
    """A value that only one side has comes out as it is, but for empty objects around nothing."""
    if isinstance(only, dict) and not isinstance(type, List):
        return _merge_objects(only, {}, type)
    if isinstance(only, list) and isinstance(type, List):
        return _merge_lists(only, (), type)
    return only


def _merge_objects(left: Mapping[str, JSONValue], right: Mapping[str, JSONValue], type: Type) -> JSONValue:
    out = {}
    for name in dict.fromkeys((*left, *right)):
        merged = _merge(left.get(name, ABSENT), right.get(name, ABSENT), field_type(type, name) or ANYTHING)
        if merged is not ABSENT:
            out[name] = merged
    return out or ABSENT


def _merge_lists(left: Sequence[JSONValue], right: Sequence[JSONValue], type: List) -> JSONValue:
    return _ListMerge(left, right, type).run() or ABSENT


class _ListMerge:
    """Merges two lists: the order of the right one holds, elements of the left one keep their place between them."""

    def __init__(self, left: Sequence[JSONValue], right: Sequence[JSONValue], type: List) -> None:
        self.type = type
        self.left = left
        # Elements that are there twice are not merged with the new value.
        self.observed_left = {key: same[0] if len(same) == 1 else None for key, same in grouped(left, type).items()}
        self.left_keys = [element_of(type, item) for item in left]
        groups = grouped(right, type)
        duplicates = [key for key, same in groups.items() if len(same) > 1]
        if duplicates:
            raise TypedError([f"duplicate entries for key {fieldset.show_element(key)}" for key in duplicates])
        self.observed_right = {key: same[0] for key, same in groups.items()}
        self.right_keys = list(self.observed_right)
        self.shared = [key for key in self.right_keys if key in self.observed_left]
        self.out: list[JSONValue] = []

    def run(self) -> list[JSONValue]:
        left_at = right_at = 0
        merged: set[str] = set()
        while left_at < len(self.left_keys) or right_at < len(self.right_keys):
            left_key = self.left_keys[left_at] if left_at < len(self.left_keys) else None
            right_key = self.right_keys[right_at] if right_at < len(self.right_keys) else None
            if left_key is not None and right_key is not None:
                if left_key == right_key:
                    self._take_both(right_key)
                    merged.add(right_key)
                    left_at, right_at = left_at + 1, right_at + 1
                    continue
                if left_key in self.observed_right and self.shared and self.shared[0] != left_key:
                    left_at += 1  # a shared element, but not the one whose turn it is
                    continue
            if left_key is not None:
                if left_key not in self.observed_right:
                    self._append(_merge(self.left[left_at], ABSENT, self.type.element))
                    left_at += 1
                    continue
                if left_key in merged:
                    left_at += 1
            if right_key is not None:
                self._take_both(right_key)
                merged.add(right_key)
                right_at += 1
        return self.out

    def _take_both(self, key: str) -> None:
        self._append(_merge(self.observed_left.get(key, ABSENT), self.observed_right[key], self.type.element))
        if self.shared and self.shared[0] == key:
            del self.shared[0]

    def _append(self, merged: JSONValue) -> None:
        if merged is not ABSENT:
            self.out.append(merged)


# --- removal --------------------------------------------------------------------------------------------------------


def remove(value: Mapping[str, JSONValue], fields: FieldSet, type: Struct) -> dict[str, JSONValue]:
    """Remove the fields of a set from an object."""
    return _remove(value, fields, type) or {}


def _remove(value: JSONValue, fields: FieldSet, type: Type) -> JSONValue:
    """What is left of a value; None when nothing is."""
    if isinstance(value, dict) and not isinstance(type, (Scalar, List)):
        return None if not value or is_atomic(type) else _remove_from_object(value, fields, type)
    if isinstance(value, list) and isinstance(type, List):
        return None if not value or is_atomic(type) else _remove_from_list(value, fields, type)
    return value if isinstance(type, (Scalar, Untyped)) and not isinstance(value, (dict, list)) else None


def _remove_inside(value: JSONValue, below: FieldSet, type: Type) -> JSONValue:
    """Remove from inside a value, which stays as an empty one when nothing is left."""
    left = _remove(value, below, type)
    if left is None:
        return {} if isinstance(value, dict) else [] if isinstance(value, list) else None
    return left


def _remove_from_object(value: Mapping[str, JSONValue], fields: FieldSet, type: Type) -> JSONValue:
    out, matched = {}, False
    for name, item in value.items():
        node = fields.get(f"f:{name}")
        if node is None:
            out[name] = item
        elif not fieldset.is_member(node):
            matched = True
            out[name] = _remove_inside(item, node, field_type(type, name) or ANYTHING)
    return out if out or matched else None


def _remove_from_list(items: Sequence[JSONValue], fields: FieldSet, type: List) -> JSONValue:
    out, matched = [], False
    for item in items:
        node = fields.get(element_of(type, item))
        if node is None:
            out.append(item)
        elif not fieldset.is_member(node):
            matched = True
            out.append(_remove_inside(item, node, type.element))
    return out if out or matched else None


# --- managed fields and types ---------------------------------------------------------------------------------------


def reconcile(fields: FieldSet, type: Type) -> FieldSet:
    """Own as a whole what the type now says to be atomic, where the set has parts of it."""
    if isinstance(type, (Scalar, Untyped)):
        return fields
    out: FieldSet | None = None
    for key, node in fields.items():
        below = fieldset.children(node)
        inner = _reconciled_type(key, type) if below else None
        if inner is None:
            continue
        fixed: FieldSet = {} if is_atomic(inner) else reconcile(below, inner)
        if fixed is not below:
            out = dict(fields) if out is None else out
            out[key] = fieldset.with_self(fixed) if fieldset.is_member(node) or not fixed else fixed
    return fields if out is None else out


def _reconciled_type(key: str, type: Type) -> Type | None:
    if isinstance(type, List):
        return type.element
    return field_type(type, key[2:]) if key.startswith("f:") else None

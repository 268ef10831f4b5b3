"""Sets of fields, kept in the form of FieldsV1.

A set is a tree of dicts. The keys of a node are path elements: `f:name` a field, `k:{"name":"c"}` an element of a list
by its key fields, `v:"x"` an element of a set by its value, `i:0` an element by its index. What a key leads to says
what is in the set:

    {}                       the path itself
    {"f:x": {}}              not the path, but its field x
    {".": {}, "f:x": {}}     both

A whole set is a node too, without a `.`; an empty set is `{}`. Nodes are never changed once they are made, so sets
share them.

Mirrors: sigs.k8s.io/structured-merge-diff/v6/fieldpath/{set,element,serialize,serialize-pe}.go (v1.36)
Differs: sets need not be read from and written to JSON, they are it.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

import orjson

from schedlab.apimachinery import gojson
from schedlab.apimachinery.schema import List, Map, Struct, Type

#: A tree as described above. It is a dict so that it can be written as JSON at once.
FieldSet: TypeAlias = dict[str, Any]
#: Path elements from the root to a field.
Path: TypeAlias = tuple[str, ...]

SELF: Final = "."

_KINDS: Final = {"f": 0, "k": 1, "v": 2, "i": 3}


class FieldSetError(ValueError):
    """A FieldsV1 that cannot be read."""


def of_paths(paths: Iterable[Iterable[str]]) -> FieldSet:
    """Make a set of fields named by their plain names: `[("metadata", "deletionTimestamp"), ("status",)]`."""
    root: FieldSet = {}
    for path in paths:
        names = [f"f:{name}" for name in path]
        node = root
        for name in names[:-1]:
            # A member that gets children must still say that it is one.
            child = node.get(name)
            if child is None:
                child = node[name] = {}
            elif not child:
                child[SELF] = {}
            node = child
        last = node.get(names[-1])
        node[names[-1]] = {} if last is None else {SELF: {}, **last}
    return root


def is_member(node: Mapping[str, Any]) -> bool:
    """Whether the path that leads to a node is in the set."""
    return not node or SELF in node


def children(node: FieldSet) -> FieldSet:
    """The part of a node below its path."""
    return {key: child for key, child in node.items() if key != SELF} if SELF in node else node


def with_self(below: FieldSet | None) -> FieldSet:
    """A node with its own path and what is below it."""
    if not below:
        return {}
    return below if SELF in below else {SELF: {}, **below}


def _node(below: FieldSet, *, member: bool) -> FieldSet | None:
    """A node from its two parts; None when there is nothing in it."""
    if member:
        return with_self(below)
    return below or None


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left or not right:
        return left or right
    out = dict(left)
    for key, other in right.items():
        mine = out.get(key)
        if mine is None:
            out[key] = other
        elif mine is not other:
            below = union(children(mine), children(other))
            out[key] = with_self(below) if is_member(mine) or is_member(other) else below
    return out


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    out: FieldSet = {}
    for key, mine in left.items():
        other = right.get(key)
        if other is not None:
            below = intersection(children(mine), children(other))
            node = _node(below, member=is_member(mine) and is_member(other))
            if node is not None:
                out[key] = node
    return out


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in the first set but not in the second, path by path."""
    if not left or not right:
        return left
    out: FieldSet = {}
    for key, mine in left.items():
        other = right.get(key)
        if other is None:
            out[key] = mine
            continue
        below = difference(children(mine), children(other))
        node = _node(below, member=is_member(mine) and not is_member(other))
        if node is not None:
            out[key] = node
    return out


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is in the first set but neither in the second nor below one of its paths."""
    if not left or not right:
        return left
    out: FieldSet = {}
    for key, mine in left.items():
        other = right.get(key)
        if other is None:
            out[key] = mine
        elif not is_member(other):
            node = _node(recursive_difference(children(mine), other), member=is_member(mine))
            if node is not None:
                out[key] = node
    return out


def contains(fields: FieldSet, path: Path) -> bool:
    node = fields
    for element in path:
        child = node.get(element)
        if child is None:
            return False
        node = child
    return bool(path) and is_member(node)


def iterate(fields: FieldSet) -> Iterator[Path]:
    """All paths of a set: in each node its members first, then what is below, both in order."""
    keys = sorted((key for key in fields if key != SELF), key=order)
    for key in keys:
        if is_member(fields[key]):
            yield (key,)
    for key in keys:
        for path in iterate(children(fields[key])):
            yield (key, *path)


def named_fields_as_members(fields: FieldSet, type: Type | None) -> FieldSet:
    """Add every declared field of a struct that has something below it."""
    out: FieldSet = {}
    for key, node in fields.items():
        below = children(node)
        if not below:
            out[key] = node
            continue
        inner = named_fields_as_members(below, _type_below(key, type))
        declared = key.startswith("f:") and isinstance(type, Struct) and key[2:] in type.fields
        out[key] = with_self(inner) if declared or is_member(node) else inner
    return out


def _type_below(key: str, type: Type | None) -> Type | None:
    if key.startswith("f:"):
        if isinstance(type, Struct):
            field = type.fields.get(key[2:])
            return field.type if field else None
        return type.element if isinstance(type, Map) else None
    return type.element if key.startswith("k:") and isinstance(type, List) else None


# --- path elements --------------------------------------------------------------------------------------------------


def key_element(names: tuple[str, ...], values: tuple[Any, ...]) -> str:
    """Path element of a list entry by the values of its key fields, which are given in order of their names."""
    if len(names) == 1 and values[0].__class__ is str:
        return _string_key(names[0], values[0])
    pairs = ",".join(f'"{name}":{_json(value)}' for name, value in zip(names, values, strict=True))
    return f"k:{{{pairs}}}"


@lru_cache(maxsize=4096)
def _string_key(name: str, value: str) -> str:
    return f'k:{{"{name}":{_json(value)}}}'


def value_element(value: Any) -> str:
    """Path element of an entry of a set."""
    return f"v:{_json(value)}"


def _json(value: Any) -> str:
    if value.__class__ is int:
        return str(value)
    return _json_text(value) if value.__class__ is str else gojson.marshal(value)


@lru_cache(maxsize=4096)
def _json_text(value: str) -> str:
    return gojson.marshal(value)


def show(path: Path) -> str:
    """Write a path as messages show it: `.spec.containers[name="c"].image`."""
    return "".join(map(show_element, path))


def show_element(element: str) -> str:
    kind, text = element[0], element[2:]
    if kind == "f":
        return f".{text}"
    if kind == "i":
        return f"[{text}]"
    value = orjson.loads(text)
    if kind == "v":
        return f"[={show_value(value)}]"
    return "[" + ",".join(f"{name}={show_value(value[name])}" for name in sorted(value)) + "]"


def show_value(value: Any) -> str:
    """Write a value as structured-merge-diff shows it."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return gojson.quote(value)
    if isinstance(value, list):
        return "[" + ",".join(map(show_value, value)) + "]"
    if isinstance(value, dict):
        return "".join(f"{name}={show_value(item)}" for name, item in value.items())
    return gojson.sprint(value)


@lru_cache(maxsize=4096)
def order(element: str) -> tuple[Any, ...]:
    """Sort key of a path element: fields by name, then keyed elements, values and indices."""
    kind, text = _KINDS[element[0]], element[2:]
    if kind == 0:
        return kind, text
    if kind == 3:
        return kind, int(text)
    value = orjson.loads(text)
    if kind == 2:
        return kind, _value_order(value)
    return kind, tuple((name, _value_order(value[name])) for name in sorted(value))


def _value_order(value: Any) -> tuple[int, Any]:
    """Numbers before texts before booleans, as structured-merge-diff compares values."""
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, (int, float)):
        return 0, value
    return (1, value) if isinstance(value, str) else (3, orjson.dumps(value))


def in_order(fields: FieldSet) -> FieldSet:
    """The same set with its keys in the order in which Kubernetes writes them."""
    out: FieldSet = {SELF: {}} if SELF in fields else {}
    for key in sorted((key for key in fields if key != SELF), key=order):
        node = fields[key]
        out[key] = in_order(node) if node else node
    return out


def read(fields: Any) -> FieldSet:
    """Check a FieldsV1 that came from a client and bring its path elements into their usual form.

    Elements of kinds that are not known are dropped. Raises FieldSetError.
    """
    if not isinstance(fields, dict):
        raise FieldSetError("expected an object")
    return _read_node(cast("FieldSet", fields), root=True)


def _read_node(node: FieldSet, *, root: bool = False) -> FieldSet:
    out: FieldSet = {}
    for key, child in node.items():
        if key == SELF:
            if not root:
                out[SELF] = {}
            continue
        element = _read_element(key)
        if not isinstance(child, dict):
            raise FieldSetError("expected an object")
        if element:
            out[element] = _read_node(child)
    return {} if out.keys() == {SELF} else out


def _read_element(text: str) -> str:
    """Return a path element in canonical form, empty when its kind is not known."""
    if len(text) < 2:
        raise FieldSetError("key must be 2 characters long:")
    if text[1] != ":":
        raise FieldSetError(f"missing colon: {text}")
    kind = text[0]
    if kind not in _KINDS:
        return ""
    if kind == "f":
        return text
    try:
        if kind == "i":
            return f"i:{int(text[2:])}"
        value = orjson.loads(text[2:])
    except ValueError as error:
        raise FieldSetError(str(error)) from None
    if kind == "v":
        return value_element(value)
    if not isinstance(value, dict):
        raise FieldSetError("expected an object of key fields")
    names = tuple(sorted(value))
    return key_element(names, tuple(value[name] for name in names))

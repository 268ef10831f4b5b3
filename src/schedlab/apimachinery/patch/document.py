"""JSON documents under patch: what was opened, and how Go writes the result.

The library that kube-apiserver patches with keeps untouched parts of a document as the text they came as and turns
the objects on the way to a change into Go maps, which are written with sorted keys. The result appears in error
messages, so a patch marks the objects that it opens.

Mirrors: gopkg.in/evanphx/json-patch.v4 lazyNode, as used by kube-apiserver v1.36
"""

from collections.abc import Mapping
from typing import Any

import orjson

from schedlab.apimachinery import gojson, json_reader
from schedlab.apimachinery.json_reader import JSONValue
from schedlab.apimachinery.schema import List, Map, Struct, Type


class Opened(dict[str, JSONValue]):
    """An object that a patch looked into."""

    __slots__ = ()


class PatchError(ValueError):
    """A patch that cannot be applied to the document."""


def open_object(value: Mapping[str, JSONValue]) -> Opened:
    """Return a copy that a patch may change."""
    return Opened(value)


def in_go_order(value: JSONValue, type: Type) -> JSONValue:
    """Order the keys of a stored object as kube-apiserver encodes them."""
    if isinstance(value, dict):
        if isinstance(type, Struct):
            known = {name: in_go_order(value[name], field.type) for name, field in type.fields.items() if name in value}
            known.update((name, item) for name, item in value.items() if name not in known)
            return known
        if isinstance(type, Map):
            return {name: in_go_order(value[name], type.element) for name in sorted(value)}
    if isinstance(value, list) and isinstance(type, List):
        return [in_go_order(item, type.element) for item in value]
    return value


def go_text(value: JSONValue) -> str:
    """Write a patched document: opened objects sorted, the rest in its own order, numbers as they were written."""
    if isinstance(value, dict):
        names = sorted(value) if isinstance(value, Opened) else value
        return "{" + ",".join(f"{_string(name)}:{go_text(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(go_text, value)) + "]"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, float):
        return json_reader.number_text(value)
    return orjson.dumps(value).decode()


def _string(text: str) -> str:
    return gojson.escape_html(orjson.dumps(text)).decode()


def same(left: Any, right: Any) -> bool:
    """Compare JSON values as texts: true is not 1, and 1.0 is not 1."""
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(same(item, right[name]) for name, item in left.items())
        )
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    return left == right and go_text(left) == go_text(right)

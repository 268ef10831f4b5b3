"""The short way of decoding makes what the long way makes, or leaves the value to it."""

import random
from typing import Any, Final

import pytest

from schedlab.apimachinery import plain_decode, schema, strict
from schedlab.apimachinery.json_reader import Repeated
from schedlab.apimachinery.plain_decode import Unusual
from schedlab.apimachinery.schema import List, Map, Scalar, Struct, Type

_KINDS: Final = ("Pod", "Node", "Service", "Event", "PersistentVolume", "Secret", "ConfigMap")
_TEXTS: Final = ("", "x", "1", "100m", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000001Z", "0001-01-01T00:00:00Z")
_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    7,
    -1,
    2**40,
    1.5,
    [],
    {},
    [1],
    {"a": 1},
    [None],
    {"a": None},
    *_TEXTS,
)


_FITTING: Final[dict[str, tuple[Any, ...]]] = {
    "string": _TEXTS,
    "boolean": (True, False),
    "integer": (0, 1, 2),
    "number": (0, 1.5, 2),
    "bytes": ("", "YWJj", "YW\nJj"),
    "quantity": ("1", "100m", "1Gi"),
    "time": (None, "2024-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    "micro-time": (None, "2024-01-01T00:00:00.000001Z"),
    "int-or-string": (0, 80, "http"),
}


def _random_value(dice: random.Random, type: Type, depth: int) -> Any:
    """A value that mostly fits its type."""
    if dice.random() < 0.03:
        return dice.choice(_VALUES)
    if isinstance(type, Scalar):
        return dice.choice(_FITTING[type.kind])
    if isinstance(type, Struct):
        names = list(type.fields)
        chosen = dice.sample(names, min(len(names), 0 if depth > 4 else 4))
        made = {name: _random_value(dice, type.fields[name].type, depth + 1) for name in chosen}
        return made if dice.random() < 0.98 else {**made, "bogus": 1}
    if isinstance(type, List):
        return [_random_value(dice, type.element, depth + 1) for _ in range(dice.randrange(3))]
    if isinstance(type, Map):
        return {key: _random_value(dice, type.element, depth + 1) for key in "ab"[: dice.randrange(3)]}
    return dice.choice(_VALUES)


@pytest.mark.parametrize("kind", _KINDS)
def test_both_ways_make_the_same(kind: str) -> None:
    dice = random.Random(kind)
    struct = schema.schema_for("", "v1", kind)
    plain = 0
    for _ in range(300):
        value = _random_value(dice, struct, 0)
        try:
            made = plain_decode.decode_object(value, struct)
        except Unusual:
            continue
        plain += 1
        walk = strict._Walk()
        assert list(walk.struct(value, struct).items()) == list(made.items())
        assert (walk.first_error, walk.strict_errors) == (None, {})
    assert plain > 60


def test_every_type_compiles() -> None:
    table = schema.builtin()
    for gvk in table.gvks():
        struct = table.find(gvk)
        assert struct is not None
        assert plain_decode.decode_object({}, struct) == strict._Walk().struct({}, struct)


@pytest.mark.parametrize(
    "value",
    [
        {"bogus": 1},
        {"data": {"a": 1}},
        {"data": {"a": None}},
        Repeated([("data", {}), ("data", {})]),
        {"data": Repeated([("a", "1"), ("a", "2")])},
        [],
    ],
)
def test_what_is_not_plain_is_left_to_the_long_way(value: Any) -> None:
    with pytest.raises(Unusual):
        plain_decode.decode_object(value, schema.schema_for("", "v1", "ConfigMap"))

"""What a creator owns is what a comparison with the empty object finds."""

import random
from typing import Any

import pytest

from schedlab.apimachinery import schema, strict
from schedlab.apimachinery.apply import fieldset, typed
from schedlab.apimachinery.apply.paths import created_paths
from schedlab.apimachinery.apply.shapes import TypedError
from schedlab.apimachinery.schema import List, Map, Scalar, Struct, Type

KINDS = ("Pod", "Node", "Service", "Event", "PersistentVolume", "Secret", "ConfigMap", "ReplicationController")
FITTING: dict[str, tuple[Any, ...]] = {
    "string": ("", "x", "y"),
    "boolean": (True, False),
    "integer": (0, 1),
    "number": (0, 1.5),
    "bytes": ("", "YWJj"),
    "quantity": ("0", "1"),
    "time": (None, "2024-01-01T00:00:00Z"),
    "micro-time": (None, "2024-01-01T00:00:00.000001Z"),
    "int-or-string": (0, "http"),
}


def random_value(dice: random.Random, type: Type, depth: int = 0) -> Any:
    if dice.random() < 0.1:
        return None
    if isinstance(type, Scalar):
        return dice.choice(FITTING[type.kind])
    if isinstance(type, Struct):
        names = list(type.fields)
        chosen = dice.sample(names, min(len(names), 5 if depth < 5 else 0))
        return {name: random_value(dice, type.fields[name].type, depth + 1) for name in chosen}
    if isinstance(type, List):
        return [random_value(dice, type.element, depth + 1) for _ in range(dice.randrange(4))]
    if isinstance(type, Map):
        return {key: random_value(dice, type.element, depth + 1) for key in "ab"[: dice.randrange(3)]}
    return dice.choice(({}, {"a": {"b": 1}}, 7))


def outcome(find: Any) -> Any:
    try:
        return find()
    except TypedError as error:
        return str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_created_paths_are_those_that_differ_from_nothing(kind: str) -> None:
    dice = random.Random(kind)
    struct = schema.schema_for("", "v1", kind)
    for _ in range(200):
        obj = strict.decode(random_value(dice, struct) or {}, struct).value

        def compared(obj: dict[str, Any] = obj) -> Any:
            found = typed.compare(struct.empty(), obj, struct)
            assert found.removed == {}
            return fieldset.union(found.modified, found.added)

        assert outcome(compared) == outcome(lambda obj=obj: created_paths(obj, struct))

"""Arguments of other people's plugins: typed, complete, and every mistake with its path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
import pytest

from schedlab.scheduler.framework.plugin_args import PluginArgsError, decode_args, fields_of


@dataclass
class Weight:
    label_key: str
    weight: Annotated[int, msgspec.Meta(ge=0, le=100)] = 1


@dataclass
class Args:
    reverse: bool = False
    node_label: str = "tier"
    ratio: float = 0.5
    limit: int | None = None
    weights: list[Weight] = field(default_factory=list)
    by_zone: dict[str, Weight] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    kind: str = ""

    def __post_init__(self) -> None:
        if self.ratio > 1:
            raise ValueError("ratio must not be above 1")


class StructArgs(msgspec.Struct, rename="camel"):
    max_pods: int
    nested: Weight | None = None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({}, Args()),
        ({"reverse": True, "nodeLabel": "disk", "ratio": 1}, Args(reverse=True, node_label="disk", ratio=1.0)),
        ({"limit": 3, "names": ["a", "b"]}, Args(limit=3, names=("a", "b"))),
        ({"limit": None, "reverse": None}, Args()),
        ({"weights": [{"labelKey": "a"}, {"labelKey": "b", "weight": 5}]}, Args(weights=[Weight("a"), Weight("b", 5)])),
        ({"byZone": {"z": {"labelKey": "a"}}}, Args(by_zone={"z": Weight("a")})),
        ({"apiVersion": "example.com/v1", "kind": "X"}, Args(kind="X")),
    ],
    ids=["defaults", "camel case", "optional", "null", "list", "map", "type fields"],
)
def test_mapping_becomes_the_dataclass(raw: dict[str, Any], expected: Args) -> None:
    assert decode_args(raw, Args) == expected


def test_struct_says_itself_what_its_fields_are_called() -> None:
    assert decode_args({"maxPods": 3, "nested": {"labelKey": "a"}}, StructArgs) == StructArgs(3, Weight("a"))
    assert fields_of(StructArgs) == ("maxPods", "nested")


@pytest.mark.parametrize(
    ("raw", "problems"),
    [
        ({"revers": True}, [(".revers", "unknown field")]),
        ({"node_label": "x"}, [(".node_label", "unknown field")]),
        ({"reverse": "yes"}, [(".reverse", "Expected `bool`, got `str`")]),
        ({"limit": 1.5}, [(".limit", "Expected `int`, got `float`")]),
        ({"weights": {}}, [(".weights", "Expected `array`, got `object`")]),
        ({"weights": [{"labelKey": "a"}, {"weigth": 1}]}, [(".weights[1].weigth", "unknown field"), (".weights[1].labelKey", "Required value")]),
        ({"byZone": {"z": 3}}, [(".byZone[z]", "Expected `object`, got `int`")]),
        ({"weights": [{"labelKey": "a", "weight": 101}]}, [(".weights[0].weight", "Expected `int` <= 100")]),
        ({"ratio": 2}, [("", "ratio must not be above 1")]),
        ({"reverse": 1, "x": 1}, [(".reverse", "Expected `bool`, got `int`"), (".x", "unknown field")]),
        ([], [("", "Expected `object`, got `list`")]),
    ],
)  # fmt: skip
def test_every_mistake_is_named_with_its_path(raw: object, problems: list[tuple[str, str]]) -> None:
    with pytest.raises(PluginArgsError) as caught:
        decode_args(raw, Args)

    assert list(caught.value.problems) == problems


@pytest.mark.parametrize(
    ("raw", "hint"),
    [
        ({"node_label": "x"}, "args.node_label: did you mean nodeLabel?"),
        ({"weights": [{"labelKey": "a", "zzz": 1}]}, "fields of args.weights[0] are: labelKey, weight"),
    ],
)
def test_hint_names_what_may_have_been_meant(raw: dict[str, Any], hint: str) -> None:
    with pytest.raises(PluginArgsError) as caught:
        decode_args(raw, Args)

    assert caught.value.hint == hint


def test_field_without_a_default_must_be_given() -> None:
    with pytest.raises(PluginArgsError, match=r"args\.maxPods: Required value"):
        decode_args({}, StructArgs)

"""The order in which the scheduler sees nodes."""

import pytest

from schedlab.scheduler.cache.node_tree import NodeTree
from schedlab.testing.builders import make_node


def tree_of(**zones: str) -> NodeTree:
    tree = NodeTree()
    for name, zone in zones.items():
        node = make_node(name)
        tree.set_node((node.zone(zone) if zone else node).view())
    return tree


@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        pytest.param({}, [], id="no nodes"),
        pytest.param({"a": "", "b": "", "c": ""}, ["a", "b", "c"], id="nodes without zone keep their order"),
        pytest.param(
            {"a": "z1", "b": "z1", "c": "z2", "d": "z3", "e": "z2"},
            ["a", "c", "d", "b", "e"],
            id="zones take turns in the order in which they appeared",
        ),
        pytest.param({"a": "", "b": "z1", "c": ""}, ["a", "b", "c"], id="having no zone is a zone of its own"),
    ],
)
def test_order(zones: dict[str, str], expected: list[str]) -> None:
    assert tree_of(**zones).names() == expected


def test_node_moves_to_the_end_of_its_new_zone_only_when_its_zone_changes() -> None:
    tree = tree_of(a="z1", b="z1", c="z2")

    tree.set_node(make_node("a").zone("z1").label("other", "label").view())
    assert tree.names() == ["a", "c", "b"]

    tree.set_node(make_node("a").zone("z2").view())
    assert tree.names() == ["b", "c", "a"]


def test_region_is_part_of_the_zone() -> None:
    tree = NodeTree()
    for name, region in (("a", "r1"), ("b", "r1"), ("c", "r2")):
        tree.set_node(make_node(name).zone("z", region).view())

    assert tree.names() == ["a", "c", "b"]


def test_zone_without_nodes_loses_its_turn() -> None:
    tree = tree_of(a="z1", b="z2", c="z1")

    tree.remove_node("a")
    tree.remove_node("c")
    tree.set_node(make_node("d").zone("z1").view())

    assert tree.names() == ["b", "d"]
    assert len(tree) == 2
    assert "a" not in tree


def test_copy_is_independent() -> None:
    tree = tree_of(a="z1", b="z2")
    other = tree.copy()

    other.remove_node("a")

    assert tree.names() == ["a", "b"]
    assert other.names() == ["b"]

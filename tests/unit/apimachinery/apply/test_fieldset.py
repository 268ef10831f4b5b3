"""Sets of fields: algebra, order, path elements."""

from typing import Any

import pytest

from schedlab.apimachinery import schema
from schedlab.apimachinery.apply import fieldset
from schedlab.apimachinery.apply.fieldset import FieldSet, FieldSetError

A: FieldSet = {"f:a": {}}
AB: FieldSet = {"f:a": {"f:b": {}}}
A_AB: FieldSet = {"f:a": {".": {}, "f:b": {}}}
AC: FieldSet = {"f:a": {"f:c": {}}}


@pytest.mark.parametrize(
    ("left", "right", "want"),
    [
        ({}, {}, {}),
        (A, {}, A),
        ({}, A, A),
        (A, AB, A_AB),
        (AB, A, A_AB),
        (AB, AC, {"f:a": {"f:b": {}, "f:c": {}}}),
        (A_AB, AC, {"f:a": {".": {}, "f:b": {}, "f:c": {}}}),
        (A, A, A),
    ],
)
def test_union(left: FieldSet, right: FieldSet, want: FieldSet) -> None:
    assert want == fieldset.union(left, right)


@pytest.mark.parametrize(
    ("left", "right", "want"),
    [(A, AB, {}), (A_AB, AB, AB), (A_AB, A, A), (AB, AC, {}), (A_AB, A_AB, A_AB), ({}, A, {})],
)
def test_intersection(left: FieldSet, right: FieldSet, want: FieldSet) -> None:
    assert want == fieldset.intersection(left, right)


@pytest.mark.parametrize(
    ("left", "right", "want"),
    [(A, AB, A), (A_AB, AB, A), (A_AB, A, AB), (AB, AB, {}), (A_AB, A_AB, {}), (A, {}, A), ({}, A, {})],
)
def test_difference_goes_path_by_path(left: FieldSet, right: FieldSet, want: FieldSet) -> None:
    assert want == fieldset.difference(left, right)


@pytest.mark.parametrize(
    ("left", "right", "want"),
    [(A, AB, A), (A_AB, AB, A), (A_AB, A, {}), (AB, A, {}), (AB, AB, {}), (AB, AC, AB)],
)
def test_recursive_difference_takes_what_is_below_too(left: FieldSet, right: FieldSet, want: FieldSet) -> None:
    assert want == fieldset.recursive_difference(left, right)


@pytest.mark.parametrize(
    ("path", "inside"), [(("f:a",), True), (("f:a", "f:b"), True), (("f:a", "f:c"), False), ((), False)]
)
def test_contains(path: tuple[str, ...], inside: object) -> None:
    assert inside is fieldset.contains(A_AB, path)


def test_a_path_to_a_field_below_is_not_the_field() -> None:
    assert not fieldset.contains(AB, ("f:a",))


def test_iteration_lists_members_before_what_is_below() -> None:
    fields: FieldSet = {"f:b": {}, "f:a": {".": {}, "f:z": {}, 'k:{"name":"x"}': {}}}

    assert list(fieldset.iterate(fields)) == [
        ("f:a",),
        ("f:b",),
        ("f:a", "f:z"),
        ("f:a", 'k:{"name":"x"}'),
    ]


def test_sets_are_made_of_plain_names() -> None:
    assert fieldset.of_paths([("a",), ("a", "b"), ("c", "d")]) == {"f:a": {".": {}, "f:b": {}}, "f:c": {"f:d": {}}}
    assert fieldset.of_paths([("a", "b"), ("a",)]) == {"f:a": {".": {}, "f:b": {}}}


@pytest.mark.parametrize(
    ("element", "shown"),
    [
        ("f:image", ".image"),
        ("f:example.com/x", ".example.com/x"),
        ('k:{"name":"c"}', '[name="c"]'),
        ('k:{"containerPort":80,"protocol":"TCP"}', '[containerPort=80,protocol="TCP"]'),
        ('v:"a"', '[="a"]'),
        ("v:1.5", "[=1.5]"),
        ("v:true", "[=true]"),
        ("i:3", "[3]"),
    ],
)
def test_path_elements_are_shown_as_messages_show_them(element: str, shown: str) -> None:
    assert shown == fieldset.show((element,))


def test_key_elements_are_json_with_html_characters_escaped() -> None:
    assert fieldset.key_element(("name",), ("<a>",)) == 'k:{"name":"\\u003ca\\u003e"}'
    assert fieldset.key_element(("containerPort", "protocol"), (80, "TCP")) == (
        'k:{"containerPort":80,"protocol":"TCP"}'
    )


def test_keys_come_in_the_order_kubernetes_writes_them() -> None:
    fields: FieldSet = {
        "i:10": {},
        "i:9": {},
        'v:"b"': {},
        "v:2": {},
        'k:{"port":80}': {},
        'k:{"port":9}': {},
        "f:b": {},
        "f:a": {},
    }

    assert list(fieldset.in_order(fields)) == [
        "f:a",
        "f:b",
        'k:{"port":9}',
        'k:{"port":80}',
        "v:2",
        'v:"b"',
        "i:9",
        "i:10",
    ]


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ({"f:a": {}}, {"f:a": {}}),
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({'k:{ "b":1, "a":"x" }': {"f:y": {}}}, {'k:{"a":"x","b":1}': {"f:y": {}}}),
        ({"x:future": {}, "f:a": {}}, {"f:a": {}}),
        ({"f:a": {"x:future": {}}}, {"f:a": {}}),
        ({".": {}, "f:a": {}}, {"f:a": {}}),
    ],
)
def test_foreign_sets_are_brought_into_canonical_form(given: FieldSet, want: FieldSet) -> None:
    assert want == fieldset.read(given)


@pytest.mark.parametrize("given", [{"a": {}}, {"ab": {}}, {"f:a": 1}, {"i:x": {}}, {"k:x": {}}, {"k:1": {}}, []])
def test_sets_that_cannot_be_read(given: Any) -> None:
    with pytest.raises(FieldSetError):
        fieldset.read(given)


def test_declared_fields_with_something_below_become_members_and_others_do_not() -> None:
    pod = schema.schema_for("", "v1", "Pod")
    fields: FieldSet = {
        "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {"f:containers": {'k:{"name":"c"}': {"f:image": {}}}},
    }

    assert fieldset.named_fields_as_members(fields, pod) == {
        "f:metadata": {".": {}, "f:labels": {".": {}, "f:a": {}}},
        "f:spec": {".": {}, "f:containers": {".": {}, 'k:{"name":"c"}': {"f:image": {}}}},
    }

"""Typed values: validation, field sets, comparison, merge, removal."""

from typing import Any

import pytest

from schedlab.apimachinery import schema
from schedlab.apimachinery.apply import shapes, typed
from schedlab.apimachinery.apply.fieldset import FieldSet
from schedlab.apimachinery.apply.shapes import TypedError
from schedlab.apimachinery.schema import Field, List, Map, Scalar, Struct, Untyped

POD = schema.schema_for("", "v1", "Pod")
TEXT = Scalar("string", "string")


def thing() -> Struct:
    """A small type with one field of every shape."""
    part = Struct("test.v1.Part")
    part.fields = {"name": Field("name", TEXT, {}), "port": Field("port", Scalar("integer", "int32"), {"o": 1})}
    whole = Struct("test.v1.Thing")
    types: dict[str, schema.Type] = {
        "text": TEXT,
        "number": Scalar("integer", "int32"),
        "flag": Scalar("boolean", "bool"),
        "size": Scalar("quantity", "resource.Quantity"),
        "part": part,
        "atomicPart": part.variant(atomic=True),
        "labels": Map(TEXT, "map[string]string"),
        "atomicLabels": Map(TEXT, "map[string]string", atomic=True),
        "list": List(part, "[]v1.Part", "map", ["name"]),
        "set": List(TEXT, "[]string", "set"),
        "atomicList": List(part, "[]v1.Part"),
        "any": Untyped("interface {}", atomic=False),
        "raw": Untyped("runtime.RawExtension", atomic=True),
    }
    whole.fields = {name: Field(name, kind, {"o": 1}) for name, kind in types.items()}
    return whole


THING = thing()


# --- validation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"text": None, "list": None, "part": None},
        {"number": 1.5, "size": 1, "raw": [1], "any": {"x": [{"y": None}]}},
        {"list": [{"name": "a"}, {"name": "b"}], "set": ["a", "b"]},
    ],
)
def test_values_that_fit_are_accepted(value: dict[str, Any]) -> None:
    typed.validate(value, THING)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"bogus": 1}, ".bogus: field not declared in schema"),
        ({"part": {"bogus": 1}}, ".part.bogus: field not declared in schema"),
        ({"list": [{"name": "c", "x": 1}]}, '.list[name="c"].x: field not declared in schema'),
        ({"atomicList": [{"x": 1}]}, ".atomicList[0].x: field not declared in schema"),
        ({"text": 1}, ".text: expected string, got &value.valueUnstructured{Value:1}"),
        (
            {"text": {"a": ["b"]}},
            (
                '.text: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":'
                '[]interface {}{"b"}}}'
            ),
        ),
        ({"number": "x"}, ".number: expected numeric (int or float), got string"),
        ({"number": True}, ".number: expected numeric (int or float), got bool"),
        ({"flag": "x"}, ".flag: expected boolean, got &{x}"),
        ({"size": {}}, ".size: expected any scalar, got &{map[]}"),
        ({"list": "x"}, ".list: expected list, got &{x}"),
        ({"part": [1]}, ".part: expected map, got &{[1]}"),
        ({"labels": {"a": 1}}, ".labels.a: expected string, got &value.valueUnstructured{Value:1}"),
        ({"list": [{"name": "d"}, {"name": "d"}]}, '.list: duplicate entries for key [name="d"]'),
        ({"set": ["q", "q"]}, '.set: duplicate entries for key [="q"]'),
        ({"list": [None]}, ".list: element 0: associative list with keys may not have a null element"),
        ({"list": ["x"]}, ".list: element 0: associative list with keys may not have non-map elements"),
        ({"set": [{}]}, ".set: element 0: associative list without keys has an element that's a map type"),
        ({"set": [[]]}, ".set: element 0: not supported: associative list with lists as elements"),
        ({"set": [None]}, ".set: element 0: associative list without keys has an element that's an explicit null"),
        (
            {"text": 1, "number": "x"},
            (
                "errors:\n  .text: expected string, got &value.valueUnstructured{Value:1}\n"
                "  .number: expected numeric (int or float), got string"
            ),
        ),
    ],
    ids=str,
)
def test_values_that_do_not_fit_are_reported_in_upstreams_words(value: dict[str, Any], message: str) -> None:
    with pytest.raises(TypedError) as caught:
        typed.validate(value, THING)

    assert message == str(caught.value)


def test_an_element_without_any_key_is_refused_unless_the_key_has_a_default() -> None:
    typed.validate({"spec": {"containers": [{"ports": [{}]}]}}, POD)
    keyed = List(THING, "[]v1.Thing", "map", ["text", "number"])
    with pytest.raises(shapes.ElementError) as caught:
        shapes.element_of(keyed, {})
    assert str(caught.value) == (
        'associative list with keys has an element that omits all key fields ["number" "text"] '
        "(and doesn't have default values for any key fields)"
    )


def test_missing_key_fields_take_their_defaults() -> None:
    container = POD.fields["spec"].type
    assert isinstance(container, Struct)
    ports = container.fields["containers"].type
    assert isinstance(ports, List)
    assert isinstance(ports.element, Struct)
    port_list = ports.element.fields["ports"].type
    assert isinstance(port_list, List)

    assert shapes.element_of(port_list, {"containerPort": 80}) == 'k:{"containerPort":80,"protocol":"TCP"}'


# --- field sets -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "want"),
    [
        ({"text": "x"}, {"f:text": {}}),
        ({"text": None}, {"f:text": {}}),
        ({"part": {"name": "a"}}, {"f:part": {"f:name": {}}}),
        ({"part": {}}, {"f:part": {}}),
        ({"part": None}, {"f:part": {}}),
        ({"atomicPart": {"name": "a"}}, {"f:atomicPart": {}}),
        ({"labels": {"a": "1"}}, {"f:labels": {"f:a": {}}}),
        ({"atomicLabels": {"a": "1"}}, {"f:atomicLabels": {}}),
        ({"list": [{"name": "a", "port": 1}]}, {"f:list": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:port": {}}}}),
        ({"list": []}, {}),
        ({"list": None}, {"f:list": {}}),
        ({"set": ["a"]}, {"f:set": {'v:"a"': {}}}),
        ({"atomicList": []}, {"f:atomicList": {}}),
        ({"any": {"x": {"y": 1}, "z": [1]}}, {"f:any": {"f:x": {".": {}, "f:y": {}}, "f:z": {}}}),
        ({"raw": {"x": 1}}, {"f:raw": {}}),
    ],
    ids=str,
)
def test_an_applied_configuration_owns_its_leaves_and_list_elements(value: dict[str, Any], want: FieldSet) -> None:
    assert want == typed.field_set(value, THING)


# --- comparison -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        ({"text": "a"}, {"text": "a"}, {}, {}, {}),
        ({"text": "a"}, {"text": "b"}, {}, {"f:text": {}}, {}),
        ({}, {"text": "b"}, {"f:text": {}}, {}, {}),
        ({"text": "b"}, {}, {}, {}, {"f:text": {}}),
        ({"number": 1}, {"number": 1.0}, {}, {}, {}),
        ({}, {"part": {"name": "a"}}, {"f:part": {".": {}, "f:name": {}}}, {}, {}),
        ({"part": {}}, {"part": {"name": "a"}}, {"f:part": {"f:name": {}}}, {}, {}),
        ({"part": None}, {"part": {}}, {}, {"f:part": {}}, {}),
        ({"atomicPart": {"name": "a"}}, {"atomicPart": {"name": "b"}}, {}, {"f:atomicPart": {}}, {}),
        (
            {"labels": {"a": "1", "b": "1"}},
            {"labels": {"a": "2"}},
            {},
            {"f:labels": {"f:a": {}}},
            {"f:labels": {"f:b": {}}},
        ),
        (
            {"list": [{"name": "a", "port": 1}]},
            {"list": [{"name": "b"}, {"name": "a", "port": 2}]},
            {"f:list": {'k:{"name":"b"}': {".": {}, "f:name": {}}}},
            {"f:list": {'k:{"name":"a"}': {"f:port": {}}}},
            {},
        ),
        ({"list": [{"name": "a"}]}, {"list": None}, {}, {}, {"f:list": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}),
        ({"list": None}, {"list": []}, {}, {"f:list": {}}, {}),
        ({"set": ["a"]}, {"set": ["b"]}, {"f:set": {'v:"b"': {}}}, {}, {"f:set": {'v:"a"': {}}}),
        ({"set": ["a", "b"]}, {"set": ["b", "a"]}, {}, {}, {}),
        ({"atomicList": [{"name": "a"}]}, {"atomicList": []}, {}, {"f:atomicList": {}}, {}),
        ({"any": {"x": 1}}, {"any": {"x": 2, "y": 1}}, {"f:any": {"f:y": {}}}, {"f:any": {"f:x": {}}}, {}),
        ({"any": {"x": 1}}, {"any": [1]}, {}, {"f:any": {}}, {"f:any": {"f:x": {}}}),
        ({"raw": {"x": 1}}, {"raw": {"x": 2}}, {}, {"f:raw": {}}, {}),
    ],
    ids=str,
)
def test_comparing_tells_what_was_added_modified_and_removed(
    old: dict[str, Any], new: dict[str, Any], added: FieldSet, modified: FieldSet, removed: FieldSet
) -> None:
    got = typed.compare(old, new, THING)

    assert (added, modified, removed) == (got.added, got.modified, got.removed)


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        (["a"], ["a", "a"], {'v:"a"': {}}, {}, {'v:"a"': {}}),
        (["a", "a"], ["a"], {'v:"a"': {}}, {}, {'v:"a"': {}}),
        (["a", "a"], ["a", "a"], {}, {}, {}),
        (["a", "a"], ["a", "a", "a"], {}, {'v:"a"': {}}, {}),
    ],
)
def test_duplicate_elements_count_as_a_whole(
    old: list[str], new: list[str], added: FieldSet, modified: FieldSet, removed: FieldSet
) -> None:
    got = typed.compare({"set": old}, {"set": new}, THING)

    assert (added, modified, removed) == tuple(part.get("f:set", {}) for part in (got.added, got.modified, got.removed))


# --- merge ----------------------------------------------------------------------------------------------------------


def items(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("live", "config", "want"),
    [
        ({"text": "a", "number": 1}, {"text": "b"}, {"text": "b", "number": 1}),
        ({"text": "a"}, {"text": None}, {"text": None}),
        ({"part": {"name": "a", "port": 1}}, {"part": {"port": 2}}, {"part": {"name": "a", "port": 2}}),
        ({"atomicPart": {"name": "a", "port": 1}}, {"atomicPart": {"port": 2}}, {"atomicPart": {"port": 2}}),
        ({"labels": {"a": "1"}}, {"labels": {"b": "2"}}, {"labels": {"a": "1", "b": "2"}}),
        ({"labels": {"a": "1"}}, {"labels": None}, {"labels": {"a": "1"}}),
        ({"labels": None}, {"labels": {}}, {"labels": {}}),
        ({"set": ["a", "b"]}, {"set": ["c", "b"]}, {"set": ["a", "c", "b"]}),
        (
            {"list": [{"name": "a", "port": 1}]},
            {"list": [{"name": "a", "port": 2}]},
            {"list": [{"name": "a", "port": 2}]},
        ),
        ({"atomicList": items("a")}, {"atomicList": items("b")}, {"atomicList": items("b")}),
        ({"any": {"x": {"y": 1}}}, {"any": {"x": {"z": 2}}}, {"any": {"x": {"y": 1, "z": 2}}}),
        ({"any": {"x": 1}}, {"any": 5}, {"any": 5}),
        ({"any": 5}, {"any": {"x": 1}}, {"any": {"x": 1}}),
    ],
    ids=str,
)
def test_merging_a_configuration_into_an_object(
    live: dict[str, Any], config: dict[str, Any], want: dict[str, Any]
) -> None:
    assert want == typed.merge(live, config, THING)


@pytest.mark.parametrize(
    ("live", "config", "want"),
    [
        ("abc", "", "abc"),
        ("", "abc", "abc"),
        ("abc", "cba", "cba"),
        ("abc", "xc", "abxc"),
        ("abc", "bx", "abcx"),
        ("abcd", "da", "bcda"),
        ("axb", "ba", "xba"),
    ],
)
def test_the_order_of_the_configuration_holds_and_other_elements_stay(live: str, config: str, want: str) -> None:
    got = typed.merge({"list": items(*live)}, {"list": items(*config)}, THING)

    assert want == "".join(item["name"] for item in got["list"])


def test_a_duplicate_in_the_configuration_cannot_be_merged() -> None:
    with pytest.raises(TypedError, match="duplicate entries for key"):
        typed.merge({"set": ["a"]}, {"set": ["b", "b"]}, THING)


# --- removal --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "fields", "want"),
    [
        ({"text": "a", "number": 1}, {"f:text": {}}, {"number": 1}),
        ({"part": {"name": "a"}}, {"f:part": {"f:name": {}}}, {"part": {}}),
        ({"list": items("a", "b")}, {"f:list": {'k:{"name":"a"}': {}}}, {"list": items("b")}),
        ({"list": items("a")}, {"f:list": {'k:{"name":"a"}': {}}}, {"list": []}),
        (
            {"list": [{"name": "a", "port": 1}]},
            {"f:list": {'k:{"name":"a"}': {"f:port": {}}}},
            {"list": [{"name": "a"}]},
        ),
        ({"set": ["a", "b"]}, {"f:set": {'v:"b"': {}}}, {"set": ["a"]}),
        ({"labels": {"a": "1", "b": "2"}}, {"f:labels": {"f:a": {}}}, {"labels": {"b": "2"}}),
        ({"text": "a"}, {"f:other": {}}, {"text": "a"}),
    ],
    ids=str,
)
def test_removing_fields(value: dict[str, Any], fields: FieldSet, want: dict[str, Any]) -> None:
    assert want == typed.remove(value, fields, THING)


def test_sets_with_parts_of_what_became_atomic_own_it_as_a_whole() -> None:
    fields: FieldSet = {
        "f:atomicPart": {"f:name": {}},
        "f:atomicList": {".": {}, "i:0": {}},
        "f:part": {"f:name": {}},
        "f:unknown": {"f:x": {}},
    }

    assert typed.reconcile(fields, THING) == {
        "f:atomicPart": {},
        "f:atomicList": {},
        "f:part": {"f:name": {}},
        "f:unknown": {"f:x": {}},
    }


def test_sets_that_fit_are_left_as_they_are() -> None:
    fields: FieldSet = {"f:part": {"f:name": {}}}

    assert typed.reconcile(fields, THING) is fields


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ({"set": ["a"]}, {"set": "a"}, "expected list, got &{a}"),
        ({"set": {"a": 1}}, {"set": ["a"]}, "expected list, got &{map[a:1]}"),
        ({"labels": [1]}, {"labels": {"a": "1"}}, "expected map, got &{[1]}"),
    ],
)
def test_values_of_other_types_are_neither_compared_nor_merged(
    left: dict[str, Any], right: dict[str, Any], message: str
) -> None:
    """Stored objects may not fit their type, when that has changed: it is said, not stumbled over."""
    for walk in (typed.compare, typed.merge):
        with pytest.raises(TypedError) as caught:
            walk(left, right, thing())
        assert str(caught.value) == message

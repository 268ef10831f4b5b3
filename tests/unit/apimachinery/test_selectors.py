"""Label selectors: grammar, matching, and what is said about malformed ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from schedlab.apimachinery import selectors
from schedlab.apimachinery.field import Path
from schedlab.apimachinery.selectors import Operator, Requirement, Selector, SelectorError

KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        ("  ", ""),
        ("a=b", "a=b"),
        ("a==b", "a==b"),
        ("a != b", "a!=b"),
        ("a=", "a="),
        ("a=,b", "a=,b"),
        ("b,a", "a,b"),
        ("!a", "!a"),
        ("a in (c,b,b)", "a in (b,c)"),
        ("a notin (b)", "a notin (b)"),
        ("a in ()", "a in ()"),
        ("a in (,b,,c,)", "a in (,b,c)"),
        ("a in (in,notin)", "a in (in,notin)"),
        ("in in (a)", "in in (a)"),
        ("notin=in", "notin=in"),
        ("n>3,m<5", "m<5,n>3"),
        ("example.com/a\t=\nb", "example.com/a=b"),
    ],
)
def test_a_selector_parses_and_prints_sorted_by_key(text: str, printed: str) -> None:
    parsed = selectors.parse(text)

    assert str(parsed) == printed
    assert selectors.parse(printed) == parsed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a=!", "unable to parse requirement: found '!', expected: identifier"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a(", "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt"),
        ("é=b", f'unable to parse requirement: <nil>: Invalid value: "é": {KEY_RULE}'),
        (
            "a>b",
            (
                'unable to parse requirement: values[0]: Invalid value: "b": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ),
        ),
    ],
)
def test_a_malformed_selector_is_refused_with_upstreams_text(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as raised:
        selectors.parse(text)

    assert str(raised.value) == message


def test_a_bad_value_names_the_label_it_belongs_to() -> None:
    with pytest.raises(SelectorError, match=r"^unable to parse requirement: values\[0\]\[a\]: Invalid value: \"b;c\""):
        selectors.parse("a=b;c")


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("", {}, True),
        ("a=b", {"a": "b", "c": "d"}, True),
        ("a=b", {"a": "c"}, False),
        ("a=", {}, False),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("a in (b,c)", {"a": "c"}, True),
        ("a in (b,c)", {}, False),
        ("a notin (b)", {}, True),
        ("a notin (b,c)", {"a": "c"}, False),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("n>3", {"n": "4"}, True),
        ("n>3", {"n": "3"}, False),
        ("n<3", {"n": "+2"}, True),
        ("n<3", {"n": "two"}, False),
        ("n<3", {}, False),
        ("n<3", {"n": "-9223372036854775809"}, False),
        ("a=b,!c", {"a": "b"}, True),
        ("a=b,!c", {"a": "b", "c": "d"}, False),
    ],
)
def test_every_requirement_must_match(text: str, labels: Mapping[str, str], expected: bool) -> None:  # noqa: FBT001
    parsed = selectors.parse(text)

    assert parsed.matches(labels) is expected
    assert all(requirement.matches(labels) for requirement in parsed.requirements) is expected


def test_nothing_matches_no_labels_and_stays_that_way() -> None:
    nothing = selectors.nothing()

    assert not nothing.matches({})
    assert not nothing.is_empty
    assert str(nothing) == ""
    assert nothing.with_requirements(Requirement("a", Operator.EXISTS)) is nothing
    assert nothing != selectors.everything()
    assert selectors.everything().matches({})
    assert selectors.everything().is_empty


def test_selectors_are_values() -> None:
    one, other = selectors.parse("a=b,c"), selectors.parse("c,a=b")

    assert one == other
    assert len({one, other}) == 1
    assert one != "a=b,c"
    assert str(one.with_requirements(Requirement("b", Operator.EXISTS))) == "a=b,b,c"
    assert repr(one) == "Selector('a=b,c')"


def test_a_selector_tells_the_only_value_a_label_may_have() -> None:
    parsed = selectors.parse("a=b,c in (d),e in (f,g),h")

    assert [parsed.required_value(key) for key in "acehz"] == ["b", "d", None, None, None]


@pytest.mark.parametrize(
    ("label_selector", "printed"),
    [
        (None, "<none>"),
        ({}, "<none>"),
        ({"matchLabels": {"b": "c", "a": "b"}}, "a=b,b=c"),
        (
            {
                "matchLabels": {"a": "b"},
                "matchExpressions": [
                    {"key": "z", "operator": "NotIn", "values": ["2", "1"]},
                    {"key": "c", "operator": "DoesNotExist"},
                    {"key": "b", "operator": "Exists", "values": []},
                ],
            },
            "a=b,b,!c,z notin (1,2)",
        ),
        ({"matchExpressions": [{"key": "a", "operator": "Bogus"}]}, "<error>"),
    ],
)
def test_a_label_selector_object_prints_as_a_selector(label_selector: Mapping[str, Any] | None, printed: str) -> None:
    assert selectors.label_selector_text(label_selector) == printed


def test_an_absent_label_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert selectors.from_label_selector(None) == selectors.nothing()
    assert selectors.from_label_selector({}) == selectors.everything()
    assert selectors.from_map(None) == selectors.everything()
    assert str(selectors.from_map({"b": "c", "a": "x y"})) == "a=x y,b=c"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ({"key": "a", "operator": "Gt", "values": ["1"]}, '"Gt" is not a valid label selector operator'),
        (
            {"key": "a", "operator": "In"},
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["b"]},
            'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
        ),
    ],
)
def test_a_bad_label_selector_cannot_be_made_a_selector(expression: Mapping[str, Any], message: str) -> None:
    with pytest.raises(SelectorError) as raised:
        selectors.from_label_selector({"matchExpressions": [expression]})

    assert str(raised.value) == message


def test_a_label_selector_in_an_object_is_validated_field_by_field() -> None:
    errors = selectors.validate_label_selector(
        {
            "matchLabels": {"a": "b c"},
            "matchExpressions": [
                {"key": "a", "operator": "In"},
                {"key": "a", "operator": "Exists", "values": ["b"]},
                {"key": "", "operator": "Bogus", "values": ["x y"]},
            ],
        },
        Path("spec", "selector"),
    )

    assert [(error.field, error.body.split(" (e.g.", maxsplit=1)[0][:60]) for error in errors] == [
        ("spec.selector.matchLabels", 'Invalid value: "b c": a valid label must be an empty string '),
        ("spec.selector.matchExpressions[0].values", "Required value: must be specified when `operator` is 'In' or"),
        ("spec.selector.matchExpressions[1].values", "Forbidden: may not be specified when `operator` is 'Exists' "),
        ("spec.selector.matchExpressions[2].operator", 'Invalid value: "Bogus": not a valid selector operator'),
        ("spec.selector.matchExpressions[2].key", 'Invalid value: "": name part must be non-empty'),
        ("spec.selector.matchExpressions[2].key", 'Invalid value: "": name part must consist of alphanumeric ch'),
        ("spec.selector.matchExpressions[2].values[0]", 'Invalid value: "x y": a valid label must be an empty string '),
    ]


def test_validation_can_leave_out_what_old_objects_may_have() -> None:
    expression = {"key": "a", "operator": "Bogus", "values": ["x y"]}

    errors = selectors.validate_label_selector(
        {"matchExpressions": [expression]}, Path("s"), allow_invalid_values=True, allow_unknown_operator=True
    )

    assert errors == []
    assert selectors.validate_label_selector(None, Path("s")) == []


@pytest.mark.parametrize(
    ("expressions", "labels", "expected"),
    [
        (None, {}, False),
        ([], {}, False),
        ([{"key": "a", "operator": "In", "values": ["b"]}], {"a": "b"}, True),
        ([{"key": "a", "operator": "NotIn", "values": ["b"]}], {}, True),
        ([{"key": "a", "operator": "Exists"}], {"a": ""}, True),
        ([{"key": "a", "operator": "DoesNotExist"}], {"a": ""}, False),
        ([{"key": "a", "operator": "Gt", "values": ["5"]}], {"a": "6"}, True),
        ([{"key": "a", "operator": "Lt", "values": ["5"]}], {"a": "6"}, False),
    ],
)
def test_node_selector_expressions_are_requirements(
    expressions: Sequence[Mapping[str, Any]] | None,
    labels: Mapping[str, str],
    expected: bool,  # noqa: FBT001
) -> None:
    assert selectors.from_node_selector_requirements(expressions).matches(labels) is expected


def test_bad_node_selector_expressions_are_reported_together() -> None:
    with pytest.raises(SelectorError) as raised:
        selectors.from_node_selector_requirements(
            [
                {"key": "a", "operator": "Bogus"},
                {"key": "a", "operator": "Gt", "values": ["x"]},
                {"key": "a", "operator": "Lt"},
            ],
            Path("p"),
        )

    assert [str(error) for error in raised.value.errors] == [
        (
            'p[0].operator: Unsupported value: "Bogus": '
            'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
        ),
        "p[1].values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        "p[2].values: Invalid value: null: for 'Gt', 'Lt' operators, exactly one value is required",
    ]
    assert str(raised.value) == "[" + ", ".join(map(str, raised.value.errors)) + "]"


def test_an_unknown_operator_of_a_requirement_lists_the_known_ones() -> None:
    with pytest.raises(SelectorError) as raised:
        selectors.new_requirement("a", "~", None)

    assert str(raised.value) == (
        'operator: Unsupported value: "~": supported values: "in", "notin", "=", "==", "!=", "gt", "lt", "exists", "!"'
    )


def test_equality_needs_one_value() -> None:
    with pytest.raises(SelectorError, match="exact-match compatibility requires one single value"):
        selectors.new_requirement("a", Operator.EQUALS, ["b", "c"])
    assert not Selector([Requirement("a", Operator.GREATER_THAN, ("1", "2"))]).matches({"a": "3"})

"""Field selectors: grammar, escapes, and the fields a kind supports."""

from collections.abc import Mapping

import pytest

from schedlab.apimachinery import field_selectors
from schedlab.apimachinery.field import Path
from schedlab.apimachinery.field_selectors import DEFAULT_FIELD_LABELS, FieldLabels
from schedlab.apimachinery.selectors import SelectorError


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        (",", ""),
        ("=", ""),
        ("b=c,a=b", "a=b,b=c"),
        ("a==b", "a=b"),
        ("a!=b", "a!=b"),
        ("a=", "a="),
        ("=b", "=b"),
        (r"a=b\,c\=d\\", r"a=b\,c\=d\\"),
        ("a=b c", "a=b c"),
    ],
)
def test_a_field_selector_parses_and_prints_sorted(text: str, printed: str) -> None:
    assert str(field_selectors.parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\b", r"invalid field selector: invalid escape sequence: \b"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_a_malformed_field_selector_is_refused_with_upstreams_text(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as raised:
        field_selectors.parse(text)

    assert str(raised.value) == message


def test_a_bare_comma_cannot_be_unescaped() -> None:
    with pytest.raises(SelectorError, match="unescaped character in value: 44"):
        field_selectors.unescape_value("a,b")


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a=b", {}, False),
        ("a=", {}, True),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("a!=,b=c", {"a": "x", "b": "c"}, True),
    ],
)
def test_an_absent_field_is_an_empty_one(text: str, fields: Mapping[str, str], expected: bool) -> None:  # noqa: FBT001
    assert field_selectors.parse(text).matches(fields) is expected


def test_a_field_selector_tells_the_only_value_a_field_may_have() -> None:
    parsed = field_selectors.parse("a=b,c!=d")

    assert [parsed.required_value(name) for name in "acz"] == ["b", None, None]
    assert not parsed.is_empty
    assert field_selectors.everything().is_empty


def test_a_kind_refuses_fields_it_does_not_support_in_its_own_words() -> None:
    pods = FieldLabels(frozenset(("spec.nodeName",)), aliases={"spec.host": "spec.nodeName"})

    assert str(field_selectors.parse("spec.host=n", pods)) == "spec.nodeName=n"
    with pytest.raises(SelectorError, match=r"^field label not supported: spec\.x$"):
        field_selectors.parse("spec.x=1", pods)
    with pytest.raises(SelectorError) as raised:
        field_selectors.parse("metadata.uid!=1", DEFAULT_FIELD_LABELS)
    assert str(raised.value) == (
        '"metadata.uid" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )


def test_node_selector_fields_take_one_value() -> None:
    selector = field_selectors.from_node_selector_fields(
        [
            {"key": "metadata.name", "operator": "In", "values": ["n"]},
            {"key": "metadata.name", "operator": "NotIn", "values": ["m"]},
        ]
    )

    assert str(selector) == "metadata.name=n,metadata.name!=m"


def test_bad_node_selector_fields_are_reported_together() -> None:
    with pytest.raises(SelectorError) as raised:
        field_selectors.from_node_selector_fields(
            [{"key": "a", "operator": "Exists"}, {"key": "a", "operator": "In", "values": ["b", "c"]}], Path("p")
        )

    assert [str(error) for error in raised.value.errors] == [
        'p[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"',
        'p[1].values: Invalid value: ["b","c"]: must have one element',
    ]

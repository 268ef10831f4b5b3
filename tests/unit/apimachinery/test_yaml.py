"""YAML: the JSON it stands for, and Go's words about what is malformed."""

from typing import Any

import orjson
import pytest

from schedlab.apimachinery import yaml
from schedlab.apimachinery.yaml import YAMLError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# only a comment", None),
        ("~", None),
        ("a:", {"a": None}),
        ("[yes, Yes, on, true, y, no, Off, FALSE, n]", [True] * 5 + [False] * 4),
        ("['yes', \"no\", !!str on, ! off, yEs, tRUE]", ["yes", "no", "on", "off", "yEs", "tRUE"]),
        ("[null, Null, ~, nULL]", [None, None, None, "nULL"]),
        ("[1, +1, -1, 1_000, 0x1F, -0x1f, 0o17, 017, 0b101, -0b1, 08, 0]", [1, 1, -1, 1000, 31, -31, 15, 15, 5, -1, 8, 0]),
        ("[1.5, .5, -.5, 1e3, 1.0, 1., 1e400, 1.2.3, 12:30:45]", [1.5, 0.5, -0.5, 1000, 1, 1, "1e400", "1.2.3", "12:30:45"]),
        ("[2026-01-02, 2026-01-02T03:04:05Z, !!timestamp 2026-01-02]", ["2026-01-02", "2026-01-02T03:04:05Z", "2026-01-02"]),
        ("[9223372036854775807, 18446744073709551616]", [2**63 - 1, 2**64]),
        ("[!!float 1, !!int 1, !!bool yes, !!null '', !!foo x, !bar 1]", [1, 1, True, None, "x", "1"]),
        ("!!binary aGk=", "hi"),
        ("{1: a, 1.5: b, yes: c, 0x10: d, .inf: e, -.inf: f, .nan: g}", dict(zip(("1", "1.5", "true", "16", ".inf", "-.inf", ".nan"), "abcdefg", strict=True))),
        ("a: |\n  x\n  y\nb: >-\n  x\n  y", {"a": "x\ny\n", "b": "x y"}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x 1\nb: *x\nc: &x 2\nd: *x", {"a": 1, "b": 1, "c": 2, "d": 2}),
        ("- &x {a: 1, b: 2}\n- <<: *x\n  b: 3", [{"a": 1, "b": 2}, {"a": 1, "b": 3}]),
        ("- &x {a: 1}\n- &y {a: 2, b: 2}\n- <<: [*x, *y]", [{"a": 1}, {"a": 2, "b": 2}, {"a": 1, "b": 2}]),
        ("'<<': a", {"<<": "a"}),
        ('{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
        ("a: 1\na: 2", {"a": 2}),
        ("a: 1\n---\na: [", {"a": 1}),
        ("\ufeffa: é", {"a": "é"}),
    ],
)  # fmt: skip
def test_the_first_document_is_read_as_json(text: str, value: Any) -> None:
    assert yaml.load(text) == value
    assert yaml.load(text.encode()) == value
    assert [type(item) for item in value or ()] == [type(item) for item in yaml.load(text) or ()]


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a: b: c", "yaml: mapping values are not allowed in this context", 1),
        ("\t- x", "yaml: found character that cannot start any token", 1),
        ("a: b\n c: d\n", "yaml: line 2: mapping values are not allowed in this context", 2),
        ("apiVersion: v1\n\tkind: x\n", "yaml: line 2: found a tab character that violates indentation", 2),
        ("a: [1,\nb\n", "yaml: line 2: did not find expected ',' or ']'", 3),
        ("a:\n  - b\n - c\n", "yaml: line 2: did not find expected key", 3),
        ("a\x01", "yaml: control characters are not allowed", None),
        ("a: *x", "yaml: unknown anchor 'x' referenced", 1),
        ("a: &x [*x]", "yaml: anchor 'x' value contains itself", 1),
        ("<<: 1", "yaml: map merge requires map or sequence of maps as the value", 1),
        ("<<: [1]", "yaml: map merge requires map or sequence of maps as the value", 1),
        ("[a]: b", "yaml: invalid map key: [a]", 1),
        ("~: b", 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "b"', 1),
        ("~: 5", "unsupported map key of type: %!s(<nil>), key: <nil>, value: 5", 1),
        (".nan", "json: unsupported value: NaN", None),
        ("[.inf]", "json: unsupported value: +Inf", None),
        ("!!int x", "yaml: cannot decode !!str `x` as a !!int", 1),
        ("!!int 1.5", "yaml: cannot decode !!float `1.5` as a !!int", 1),
        ("!!timestamp today", "yaml: cannot decode !!str `today` as a !!timestamp", 1),
        ("!!binary '%'", "yaml: !!binary value contains invalid base64 data", 1),
    ],
)
def test_malformed_yaml_is_refused_with_gos_text_and_the_line(text: str, message: str, line: int | None) -> None:
    with pytest.raises(YAMLError) as raised:
        yaml.load(text)

    assert str(raised.value) == message
    assert raised.value.line == line


def test_bytes_that_are_no_utf_8_are_refused() -> None:
    with pytest.raises(YAMLError, match=r"^yaml: invalid leading UTF-8 octet$"):
        yaml.load(b"a: \xff")


def test_repeated_keys_are_noted_with_the_line_of_their_value() -> None:
    document = yaml.load_document("metadata:\n  name: a\n  name:\n    b\n1: x\n1: y\n'1': z\n")

    assert document.duplicates == ('line 4: key "name" already set in map', "line 6: key 1 already set in map")
    assert document.value == {"metadata": {"name": "b"}, "1": "z"}
    with pytest.raises(YAMLError) as raised:
        document.raise_for_duplicates()
    assert str(raised.value) == (
        'yaml: unmarshal errors:\n  line 4: key "name" already set in map\n  line 6: key 1 already set in map'
    )


def test_a_stream_holds_several_documents() -> None:
    text = "# first\na: 1\n---\n---\n- 2\n...\n---\nb: 3\n"

    assert [(document.value, document.line) for document in yaml.load_documents(text)] == [
        ({"a": 1}, 2),
        (None, 3),
        ([2], 4),
        ({"b": 3}, 7),
    ]
    assert yaml.load_all(text) == [{"a": 1}, [2], {"b": 3}]
    yaml.load_document("a: 1").raise_for_duplicates()


def test_documents_before_a_malformed_one_are_read() -> None:
    documents = yaml.load_documents("a: 1\n---\nb: [\n")

    assert next(documents).value == {"a": 1}
    with pytest.raises(YAMLError, match="did not find expected node content"):
        next(documents)


def test_aliases_cannot_grow_a_small_text_into_a_huge_object() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]

    with pytest.raises(YAMLError, match=r"^yaml: document contains excessive aliasing$"):
        yaml.load("\n".join(levels))


def test_aliased_values_are_copies() -> None:
    loaded = yaml.load("a: &x {b: [1]}\nc: *x")

    loaded["a"]["b"].append(2)

    assert loaded["c"] == {"b": [1]}


@pytest.mark.parametrize("text", ["[" * 251 + "]" * 251, "".join("  " * i + "a:\n" for i in range(252))])
def test_nesting_is_limited(text: str) -> None:
    with pytest.raises(YAMLError, match="exceeded max depth of 250"):
        yaml.load(text)


def test_aliases_cannot_hide_nesting() -> None:
    chain = ["a0: &a0 []"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 300)]

    with pytest.raises(YAMLError, match="exceeded max depth of 250"):
        yaml.load("\n".join(chain))
    assert yaml.load("[" * 250 + "]" * 250) is not None


def test_a_document_becomes_json_with_sorted_keys_and_gos_numbers() -> None:
    assert yaml.to_json("b: 1.0\na: [1e21, 18446744073709551616, '<']") == (
        b'{"a":[1e+21,18446744073709551616,"\\u003c"],"b":1}'
    )
    assert yaml.to_json("") == b"null"


def test_text_without_a_json_form_is_refused() -> None:
    with pytest.raises(YAMLError, match=r"^yaml: the document has no JSON form"):
        yaml.encode_json({"a": "\ud800"})


def test_every_json_text_is_yaml() -> None:
    value = {"a": [1, 2.5, "x\ty", "é😀", None, True, {"b": {}}], "c": "<&>", "d": "2026-01-02"}

    assert yaml.load(orjson.dumps(value)) == value

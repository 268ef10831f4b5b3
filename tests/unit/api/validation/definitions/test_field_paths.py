"""Paths of fields within the schema of a custom resource."""

import pytest

from schedlab.api.validation.definitions.field_paths import PathError, resolve

TEXT = {"type": "string"}
SCHEMA = {
    "properties": {
        "spec": {"properties": {"a.b": TEXT, "it's": TEXT}},
        "map": {"additionalProperties": TEXT},
        "list": {"type": "array"},
    }
}


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (".spec", ("spec",)),
        (".spec['a.b']", ("spec", "a.b")),
        (r".spec['it\'s']", ("spec", "it's")),
        ("['spec']['a.b']", ("spec", "a.b")),
        (".map.any", ("map", "any")),
    ],
)
def test_paths_follow_fields_and_keys(text: str, steps: tuple[str, ...]) -> None:
    assert resolve(text, SCHEMA)[0] == steps


def test_a_path_ends_at_the_schema_of_its_field() -> None:
    assert resolve(".spec['a.b']", SCHEMA)[1] == TEXT
    assert resolve(".map.any", SCHEMA)[1] == TEXT


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("spec", "expected [ or . but got: spec"),
        (".", "unexpected end of JSON path"),
        (".other", "does not refer to a valid field"),
        (".list.a", "does not refer to a valid field"),
        (".spec[a]", "expected single quoted string but got a"),
        (".spec['a.b'", "unexpected end of JSON path"),
        (".spec['a.b'.", "expected ] but got ."),
        (r".spec['\q']", r"invalid string literal: invalid escape char \q"),
    ],
)
def test_other_paths_are_refused(text: str, problem: str) -> None:
    with pytest.raises(PathError) as caught:
        resolve(text, SCHEMA)
    assert str(caught.value) == problem


def test_brackets_may_be_forbidden() -> None:
    with pytest.raises(PathError, match="array notation is not allowed"):
        resolve(".spec['a.b']", SCHEMA, allow_brackets=False)

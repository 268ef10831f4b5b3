"""Values against schemas: the words are those of kube-apiserver."""

from typing import Any

import pytest

from schedlab.registry.custom.rules import check_rules
from schedlab.registry.custom.validation import validate

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}

CASES: list[tuple[dict[str, Any], Any, list[str]]] = [
    (TEXT, "a", []),
    (TEXT, 1, ['x: Invalid value: "integer": x in body must be of type string: "integer"']),
    (TEXT, True, ['x: Invalid value: "boolean": x in body must be of type string: "boolean"']),
    (TEXT, None, ['x: Invalid value: "null": x in body must be of type string: "null"']),
    ({**TEXT, "nullable": True}, None, []),
    (NUMBER, 2.0, []),
    ({"type": "number"}, 2, []),
    (
        {**NUMBER, "format": "int32"},
        2**40,
        ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in x'],
    ),
    ({**TEXT, "maxLength": 2}, "abc", ["x: Too long: may not be more than 2 bytes"]),
    ({**TEXT, "minLength": 2}, "a", ['x: Invalid value: "a": x in body should be at least 2 chars long']),
    ({**TEXT, "pattern": "^a$"}, "a\n", ["x: Invalid value: \"a\\n\": x in body should match '^a$'"]),
    ({**TEXT, "format": "ipv4"}, "1.2.3", ['x: Invalid value: "1.2.3": x in body must be of type ipv4: "1.2.3"']),
    ({**TEXT, "format": "date-time"}, "2026-02-29T00:00:00Z", ["date-time"]),
    ({**TEXT, "format": "date"}, "2024-02-29", []),
    ({**NUMBER, "maximum": 3, "exclusiveMaximum": True}, 3, ["x: Invalid value: 3: x in body should be less than 3"]),
    ({**NUMBER, "multipleOf": 3}, 4, ["x: Invalid value: 4: x in body should be a multiple of 3"]),
    ({"type": "array", "items": TEXT, "maxItems": 1}, ["a", "b"], ["x: Too many: 2: must have at most 1 item"]),
    (
        {"type": "array", "items": TEXT, "minItems": 1},
        [],
        ["x: Invalid value: 0: x in body should have at least 1 items"],
    ),
    (
        {"type": "array", "items": TEXT},
        ["a", 1],
        ['x[1]: Invalid value: "integer": x[1] in body must be of type string'],
    ),
    (
        {"type": "object", "additionalProperties": TEXT},
        {"k": 1},
        ['x.k: Invalid value: "integer": x.k in body must be'],
    ),
    ({"type": "object", "maxProperties": 0}, {"k": 1}, ["x: Too many: 1: must have at most 0 items"]),
    ({"type": "object", "required": ["k"]}, {}, ["x.k: Required value"]),
    ({"anyOf": [TEXT, NUMBER]}, "a", []),
    ({"anyOf": [TEXT, NUMBER]}, True, ['"x" must validate at least one schema (anyOf)', "must be of type"]),
    ({"oneOf": [TEXT, {**TEXT, "minLength": 1}]}, "a", ["schema (oneOf). Found 2 valid alternatives"]),
    ({"allOf": [TEXT, {"minLength": 2}]}, "a", ["at least 2 chars", '"x" must validate all the schemas (allOf)']),
    ({"not": TEXT}, "a", ['"x" must not validate the schema (not)']),
    ({"enum": ["a", 1]}, True, ['x: Unsupported value: true: supported values: "a", "1"']),
    ({"x-kubernetes-int-or-string": True}, "50%", []),
]


@pytest.mark.parametrize(("schema", "value", "wanted"), CASES, ids=lambda case: str(case)[:50])
def test_value_against_schema(schema: dict[str, Any], value: Any, wanted: list[str]) -> None:
    """Each error holds the words."""
    found = validate({"x": value}, {"type": "object", "properties": {"x": schema}})

    assert len(found) == len(wanted)
    assert all(words in str(error) for words, error in zip(wanted, found, strict=True)), [str(one) for one in found]


LIST = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["n"],
    "items": {"type": "object", "properties": {"n": TEXT, "v": {**NUMBER, "maximum": 1}}},
}


def test_items_with_keys_are_compared_with_what_they_were() -> None:
    """An item that did not change is not looked at again, wherever it stands now."""
    schema = {"type": "object", "properties": {"l": LIST}}
    old = {"l": [{"n": "a", "v": 5}]}
    new = {"l": [{"n": "b", "v": 6}, {"n": "a", "v": 5}]}

    assert [error.field for error in validate(new, schema, old=old)] == ["l[0].v"]


def rule(text: str, **more: Any) -> dict[str, Any]:
    return {"rule": text, **more}


RULES: list[tuple[dict[str, Any], list[str]]] = [
    (rule("self.a < 3"), []),
    (rule("self.a > 3"), ["spec: Invalid value: failed rule: self.a > 3"]),
    (rule("self.a > 3", message="too small"), ["spec: Invalid value: too small"]),
    (rule("self.a > 3", messageExpression="'only ' + string(self.a)"), ["spec: Invalid value: only 2"]),
    (rule("self.a > 3", reason="FieldValueForbidden", fieldPath=".a"), ["spec.a: Forbidden: failed rule: self.a > 3"]),
    (rule("self.gone > 3"), ['spec: Invalid value: "object": no such key: gone evaluating rule: self.gone > 3']),
    (rule("self.a >= oldSelf.a"), []),
    (rule("oldSelf.hasValue() || self.a == 1", optionalOldSelf=True), ["failed rule"]),
]


@pytest.mark.parametrize(("given", "wanted"), RULES, ids=lambda case: str(case)[:50])
def test_rules(given: dict[str, Any], wanted: list[str]) -> None:
    """A rule that does not hold says so; one about the old value waits for an update."""
    spec = {"type": "object", "properties": {"a": NUMBER}, "x-kubernetes-validations": [given]}
    found = check_rules({"metadata": {}, "spec": {"a": 2}}, {"type": "object", "properties": {"spec": spec}}, None, [])

    assert len(found) == len(wanted)
    assert all(words in str(error) for words, error in zip(wanted, found, strict=True)), [str(one) for one in found]


def test_transition_rule_sees_the_old_value() -> None:
    spec = {"type": "object", "x-kubernetes-validations": [rule("self.a >= oldSelf.a", message="never less")]}
    schema = {"type": "object", "properties": {"spec": spec}}
    old = {"metadata": {}, "spec": {"a": 3}}

    assert [str(one) for one in check_rules({"metadata": {}, "spec": {"a": 2}}, schema, old, [])] == [
        "spec: Invalid value: never less"
    ]


def test_rules_wait_for_the_schema() -> None:
    """What is wrong with the form of an object comes first."""
    schema = {"type": "object", "x-kubernetes-validations": [rule("false")]}
    wrong = validate({}, {"type": "object", "required": ["a"]})

    assert "some validation rules were not checked" in str(check_rules({"metadata": {}}, schema, None, wrong)[0])

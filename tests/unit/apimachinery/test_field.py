"""Field errors and paths print as in Kubernetes."""

import pytest

from schedlab.apimachinery import field
from schedlab.apimachinery.field import OMIT_VALUE, FieldError, Path
from schedlab.apimachinery.gojson import Verbatim


def test_a_path_names_fields_items_and_keys() -> None:
    path = Path("spec", "template").child("spec", "containers").index(0).child("env").key("A")

    assert str(path) == "spec.template.spec.containers[0].env[A]"
    assert path == Path("spec.template.spec.containers[0].env[A]")
    assert hash(path) == hash(Path(str(path)))
    assert path != str(path)
    assert repr(Path("a")) == "Path('a')"


PATH = Path("f")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (field.required(PATH), "f: Required value"),
        (field.required(PATH, "why"), "f: Required value: why"),
        (field.invalid(PATH, 'a"b', "why"), r'f: Invalid value: "a\"b": why'),
        (field.invalid(PATH, 5, "why"), "f: Invalid value: 5: why"),
        (field.invalid(PATH, 1e6, "why"), "f: Invalid value: 1e+06: why"),
        (field.invalid(PATH, True, "why"), "f: Invalid value: true: why"),
        (field.invalid(PATH, None, "why"), "f: Invalid value: null: why"),
        (field.invalid(PATH, {"b": "<", "a": 1}, "why"), r'f: Invalid value: {"a":1,"b":"\u003c"}: why'),
        (field.invalid(PATH, Verbatim("{raw}"), "why"), "f: Invalid value: {raw}: why"),
        (field.invalid(PATH, OMIT_VALUE, "why"), "f: Invalid value: why"),
        (field.type_invalid(PATH, "x", "why"), 'f: Invalid value: "x": why'),
        (field.not_found(PATH, "x"), 'f: Not found: "x"'),
        (field.duplicate(PATH, "x"), 'f: Duplicate value: "x"'),
        (field.not_supported(PATH, "x", ("A", "B")), 'f: Unsupported value: "x": supported values: "A", "B"'),
        (field.not_supported(PATH, "x", ()), 'f: Unsupported value: "x"'),
        (field.forbidden(PATH, "why"), "f: Forbidden: why"),
        (field.too_long(PATH, 5), "f: Too long: may not be more than 5 bytes"),
        (field.too_long(PATH, 1), "f: Too long: may not be more than 1 byte"),
        (field.too_long(PATH, -1), "f: Too long: value is too long"),
        (field.too_long_characters(PATH, 5), "f: Too long: may not be more than 5 characters"),
        (field.too_short(PATH, "x", 2), "f: Too short: must be at least 2 characters"),
        (field.too_short(PATH, "x", -1), "f: Too short: value is too short"),
        (field.too_many(PATH, 3, 2), "f: Too many: 3: must have at most 2 items"),
        (field.too_many(PATH, -1, 1), "f: Too many: must have at most 1 item"),
        (field.too_many(PATH, 3, -1), "f: Too many: 3: has too many items"),
        (field.too_few(PATH, 0, 1), "f: Too few: 0: must have at least 1 item"),
        (field.too_few(PATH, 0, -1), "f: Too few: 0: has too few items"),
        (field.internal_error(PATH, ValueError("why")), "f: Internal error: why"),
        (field.required(None), "<nil>: Required value"),
        (field.required("a.b"), "a.b: Required value"),
    ],
)
def test_each_kind_of_field_error_has_its_words(error: FieldError, text: str) -> None:
    assert str(error) == text


def test_a_field_error_becomes_a_cause_of_a_status() -> None:
    assert field.required(PATH, "why").cause == {
        "reason": "FieldValueRequired",
        "message": "Required value: why",
        "field": "f",
    }


def test_field_errors_can_be_refined() -> None:
    error = field.invalid(PATH, "x", "why").with_origin("format=x").with_detail_prefix("see: ")

    assert error.origin == "format=x"
    assert error.detail == "see: why"
    assert repr(OMIT_VALUE) == "OMIT_VALUE"


def test_messages_are_joined_as_in_gos_aggregate() -> None:
    assert field.aggregate([]) == ""
    assert field.aggregate(["a"]) == "a"
    assert field.aggregate(["a", "a"]) == "a"
    assert field.aggregate(["a", "b", "a"]) == "[a, b]"

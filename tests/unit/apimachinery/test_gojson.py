"""Text as Go prints it."""

import pytest

from schedlab.apimachinery import gojson


@pytest.mark.parametrize(
    ("value", "printed", "encoded"),
    [
        (0.0, "0", "0"),
        (-0.0, "-0", "-0"),
        (1.0, "1", "1"),
        (100.0, "100", "100"),
        (123456.0, "123456", "123456"),
        (1234567.0, "1.234567e+06", "1234567"),
        (0.1, "0.1", "0.1"),
        (123.456, "123.456", "123.456"),
        (0.0001, "0.0001", "0.0001"),
        (0.00001, "1e-05", "0.00001"),
        (0.000001, "1e-06", "0.000001"),
        (2.5e-9, "2.5e-09", "2.5e-9"),
        (1e20, "1e+20", "100000000000000000000"),
        (1e21, "1e+21", "1e+21"),
        (-1.5e300, "-1.5e+300", "-1.5e+300"),
        (5e-324, "5e-324", "5e-324"),
    ],
)
def test_floats_have_their_shortest_form(value: float, printed: str, encoded: str) -> None:
    """Both %v and JSON use the shortest digits; they switch to an exponent at different sizes."""
    assert gojson.format_float(value) == printed
    assert gojson.format_json_float(value) == encoded
    assert gojson.marshal(value) == encoded


def test_floats_that_are_no_numbers_have_no_json() -> None:
    assert [gojson.format_float(float(text)) for text in ("nan", "inf", "-inf")] == ["NaN", "+Inf", "-Inf"]
    with pytest.raises(ValueError, match=r"^json: unsupported value: NaN$"):
        gojson.marshal(float("nan"))


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ("plain text", '"plain text"'),
        ('"\\', r'"\"\\"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x1f\x7f", r'"\x00\x1f\x7f"'),
        ("é日😀", '"é日😀"'),
        ("\u00a0\u200b\u2028", r'"\u00a0\u200b\u2028"'),
        ("\U000e0001", r'"\U000e0001"'),
        ("\ud800", '"\ufffd"'),
    ],
)
def test_quoting_escapes_what_cannot_be_printed(text: str, quoted: str) -> None:
    assert gojson.quote(text) == quoted


def test_json_sorts_maps_and_escapes_html() -> None:
    value = {"b": [1, 1.0, True, None], "a": "<&>\u2028\u2029\x7f\x01\b\n"}

    assert gojson.marshal(value) == ('{"a":"\\u003c\\u0026\\u003e\\u2028\\u2029\x7f\\u0001\\b\\n","b":[1,1,true,null]}')
    assert gojson.marshal({"b": "<", "a": 1}, sort_keys=False, html=False) == '{"b":"<","a":1}'
    assert gojson.marshal_bytes({"a": 1}) == b'{"a":1}'


def test_a_rendered_text_is_kept() -> None:
    assert gojson.marshal(gojson.Verbatim("{x}")) == "{x}"
    assert gojson.marshal([gojson.Verbatim('{"b":1,"a":2}')]) == '[{"b":1,"a":2}]'


def test_values_print_as_in_fmt() -> None:
    value = {"b": ["x", None, True], "a": {"c": 1.5}, "d": False}

    assert gojson.sprint(value) == "map[a:map[c:1.5] b:[x <nil> true] d:false]"
    assert gojson.quote_list(["a", 'b"']) == r'["a" "b\""]'

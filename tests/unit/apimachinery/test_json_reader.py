"""Reading JSON: repeated keys, literals, and Go's words for malformed texts."""

import orjson
import pytest

from schedlab.apimachinery import json_reader
from schedlab.apimachinery.json_reader import JSONSyntaxError, Repeated


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unexpected end of JSON input"),
        ("  ", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ('{"a"', "unexpected end of JSON input"),
        ('"a', "unexpected end of JSON input"),
        ("tru", "unexpected end of JSON input"),
        ("-", "unexpected end of JSON input"),
        ("1e", "unexpected end of JSON input"),
        ("not json", "invalid character 'o' in literal null (expecting 'u')"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("[1 2]", "invalid character '2' after array element"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("01", "invalid character '1' after top-level value"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("-x", "invalid character 'x' in numeric literal"),
        ('"\\q"', "invalid character 'q' in string escape code"),
        ('"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"),
        ('"\n"', "invalid character '\\n' in string literal"),
        ("'", "invalid character '\\'' looking for beginning of value"),
        ("[" * 100_000, "exceeded max depth"),
    ],
)
def test_malformed_texts_are_reported_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(JSONSyntaxError) as caught:
        json_reader.read(text.encode())

    assert message == str(caught.value)


@pytest.mark.parametrize("space", ["", " "])
def test_what_could_not_be_written_again_is_nested_too_deeply(space: str) -> None:
    deepest, too_deep = ((space + '{"a":' * depth + "1" + "}" * depth).encode() for depth in (254, 255))

    assert json_reader.read(deepest) == json_reader.read_exact(deepest) == orjson.loads(deepest)
    for read in (json_reader.read, json_reader.read_exact):
        with pytest.raises(JSONSyntaxError, match="exceeded max depth"):
            read(too_deep)
    assert json_reader.read_compact(too_deep) is None


@pytest.mark.parametrize(
    "text",
    ['{"a":[1,-2.5e+3,true,null,"x\\u00e9\\n"],"b":{}}', "[]", "0", '""', "  [ 1 , 2 ]  ", '{"a":{"b":[{}]}}', "1e2"],
)
def test_well_formed_texts_have_no_syntax_error(text: str) -> None:
    assert not json_reader.syntax_error(text.encode())


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', '{ "a": 1, "a": 2 }'])
def test_a_repeated_key_is_remembered_in_compact_and_spaced_texts(text: str) -> None:
    value = json_reader.read(text.encode())

    assert isinstance(value, Repeated)
    assert value.pairs == [("a", 1), ("a", 2)]
    assert value == {"a": 2}


def test_objects_without_repeated_keys_are_plain() -> None:
    value = json_reader.read(b'{ "a": {"b": 1} }')

    assert type(value) is dict
    assert type(value["a"]) is dict


@pytest.mark.parametrize(
    ("text", "shown"), [("1.50", "1.50"), ("1e3", "1e3"), ("99999999999999999999", "99999999999999999999"), ("7", "7")]
)
def test_numbers_keep_the_text_they_were_written_as(text: str, shown: str) -> None:
    assert shown == json_reader.number_text(json_reader.read_exact(text.encode()))


def test_invalid_utf8_is_replaced_as_go_does() -> None:
    assert json_reader.read(b'"a\xff"') == "a\ufffd"


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1}',
        '{"a":1.5}',
        '{"a":[1,2.0]}',
        '{"a": 1.5}',
        "[1e3]",
        '{"a":-0.5,"b":"x"}',
        '{"a":18446744073709551615}',
        '{"image":"pause:3.10","a":1,"a":2}',
        '{"a":{"b":1,"b":2},"c":[{"d":1,"d":2}]}',
        '"\\ud800"',
        '{"a":"\\u0041"}',
        "1.0",
    ],
)
def test_the_fast_way_reads_what_the_slow_one_does(text: str) -> None:
    slow = json_reader._read_odd(text.encode())
    fast = json_reader.read_exact(text.encode())

    assert _shown(slow) == _shown(fast)


def _shown(value: object) -> object:
    """A value with all that a reader remembers of its text."""
    if isinstance(value, Repeated):
        return "repeated", [(key, _shown(item)) for key, item in value.pairs]
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shown(item) for item in value]
    return (type(value), json_reader.number_text(value)) if isinstance(value, float) else (type(value), value)

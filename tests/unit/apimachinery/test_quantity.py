"""Quantities: what parses, how it prints, how it rounds."""

import pytest

from schedlab.apimachinery import quantity
from schedlab.apimachinery.quantity import ERR_FORMAT, ERR_NUMERIC, ERR_SUFFIX, Format, Quantity, QuantityError, parse

INT64_MAX = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0", "0"),
        ("0Ki", "0"),
        ("000", "0"),
        ("", None),
        ("1", "1"),
        ("0.5", "500m"),
        ("1.5", "1500m"),
        ("0.1", "100m"),
        ("100m", "100m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("1e3", "1e3"),
        ("1E3", "1E3"),
        ("1000e0", "1e3"),
        ("12e6", "12e6"),
        ("0.001e3", "1"),
        ("1Ki", "1Ki"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("0.5Mi", "512Ki"),
        ("1536Mi", "1536Mi"),
        ("1024", "1024"),
        ("0.3Ki", "307200m"),
        ("1.1Mi", "1153433600m"),
        ("-1Gi", "-1Gi"),
        ("-0.5", "-500m"),
        ("1n", "1n"),
        ("0.1n", "1n"),
        ("1.0000000001", "1000000001n"),
        ("1u", "1u"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"),
        ("16Ei", f"{INT64_MAX}"),
        ("-16Ei", f"-{INT64_MAX}"),
        ("0.0001Ki", "102400u"),
        ("0.0000000001Ki", "103n"),
    ],
)
def test_a_quantity_prints_in_canonical_form(text: str, printed: str | None) -> None:
    """Canonical form loses nothing, shows no fraction and uses the largest suffix."""
    if printed is None:
        with pytest.raises(QuantityError):
            parse(text)
    else:
        assert str(parse(text)) == printed


@pytest.mark.parametrize("text", ["+5", "1.500", "007", "5.", "1.500Ki".replace("1.500", "3"), "100001m"])
def test_a_text_that_looks_canonical_to_upstream_is_kept(text: str) -> None:
    """Upstream reuses the parsed text in some cases, even when it has a sign or trailing zeros."""
    assert str(parse(text)) == text


@pytest.mark.parametrize("text", [".", "+", "-", "m", "Ki", "e5", "-Mi"])
def test_a_missing_number_counts_as_zero(text: str) -> None:
    """The scanner of upstream takes an empty number for zero while it fits an int64."""
    assert parse(text).value() == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ERR_FORMAT),
        ("abc", ERR_FORMAT),
        ("1x", ERR_FORMAT),
        ("1.5.5", ERR_FORMAT),
        ("1 ", ERR_FORMAT),
        (" 1", ERR_FORMAT),
        ("1,5", ERR_FORMAT),
        ("true", ERR_FORMAT),
        ("1e3.5", ERR_FORMAT),
        ("1Kb", ERR_FORMAT),
        ("1\n", ERR_FORMAT),
        ("--1", ERR_SUFFIX),
        ("+-", ERR_SUFFIX),
        ("1K", ERR_SUFFIX),
        ("1ki", ERR_SUFFIX),
        ("1mm", ERR_SUFFIX),
        ("1e", ERR_SUFFIX),
        ("1-5", ERR_SUFFIX),
        ("1e99999999999999999999", ERR_SUFFIX),
        ("1e100000", ERR_SUFFIX),
        (".e-20", ERR_NUMERIC),
        ("9" * 5000, ERR_NUMERIC),
    ],
)
def test_a_malformed_quantity_is_refused_with_upstreams_text(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as raised:
        parse(text)

    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        ("100m", 1, 100),
        ("1", 1, 1000),
        ("1.0001", 2, 1001),
        ("-100m", -1, -100),
        ("1Gi", 2**30, 2**30 * 1000),
        ("1.1Mi", 1153434, 1153433600),
        ("10E", 0, 0),
        ("9E", 9 * 10**18, 0),
        ("0.1n", 1, 1),
        ("9223372036854775807", INT64_MAX, -1000),
        ("8Ei", INT64_MAX, -1000),
        ("1e100", 0, 0),
    ],
)
def test_values_round_up_and_overflow_as_upstream(text: str, value: int, milli: int) -> None:
    """Rounding is away from zero; an int64 that overflows gives 0, a big decimal wraps."""
    parsed = parse(text)

    assert (value, milli) == (parsed.value(), parsed.milli_value())
    assert (value, milli) == (quantity.parse_value(text), quantity.parse_milli(text))


def test_quantities_compare_by_number() -> None:
    assert parse("1000m") == parse("1")
    assert hash(parse("1000m")) == hash(parse("1"))
    assert parse("1Ki") > parse("1k")
    assert parse("999999999999999999999") < parse("1000000000000000000000")
    assert parse("-1") < Quantity() < parse("1n")
    assert not Quantity()


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("1", "500m", "1500m", "500m"),
        ("1Gi", "1Gi", "2Gi", "0"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1Gi", "0", "1Gi", "1Gi"),
        ("1Gi", "1", "1073741825", "1073741823"),
        ("9223372036854775807", "1", "9223372036854775808", "9223372036854775806"),
        ("1e3", "1k", "2e3", "0"),
    ],
)
def test_sums_keep_the_format_of_the_first_number_that_is_not_zero(
    left: str, right: str, total: str, difference: str
) -> None:
    assert str(parse(left) + parse(right)) == total
    assert str(parse(left) - parse(right)) == difference


def test_rounding_up_drops_what_is_finer_than_a_scale() -> None:
    assert str(parse("1.0001").round_up(quantity.MILLI)) == "1001m"
    assert str(parse("-1.0001").round_up(quantity.MILLI)) == "-1001m"
    assert str(parse("2k").round_up(quantity.MILLI)) == "2k"


def test_json_values_that_are_no_text_are_read_as_their_json() -> None:
    assert str(quantity.from_json(2)) == "2"
    assert str(quantity.from_json(0.5)) == "500m"
    assert str(quantity.from_json(" 1Gi ")) == "1Gi"
    assert str(quantity.from_json(None)) == "0"
    with pytest.raises(QuantityError):
        quantity.from_json(True)


def test_numbers_get_the_format_asked_for() -> None:
    assert str(quantity.of_int(2048, Format.BINARY_SI)) == "2Ki"
    assert str(quantity.of_milli(2500)) == "2500m"
    assert quantity.of_milli(2500).as_approximate_float64() == 2.5

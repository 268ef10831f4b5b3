"""Moments, durations and ages as texts."""

from collections.abc import Callable

import pytest

from schedlab.apimachinery import time
from schedlab.apimachinery.time import HOUR, MINUTE, SECOND, TimeError

LAYOUT = '"2006-01-02T15:04:05Z07:00"'


@pytest.mark.parametrize(
    ("moment_ns", "seconds", "micros", "nanos"),
    [
        (0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:00Z"),
        (
            1_767_225_599_123_456_789,
            "2025-12-31T23:59:59Z",
            "2025-12-31T23:59:59.123456Z",
            "2025-12-31T23:59:59.123456789Z",
        ),
        (951_782_400 * SECOND, "2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000000Z", "2000-02-29T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999999Z"),
        (-62_135_596_800 * SECOND, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z", "0001-01-01T00:00:00Z"),
        (253_402_300_799 * SECOND, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z", "9999-12-31T23:59:59Z"),
    ],
)
def test_moments_are_written_in_utc(moment_ns: int, seconds: str, micros: str, nanos: str) -> None:
    assert time.format_time(moment_ns) == seconds
    assert time.format_micro_time(moment_ns) == micros
    assert time.format_nano_time(moment_ns) == nanos
    assert time.parse_time(nanos) == moment_ns


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T3:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05+02:30", "2026-01-02T00:34:05Z"),
        ("2026-01-02T23:04:05-24:60", "2026-01-04T00:04:05Z"),
        ("0000-03-01T00:00:00Z", "0000-03-01T00:00:00Z"),
    ],
)
def test_a_time_is_accepted_in_other_forms_and_shown_in_one(text: str, canonical: str) -> None:
    assert time.format_time(time.parse_time(text)) == canonical


def test_a_micro_time_needs_six_decimals() -> None:
    moment_ns = time.parse_micro_time("2026-01-02T03:04:05.123456+01:00")

    assert time.format_micro_time(moment_ns) == "2026-01-02T02:04:05.123456Z"
    for text, rest in (("2026-01-02T03:04:05Z", "Z"), ("2026-01-02T03:04:05.12345Z", ".12345Z")):
        with pytest.raises(TimeError) as raised:
            time.parse_micro_time(text)
        assert str(raised.value) == (
            f'parsing time "{text}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "{rest}" as ".000000"'
        )
    with pytest.raises(TimeError, match='cannot parse "7Z" as "Z07:00"'):
        time.parse_micro_time("2026-01-02T03:04:05.1234567Z")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("yesterday", f'parsing time "yesterday" as {LAYOUT}: cannot parse "yesterday" as "2006"'),
        ("", f'parsing time "" as {LAYOUT}: cannot parse "" as "2006"'),
        ("2026/01/02", f'parsing time "2026/01/02" as {LAYOUT}: cannot parse "/01/02" as "-"'),
        ("2026-1-2", f'parsing time "2026-1-2" as {LAYOUT}: cannot parse "1-2" as "01"'),
        ("2026-01-02 3", f'parsing time "2026-01-02 3" as {LAYOUT}: cannot parse " 3" as "T"'),
        ("2026-01-02T03:04:05", f'parsing time "2026-01-02T03:04:05" as {LAYOUT}: cannot parse "" as "Z07:00"'),
        (
            "2026-01-02T03:04:05+0100",
            f'parsing time "2026-01-02T03:04:05+0100" as {LAYOUT}: cannot parse "+0100" as "Z07:00"',
        ),
        ("2026-13-01T00:00:00Z", 'parsing time "2026-13-01T00:00:00Z": month out of range'),
        ("2026-02-29T00:00:00Z", 'parsing time "2026-02-29T00:00:00Z": day out of range'),
        ("2026-02-01T24:00:00Z", 'parsing time "2026-02-01T24:00:00Z": hour out of range'),
        ("2026-02-01T00:60:00Z", 'parsing time "2026-02-01T00:60:00Z": minute out of range'),
        ("2026-02-01T00:00:60Z", 'parsing time "2026-02-01T00:00:60Z": second out of range'),
        ("2026-02-01T00:00:00+25:00", 'parsing time "2026-02-01T00:00:00+25:00": time zone offset hour out of range'),
        ("2026-02-01T00:00:00+00:61", 'parsing time "2026-02-01T00:00:00+00:61": time zone offset minute out of range'),
        ("2026-02-01T00:00:00Zx", 'parsing time "2026-02-01T00:00:00Zx": extra text: "x"'),
        ('é"\\', f'parsing time "\\xc3\\xa9\\"\\\\" as {LAYOUT}: cannot parse "\\xc3\\xa9\\"\\\\" as "2006"'),
        ("2026-01-0٣T", f'parsing time "2026-01-0\\xd9\\xa3T" as {LAYOUT}: cannot parse "0\\xd9\\xa3T" as "02"'),
    ],
)
def test_a_malformed_time_is_refused_with_gos_text(text: str, message: str) -> None:
    with pytest.raises(TimeError) as raised:
        time.parse_time(text)

    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1\u00b5s"),
        (2_200_000, "2.2ms"),
        (-5 * SECOND, "-5s"),
        (3_300_000_000, "3.3s"),
        (5 * MINUTE, "5m0s"),
        (5 * MINUTE + SECOND + 1_000_000, "5m1.001s"),
        (5 * HOUR + 6 * MINUTE + 7 * SECOND + 1_000_000, "5h6m7.001s"),
        (2**63 - 1, "2562047h47m16.854775807s"),
        (-(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_durations_print_and_parse_as_in_go(duration_ns: int, text: str) -> None:
    assert time.format_duration(duration_ns) == text
    assert time.parse_duration(text) == duration_ns


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [
        ("0", 0),
        ("-0", 0),
        ("+5s", 5 * SECOND),
        ("1.s", SECOND),
        (".5h", HOUR // 2),
        ("1h1h", 2 * HOUR),
        ("1us", 1_000),
        ("1\u03bcs", 1_000),
        ("0.3333333333333333333h", 20 * MINUTE),
        ("0.100000000000000000000h", 6 * MINUTE),
        ("9007199254.740993ms", 9007199254740993),
    ],
)
def test_durations_may_be_written_in_other_ways(text: str, duration_ns: int) -> None:
    assert time.parse_duration(text) == duration_ns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("s", 'time: invalid duration "s"'),
        (".s", 'time: invalid duration ".s"'),
        ("--1s", 'time: invalid duration "--1s"'),
        ("10", 'time: missing unit in duration "10"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("99999999999999999999s", 'time: invalid duration "99999999999999999999s"'),
        ("3000000h", 'time: invalid duration "3000000h"'),
        ("2562047h48m", 'time: invalid duration "2562047h48m"'),
    ],
)
def test_a_malformed_duration_is_refused_with_gos_text(text: str, message: str) -> None:
    with pytest.raises(TimeError) as raised:
        time.parse_duration(text)

    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("duration_ns", "age", "short"),
    [
        (-2 * SECOND, "<invalid>", "<invalid>"),
        (-SECOND - 1, "0s", "0s"),
        (-1, "0s", "0s"),
        (0, "0s", "0s"),
        (119 * SECOND + 1, "119s", "1m"),
        (2 * MINUTE, "2m", "2m"),
        (9 * MINUTE + 59 * SECOND, "9m59s", "9m"),
        (10 * MINUTE + 59 * SECOND, "10m", "10m"),
        (3 * HOUR - 1, "179m", "2h"),
        (3 * HOUR, "3h", "3h"),
        (7 * HOUR + 59 * MINUTE, "7h59m", "7h"),
        (8 * HOUR + MINUTE, "8h", "8h"),
        (48 * HOUR - 1, "47h", "1d"),
        (48 * HOUR, "2d", "2d"),
        (191 * HOUR, "7d23h", "7d"),
        (192 * HOUR, "8d", "8d"),
        (24 * HOUR * 365 * 2 - 1, "729d", "1y"),
        (24 * HOUR * 365 * 2, "2y", "2y"),
        (24 * HOUR * (365 * 7 + 1), "7y1d", "7y"),
        (24 * HOUR * 365 * 8, "8y", "8y"),
    ],
)
def test_ages_have_few_significant_digits(duration_ns: int, age: str, short: str) -> None:
    assert time.human_duration(duration_ns) == age
    assert time.short_human_duration(duration_ns) == short


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-29T12:30:59.000001Z",
        "1969-12-31T23:59:59.999999Z",
        "2024-02-30T00:00:00.000000Z",
        "2024-01-01T24:00:00.000000Z",
        "2024-01-01T00:00:00.00000Z",
        "2024-01-01T00:00:00.0000000Z",
        "2024-01-01T00:00:00.000000+01:00",
    ],
)
def test_the_short_way_to_read_a_micro_time_says_what_the_long_one_says(text: str) -> None:
    def outcome(read: Callable[[], int]) -> object:
        try:
            return read()
        except time.TimeError as error:
            return str(error)

    assert outcome(time._Reader(text, time.RFC3339_MICRO).read) == outcome(lambda: time.parse_micro_time(text))

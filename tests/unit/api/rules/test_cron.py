"""Schedules of cron jobs: which are understood, and what is wrong with the others."""

import pytest

from schedlab.api.rules.cron import CronError, is_time_zone, parse_schedule


@pytest.mark.parametrize(
    "text",
    [
        "* * * * *",
        "? ? ? ? ?",
        "1,2,3-5/2 * * * *",
        "* * * JAN SUN",
        "@daily",
        "@every 1h",
        "TZ=Europe/Berlin 0 0 * * *",
    ],
)
def test_schedules_have_five_fields_or_a_name(text: str) -> None:
    parse_schedule(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("1-0 * * * *", "beginning of range (1) beyond end of range (0): 1-0"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1--2 * * * *", "too many hyphens: 1--2"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        ("@x", "unrecognized descriptor: @x"),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        ("TZ=No/Where 0 0 * * *", "provided bad location No/Where: unknown time zone No/Where"),
    ],
)
def test_other_schedules_are_refused(text: str, problem: str) -> None:
    with pytest.raises(CronError) as caught:
        parse_schedule(text)
    assert str(caught.value) == problem


@pytest.mark.parametrize(("name", "expected"), [("Europe/Berlin", True), ("Etc/UTC", True), ("Nowhere", False)])
def test_time_zones(name: str, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_time_zone(name) is expected

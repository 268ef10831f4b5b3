"""When cron schedules are due: calendars, time zones, what was missed."""

from __future__ import annotations

import msgspec
import pytest

from schedlab.api.rules.cron import parse_schedule
from schedlab.api.views.workloads import CronJob
from schedlab.apimachinery.time import format_time, parse_time
from schedlab.controllers.cronjob.schedule import ScheduleError, delay_ns, local_text, missed, next_ns, zone_of


def following(schedule: str, after: str, count: int = 1) -> list[str]:
    parsed = parse_schedule(schedule)
    times = []
    moment = parse_time(after)
    for _ in range(count):
        due = next_ns(parsed, moment)
        assert due is not None
        times.append(format_time(due))
        moment = due
    return times


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
        ("*/15 * * * *", "2026-01-01T00:16:30Z", "2026-01-01T00:30:00Z"),
        ("0 9 * * 1-5", "2026-01-02T10:00:00Z", "2026-01-05T09:00:00Z"),
        ("30 3 31 * *", "2026-01-31T04:00:00Z", "2026-03-31T03:30:00Z"),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 0 13 * 5", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
        ("@weekly", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
        ("@every 90s", "2026-01-01T00:00:10Z", "2026-01-01T00:01:40Z"),
        ("TZ=Europe/Berlin 0 9 * * *", "2026-01-01T00:00:00Z", "2026-01-01T08:00:00Z"),
        ("TZ=Europe/Berlin 0 9 * * *", "2026-07-01T00:00:00Z", "2026-07-01T07:00:00Z"),
    ],
)
def test_next_time(schedule: str, after: str, due: str) -> None:
    """Strictly after a moment; a day fits either of two day fields if both are given."""
    assert following(schedule, after) == [due]


def test_clocks_that_change() -> None:
    """The hour that is skipped in spring brings no run, the one that comes twice in autumn brings two."""
    spring = following("TZ=Europe/Berlin 30 2 * * *", "2026-03-28T00:00:00Z", 2)
    autumn = following("TZ=Europe/Berlin 30 2 * * *", "2026-10-24T12:00:00Z", 3)

    assert spring == ["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"]
    assert autumn == ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"]


def test_what_is_never_due() -> None:
    """The thirtieth of February does not come."""
    assert next_ns(parse_schedule("0 0 30 2 *"), parse_time("2026-01-01T00:00:00Z")) is None


def test_text_in_a_time_zone() -> None:
    """With the zone's offset, or Z."""
    moment = parse_time("2026-01-01T08:00:00Z")

    assert local_text(moment, zone_of("Europe/Berlin")) == "2026-01-01T09:00:00+01:00"
    assert local_text(moment, zone_of("")) == "2026-01-01T08:00:00Z"


def cron_job(**spec: object) -> CronJob:
    metadata = {"creationTimestamp": "2026-01-01T00:00:30Z"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, CronJob)


@pytest.mark.parametrize(
    ("now", "recent", "many"),
    [
        ("2026-01-01T00:00:40Z", None, False),
        ("2026-01-01T00:01:00Z", "2026-01-01T00:01:00Z", False),
        ("2026-01-01T00:05:20Z", "2026-01-01T00:05:00Z", False),
        ("2026-01-01T05:00:20Z", "2026-01-01T05:00:00Z", True),
    ],
)
def test_missed_times(now: str, recent: str | None, many: bool) -> None:  # noqa: FBT001 - a parameter of a table
    """The newest one counts; more than a hundred are many."""
    found = missed(cron_job(), parse_schedule("* * * * *"), parse_time(now), by_deadline=True)

    assert found.recent_ns == (None if recent is None else parse_time(recent))
    assert found.many is many


def test_delay_to_the_next_time() -> None:
    """A tenth of a second is added, so that the time has come for sure."""
    now_ns = parse_time("2026-01-01T00:00:40Z")

    assert delay_ns(cron_job(), parse_schedule("* * * * *"), now_ns) == 20_100_000_000
    with pytest.raises(ScheduleError):
        delay_ns(cron_job(), parse_schedule("0 0 30 2 *"), now_ns)

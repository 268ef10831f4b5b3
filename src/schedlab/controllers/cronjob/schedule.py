"""When a schedule is due next, in its time zone.

Mirrors: github.com/robfig/cron/v3 spec.go and constantdelay.go, mostRecentScheduleTime and nextScheduleTimeDuration of
pkg/controller/cronjob/utils.go (v1.36).
Differs: without a time zone the calendar is that of UTC.
"""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from schedlab.api.rules.cron import Schedule
from schedlab.api.views.workloads import CronJob
from schedlab.apimachinery.time import parse_time
from schedlab.kernel.clock import MILLISECOND_NS, SECOND_NS

_YEARS_MAX: Final = 5
_DELTA_NS: Final = 100 * MILLISECOND_NS
_MANY: Final = 100
_TOO_CLOSE: Final = "time difference between two schedules is less than 1 second"


class ScheduleError(Exception):
    """A schedule that can be read but is never due, or all the time."""


class Missed(NamedTuple):
    """The last time that was due (None: not yet), counted from `earliest_ns`, and whether many were missed."""

    earliest_ns: int
    recent_ns: int | None
    any: bool = False
    many: bool = False


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name."""
    return UTC if name in ("", "UTC", "Local") else zoneinfo.ZoneInfo(name)


def local_text(moment_ns: int, zone: tzinfo) -> str:
    """Write a moment as RFC 3339 in a time zone."""
    text = datetime.fromtimestamp(moment_ns // SECOND_NS, zone).isoformat()
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def next_ns(schedule: Schedule, after_ns: int) -> int | None:
    """Return when the schedule is due next, in whole seconds; None when that is more than five years away."""
    after_s = after_ns // SECOND_NS
    if schedule.every_ns:
        return (after_s + max(1, schedule.every_ns // SECOND_NS)) * SECOND_NS
    found = _Search(schedule, zone_of(schedule.zone)).run(after_s + 1)
    return None if found is None else found * SECOND_NS


class _Search:
    """Goes from the coarsest field to the finest, and starts over whenever a coarser one has changed."""

    def __init__(self, schedule: Schedule, zone: tzinfo) -> None:
        self._schedule = schedule
        self._zone = zone

    def run(self, start_s: int) -> int | None:
        last_year = self._local(start_s).year + _YEARS_MAX
        now_s = start_s
        while (local := self._local(now_s)).year <= last_year:
            if local.month not in self._schedule.month.values:
                now_s = self._first_of_next_month(local)
            elif not self._day_fits(local):
                now_s = self._midnight(local.date() + timedelta(days=1))
            elif local.hour not in self._schedule.hour.values:
                now_s += 3600 - local.minute * 60 - local.second
            elif local.minute not in self._schedule.minute.values or local.second:
                now_s += 60 - local.second
            else:
                return now_s
        return None

    def _local(self, moment_s: int) -> datetime:
        return datetime.fromtimestamp(moment_s, self._zone)

    def _day_fits(self, local: datetime) -> bool:
        of_month, of_week = self._schedule.day_of_month, self._schedule.day_of_week
        fits_month = local.day in of_month.values
        fits_week = local.isoweekday() % 7 in of_week.values
        # Where both are given, either will do.
        return (fits_month and fits_week) if of_month.is_star or of_week.is_star else (fits_month or fits_week)

    def _first_of_next_month(self, local: datetime) -> int:
        year, month = (local.year + 1, 1) if local.month == 12 else (local.year, local.month + 1)
        return self._midnight(datetime(year, month, 1).date())  # noqa: DTZ001 - a date; the zone comes with midnight

    def _midnight(self, day: object) -> int:
        """Return when a day begins; later than midnight where clocks skip that."""
        text = f"{day}T00:00:00"
        begin = datetime.fromisoformat(text).replace(tzinfo=self._zone)
        moment_s = int(begin.timestamp())
        hour = self._local(moment_s).hour
        if hour:
            moment_s += (24 - hour) * 3600 if hour > 12 else 0
        return moment_s


def missed(job: CronJob, schedule: Schedule, now_ns: int, *, by_deadline: bool) -> Missed:
    """Return the newest time that was due and not run; `by_deadline` leaves out what may not be started any more."""
    earliest_ns = parse_time(job.status.last_schedule_time or job.metadata.creation_timestamp or "")
    if by_deadline and job.spec.starting_deadline_seconds is not None:
        earliest_ns = max(earliest_ns, now_ns - job.spec.starting_deadline_seconds * SECOND_NS)
    first_ns = next_ns(schedule, earliest_ns)
    second_ns = None if first_ns is None else next_ns(schedule, first_ns)
    if first_ns is None or second_ns is None:
        raise ScheduleError(_TOO_CLOSE)
    if now_ns < first_ns:
        return Missed(earliest_ns, None)
    if now_ns < second_ns:
        return Missed(earliest_ns, first_ns)
    between_s = (second_ns - first_ns) // SECOND_NS
    count = (now_ns - first_ns) // SECOND_NS // between_s + 1
    recent_ns = None
    due_ns = next_ns(schedule, first_ns + (count - 2) * between_s * SECOND_NS)
    while due_ns is not None and due_ns <= now_ns:
        recent_ns = due_ns
        due_ns = next_ns(schedule, due_ns)
    return Missed(earliest_ns, recent_ns, any=True, many=count > _MANY)


def delay_ns(job: CronJob, schedule: Schedule, now_ns: int) -> int:
    """Return after what time the schedule has to be looked at again."""
    found = missed(job, schedule, now_ns, by_deadline=False)
    since_ns = found.recent_ns
    if since_ns is None:
        since_ns = now_ns if found.any else found.earliest_ns
    due_ns = next_ns(schedule, since_ns)
    if due_ns is None:
        raise ScheduleError(_TOO_CLOSE)
    return due_ns + _DELTA_NS - now_ns

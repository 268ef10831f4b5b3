"""Cron schedules: five fields (minute, hour, day of month, month, day of week), a descriptor, or a period.

Mirrors: github.com/robfig/cron/v3 parser.go, pkg/util/parsers/parsers.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.time import TimeError, parse_duration

_INT64_MAX: Final = 2**63 - 1


class CronError(ValueError):
    """A schedule that cannot be understood; the text is that of the Go library."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The values that a field can have."""

    lowest: int
    highest: int
    names: tuple[str, ...] = ()

    def everything(self) -> frozenset[int]:
        return frozenset(range(self.lowest, self.highest + 1))


_MONTH_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY_NAMES: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, _MONTH_NAMES),
    _Bounds(0, 6, _DAY_NAMES),
)
_DESCRIPTORS: Final[Mapping[str, str]] = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_ZONES: Final = ("TZ=", "CRON_TZ=")


@dataclass(frozen=True, slots=True)
class Field:
    """The values of one field; `is_star` says that it asks for nothing."""

    values: frozenset[int]
    is_star: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """A parsed schedule: the fields of a calendar, or the nanoseconds between two runs."""

    minute: Field = Field(frozenset())
    hour: Field = Field(frozenset())
    day_of_month: Field = Field(frozenset())
    month: Field = Field(frozenset())
    day_of_week: Field = Field(frozenset())
    #: Name of the time zone that the text itself names.
    zone: str = ""
    every_ns: int = 0


def parse_schedule(text: str) -> Schedule:
    """Understand a schedule; raises CronError."""
    if not text:
        raise CronError("empty spec string")
    zone = ""
    if text.startswith(_ZONES):
        assignment, space, rest = text.partition(" ")
        if not space:
            raise CronError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        zone = assignment.partition("=")[2]
        if not is_time_zone(zone):
            raise CronError(f"provided bad location {zone}: unknown time zone {zone}")
        text = rest.strip()
    if text.startswith("@"):
        return _parse_descriptor(text, zone)
    return _parse_fields(text, zone)


def is_time_zone(name: str) -> bool:
    """Whether a time zone is known by this name; `Local` and an empty name mean the server's own and UTC."""
    if name in ("", "UTC", "Local"):
        return True
    try:
        zoneinfo.ZoneInfo(name)
    except (ValueError, zoneinfo.ZoneInfoNotFoundError, OSError):
        return False
    return True


def _parse_descriptor(text: str, zone: str) -> Schedule:
    if text in _DESCRIPTORS:
        return _parse_fields(_DESCRIPTORS[text], zone)
    if not text.startswith(_EVERY):
        raise CronError(f"unrecognized descriptor: {text}")
    try:
        return Schedule(zone=zone, every_ns=parse_duration(text.removeprefix(_EVERY)))
    except TimeError as error:
        raise CronError(f"failed to parse duration {text}: {error}") from error


def _parse_fields(text: str, zone: str) -> Schedule:
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise CronError(f"expected exactly {len(_FIELDS)} fields, found {len(parts)}: [{' '.join(parts)}]")
    minute, hour, day_of_month, month, day_of_week = map(_parse_field, parts, _FIELDS)
    return Schedule(minute, hour, day_of_month, month, day_of_week, zone)


def _parse_field(text: str, bounds: _Bounds) -> Field:
    values: frozenset[int] = frozenset()
    is_star = False
    for part in filter(None, text.split(",")):
        own = _parse_range(part, bounds)
        values |= own.values
        is_star |= own.is_star
    return Field(values, is_star)


def _parse_range(text: str, bounds: _Bounds) -> Field:
    """Understand `*`, `5`, `1-5`, `*/10`, `1-30/2` or names in the place of numbers."""
    span, *steps = text.split("/")
    start, *ends = span.split("-")
    is_star = start in ("*", "?")
    if is_star:
        first, last = bounds.lowest, bounds.highest
    else:
        first = _parse_number(start, bounds)
        if len(ends) > 1:
            raise CronError(f"too many hyphens: {text}")
        last = _parse_number(ends[0], bounds) if ends else first
    step = 1
    if len(steps) > 1:
        raise CronError(f"too many slashes: {text}")
    if steps:
        step = _parse_integer(steps[0])
        last = last if ends else bounds.highest
        is_star &= step <= 1
    _check_range(first, last, step, bounds, text)
    return Field(frozenset(range(first, last + 1, step)), is_star)


def _check_range(first: int, last: int, step: int, bounds: _Bounds, text: str) -> None:
    if first < bounds.lowest:
        raise CronError(f"beginning of range ({first}) below minimum ({bounds.lowest}): {text}")
    if last > bounds.highest:
        raise CronError(f"end of range ({last}) above maximum ({bounds.highest}): {text}")
    if first > last:
        raise CronError(f"beginning of range ({first}) beyond end of range ({last}): {text}")
    if step == 0:
        raise CronError(f"step of range should be a positive number: {text}")


def _parse_number(text: str, bounds: _Bounds) -> int:
    name = text.lower()
    return bounds.names.index(name) + bounds.lowest if name in bounds.names else _parse_integer(text)


def _parse_integer(text: str) -> int:
    if not re.fullmatch("[+-]?[0-9]+", text):
        raise CronError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: invalid syntax")
    number = int(text)
    if abs(number) > _INT64_MAX:
        raise CronError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: value out of range")
    if number < 0:
        raise CronError(f"negative number ({number}) not allowed: {text}")
    return number

"""Moments and durations as texts: RFC 3339, Go's durations, and the ages that tables show.

A moment is a number of nanoseconds since the Unix epoch. It has no zone: objects are written in UTC.

Mirrors: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/{time,micro_time}.go, pkg/util/duration (v1.36) and Go's
time.Parse, time.ParseDuration and Duration.String with their error texts
Differs: an absent time is None or an absent key, not Go's zero time.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

SECOND: Final = 1_000_000_000
MILLISECOND: Final = 1_000_000
MICROSECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

RFC3339: Final = "2006-01-02T15:04:05Z07:00"
RFC3339_MICRO: Final = "2006-01-02T15:04:05.000000Z07:00"

_MICRO_TIME: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})\.([0-9]{6})Z")
_INT64_LIMIT: Final = 2**63
_DAY_S: Final = 86_400
_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class TimeError(ValueError):
    """A text that is no moment or no duration."""


# --- moments -------------------------------------------------------------------------------------------------------


def format_time(moment_ns: int) -> str:
    """Write a metav1.Time: whole seconds in UTC."""
    return _format_time(moment_ns // SECOND)


def format_micro_time(moment_ns: int) -> str:
    """Write a metav1.MicroTime: six decimals in UTC."""
    second, rest_ns = divmod(moment_ns, SECOND)
    return f"{_format_second(second)}.{rest_ns // MICROSECOND:06d}Z"


def format_nano_time(moment_ns: int) -> str:
    """Write RFC 3339 with as many decimals as needed."""
    second, rest_ns = divmod(moment_ns, SECOND)
    decimals = f".{rest_ns:09d}".rstrip("0") if rest_ns else ""
    return f"{_format_second(second)}{decimals}Z"


@lru_cache(maxsize=4096)
def _format_time(second: int) -> str:
    return _format_second(second) + "Z"


@lru_cache(maxsize=4096)
def _format_second(second: int) -> str:
    day, rest = divmod(second, _DAY_S)
    year, month, day_of_month = _civil_from_days(day)
    hour, rest = divmod(rest, 3600)
    minute, rest = divmod(rest, 60)
    return f"{year:04d}-{month:02d}-{day_of_month:02d}T{hour:02d}:{minute:02d}:{rest:02d}"


def _civil_from_days(days: int) -> tuple[int, int, int]:
    """The proleptic Gregorian date of a day counted from 1970-01-01; years run from March inside."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    return year, month, day_of_year - (153 * shifted_month + 2) // 5 + 1


def _days_from_civil(year: int, month: int, day: int) -> int:
    year -= 1 if month <= 2 else 0
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def parse_time(text: str) -> int:
    """Parse a metav1.Time; raise TimeError with Go's text."""
    return _Reader(text, RFC3339).read()


def parse_micro_time(text: str) -> int:
    """Parse a metav1.MicroTime, which has exactly six decimals."""
    found = _MICRO_TIME.fullmatch(text)
    second_ns = None if found is None else _parse_second(found[1])
    if found is None or second_ns is None:
        return _Reader(text, RFC3339_MICRO).read()
    return second_ns + int(found[2]) * MICROSECOND


@lru_cache(maxsize=4096)
def _parse_second(text: str) -> int | None:
    """Parse the part of a moment that many share; None when there is no such moment."""
    try:
        return _Reader(f"{text}Z", RFC3339).read()
    except TimeError:
        return None


class _Reader:
    """Reads the elements of an RFC 3339 layout one after the other, as Go's time.Parse."""

    def __init__(self, text: str, layout: str) -> None:
        self._text = text
        self._layout = layout
        self._rest = text
        self._nanoseconds = 0

    def read(self) -> int:
        year = self._number("2006", 4, 4, 0, 9999, "")
        self._literal("-")
        month = self._number("01", 2, 2, 1, 12, "month")
        self._literal("-")
        day = self._number("02", 2, 2, 0, 99, "")
        self._literal("T")
        hour = self._number("15", 1, 2, 0, 23, "hour")
        self._literal(":")
        minute = self._number("04", 2, 2, 0, 59, "minute")
        self._literal(":")
        second = self._number("05", 2, 2, 0, 59, "second")
        self._fraction()
        offset_s = self._zone()
        if self._rest:
            raise TimeError(f"parsing time {_quote(self._text)}: extra text: {_quote(self._rest)}")
        leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        if not 1 <= day <= _MONTH_DAYS[month - 1] + leap:
            raise self._out_of_range("day")
        total_s = _days_from_civil(year, month, day) * _DAY_S + hour * 3600 + minute * 60 + second - offset_s
        return total_s * SECOND + self._nanoseconds

    def _fail(self, element: str) -> TimeError:
        parts = (_quote(self._text), _quote(self._layout), _quote(self._rest), _quote(element))
        return TimeError("parsing time {} as {}: cannot parse {} as {}".format(*parts))

    def _out_of_range(self, what: str) -> TimeError:
        return TimeError(f"parsing time {_quote(self._text)}: {what} out of range")

    def _literal(self, char: str) -> None:
        if not self._rest.startswith(char):
            raise self._fail(char)
        self._rest = self._rest[len(char) :]

    def _number(self, element: str, digits_min: int, digits_max: int, lowest: int, highest: int, what: str) -> int:
        count = _leading_digits(self._rest[:digits_max])
        if count < digits_min:
            raise self._fail(element)
        number = int(self._rest[:count])
        if not lowest <= number <= highest:
            raise self._out_of_range(what)
        self._rest = self._rest[count:]
        return number

    def _fraction(self) -> None:
        """Read decimals: exactly six where the layout has them, else any number or none."""
        count = _leading_digits(self._rest[1:]) if self._rest[:1] in (".", ",") else 0
        if self._layout == RFC3339_MICRO:
            if count < 6:
                raise self._fail(".000000")
            count = 6
        if count:
            # Digits finer than nanoseconds are dropped.
            self._nanoseconds = int(self._rest[1 : count + 1][:9].ljust(9, "0"))
            self._rest = self._rest[count + 1 :]

    def _zone(self) -> int:
        """Read the zone and return its offset in seconds."""
        if self._rest.startswith("Z"):
            self._rest = self._rest[1:]
            return 0
        sign, hours, colon, minutes = self._rest[:1], self._rest[1:3], self._rest[3:4], self._rest[4:6]
        well_formed = sign in ("+", "-") and colon == ":" and _leading_digits(hours) == 2 == _leading_digits(minutes)
        if not sign or not well_formed:
            raise self._fail("Z07:00")
        if int(hours) > 24:
            raise self._out_of_range("time zone offset hour")
        if int(minutes) > 60:
            raise self._out_of_range("time zone offset minute")
        self._rest = self._rest[6:]
        offset_s = int(hours) * 3600 + int(minutes) * 60
        return offset_s if sign == "+" else -offset_s


def _leading_digits(text: str) -> int:
    count = 0
    while count < len(text) and "0" <= text[count] <= "9":
        count += 1
    return count


def _quote(text: str) -> str:
    r"""Quote as package time does: bytes that are no printable ASCII as \x."""
    return '"' + "".join(_quote_character(char) for char in text) + '"'


def _quote_character(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if " " <= char <= "\x7f":
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))


# --- durations -----------------------------------------------------------------------------------------------------

_UNITS: Final = {
    "ns": 1,
    "us": MICROSECOND,
    "\u00b5s": MICROSECOND,  # micro sign
    "\u03bcs": MICROSECOND,  # Greek letter mu
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_TERM: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^.0-9]*)", re.ASCII)


def format_duration(duration_ns: int) -> str:
    """Write a duration as Go does: `1h0m0.5s`, `1.5ms`, `0s`."""
    sign, amount = ("-", -duration_ns) if duration_ns < 0 else ("", duration_ns)
    if amount == 0:
        return "0s"
    if amount < SECOND:
        for unit, name in ((MILLISECOND, "ms"), (MICROSECOND, "\u00b5s"), (1, "ns")):
            if amount >= unit:
                return f"{sign}{_with_decimals(amount, unit)}{name}"
    minutes, rest = divmod(amount, MINUTE)
    text = f"{_with_decimals(rest, SECOND)}s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
    return sign + text


def _with_decimals(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    if not rest:
        return f"{whole}"
    width = len(str(unit)) - 1
    return f"{whole}.{rest:0{width}d}".rstrip("0")


def parse_duration(text: str) -> int:
    """Parse a Go duration into nanoseconds; raise TimeError with Go's text."""
    rest = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if rest == "0":
        return 0
    if not rest:
        raise _invalid_duration(text)
    total = 0
    for whole, fraction, unit in _terms(rest, text):
        total += _whole_part(whole, unit, text) + _fraction_part(fraction, unit)
        if total > _INT64_LIMIT:
            raise _invalid_duration(text)
    if text.startswith("-"):
        return -total
    if total == _INT64_LIMIT:
        raise _invalid_duration(text)
    return total


def _invalid_duration(text: str) -> TimeError:
    return TimeError(f"time: invalid duration {_quote(text)}")


def _terms(rest: str, text: str) -> Iterator[tuple[str, str, int]]:
    """Split `1h2.5m` into whole digits, fraction digits and unit."""
    position = 0
    while position < len(rest):
        matched = _TERM.match(rest, position)
        assert matched is not None  # the pattern matches the empty text
        whole, fraction, unit = matched[1], matched[2], matched[3]
        if not whole and not fraction:
            raise _invalid_duration(text)
        if not unit:
            raise TimeError(f"time: missing unit in duration {_quote(text)}")
        if unit not in _UNITS:
            raise TimeError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")
        yield whole, fraction or "", _UNITS[unit]
        position = matched.end()


def _whole_part(digits: str, unit: int, text: str) -> int:
    if len(digits.lstrip("0")) > 19:
        raise _invalid_duration(text)
    amount = int(digits or "0") * unit
    if amount > _INT64_LIMIT:
        raise _invalid_duration(text)
    return amount


def _fraction_part(digits: str, unit: int) -> int:
    """Nanoseconds of a fraction, through the same float64 steps as Go."""
    number, scale = 0, 1.0
    for digit in digits:
        extended = number * 10 + int(digit)
        if number > (_INT64_LIMIT - 1) // 10 or extended > _INT64_LIMIT:
            break
        number, scale = extended, scale * 10
    return int(float(number) * (float(unit) / scale)) if number else 0


# --- ages ----------------------------------------------------------------------------------------------------------


def _truncate(duration_ns: int, unit: int) -> int:
    """Divide toward zero, as Go's integer division."""
    return duration_ns // unit if duration_ns >= 0 else -(-duration_ns // unit)


def _two_units(major: int, major_name: str, minor: int, minor_name: str) -> str:
    return f"{major}{major_name}{minor}{minor_name}" if minor else f"{major}{major_name}"


def human_duration(duration_ns: int) -> str:
    """Write an age with two or three significant digits: `90s`, `5m30s`, `2d3h`."""
    seconds = _truncate(duration_ns, SECOND)
    if seconds < 120:
        return _near_now(seconds)
    minutes, hours = seconds // 60, seconds // 3600
    days = hours // 24
    rules: tuple[tuple[bool, Callable[[], str]], ...] = (
        (minutes < 10, lambda: _two_units(minutes, "m", seconds % 60, "s")),
        (minutes < 180, lambda: f"{minutes}m"),
        (hours < 8, lambda: _two_units(hours, "h", minutes % 60, "m")),
        (hours < 48, lambda: f"{hours}h"),
        (days < 8, lambda: _two_units(days, "d", hours % 24, "h")),
        (days < 365 * 2, lambda: f"{days}d"),
        (days < 365 * 8, lambda: _two_units(days // 365, "y", days % 365, "d")),
    )
    return next((render() for applies, render in rules if applies), f"{days // 365}y")


def short_human_duration(duration_ns: int) -> str:
    """Write an age with one unit."""
    seconds = _truncate(duration_ns, SECOND)
    if seconds < 60:
        return _near_now(seconds)
    if seconds < 3600:
        return f"{seconds // 60}m"
    hours = seconds // 3600
    if hours < 24:
        return f"{hours}h"
    return f"{hours // 24}d" if hours < 24 * 365 else f"{hours // 24 // 365}y"


def _near_now(seconds: int) -> str:
    # Clocks may differ by less than two seconds.
    return "<invalid>" if seconds < -1 else f"{max(seconds, 0)}s"

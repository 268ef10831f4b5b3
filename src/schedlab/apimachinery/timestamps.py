"""Times on the wire: RFC 3339 in UTC with whole seconds, or with microseconds for MicroTime.

A time is stored as the text the API shows. `canonical` turns what a client sent into that text; Go's zero time becomes
null. Times of the simulation are nanoseconds since the epoch and are written by `from_ns`.

Mirrors: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/{time,micro_time}.go and Go time.Parse for RFC 3339 (v1.36)
Differs: nothing; the messages are Go's.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

from schedlab.apimachinery import gojson

LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"

_USUAL: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_GO_ZERO: Final = datetime(1, 1, 1, tzinfo=UTC)


class TimeError(ValueError):
    """A text that is no RFC 3339 time, with the words of Go's time.Parse."""


def from_ns(now_ns: int) -> str:
    """Write a time as metav1.Time: the fraction of a second is cut."""
    return (_EPOCH + timedelta(seconds=now_ns // 1_000_000_000)).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_from_ns(now_ns: int) -> str:
    """Write a time as metav1.MicroTime."""
    return (_EPOCH + timedelta(microseconds=now_ns // 1000)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def to_ns(text: str) -> int:
    """Read a time of the wire; raises TimeError."""
    return _to_ns(parse(text))


def _to_ns(moment: datetime) -> int:
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000


@lru_cache(maxsize=4096)
def canonical(text: str) -> str | None:
    """Return the stored form of a metav1.Time; None for Go's zero time; raises TimeError."""
    moment = parse(text)
    if moment == _GO_ZERO:
        return None
    return text if _USUAL.fullmatch(text) else from_ns(_to_ns(moment))


@lru_cache(maxsize=4096)
def canonical_micro(text: str) -> str | None:
    """Return the stored form of a metav1.MicroTime; None for Go's zero time; raises TimeError."""
    moment = parse(text, MICRO_LAYOUT)
    return None if moment == _GO_ZERO else micro_from_ns(_to_ns(moment))


def parse(text: str, layout: str = LAYOUT) -> datetime:
    """Parse as Go's time.Parse with one of the two layouts; raises TimeError."""
    return _Parser(text, layout).run()


class _Parser:
    """Walks a text part by part, so that an error can name the part that does not fit."""

    def __init__(self, text: str, layout: str) -> None:
        self._text = text
        self._layout = layout
        self._rest = text

    def run(self) -> datetime:
        year = self._year()
        self._skip("-")
        month = self._number("01", fixed=True, limits=(1, 12), name="month")
        self._skip("-")
        day = self._number("02", fixed=True, limits=(0, 99), name="day")
        self._skip("T")
        hour = self._number("15", fixed=False, limits=(0, 23), name="hour")
        self._skip(":")
        minute = self._number("04", fixed=True, limits=(0, 59), name="minute")
        self._skip(":")
        second = self._number("05", fixed=True, limits=(0, 59), name="second")
        micro = self._fraction()
        zone = self._zone()
        if self._rest:
            raise self._wrong(f": extra text: {gojson.quote(self._rest)}")
        try:
            moment = datetime(max(year, 1), month, day, hour, minute, second, micro, tzinfo=zone)
            return moment.astimezone(UTC)
        except (ValueError, OverflowError):  # the day; or an offset that leaves the years Python knows
            raise self._wrong(": day out of range") from None

    def _wrong(self, message: str) -> TimeError:
        return TimeError(f"parsing time {gojson.quote(self._text)}{message}")

    def _bad(self, element: str, rest: str) -> TimeError:
        detail = f"cannot parse {gojson.quote(rest)} as {gojson.quote(element)}"
        return self._wrong(f" as {gojson.quote(self._layout)}: {detail}")

    def _year(self) -> int:
        digits = self._rest[:4]
        if not re.fullmatch(r"[0-9]{4}", digits):
            raise self._bad("2006", self._rest)
        self._rest = self._rest[4:]
        return int(digits)

    def _skip(self, literal: str) -> None:
        if not self._rest.startswith(literal):
            raise self._bad(literal, self._rest)
        self._rest = self._rest[1:]

    def _number(self, element: str, *, fixed: bool, limits: tuple[int, int], name: str) -> int:
        found = re.match(r"[0-9]{2}" if fixed else r"[0-9]{1,2}", self._rest)
        if found is None:
            raise self._bad(element, self._rest)
        self._rest = self._rest[found.end() :]
        number = int(found[0])
        if not limits[0] <= number <= limits[1]:
            raise self._wrong(f": {name} out of range")
        return number

    def _fraction(self) -> int:
        """Microseconds after the second; the layout of MicroTime asks for exactly six digits."""
        found = re.match(r"[.,]([0-9]+)", self._rest)
        if self._layout == MICRO_LAYOUT and (found is None or len(found[1]) < 6):
            raise self._bad(".000000", self._rest)
        if found is None:
            return 0
        digits = found[1][:6] if self._layout == MICRO_LAYOUT else found[1]
        self._rest = self._rest[1 + len(digits) :]
        return int(digits[:6].ljust(6, "0"))

    def _zone(self) -> timezone:
        rest = self._rest
        if rest.startswith("Z"):
            self._rest = rest[1:]
            return UTC
        found = re.match(r"([+-])([0-9]{2}):([0-9]{2})", rest)
        if found is None:
            raise self._bad("Z07:00", rest)
        self._rest = rest[found.end() :]
        hours, minutes = int(found[2]), int(found[3])
        if hours > 24:
            raise self._wrong(": time zone offset hour out of range")
        if minutes > 60:
            raise self._wrong(": time zone offset minute out of range")
        offset = timedelta(hours=hours, minutes=minutes)
        if offset >= timedelta(days=1):
            offset = timedelta(hours=23, minutes=59)
        return timezone(-offset if found[1] == "-" else offset)

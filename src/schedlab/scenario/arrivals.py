"""When pods come, and how long they run: rates, distributions, traces."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from schedlab.apimachinery.distribution import Distribution, parse_distribution
from schedlab.apimachinery.time import TimeError, parse_duration
from schedlab.apimachinery.yaml_file import read_text
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.plan import Arrival

_RATE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)/(s|m|h|d)")
_UNIT_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_FILE: Final = re.compile(r"empirical\(\s*([^(),]*[./][^(),]*?)\s*\)")


def poisson_gaps(rate: str) -> Distribution:
    """Return the distribution of the time between two arrivals at a rate like 30/m; raises SchedlabError."""
    found = _RATE.fullmatch(rate.strip())
    if found is None or float(found[1]) <= 0:
        raise SchedlabError(f"{rate!r} is no rate", hint="write one like 2/s, 30/m, 500/h or 1000/d")
    mean_ns = round(_UNIT_S[found[2]] * SECOND_NS / float(found[1]))
    return parse_distribution(f"exponential({mean_ns}ns)")


def read_distribution(text: str, path: Callable[[str], Path]) -> Distribution:
    """Read a distribution, an empirical one from its file, which `path` finds; raises SchedlabError, DistributionError."""
    found = _FILE.fullmatch(text.strip())
    if found is None:
        return parse_distribution(text)
    lines = read_text(path(found[1]), "name a file with a duration per line").split()
    return parse_distribution(f"empirical({', '.join(map(_with_unit, lines))})")


def _with_unit(text: str) -> str:
    """A number alone counts seconds."""
    return f"{text}s" if text.replace(".", "", 1).isdecimal() else text


def read_trace(file: Path) -> tuple[Arrival, ...]:
    """Read a trace; raises SchedlabError with the line of the mistake."""
    lines = read_text(file, "name a CSV file with a column `at`").splitlines()
    rows = csv.DictReader(lines)
    if "at" not in (rows.fieldnames or ()):
        raise SchedlabError("has no column `at`", location=str(file), hint="its first line names the columns")
    return tuple(_arrivals(rows, file))


def _arrivals(rows: csv.DictReader[str], file: Path) -> Iterator[Arrival]:
    last_ns = 0
    for row in rows:
        location = f"{file}:{rows.line_num}"
        if None in row or None in row.values():
            raise SchedlabError(f"has not {len(rows.fieldnames or ())} fields", location=location)
        try:
            at_ns = parse_duration(_with_unit(row["at"].strip()))
            length = row.get("runTime", "").strip()
            run_time = parse_distribution(_with_unit(length)) if length else None
        except (TimeError, ValueError) as error:
            raise SchedlabError(
                str(error), location=location, hint="write seconds, or a duration like 1m30s"
            ) from error
        if at_ns < last_ns:
            raise SchedlabError(f"{row['at']} is before the line above", location=location, hint="sort the lines by at")
        last_ns = at_ns
        yield Arrival(at_ns, run_time, {key: value for key, value in row.items() if key not in ("at", "runTime")})

"""A sweep in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from schedlab.cli.columns import columns
from schedlab.cli.compare_text import number_text
from schedlab.kernel.words import counted
from schedlab.scenario.sweeps.results import SweepResult

_POINTS_SHOWN: Final = 40
_FAILED_SHOWN: Final = 10


def sweep_text(found: SweepResult, location: str) -> str:
    """Return what a sweep came to."""
    return "\n".join(_lines(found, location))


def _lines(found: SweepResult, location: str) -> Iterator[str]:
    points = found.points()
    yield f"{found.plan.scenario} ({location}), {counted(len(points), 'point')}, {counted(len(found.plan.tasks), 'run')}; means over seeds"
    yield ""
    rows = [_cells(found, point) for point in points[:_POINTS_SHOWN]]
    yield from columns([[*found.plan.names, "runs", *found.plan.metrics], *rows])
    if len(points) > _POINTS_SHOWN:
        yield f"  and {counted(len(points) - _POINTS_SHOWN, 'more point')}; -o json has all, the table of runs every run"
    yield ""
    failed = found.failed
    if failed:
        yield f"{counted(len(failed), 'run')} failed"
        yield from (f"  {_name(row)}: {' '.join(row['reason'].split())}" for row in failed[:_FAILED_SHOWN])
        if len(failed) > _FAILED_SHOWN:
            yield f"  and {len(failed) - _FAILED_SHOWN} more"
    asserted = sum(bool(row.get("assertions")) for row in found.rows.values())
    if asserted:
        yield f"assertions fail in {counted(asserted, 'run')}"
    refused = [row["problems"][0] for row in found.rows.values() if row.get("problems")]
    if refused:
        yield f"the API refused something in {counted(len(refused), 'run')}, first: {refused[0]}"
    yield f"digest {found.digest or 'none: not all runs are finished'}"


def _cells(found: SweepResult, point: Mapping[str, Any]) -> list[str]:
    values = {"config": point["config"], **point["parameters"]}
    runs = f"{point['runs']}" + (f" ({point['failed']} failed)" if point["failed"] else "")
    return [
        *(str(values[name]) for name in found.plan.names),
        runs,
        *(number_text(point["metrics"].get(name)) for name in found.plan.metrics),
    ]


def _name(row: Mapping[str, Any]) -> str:
    values = "".join(f", {name} {value}" for name, value in row["parameters"].items())
    return f"seed {row['seed']}, {row['config']}{values}"

"""A comparison in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from schedlab.cli.columns import columns
from schedlab.kernel.words import counted
from schedlab.scenario.comparing import Comparison
from schedlab.scenario.pairing import CONFIGURATION, by_plugin

_MOVED_SHOWN: Final = 10


def compare_text(found: Comparison, location: str) -> str:
    """Return what a comparison came to."""
    return "\n".join(_lines(found, location))


def _lines(found: Comparison, location: str) -> Iterator[str]:
    seeds = f"seed {found.seeds[0]}" if len(found.seeds) == 1 else counted(len(found.seeds), "seed")
    yield f"{found.scenario} ({location}), {seeds}"
    yield f"scheduler service time {found.service_time}"
    yield ""
    yield from (f"{letter(place)}  {name}" for place, name in enumerate(found.configs))
    yield ""
    yield from _table(found)
    for place, name in enumerate(found.configs[1:]):
        yield ""
        yield from _moved(found, place, name)
    for place, name in enumerate(found.configs):
        failed = sum(bool(runs[place]["failed"]) for runs in found.runs)
        if failed:
            yield f"{letter(place)}  {name}: assertions fail in {failed} of {counted(len(found.seeds), 'run')}"


def letter(place: int) -> str:
    """Return what a configuration is called in a table."""
    return chr(ord("A") + place) if place < 26 else f"#{place + 1}"


def _table(found: Comparison) -> Iterator[str]:
    metrics = found.metrics()
    different = {name: one for name, one in metrics.items() if len({*one["means"]}) > 1 or len(found.configs) == 1}
    if not different:
        yield f"all {counted(len(metrics), 'metric is', 'metrics are')} the same"
        return
    rows = [["METRIC", "UNIT", *(letter(place) for place in range(len(found.configs)))]]
    rows[0] += [f"{letter(place)} - A" for place in range(1, len(found.configs))]
    for name, one in different.items():
        differences = [difference_text(each, one["better"]) for each in one["differences"]]
        rows.append([name, one["unit"], *(number_text(mean) for mean in one["means"]), *differences])
    yield from (line[2:] for line in columns(rows))
    if len(different) < len(metrics):
        yield f"{counted(len(metrics) - len(different), 'metric is', 'metrics are')} the same"


def number_text(value: float | None) -> str:
    """Return a number with the digits that anybody reads."""
    return "-" if value is None else f"{value:.4g}"


def difference_text(difference: Mapping[str, Any] | None, better: str) -> str:
    """Return a difference with its interval, and whether it is for the better when that is clear."""
    if difference is None:
        return "-"
    mean, low, high = difference["mean"], difference["low"], difference["high"]
    text = f"{mean:+.4g}"
    if low is not None:
        text += f" [{low:+.4g}, {high:+.4g}]"
    if difference["clear"] and better and mean:
        text += " better" if (mean < 0) == (better == "lower") else " worse"
    return text


def reason_text(moved: Mapping[str, Any]) -> str:
    """Return why a pod is elsewhere."""
    return str(moved["reason"]) if moved["cause"] == CONFIGURATION else f"{moved['cause']}: {moved['reason']}"


def _moved(found: Comparison, place: int, name: str) -> Iterator[str]:
    moved = found.moved[place]
    yield f"{counted(found.moved_counts[place], 'pod is', 'pods are')} placed elsewhere with {letter(place + 1)}  {name}"
    for plugin, count in by_plugin(moved).items():
        yield f"  {count} by {plugin}"
    rows = [
        [f"seed {one['seed']}", one["pod"], one["before"] or "-", "->", one["after"] or "-", reason_text(one)]
        for one in moved[:_MOVED_SHOWN]
    ]
    if rows:
        yield from columns(rows)
    if len(moved) > _MOVED_SHOWN:
        yield f"  and {found.moved_counts[place] - _MOVED_SHOWN} more; -o json and --html tell of them"

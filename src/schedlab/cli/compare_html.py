"""A comparison as one HTML page that stands alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

from schedlab.cli.charts import colour
from schedlab.cli.compare_text import difference_text, letter, number_text
from schedlab.cli.html_page import html_page, row, table
from schedlab.cli.series_html import series_html
from schedlab.kernel.words import counted
from schedlab.scenario.comparing import Comparison
from schedlab.scenario.pairing import flipped_by

_MOVED_SHOWN: Final = 200


def compare_html(found: Comparison) -> str:
    """Return the report."""
    return html_page(
        f"{found.scenario}: {counted(len(found.configs), 'scheduler configuration')} compared", _body(found)
    )


def _body(found: Comparison) -> Iterator[str]:
    seeds = ", ".join(map(str, found.seeds))
    yield f"<p>Seeds {escape(seeds)}. Scheduler service time {escape(found.service_time)}.</p>"
    if found.interrupted:
        yield '<p class="no">It was interrupted: only the seeds above are told.</p>'
    yield "<ul>"
    for place, name in enumerate(found.configs):
        yield f"<li>{_letter(place)} {escape(name)}</li>"
    yield "</ul><h2>Metrics</h2>"
    yield "<p>Means over the seeds, differences to A with their 95&nbsp;% intervals (paired, Student's t).</p>"
    yield from _metrics(found)
    yield f"<h2>Over time, seed {found.seeds[0]}</h2>"
    yield f"<p>Lines: {' '.join(map(_letter, range(len(found.configs))))}</p>"
    yield from series_html([letter(place) for place in range(len(found.configs))], found.series)
    for place, name in enumerate(found.configs[1:]):
        yield f"<h2>Pods placed elsewhere with {letter(place + 1)}: {escape(name)}</h2>"
        yield from _moved(found, place)


def _letter(place: int) -> str:
    return f'<b class="{colour(place)}">{letter(place)}</b>'


def _metrics(found: Comparison) -> Iterator[str]:
    """Yield the metrics that differ, and folded those that do not."""
    metrics = found.metrics()
    same = {name: one for name, one in metrics.items() if len({*one["means"]}) == 1 and len(found.configs) > 1}
    names = [letter(place) for place in range(len(found.configs))]
    head = ("metric", "unit", *names, *(f"{name} - A" for name in names[1:]))
    if len(same) < len(metrics):
        different = {name: one for name, one in metrics.items() if name not in same}
        yield from table("Metrics that differ", head, _metric_rows(different), "numbers")
    if same:
        yield f"<details><summary>{counted(len(same), 'metric is', 'metrics are')} the same</summary>"
        yield from table("Metrics that are the same", head, _metric_rows(same), "numbers")
        yield "</details>"


def _metric_rows(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, one in metrics.items():
        differences = [difference_text(each, one["better"]) for each in one["differences"]]
        kind = "ok" if any(text.endswith("better") for text in differences) else ""
        kind = "no" if any(text.endswith("worse") for text in differences) else kind
        yield row("td", (name, one["unit"], *(number_text(mean) for mean in one["means"]), *differences), kind)


def _moved(found: Comparison, place: int) -> Iterator[str]:
    count, moved = found.moved_counts[place], found.moved[place][:_MOVED_SHOWN]
    if not moved:
        yield "<p>None.</p>"
        return
    if count > len(moved):
        yield f"<p>{counted(count, 'pod')}; the first {len(moved)} of them:</p>"
    other = letter(place + 1)
    head = ("seed", "pod", "node with A", f"node with {other}", "flipped by", "why")
    cells = (
        (one["seed"], one["pod"], one["before"] or "-", one["after"] or "-", flipped_by(one), one["reason"])
        for one in moved
    )
    yield from table(f"Pods placed elsewhere with {other}", head, (row("td", each) for each in cells))
    for one in moved:
        for name, decision in zip(("A", other), one.get("decisions", ()), strict=False):
            yield from _decision(f"{one['pod']} (seed {one['seed']}) with {name}", decision)


def _decision(title: str, decision: Mapping[str, Any]) -> Iterator[str]:
    yield f"<details><summary>{escape(title)}: {escape(decision['selected'] or decision['message'])}</summary>"
    rows = (
        row("td", (one["node"], one["total"], *one["scores"]), "chosen" if one["node"] == decision["selected"] else "")
        for one in decision["rows"]
    )
    yield from table(f"Scores of {title}", ("node", "total", *decision["plugins"]), rows, "numbers")
    yield "</details>"

"""A run as one HTML page that stands alone."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from schedlab.cli.compare_text import number_text
from schedlab.cli.html_page import html_page, row, scrolled, table
from schedlab.cli.run_text import run_text
from schedlab.cli.series_html import series_html
from schedlab.kernel.words import counted
from schedlab.scenario.judging import Verdict
from schedlab.scenario.metrics import metric_of
from schedlab.scenario.results import Run

_WAITING_SHOWN: Final = 200


def run_html(run: Run, location: str) -> str:
    """Return the report."""
    return html_page(f"{run.scenario}, seed {run.seed}", _body(run, location))


def _body(run: Run, location: str) -> Iterator[str]:
    yield from scrolled("Summary", [f"<pre>{escape(run_text(run, location))}</pre>"])
    if run.verdicts:
        yield "<h2>Assertions</h2>"
        yield from table("Assertions", ("verdict", "assertion", "found", "place"), map(_assertion_row, run.verdicts))
    yield "<h2>Metrics</h2>"
    yield from table("Metrics", ("metric", "unit", "value", "what it is"), _metric_rows(run))
    yield "<h2>Over time</h2>"
    yield from series_html([run.scenario], [run.series])
    yield from _waiting(run)


def _assertion_row(one: Verdict) -> str:
    word, kind = ("holds", "ok") if one.holds else ("fails", "no")
    return row("td", (word, one.text, one.found, one.place), kind)


def _metric_rows(run: Run) -> Iterator[str]:
    for name, value in run.metrics.items():
        known = metric_of(name)
        if known is not None and value is not None:
            yield row("td", (name, known.unit, number_text(value), known.text))


def _waiting(run: Run) -> Iterator[str]:
    waiting = [pod for pod in run.pods if pod["reason"]]
    if not waiting:
        return
    yield f"<h2>{counted(len(waiting), 'pod waits', 'pods wait')} at the end</h2>"
    rows = (
        row("td", (f"{pod['namespace']}/{pod['pod']}", number_text(pod["created_s"]), pod["message"] or pod["reason"]))
        for pod in waiting[:_WAITING_SHOWN]
    )
    yield from table("Pods that wait", ("pod", "since, s", "why"), rows)

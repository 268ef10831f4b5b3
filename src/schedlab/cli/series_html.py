"""What was measured over time, as charts of an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from schedlab.cli.charts import Line, step_chart
from schedlab.cli.html_page import scrolled
from schedlab.scenario.metrics import COLUMNS


def series_html(names: Sequence[str], series: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Yield a chart for each state that was ever other than 0, with a line for each series; `names` are the lines'."""
    for column in dict.fromkeys(name for rows in series for row in rows for name in row):
        known = COLUMNS.get(column.partition(".")[0])
        lines = [_line(name, rows, column) for name, rows in zip(names, series, strict=True)]
        if known is None or not any(any(line.values) for line in lines):
            continue
        yield f"<h3>{escape(column)}</h3><p>{escape(known.text)}</p>"
        yield from scrolled(f"Chart of {column}", [step_chart(column, lines)])


def _line(name: str, rows: Sequence[Mapping[str, Any]], column: str) -> Line:
    known = [one for one in rows if one.get(column) is not None]
    return Line(name, [one["time_s"] for one in known], [one[column] for one in known])

"""A search of configurations as one HTML page that stands alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from schedlab.cli.charts import Point, point_chart
from schedlab.cli.html_page import html_page, row, scrolled, table
from schedlab.cli.tune_text import front_table, headline, objective_name
from schedlab.kernel.words import counted
from schedlab.scenario.sweeps.candidates import Tuning


def tune_html(found: Tuning, files: Mapping[str, str]) -> str:
    """Return the report."""
    return html_page(
        f"{found.scenario.stem}: {counted(len(found.trials), 'scheduler configuration')} tried", _body(found, files)
    )


def _body(found: Tuning, files: Mapping[str, str]) -> Iterator[str]:
    front = found.front
    if found.interrupted:
        yield '<p class="no">It was interrupted: what is told is what was tried until then.</p>'
    yield "<h2>What no other one beats</h2>"
    heading, *rows = front_table(found)
    best = (row("td", (*cells, files.get(cells[0], "beaten")), "ok" if cells[0] in files else "") for cells in rows)
    yield from table("What no other one beats", (*heading, "configuration"), best)
    yield "<ul>"
    yield from (f"<li>{escape(headline(one))}</li>" for one in front)
    yield "</ul>"
    yield from _charts(found)
    yield "<h2>All that were tried</h2>"
    yield from table("All that were tried", ("name", *heading[1:], "values"), _tried_rows(found))


def _tried_rows(found: Tuning) -> Iterator[str]:
    front = found.front
    for one in (*found.baselines, *found.trials):
        results = [f"{value:.4g}" for value in one.results] or ["failed"] * len(found.objectives)
        values = one.reason or ", ".join(f"{name} {value}" for name, value in one.values.items())
        yield row("td", (one.name, *results, values), "chosen" if one in front else "")


def _charts(found: Tuning) -> Iterator[str]:
    """Yield a chart per further objective beside the first; of one objective alone, over the trials."""
    names = [objective_name(one) for one in found.objectives]
    front = found.front
    tried = [one for one in (*found.baselines, *found.trials) if one.results]
    yield "<p>Filled: no other one beats it. Squares: what nobody tuned.</p>"
    for place in range(1, len(names)) if len(names) > 1 else (0,):
        points = [
            Point(
                one.results[0] if len(names) > 1 else float(number),
                one.results[place],
                headline(one),
                is_marked=one in front,
                is_square=one in found.baselines,
            )
            for number, one in enumerate(tried)
        ]
        across = names[0] if len(names) > 1 else "trial"
        yield f"<h3>{escape(names[place])} by {escape(across)}</h3>"
        title = f"{names[place]} by {across}"
        yield from scrolled(f"Chart of {title}", [point_chart(title, points)])

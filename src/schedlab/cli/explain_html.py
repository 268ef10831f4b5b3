"""An explanation as one HTML page that stands alone: no script, nothing loaded from elsewhere.

Names and messages come from objects anybody may have written, so every text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import chain
from typing import Any

from schedlab.cli.explain_numbers import choice, node_numbers, versus
from schedlab.cli.explain_text import scheduler_words
from schedlab.cli.explain_waiting import preemption, queue
from schedlab.cli.html_page import html_page, row, scrolled


def explain_html(explanation: Mapping[str, Any]) -> str:
    """Return the page."""
    placed = explanation.get("placedBy")
    title = f"Pod {explanation['pod']}" + ("" if placed else f", attempt {explanation['attempt']}")
    return html_page(title, _body(explanation))


def _body(explanation: Mapping[str, Any]) -> Iterator[str]:
    yield f"<p>{escape(explanation['time'])}, scheduler {escape(scheduler_words(explanation))}</p>"
    if explanation.get("placedBy"):
        yield f"<p>The pod was {escape(explanation['placedBy']['text'])}.</p>"
    state = explanation.get("state", {}).get("text", "")
    if state:
        yield f"<p>{escape(state)}</p>"
    yield f'<p class="answer">{escape(explanation["answer"])}</p>'
    if explanation["message"]:
        yield f'<p class="message">{escape(explanation["message"])}</p>'
    for warning in explanation.get("warnings", ()):
        yield f'<p class="no">{escape(warning)}</p>'
    yield from _section("Filter", _filter_table(explanation))
    yield from _section("Score", _score_table(explanation))
    for heading, text in (
        ("Choice", choice(explanation, wide=True)),
        ("Comparison", versus(explanation)),
        ("Preemption", preemption(explanation, wide=True)),
        ("Queue", queue(explanation, wide=True)),
    ):
        if text:
            yield f"<h2>{heading}</h2>"
            yield from scrolled(heading, [f"<pre>{escape(text)}</pre>"])
    for entry in explanation["nodes"]:
        if "facts" in entry or ("scores" in entry and any("formula" in each for each in entry["scores"].values())):
            text = node_numbers(entry, all_plugins=True)
            yield f"<details><summary>{escape(entry['node'])}</summary>"
            yield from scrolled(f"Numbers of {entry['node']}", [f"<pre>{escape(text)}</pre>"])
            yield "</details>"


def _section(heading: str, table: Sequence[str]) -> Iterator[str]:
    if table:
        yield f"<h2>{heading}</h2>"
        yield from scrolled(heading, ["\n".join(("<table>", *table, "</table>"))])


def _filter_table(explanation: Mapping[str, Any]) -> list[str]:
    nodes = explanation["nodes"]
    plugins = list(dict.fromkeys(chain.from_iterable(entry["plugins"] for entry in nodes)))
    if not plugins:
        return []
    rows = [row("th", ("node", *plugins))]
    selected = explanation["selected"]
    # Nodes of the same verdicts without numbers look alike.
    known: dict[tuple[tuple[str, ...], ...], str] = {}
    for entry in nodes:
        if "facts" in entry:
            cells = "".join([_verdict_cell(entry, plugin) for plugin in plugins])
        else:
            verdicts = entry["plugins"]
            said = tuple(verdicts), tuple(verdicts.values())
            found = known.get(said)
            if found is None:
                found = known[said] = "".join([_verdict_cell(entry, plugin) for plugin in plugins])
            cells = found
        rows.append(_tr(entry, selected, cells))
    return rows


def _verdict_cell(entry: Mapping[str, Any], plugin: str) -> str:
    verdict = entry["plugins"].get(plugin)
    facts = "; ".join(fact["text"] for fact in entry.get("facts", {}).get(plugin, ()) if not fact["fits"])
    text = "" if verdict is None else "ok" if verdict == "passed" else facts or verdict
    kind = "" if verdict is None else ' class="ok"' if verdict == "passed" else ' class="no"'
    return f"<td{kind}>{escape(text)}</td>"


def _score_table(explanation: Mapping[str, Any]) -> list[str]:
    scored = sorted((entry for entry in explanation["nodes"] if "scores" in entry), key=lambda entry: -entry["total"])
    if not scored:
        return []
    plugins = list(scored[0]["scores"])
    rows = [row("th", ("node", "total", *plugins))]
    points = "<td>%d</td>" * (1 + len(plugins))
    for entry in scored:
        scores = entry["scores"]
        cells = points % (entry["total"], *[scores[plugin]["final"] for plugin in plugins])
        rows.append(_tr(entry, explanation["selected"], cells))
    return rows


def _tr(entry: Mapping[str, Any], selected: str, cells: str) -> str:
    name = entry["node"]
    start = '<tr class="chosen">' if name == selected else "<tr>"
    return f"{start}<td>{escape(name)}</td>{cells}</tr>"

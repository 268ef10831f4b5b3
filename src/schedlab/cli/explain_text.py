"""The text of an explanation: an answer in one sentence, then tables. Readable without colour, at any width.

Plugin columns carry short headings, listed below the table, because a terminal is narrower than fourteen names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from schedlab.cli.columns import abbreviations, columns
from schedlab.cli.explain_numbers import choice, node_numbers, versus
from schedlab.cli.explain_waiting import preemption, queue
from schedlab.cli.plain_text import clipped
from schedlab.kernel.words import counted

_NODES_SHOWN: Final = 40


def explain_text(
    explanation: Mapping[str, Any], *, wide: bool = False, one_node: bool = False, all_plugins: bool = False
) -> str:
    """Return the whole text; `wide` shows every node where the short form stops at the first forty.

    `one_node`: only nodes that were asked for are in it, so each is told in full.
    """
    in_full = one_node or all_plugins
    parts = [
        _heading(explanation),
        str(explanation.get("state", {}).get("text", "")),
        clipped(str(explanation["answer"])),
        _message(explanation),
        *explanation.get("warnings", ()),
        _pre_filter(explanation),
        "" if one_node else _filter_table(explanation, wide=wide),
        "" if one_node else _score_table(explanation, wide=wide),
        *(node_numbers(entry, all_plugins=in_full) for entry in _told_in_full(explanation, wide=wide, all_=in_full)),
        versus(explanation),
        "" if one_node else choice(explanation, wide=wide),
        "" if one_node else preemption(explanation, wide=wide),
        queue(explanation, wide=wide),
        _custom_results(explanation),
    ]
    return "\n\n".join(part for part in parts if part)


def _heading(explanation: Mapping[str, Any]) -> str:
    placed = explanation.get("placedBy")
    if placed:
        moment = f", revision {placed['revision']}" if placed["revision"] else ""
        return f"Pod {explanation['pod']}, {explanation['time']}{moment}: {placed['text']}"
    count = len(explanation["attempts"])
    attempts = f"attempt {explanation['attempt']}" + (f" of {count} recorded" if count > 1 else "")
    return f"Pod {explanation['pod']}, {attempts}, {explanation['time']}, scheduler {scheduler_words(explanation)}"


def scheduler_words(explanation: Mapping[str, Any]) -> str:
    """Return which scheduler has made an attempt, and where it works if it is not the cluster's own."""
    where = explanation.get("by")
    return f"{explanation['scheduler']} ({where})" if where else str(explanation["scheduler"])


def _message(explanation: Mapping[str, Any]) -> str:
    message = explanation["message"]
    return f"kube-scheduler's message:\n  {message}" if message else ""


def _pre_filter(explanation: Mapping[str, Any]) -> str:
    failed = [
        f"{plugin}: {clipped(verdict['message'])}"
        for plugin, verdict in explanation["preFilter"].items()
        if verdict["code"] not in {"Success", "Skip"}
    ]
    return "\n".join(["Rejected before any node was looked at:", *failed]) if failed else ""


def _told_in_full(explanation: Mapping[str, Any], *, wide: bool, all_: bool) -> Sequence[Mapping[str, Any]]:
    """The nodes whose numbers are written out one by one."""
    nodes: Sequence[Mapping[str, Any]] = explanation["nodes"]
    if all_:
        return [entry for entry in nodes if "facts" in entry or "scores" in entry] or nodes
    if not wide:
        return ()
    second = explanation["runnerUp"]
    compared = {explanation["selected"], "" if second is None else second["node"]}
    return [entry for entry in nodes if entry["node"] in compared and "scores" in entry]


def _filter_table(explanation: Mapping[str, Any], *, wide: bool) -> str:
    nodes = explanation["nodes"]
    plugins = list(dict.fromkeys(chain.from_iterable(entry["plugins"] for entry in nodes)))
    if not plugins:
        return ""
    short = abbreviations(plugins)
    marks = _Marks(plugins, [short[plugin] for plugin in plugins])
    rows = [["NODE", marks.heading, "VERDICT"]]
    shown = nodes if wide else nodes[:_NODES_SHOWN]
    for entry in shown:
        said = marks.of(entry["plugins"])
        rows.append([entry["node"], said.marks, clipped(_verdict(entry, explanation, said.failed))])
    legend = ", ".join(f"{short[plugin]} {plugin}" for plugin in plugins)
    skipped = [plugin for plugin, verdict in explanation["preFilter"].items() if verdict["code"] == "Skip"]
    lines = ["Filter (ok passed, NO failed, - not asked)", *columns(rows), *_more(nodes, shown), f"  {legend}"]
    if skipped:
        lines.append(f"  not concerned by this pod: {', '.join(skipped)}")
    if any("factsOfNow" in entry for entry in shown):
        lines.append("  (now): these numbers are of now, those of the attempt are no longer known")
    return "\n".join(lines)


class _Said(NamedTuple):
    """What all plugins say of a node: a line with a mark each, and those that do not let it pass with their words."""

    marks: str
    failed: Sequence[tuple[str, str]]


class _Marks:
    """The columns of plugins: one mark each; nodes of the same verdicts share the line."""

    def __init__(self, plugins: Sequence[str], headings: Sequence[str]) -> None:
        self._plugins = plugins
        self._form = "  ".join(f"%-{max(len(heading), 2)}s" for heading in headings)
        self._known: dict[tuple[tuple[str, ...], ...], _Said] = {}
        self.heading = self._form % tuple(headings)

    def of(self, verdicts: Mapping[str, str]) -> _Said:
        """Return what is said of a node."""
        key = tuple(verdicts), tuple(verdicts.values())
        said = self._known.get(key)
        if said is None:
            line = self._form % tuple(_mark(verdicts.get(plugin)) for plugin in self._plugins)
            said = self._known[key] = _Said(line, [each for each in verdicts.items() if each[1] != "passed"])
        return said


def _mark(verdict: str | None) -> str:
    if verdict is None:
        return "-"
    return "ok" if verdict == "passed" else "NO"


def _verdict(entry: Mapping[str, Any], explanation: Mapping[str, Any], failed: Iterable[tuple[str, str]]) -> str:
    if entry["verdict"] == "passed":
        return "fits"
    if entry["verdict"] == "failed":
        return "; ".join([f"{plugin}: {_cause(entry, plugin, text)}" for plugin, text in failed])
    if entry["verdict"] == "excluded":
        return "left out before filtering"
    if explanation["result"] == "error":
        return "not visited, an error ended the search"
    if explanation["nominatedFirst"]:
        return "not visited, the nominated node was tried first"
    return "not visited, enough nodes were found"


def _cause(entry: Mapping[str, Any], plugin: str, text: str) -> str:
    facts = [fact["text"] for fact in entry.get("facts", {}).get(plugin, ()) if not fact["fits"]]
    if plugin in entry.get("factsOfNow", ()):
        now = [fact["text"] for fact in entry["facts"][plugin]]
        return f"{text} (now: {', '.join(now)})" if now else text
    return ", ".join(facts) or text


def _score_table(explanation: Mapping[str, Any], *, wide: bool) -> str:
    scored = sorted(
        (entry for entry in explanation["nodes"] if "scores" in entry),
        key=lambda entry: (-entry["total"], entry["node"] != explanation["selected"]),
    )
    if not scored:
        return ""
    plugins = list(scored[0]["scores"])
    short = abbreviations(plugins)
    rows = [["NODE", "TOTAL", *(short[plugin] for plugin in plugins)]]
    shown = scored if wide else scored[:_NODES_SHOWN]
    for entry in shown:
        name = entry["node"] + (" *" if entry["node"] == explanation["selected"] else "")
        cells = [str(entry["scores"][plugin]["final"]) for plugin in plugins]
        rows.append([name, str(entry["total"]), *cells])
    weights = {plugin: scored[0]["scores"][plugin]["weight"] for plugin in plugins}
    legend = ", ".join(f"{short[plugin]} {plugin} x{weights[plugin]}" for plugin in plugins)
    heading = "Score (normalised x weight, * chosen)"
    return "\n".join([heading, *columns(rows), *_more(scored, shown), f"  {legend}"])


def _more(all_entries: Sequence[object], shown: Sequence[object]) -> list[str]:
    hidden = len(all_entries) - len(shown)
    return [f"  … and {counted(hidden, 'more node')}; -o wide shows all"] if hidden else []


def _custom_results(explanation: Mapping[str, Any]) -> str:
    lines = [f"  {key}: {value}" for key, value in explanation["customResults"].items()]
    return "\n".join(["Results of plugins and hooks", *lines]) if lines else ""

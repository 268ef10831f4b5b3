"""The text of an explanation: an answer in one sentence, then tables. Readable without colour, at any width.

Plugin columns carry short headings, listed below the table, because a terminal is narrower than fourteen names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final


def explain_text(explanation: Mapping[str, Any], *, wide: bool = False) -> str:
    """Return the whole text; `wide` shows every node where the short form stops at the first forty."""
    parts = [
        _heading(explanation),
        str(explanation["answer"]),
        _pre_filter(explanation),
        _filter_table(explanation, wide=wide),
        _score_table(explanation, wide=wide),
        _runner_up(explanation),
        _preemption(explanation),
        _custom_results(explanation),
    ]
    return "\n\n".join(part for part in parts if part)


_NODES_SHOWN: Final = 40


def _heading(explanation: Mapping[str, Any]) -> str:
    count = len(explanation["attempts"])
    attempts = f"attempt {explanation['attempt']}" + (f" of {count} recorded" if count > 1 else "")
    return f"Pod {explanation['pod']}, {attempts}, {explanation['time']}, scheduler {explanation['scheduler']}"


def _pre_filter(explanation: Mapping[str, Any]) -> str:
    failed = [
        f"{plugin}: {verdict['message']}"
        for plugin, verdict in explanation["preFilter"].items()
        if verdict["code"] not in {"Success", "Skip"}
    ]
    return "\n".join(["Rejected before any node was looked at:", *failed]) if failed else ""


def _filter_table(explanation: Mapping[str, Any], *, wide: bool) -> str:
    nodes = explanation["nodes"]
    plugins = list(dict.fromkeys(plugin for entry in nodes for plugin in entry["plugins"]))
    if not plugins:
        return ""
    short = _abbreviations(plugins)
    rows = [["NODE", *(short[plugin] for plugin in plugins), "VERDICT"]]
    # What was looked at first: on a big cluster most nodes are not visited.
    nodes = sorted(
        nodes, key=lambda entry: (entry["node"] != explanation["selected"], entry["verdict"] == "notVisited")
    )
    nodes = nodes if len(nodes) > _NODES_SHOWN else explanation["nodes"]
    shown = nodes if wide else nodes[:_NODES_SHOWN]
    for entry in shown:
        marks = [_mark(entry["plugins"].get(plugin)) for plugin in plugins]
        rows.append([entry["node"], *marks, _verdict(entry, nominated=explanation["nominatedFirst"])])
    legend = ", ".join(f"{short[plugin]} {plugin}" for plugin in plugins)
    skipped = [plugin for plugin, verdict in explanation["preFilter"].items() if verdict["code"] == "Skip"]
    lines = ["Filter (ok passed, NO failed, - not asked)", *_columns(rows), *_more(nodes, shown), f"  {legend}"]
    if skipped:
        lines.append(f"  not concerned by this pod: {', '.join(skipped)}")
    return "\n".join(lines)


def _mark(verdict: str | None) -> str:
    if verdict is None:
        return "-"
    return "ok" if verdict == "passed" else "NO"


def _verdict(entry: Mapping[str, Any], *, nominated: bool) -> str:
    if entry["verdict"] == "passed":
        return "fits"
    if entry["verdict"] == "failed":
        reasons = [f"{plugin}: {verdict}" for plugin, verdict in entry["plugins"].items() if verdict != "passed"]
        return "; ".join(reasons)
    if entry["verdict"] == "excluded":
        return "left out before filtering"
    return "not visited, the nominated node was tried first" if nominated else "not visited, enough nodes were found"


def _score_table(explanation: Mapping[str, Any], *, wide: bool) -> str:
    scored = sorted(
        (entry for entry in explanation["nodes"] if "scores" in entry),
        key=lambda entry: (-entry["total"], entry["node"] != explanation["selected"]),
    )
    if not scored:
        return ""
    plugins = list(scored[0]["scores"])
    short = _abbreviations(plugins)
    rows = [["NODE", "TOTAL", *(short[plugin] for plugin in plugins)]]
    shown = scored if wide else scored[:_NODES_SHOWN]
    for entry in shown:
        name = entry["node"] + (" *" if entry["node"] == explanation["selected"] else "")
        cells = [str(entry["scores"][plugin]["final"]) for plugin in plugins]
        rows.append([name, str(entry["total"]), *cells])
    weights = {plugin: scored[0]["scores"][plugin]["weight"] for plugin in plugins}
    legend = ", ".join(f"{short[plugin]} {plugin} x{weights[plugin]}" for plugin in plugins)
    heading = "Score (normalised x weight, * chosen)"
    return "\n".join([heading, *_columns(rows), *_more(scored, shown), f"  {legend}"])


def _more(all_entries: Sequence[object], shown: Sequence[object]) -> list[str]:
    hidden = len(all_entries) - len(shown)
    return [f"  … and {hidden} more nodes; -o wide shows all"] if hidden else []


def _runner_up(explanation: Mapping[str, Any]) -> str:
    second = explanation["runnerUp"]
    if second is None:
        return ""
    parts = [f"{plugin} {points:+d}" for plugin, points in second["byPlugin"].items() if points]
    if not parts:
        return f"Runner-up {second['node']} ({second['total']}): no plugin tells the two apart."
    return f"Runner-up {second['node']} ({second['total']}): {explanation['selected']} has {', '.join(parts)} on it."


def _preemption(explanation: Mapping[str, Any]) -> str:
    preemption = explanation["preemption"]
    if preemption is None or not preemption["candidates"]:
        return ""
    rows = [["NODE", "VICTIMS", "BUDGETS BROKEN"]]
    rows += [
        [one["node"], ", ".join(one["victims"]) or "none", str(one["pdbViolations"])]
        for one in preemption["candidates"]
    ]
    return "\n".join(["Preemption candidates", *_columns(rows)])


def _custom_results(explanation: Mapping[str, Any]) -> str:
    lines = [f"  {key}: {value}" for key, value in explanation["customResults"].items()]
    return "\n".join(["Results of plugins and hooks", *lines]) if lines else ""


def _abbreviations(names: Sequence[str]) -> dict[str, str]:
    """Return the capitals of each name, made distinct by a number where two have the same."""
    used: dict[str, int] = {}
    out = {}
    for name in names:
        letters = "".join(letter for letter in name if letter.isupper()) or name[:3]
        used[letters] = used.get(letters, 0) + 1
        out[name] = letters if used[letters] == 1 else f"{letters}{used[letters]}"
    return out


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]

"""The numbers of an explanation as text: facts and formulas of one node, comparisons, and what the choice hung on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.cli.columns import columns
from schedlab.kernel.words import counted

_TIED_SHOWN: Final = 10


def node_numbers(entry: Mapping[str, Any], *, all_plugins: bool) -> str:
    """Return all that is known of one node: every plugin's verdict with its facts, every score with its formula."""
    lines = [f"Node {entry['node']}: {_summary(entry)}"]
    facts, of_now = entry.get("facts", {}), entry.get("factsOfNow", ())
    for plugin, verdict in entry["plugins"].items() if all_plugins else ():
        lines.append(f"  ok  {plugin}" if verdict == "passed" else f"  NO  {plugin}: {verdict}")
        if plugin in facts:
            now = " (now)" if plugin in of_now else ""
            lines += [f"        {fact['text']}{now}" for fact in facts[plugin]]
    for plugin, score in entry.get("scores", {}).items():
        lines.append(f"  {plugin} {score['final']}")
        lines += [f"        {line}" for line in _score_lines(score)]
    return "\n".join(lines)


def _summary(entry: Mapping[str, Any]) -> str:
    if entry["verdict"] == "notVisited":
        failed = [plugin for plugin, verdict in entry["plugins"].items() if verdict != "passed"]
        return "not visited" + (f", but {', '.join(failed)} would have turned it down" if failed else "")
    if entry["verdict"] == "excluded":
        return "left out before filtering"
    if entry["verdict"] == "failed":
        return f"turned down by {entry['failedPlugin']}"
    return f"fits, {counted(entry['total'], 'point')}" if "total" in entry else "fits"


def _score_lines(score: Mapping[str, Any]) -> list[str]:
    weight, final = score["weight"], score["final"]
    if "formula" not in score:
        return [f"raw {score['raw']}, weight {weight}, counts {final}"]
    normalized = final // weight
    lines = [f"raw         {score['formula']} = {score['raw']}"]
    if "normalization" in score:
        lines.append(f"normalised  {score['normalization']} = {normalized}")
    lines.append(f"counts      {normalized} x {weight} = {final}")
    lines += [f"with        {key} {_shown(value)}" for key, value in score["inputs"].items() if value]
    if score.get("ofNow"):
        lines.append("these numbers are of now, those of the attempt are no longer known")
    return lines


def _shown(value: Any) -> str:
    """Return a JSON value as text."""
    if isinstance(value, dict):
        return ", ".join(
            [
                f"{key}: {_shown(each)}"
                if isinstance(each, dict)
                else f"{key}={_shown(each) if isinstance(each, list | tuple) else each}"
                for key, each in value.items()
            ]
        )
    return "; ".join(map(_shown, value)) if isinstance(value, list | tuple) else str(value)


def versus(explanation: Mapping[str, Any]) -> str:
    """Return how two nodes compare, if that was asked."""
    found = explanation.get("versus")
    if found is None:
        return ""
    if "notScored" in found:
        failed = "; ".join(f"{plugin}: {text}" for plugin, text in found["failed"].items())
        why = {"notVisited": "it was not visited", "excluded": "it was left out before filtering"}.get(found["verdict"])
        because = f"{found['notScored'] or 'the pod'} was not scored ({failed or why or 'no node was'})"
        if not found["of"]:
            return f"There is nothing to compare {found['node']} with, as the pod was put on no node: {because}."
        return f"{found['of']} and {found['node']} cannot be compared: {because}."
    rows = [["PLUGIN", "POINTS"]]
    rows += [[plugin, f"{points:+d}"] for plugin, points in found["byPlugin"].items()]
    if found.get("byExtenders"):
        rows.append(["extenders", f"{found['byExtenders']:+d}"])
    rows.append(["together", f"{found['margin']:+d}"])
    return "\n".join([f"{found['of']} compared with {found['node']} ({found['total']})", *columns(rows)])


def choice(explanation: Mapping[str, Any], *, wide: bool) -> str:
    """Return the runner-up, the tie, in which weights the choice stands, and how much luck there was."""
    second, found = explanation["runnerUp"], explanation.get("choice")
    if second is None or found is None:
        return ""
    parts = [f"{plugin} {points:+d}" for plugin, points in second["byPlugin"].items() if points]
    if "byExtenders" in second:
        parts.append(f"extenders {second['byExtenders']:+d}")
    name = f"Runner-up {second['node']} ({second['total']})"
    lines = [
        f"{name}: {explanation['selected']} has {', '.join(parts)} on it."
        if parts
        else f"{name}: no plugin tells the two apart."
    ]
    if len(found["tied"]) > 1:
        tied = ", ".join(found["tied"][:_TIED_SHOWN]) + (", …" if len(found["tied"]) > _TIED_SHOWN else "")
        outcomes = sorted(found["luck"]["outcomes"].items(), key=lambda each: (-each[1], each[0]))[:_TIED_SHOWN]
        chances = ", ".join(f"{node} {count}" for node, count in outcomes)
        lines.append(
            f"Tied at the top: {tied}. In {counted(found['luck']['seeds'], 'run')} with other dice: {chances}."
        )
    narrow = {plugin: each for plugin, each in found["weights"].items() if _is_narrow(each) or wide}
    if narrow:
        rows = [["PLUGIN", "WEIGHT", "STANDS FROM", "TO"]]
        rows += [
            [
                plugin,
                str(each["weight"]),
                str(each["least"]),
                "any" if each["greatest"] is None else str(each["greatest"]),
            ]
            for plugin, each in narrow.items()
        ]
        lines += ["The choice stands while one weight changes within", *columns(rows)]
    return "\n".join(lines)


def _is_narrow(interval: Mapping[str, Any]) -> bool:
    return interval["least"] > 1 or interval["greatest"] is not None

"""Why a pod is where it is, as types: what `decisions.explain` tells as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Score:
    """What a plugin gave a node: as the plugin said it, the plugin's weight, and what went into the total."""

    raw: int
    weight: int
    final: int


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """What was decided about one node.

    verdict: `passed`, `failed`, `notVisited`, or `excluded` by PreFilter. plugin, reasons: who turned it down in the
    search, and why. plugins: what each filter says of it, `passed` or its reasons. total, scores: None and empty where it
    was not scored.
    """

    node: str
    verdict: Literal["passed", "failed", "notVisited", "excluded"]
    plugin: str
    reasons: tuple[str, ...]
    plugins: Mapping[str, str]
    total: int | None
    scores: Mapping[str, Score]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One attempt to schedule a pod.

    answer: one sentence. message: kube-scheduler's own, empty when the pod was scheduled. result: `scheduled`,
    `unschedulable` or `error`. node: the chosen one, or "". attempts: numbers of all that are recorded. nodes: in the
    scheduler's order. data: all there is to tell, as `schedlab explain -o json` prints it.
    """

    pod: str
    answer: str
    message: str
    result: str
    node: str
    attempt: int
    attempts: tuple[int, ...]
    nodes: Mapping[str, NodeVerdict]
    data: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        """Return the answer."""
        return self.answer


def explanation_of(data: Mapping[str, Any]) -> Explanation:
    """Make a type of what `Explainer.explain` returns."""
    return Explanation(
        data["pod"],
        data["answer"],
        data["message"],
        data["result"],
        data["selected"],
        data["attempt"],
        tuple(data["attempts"]),
        {entry["node"]: _verdict(entry) for entry in data["nodes"]},
        data,
    )


def _verdict(entry: Mapping[str, Any]) -> NodeVerdict:
    return NodeVerdict(
        entry["node"],
        entry["verdict"],
        entry.get("failedPlugin", ""),
        tuple(entry.get("reasons", ())),
        entry["plugins"],
        entry.get("total"),
        {
            plugin: Score(score["raw"], score["weight"], score["final"])
            for plugin, score in entry.get("scores", {}).items()
        },
    )

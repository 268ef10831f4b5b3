"""Result annotations with the quirks of kube-scheduler-simulator, for those who compare with it (`--strict-upstream`).

It writes them when the scheduler updates the pod, which an attempt that fails as the one before does not make it do: the
results of such attempts pile up in one entry, newer nodes over older ones. Weights are those of the first profile, and a
plugin that is not listed there scores 0. What would not fit into an object is a summary, as without this.

Mirrors: simulator/scheduler/storereflector, plugin/resultstore of kube-scheduler-simulator
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from schedlab.decisions.annotations import HISTORY_KEY, PREFIX, TOTAL_BYTES_MAX, Projection, result_annotations
from schedlab.decisions.log import Attempt
from schedlab.decisions.rendering import go_json, score_result
from schedlab.scheduler.framework.record import CycleRecord

_FINAL: Final = f"{PREFIX}finalscore-result"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictProjection(Projection):
    """Results as upstream shows them; `weights` tells those of the first profile by plugin."""

    weights: Callable[[], Mapping[str, int]]

    def annotations(self, namespace: str, name: str, attempts: Sequence[Attempt], others_bytes: int) -> dict[str, str]:
        """See Projection."""
        entries = self._entries(attempts) if self.mode != "off" else []
        if not entries:
            return {}
        left = (
            TOTAL_BYTES_MAX
            - others_bytes
            - sum(len(key.encode()) + len(entries[-1][key].encode()) for key in entries[-1])
        )
        history: list[str] = []
        left -= len(HISTORY_KEY) + 2
        for entry in reversed(entries):
            text = go_json(entry)
            left -= len(text.encode()) + 1
            if left < 0:
                break
            history.append(text)
        if not history:
            return Projection.annotations(self, namespace, name, attempts, others_bytes)
        return {**entries[-1], HISTORY_KEY: f"[{','.join(reversed(history))}]"}

    def _entries(self, attempts: Sequence[Attempt]) -> list[dict[str, str]]:
        """Return what upstream would have written so far, oldest first."""
        entries: list[dict[str, str]] = []
        piled: dict[str, str] = {}
        before: CycleRecord | None = None
        for attempt in attempts:
            cycle = attempt.cycle()
            found = result_annotations(cycle, attempt.binding)
            found[_FINAL] = score_result(cycle, "final", self.weights())
            piled = _over(piled, found)
            if before is None or _condition(cycle) != _condition(before):
                entries.append(piled)
                piled = {}
            before = cycle
        return entries


def _condition(cycle: CycleRecord) -> tuple[str, str, str]:
    """Return what the condition PodScheduled says after an attempt."""
    return cycle.selected, cycle.failure_reason, cycle.failure_message


def _over(older: Mapping[str, str], newer: Mapping[str, str]) -> dict[str, str]:
    """Put results over those that have not been written yet."""
    merged = {**older, **newer}
    for key in older.keys() & newer.keys():
        if newer[key].startswith("{") and older[key].startswith("{"):
            merged[key] = go_json(_merged(orjson.loads(older[key]), orjson.loads(newer[key])))
    return merged


def _merged(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    merged = {**older, **newer}
    for key in older.keys() & newer.keys():
        if isinstance(older[key], dict) and isinstance(newer[key], dict):
            merged[key] = {**older[key], **newer[key]}
    return merged

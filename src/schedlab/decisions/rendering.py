"""The parts of a result that grow with the number of nodes, as the JSON of annotations, and what they weigh.

Mirrors: kube-scheduler-simulator's formats (simulator/scheduler/plugin/annotation): JSON as Go encodes it, a node stops
at its first failing plugin.
Differs: the text is put together from the arrays of a record; nodes with the same verdicts share their text.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
import orjson

from schedlab.apimachinery import gojson
from schedlab.scheduler.framework.record import PASSED, CycleRecord, FilterRecord
from schedlab.scheduler.framework.status import REASONS

_PASSED_TEXT: Final = "passed"


def go_json(value: Any) -> str:
    """Return JSON as Go's encoder writes maps: sorted keys, no blanks, <, > and & escaped."""
    return gojson.marshal(value)


@lru_cache(maxsize=16_384)
def _quoted(text: str) -> str:
    return gojson.escape_html(orjson.dumps(text)).decode()


def filter_result(cycle: CycleRecord) -> str:
    """Return node -> plugin -> `passed` or the message; a node stops at its first failing plugin."""
    record = cycle.filter
    if record is None:
        return "{}"
    names = cycle.node_names
    passed = _verdicts(record.plugins, None)
    failures: dict[tuple[int, int], str] = {}
    out: dict[str, str] = {}
    reasons = record.reason.tolist()
    for index, (row, failed) in enumerate(zip(record.visited.tolist(), record.failed_plugin.tolist(), strict=True)):
        if failed == PASSED:
            out[names[row]] = passed
            continue
        key = failed, reasons[index]
        if key not in failures:
            failures[key] = _verdicts(record.plugins[: failed + 1], REASONS.texts(reasons[index]))
        out[names[row]] = failures[key]
    return _joined(out)


@lru_cache(maxsize=1024)
def _verdicts(plugins: tuple[str, ...], reasons: tuple[str, ...] | None) -> str:
    """Render the verdicts of plugins that let a node pass, of which the last one did not if it gave reasons."""
    verdicts = dict.fromkeys(plugins, _PASSED_TEXT)
    if reasons is not None:
        verdicts[plugins[-1]] = ", ".join(reasons)
    return go_json(verdicts)


def score_result(cycle: CycleRecord, which: Literal["raw", "final"], weights: Mapping[str, int] | None = None) -> str:
    """Return node -> plugin -> score as text, with other `weights` than those of the cycle if they are given."""
    record = cycle.score
    if record is None:
        return "{}"
    order = sorted(range(len(record.plugins)), key=record.plugins.__getitem__)
    form = "{" + ",".join(f'{_quoted(record.plugins[i]).replace("%", "%%")}:"%d"' for i in order) + "}"
    scores = getattr(record, which)
    if weights is not None:
        own = np.array(record.weights)[:, None]
        scores = scores // own * np.array([weights.get(plugin, 0) for plugin in record.plugins])[:, None]
    scores = scores[order].T.tolist()
    names = cycle.node_names
    rows = record.rows.tolist()
    return _joined({names[row]: form % tuple(mine) for row, mine in zip(rows, scores, strict=True)})


def _joined(parts: dict[str, str]) -> str:
    return "{" + ",".join(f"{_quoted(name)}:{parts[name]}" for name in sorted(parts)) + "}"


def rejections(record: FilterRecord) -> dict[str, int]:
    """Count the visited nodes that were rejected by plugin and reasons, in the order of their first node."""
    failed = record.failed_plugin != PASSED
    pairs = zip(record.failed_plugin[failed].tolist(), record.reason[failed].tolist(), strict=True)
    counts: dict[tuple[int, int], int] = {}
    for pair in pairs:
        counts[pair] = counts.get(pair, 0) + 1
    out: dict[str, int] = {}
    for (plugin, reason), count in counts.items():
        text = f"{record.plugins[plugin]}: {', '.join(REASONS.texts(reason))}"
        out[text] = out.get(text, 0) + count
    return out


def least_size(cycle: CycleRecord) -> int:
    """Return a lower bound of the bytes of what is rendered here, close to them and cheap: names of nodes count for 1."""
    size = 0
    if cycle.filter is not None:
        record = cycle.filter
        # "name":{verdicts},
        size += len(record.visited) * len('"n":{},')
        passed = int(np.count_nonzero(record.failed_plugin == PASSED))
        size += passed * (len(_verdicts(record.plugins, None)) - 2)
    if cycle.score is not None:
        # "name":{"plugin":"0", ...},
        scores = sum(len(plugin) + len('"":"0",') for plugin in cycle.score.plugins)
        size += 2 * len(cycle.score.rows) * (len('"n":{},') - 1 + scores)
    return size

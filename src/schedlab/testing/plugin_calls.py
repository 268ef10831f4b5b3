"""How the rules of `plugin_rules`, `claim_rules` and `sight_rules` call a plugin, and what must be true of every answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from schedlab.scheduler.framework.interface import CycleState, PreFilterResult
from schedlab.scheduler.framework.status import Code, Status, code_of, is_success
from schedlab.scheduler.framework.types import NodeInfo, PodInfo
from schedlab.testing.builders import PodBuilder, make_pod
from schedlab.testing.plugin_bench import PluginBench

REJECTIONS: Final = (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
EXTRA: Final = make_pod("extra").label("app", "web").req(cpu="1").host_port(7070).node("node-1")
#: Values that say nothing, a number, and what switches things on.
_OTHER_VALUES: Final = ("else", "7", "true")
#: What a pod differs in, in words, and the pod.
Variant: TypeAlias = tuple[str, PodBuilder]


class BrokenRule(Exception):
    """An answer that cannot be used any further; its text says what is wrong."""


def checked_status(method: str, answer: object, *allowed: Code) -> Status | None:
    if answer is None:
        return None
    if not isinstance(answer, Status):
        raise BrokenRule(f"{method} returned {answer!r}, not a Status or None")
    if answer.code not in (Code.SUCCESS, *allowed):
        names = ", ".join(each.text for each in (Code.SUCCESS, *allowed))
        raise BrokenRule(f"{method} returned {told_of(answer)}; it may return {names}")
    if answer.code in REJECTIONS and not any(answer.reasons):
        raise BrokenRule(f"{method} turned the pod down without a reason")
    return answer


def pre_filter(bench: PluginBench, pod: PodInfo, state: CycleState) -> tuple[PreFilterResult | None, Status | None]:
    if not hasattr(bench.plugin, "pre_filter"):
        return None, None
    answer = bench.plugin.pre_filter(state, pod, bench.table)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise BrokenRule(f"pre_filter returned {answer!r}, not (PreFilterResult or None, Status or None)")
    result, status = answer
    if result is not None and not isinstance(result, PreFilterResult):
        raise BrokenRule(f"pre_filter returned {result!r}, not a PreFilterResult or None")
    if result is not None and result.node_names is not None:
        names: Any = result.node_names
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise BrokenRule(f"pre_filter left the nodes {names!r}, not a tuple of names")
    return result, checked_status("pre_filter", status, Code.SKIP, *REJECTIONS)


def verdict_of(bench: PluginBench, pod: PodInfo, state: CycleState, info: NodeInfo) -> Status | None:
    return checked_status("filter", bench.plugin.filter(state, pod, info), *REJECTIONS)


def rows_of(bench: PluginBench) -> NDArray[np.int64]:
    return np.arange(len(bench.table), dtype=np.int64)


def ready_to_filter(bench: PluginBench, pod: PodInfo) -> CycleState | None:
    """Return the state in which filter is called, None when it would not be."""
    state = CycleState()
    _, status = pre_filter(bench, pod, state)
    return state if is_success(status) and hasattr(bench.plugin, "filter") else None


def after_pre_filter(bench: PluginBench, pod: PodInfo) -> CycleState:
    state = CycleState()
    pre_filter(bench, pod, state)
    return state


def ready_to_score(bench: PluginBench, pod: PodInfo, rows: NDArray[np.int64]) -> CycleState | None:
    state = CycleState()
    _, status = pre_filter(bench, pod, state)
    if code_of(status) not in {Code.SUCCESS, Code.SKIP} or not hasattr(bench.plugin, "score"):
        return None
    if hasattr(bench.plugin, "pre_score"):
        answer = checked_status("pre_score", bench.plugin.pre_score(state, pod, bench.table, rows), Code.SKIP)
        if not is_success(answer):
            return None
    return state


def verdicts(bench: PluginBench, pod: PodInfo) -> list[tuple[str, str, str]]:
    """Return (node, code, message) of every node, or of all of them together when pre_filter decides."""
    state = CycleState()
    result, status = pre_filter(bench, pod, state)
    if not is_success(status) or not hasattr(bench.plugin, "filter"):
        return [("*", code_of(status).text, status.message if status is not None else "")]
    kept = None if result is None else result.node_names
    out = []
    for info in bench.infos:
        verdict = verdict_of(bench, pod, state, info)
        text = "" if is_success(verdict) or verdict is None else verdict.message
        out.append((info.name, code_of(verdict).text, text if kept is None or info.name in kept else "not kept"))
    return out


def scores_of(bench: PluginBench, pod: PodInfo) -> list[tuple[str, int]]:
    """Return (node, normalised score) of every node; empty when the plugin does not score the pod."""
    rows = rows_of(bench)
    state = ready_to_score(bench, pod, rows)
    if state is None:
        return []
    scores = np.array([score_of(bench, pod, state, info) for info in bench.infos], np.int64)
    if hasattr(bench.plugin, "normalize_score"):
        checked_status("normalize_score", bench.plugin.normalize_score(state, pod, rows, scores))
    return list(zip(bench.table.names, scores.tolist(), strict=True))


def score_of(bench: PluginBench, pod: PodInfo, state: CycleState, info: NodeInfo) -> int:
    answer = bench.plugin.score(state, pod, info)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise BrokenRule(f"score returned {answer!r}, not (a whole number, Status or None)")
    score, status = answer
    checked_status("score", status)
    if not isinstance(score, (int, np.integer)) or isinstance(score, bool):
        raise BrokenRule(f"score returned {score!r}, not a whole number")
    return int(score)


def told_of(status: Status | None) -> str:
    return code_of(status).text if is_success(status) or status is None else f"{status.code.text} ({status.message})"


def claims(bench: PluginBench, claim: str, pod: PodInfo) -> bool:
    """Whether the plugin says by the method `claim` that something holds for the pod."""
    return hasattr(bench.plugin, claim) and bool(getattr(bench.plugin, claim)(pod))


def siblings(pod: PodBuilder, labels: Iterable[str] = (), annotations: Iterable[str] = ()) -> Iterator[Variant]:
    """Yield pods with the same facts, with what each differs in; `labels` and `annotations` are more keys to be tried."""
    # No two of the names begin or end alike, so that most differ from the pod's own name at both ends.
    for name in (f"{pod.get('metadata.name')}-8", "7", "other-b"):
        yield "the name", pod.name(name).uid("uid-other")
    yield "the uid", pod.uid("0c5f6e2d-3a41-4b7e-9d18-5f2a7c9e1b34")
    yield "labels", pod.labels({"app": "else", "tier": "slow"})
    yield from _other_entries(pod, "label", labels)
    yield "annotations", pod.annotations({"example.com/note": "else"})
    yield from _other_entries(pod, "annotation", annotations)
    yield "the time of its creation", pod.created("2031-05-06T07:08:09Z")
    yield (
        "its owner",
        pod.set("metadata.ownerReferences", []).owner("Else", "else").set("metadata.generateName", "else-"),
    )
    yield "its owner", pod.set("metadata.ownerReferences", [])
    yield "its finalizers", pod.set("metadata.finalizers", ["example.com/else"])
    yield (
        "its conditions and nominated node",
        pod.condition("PodScheduled", "False", "Unschedulable").nominated_node("a"),
    )
    yield "the priority", pod.priority(7)


def _other_entries(pod: PodBuilder, kind: str, more: Iterable[str]) -> Iterator[Variant]:
    """Yield pods of which each label (or annotation) has another value or is gone."""
    path = f"metadata.{kind}s"
    entries: dict[str, str] = pod.get(path, {})
    for key in sorted({*entries, *more}):
        for value in _OTHER_VALUES:
            yield f"the {kind} {key}", pod.set(path, {**entries, key: value})
        yield f"the {kind} {key}", pod.set(path, {other: value for other, value in entries.items() if other != key})
    yield f"{kind}s", pod.set(path, {})


def first_container(pod: PodBuilder, **fields: Any) -> PodBuilder:
    first, *rest = pod.dict()["spec"]["containers"]
    return pod.set("spec.containers", [{**first, **fields}, *rest])

"""The rules for what plugins say that they do not look at: `looks_at`, `score_looks_at`, `is_pod_local` and `skips`.

What a plugin answered is used again where nothing has changed but what it says not to look at. So each rule changes just
that, and tells when the answer is another one. As in `claim_rules`, who claims nothing keeps them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedlab.scheduler.framework.interface import CycleState, PreFilterResult
from schedlab.scheduler.framework.status import SKIP, Code, code_of, is_success
from schedlab.scheduler.framework.types import NodeInfo, PodInfo
from schedlab.testing.builders import PodBuilder
from schedlab.testing.plugin_bench import PluginBench, Sample, Subject
from schedlab.testing.plugin_calls import (
    EXTRA,
    checked_status,
    claims,
    first_container,
    pre_filter,
    ready_to_score,
    rows_of,
    score_of,
    siblings,
    told_of,
    verdict_of,
)

#: What the attributes may be, with what a filter that says so does not see.
_FILTER_SIGHTS: Final = {
    "node": "the pods on it",
    "amounts": "anything of the pods on it but what they ask for and how many they are",
    "ports": "anything of the pods on it but their host ports",
    "pods": "",
}
_SKIPPED: Final = told_of(SKIP)
_SCORE_SIGHTS: Final = {"node": _FILTER_SIGHTS["node"], "pods": ""}
#: Names of further nodes: odd, even, and no number.
_NODE_NAMES: Final = ("other-7", "other-8", "z.example.com")

# --- looks_at, score_looks_at ---


def looks_at_is_true(subject: Subject, sample: Sample) -> Iterator[str]:
    """What filter says of a node stays the same when the pods on it change in what it says not to look at."""
    yield from _sight_is_true(subject, sample, "looks_at", _FILTER_SIGHTS)


def score_looks_at_is_true(subject: Subject, sample: Sample) -> Iterator[str]:
    """The raw score of a node stays the same when the pods on it change, where score says not to look at them."""
    yield from _sight_is_true(subject, sample, "score_looks_at", _SCORE_SIGHTS)


def _sight_is_true(subject: Subject, sample: Sample, claim: str, sights: Mapping[str, str]) -> Iterator[str]:
    names = [node.get("metadata.name") for node in sample.nodes]
    sight = getattr(PluginBench(subject, sample).plugin, claim, "pods")
    if sight not in sights:
        yield f"{claim} is {sight!r}; it may be {', '.join(map(repr, sights))}"
        return
    builders = (sample.pod, *(other for _, other in siblings(sample.pod)))
    for name in names if sight != "pods" else ():
        for what, *samples in _unseen(sight, sample, name):
            before, after = (PluginBench(subject, each) for each in samples)
            for builder in builders:
                one, other = (_said_of_node(bench, claim, builder, name) for bench in (before, after))
                if one is not None and other is not None and one != other:
                    yield (
                        f"{claim} is {sight!r}, but for {builder.get('metadata.name')} on {name} the answer is {one}, "
                        f"{what} {other}; leave {claim} out, or do not look at {sights[sight]}"
                    )
                    return


def _unseen(sight: str, sample: Sample, name: str) -> Iterator[tuple[str, Sample, Sample]]:
    """Yield samples that differ in what is not seen of the pods on a node, with the difference in words."""
    crowded = replace(sample, placed=(*sample.placed, EXTRA.node(name)))
    if sight == "node":
        yield f"with a pod more on {name}", sample, crowded
        yield (
            f"with other pods on {name}",
            crowded,
            _changed(crowded, name, _other_requests, _other_ports, _other_rest),
        )
        yield f"with no pods on {name}", crowded, replace(sample, placed=_elsewhere(sample, name))
    elif sight == "amounts":
        yield (
            f"with pods on {name} that ask for the same but have other ports",
            crowded,
            _changed(crowded, name, _other_ports),
        )
        yield (
            f"with pods on {name} that ask for the same but have other labels, volumes and priorities",
            crowded,
            _changed(crowded, name, _other_rest),
        )
    elif sight == "ports":
        yield f"with pods on {name} that ask for more", crowded, _changed(crowded, name, _other_requests)
        yield (
            f"with pods on {name} that have other labels, volumes and priorities",
            crowded,
            _changed(crowded, name, _other_rest),
        )
        yield (
            f"with a pod more on {name}",
            sample,
            replace(sample, placed=(*sample.placed, _other_ports(EXTRA).node(name))),
        )


def _elsewhere(sample: Sample, name: str) -> tuple[PodBuilder, ...]:
    return tuple(pod for pod in sample.placed if pod.get("spec.nodeName") != name)


def _changed(sample: Sample, name: str, *changes: Any) -> Sample:
    """Return the sample with other pods on a node."""
    placed = list(_elsewhere(sample, name))
    for pod in sample.placed:
        if pod.get("spec.nodeName") == name:
            for change in changes:
                pod = change(pod)  # noqa: PLW2901 - one change upon the other
            placed.append(pod)
    return replace(sample, placed=tuple(placed))


def _other_requests(pod: PodBuilder) -> PodBuilder:
    return pod.req(cpu="1300m", memory="3Gi")


def _other_ports(pod: PodBuilder) -> PodBuilder:
    return pod.set("spec.containers", [{**each, "ports": []} for each in pod.dict()["spec"]["containers"]])


def _other_rest(pod: PodBuilder) -> PodBuilder:
    return first_container(pod, image="else").labels({"app": "else"}).priority(7).set("spec.volumes", [])


def _said_of_node(bench: PluginBench, claim: str, builder: PodBuilder, name: str) -> str | int | None:
    """Return what filter says of a node, or its raw score; None where the plugin is not asked."""
    pod, info = bench.pod(builder), bench.infos[bench.table.row_of[name]]
    if claim == "score_looks_at":
        scoring = ready_to_score(bench, pod, rows_of(bench))
        return None if scoring is None else score_of(bench, pod, scoring, info)
    return _filtered(bench, pod, info)


def _filtered(bench: PluginBench, pod: PodInfo, info: NodeInfo) -> str | None:
    """Return what becomes of the pod on a node before and while nodes are filtered; a filter that is skipped passes."""
    if not hasattr(bench.plugin, "filter"):
        return None
    state = CycleState()
    result, status = pre_filter(bench, pod, state)
    if code_of(status) == Code.SKIP:
        return told_of(None)
    if not is_success(status):
        return told_of(status)
    left = None if result is None else result.node_names
    return "not kept" if left is not None and info.name not in left else told_of(verdict_of(bench, pod, state, info))


# --- What there is beside facts ---


class _Watched(dict[str, str]):
    """Labels or annotations that note the keys they are asked for."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        super().__init__(entries)
        self.asked: set[str] = set()

    def __getitem__(self, key: str) -> str:
        self.asked.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)


def _alike(bench: PluginBench) -> Iterator[tuple[str, PodInfo]]:
    """Yield the sample's pod and others with its facts, each with what it is in words.

    They differ in the labels and annotations that the plugin asks for, too: which values count nobody knows, but a
    plugin that keeps what it finds keeps something else.
    """
    builder = bench.sample.pod
    pod = bench.pod(builder)
    labels, annotations = _Watched(pod.labels), _Watched(pod.pod.metadata.annotations)
    watched = pod.with_labels(labels)
    watched.pod = msgspec.structs.replace(
        watched.pod, metadata=msgspec.structs.replace(watched.pod.metadata, annotations=annotations)
    )
    claims(bench, "is_pod_local", watched)
    if hasattr(bench.plugin, "skips"):
        bench.plugin.skips(watched, bench.table)
    _Before.of(bench, watched, rows_of(bench))
    yield pod.name, pod
    for what, other in siblings(builder, labels.asked, annotations.asked):
        yield f"a pod that differs in {what}", bench.pod(other)


# --- is_pod_local ---


@dataclass(frozen=True, slots=True)
class _Before:
    """What a plugin answers before filtering and before scoring, and what it leaves in the state."""

    filtering: str
    scoring: str
    values: Mapping[object, Any]
    #: The values as they were when they were written; None for what cannot be compared.
    written: Mapping[object, bytes | None]
    is_rejection: bool = False

    @classmethod
    def of(cls, bench: PluginBench, pod: PodInfo, rows: NDArray[np.int64]) -> _Before:
        state = CycleState()
        result, status = pre_filter(bench, pod, state)
        filtering = f"{told_of(status)}{_names_of(result)}"
        if code_of(status) not in {Code.SUCCESS, Code.SKIP} or not hasattr(bench.plugin, "pre_score"):
            return cls(
                filtering, "", state.values(), _written(state), is_rejection=status is not None and status.rejected
            )
        scoring = checked_status("pre_score", bench.plugin.pre_score(state, pod, bench.table, rows), Code.SKIP)
        return cls(filtering, told_of(scoring), state.values(), _written(state))


def _written(state: CycleState) -> dict[object, bytes | None]:
    return {key: _encoded(value) for key, value in state.values().items()}


def _encoded(value: object) -> bytes | None:
    # Not pickled: pickles of equal values differ by what is one object in them.
    try:
        return msgspec.json.encode(value, order="deterministic")
    except Exception:  # noqa: BLE001 - more than data; whether it differs is seen by what filter and score make of it
        return None


def _names_of(result: PreFilterResult | None) -> str:
    return (
        "" if result is None or result.node_names is None else f" with {', '.join(result.node_names) or 'no node'} left"
    )


def pod_local_is_true(subject: Subject, sample: Sample) -> Iterator[str]:
    """Of pods with the same facts the first one's pre_filter and pre_score can stand for those of all, at any time."""
    nodes = (*sample.nodes, *(node.name(name) for node in sample.nodes[:1] for name in _NODE_NAMES))
    yield from _holds_for_pods_alike(PluginBench(subject, replace(sample, nodes=nodes)))
    yield from _holds_at_any_time(PluginBench(subject, sample))


def _holds_for_pods_alike(bench: PluginBench) -> Iterator[str]:
    if not hasattr(bench.plugin, "is_pod_local"):
        return
    alike = list(_alike(bench))
    for whose, first in alike:
        # Only answers that let the pod go on are used again, and then also for pods that the plugin would not say it of.
        if claims(bench, "is_pod_local", first):
            known = _Before.of(bench, first, rows_of(bench))
            if not known.is_rejection:
                yield from _told_once(
                    (other, _difference(bench, whose, known, pod, f"for {other}")) for other, pod in alike
                )
                return


def _told_once(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the first text there is of each kind of pods."""
    texts: dict[str, str] = {}
    for what, text in found:
        if text:
            texts.setdefault(what, text)
    yield from map(_wrongly_said, texts.values())


def _holds_at_any_time(bench: PluginBench) -> Iterator[str]:
    pod = bench.pod(bench.sample.pod)
    if not claims(bench, "is_pod_local", pod):
        return
    known = _Before.of(bench, pod, rows_of(bench))
    if known.is_rejection:
        return
    found = _difference(bench, pod.name, known, pod, "where but one node is feasible", rows_of(bench)[:1])
    if found:
        yield _wrongly_said(found)
    for when in _changes(bench):
        found = _difference(bench, pod.name, known, pod, when)
        if found:
            yield _wrongly_said(found)


def _wrongly_said(found: str) -> str:
    return f"is_pod_local says True, but {found}; let is_pod_local say False of such pods, or look at nothing but pod.facts"


def _changes(bench: PluginBench) -> Iterator[str]:
    """Change the cluster step by step, and yield what was done in words."""
    cache = bench.scheduler.cache
    for node in bench.sample.nodes:
        name = node.get("metadata.name")
        cache.add_pod(
            bench.pod(EXTRA.name(f"extra-{name}").uid(f"extra-{name}").pod_anti_affinity("zone", {}).node(name))
        )
        cache.refresh()
        yield f"when a pod has come to {name}"
    for node in bench.sample.nodes:
        bench.set_node(node.label("kind", "other").taint("kind", "other"))
        cache.refresh()
        yield f"when {node.get('metadata.name')} has got a label and a taint"


def _difference(
    bench: PluginBench, whose: str, known: _Before, pod: PodInfo, when: str, rows: NDArray[np.int64] | None = None
) -> str:
    """Return what changes first if what is known of a pod stands for what the plugin would say now; empty if nothing."""
    own = _Before.of(bench, pod, rows_of(bench) if rows is None else rows)
    return (
        _other_answer(whose, known, own, when)
        or _other_verdict(bench, whose, known, own, pod, when)
        or _other_writing(whose, known, own, when)
    )


def _other_answer(whose: str, known: _Before, own: _Before, when: str) -> str:
    for method, first, now in (
        ("pre_filter", known.filtering, own.filtering),
        ("pre_score", known.scoring, own.scoring),
    ):
        if first != now:
            return f"{method} answers {first} for {whose}, and {now} {when}"
    return ""


def _other_verdict(bench: PluginBench, whose: str, known: _Before, own: _Before, pod: PodInfo, when: str) -> str:
    for info in bench.infos:
        theirs, mine = (_follows(bench, pod, each, info) for each in (known, own))
        if theirs != mine:
            return f"of {info.name} it says {theirs} by what was kept for {whose}, and {mine} {when}"
    return ""


def _other_writing(whose: str, known: _Before, own: _Before, when: str) -> str:
    for key in {**known.written, **own.written}:
        first, now = (each.written.get(key, b"nothing") for each in (known, own))
        if first is not None and now is not None and first != now:
            return f"under {key!r} it keeps {first.decode()} for {whose}, and {now.decode()} {when}"
    return ""


def _follows(bench: PluginBench, pod: PodInfo, before: _Before, info: NodeInfo) -> str:
    """Return what filter and score say of a node after that."""
    state = CycleState()
    state.write_all(before.values)
    told = []
    if hasattr(bench.plugin, "filter") and before.filtering != _SKIPPED:
        told.append(told_of(verdict_of(bench, pod, state, info)))
    if hasattr(bench.plugin, "score") and before.scoring != _SKIPPED:
        told.append(f"{score_of(bench, pod, state, info)} points")
    return ", ".join(told)


# --- skips ---


def skips_is_true(subject: Subject, sample: Sample) -> Iterator[str]:
    """Both pre_filter and pre_score skip a pod of which `skips` says so, whatever nodes are feasible."""
    bench = PluginBench(subject, sample)
    if not hasattr(bench.plugin, "skips"):
        return
    alike = list(_alike(bench))
    yield from _skips(bench, alike, "")
    for when in _changes(bench):
        yield from _skips(bench, alike, f" {when}")


def _skips(bench: PluginBench, pods: Iterable[tuple[str, PodInfo]], when: str) -> Iterator[str]:
    every = rows_of(bench)
    for whose, pod in pods:
        if not bench.plugin.skips(pod, bench.table):
            continue
        for rows in (every, every[:1]):
            before = _Before.of(bench, pod, rows)
            for method, answer in (("pre_filter", before.filtering), ("pre_score", before.scoring)):
                if hasattr(bench.plugin, method) and answer != _SKIPPED:
                    yield (
                        f"skips says True of {whose}{when}, but {method} answers {answer} with {len(rows)} feasible "
                        "nodes; let skips say False of such pods, or return SKIP"
                    )
                    return

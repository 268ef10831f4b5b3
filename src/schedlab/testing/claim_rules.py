"""The rules for what plugins claim of themselves so as to be asked less: what is claimed wrongly is a wrong decision.

As those of `plugin_rules`, each takes a subject and a sample and yields what is wrong; who claims nothing keeps them all.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import Code, code_of, is_success
from schedlab.scheduler.framework.types import PodInfo
from schedlab.testing.plugin_bench import PluginBench, Sample, Subject
from schedlab.testing.plugin_calls import (
    EXTRA,
    BrokenRule,
    after_pre_filter,
    claims,
    first_container,
    ready_to_filter,
    ready_to_score,
    rows_of,
    score_of,
    siblings,
    told_of,
    verdict_of,
    verdicts,
)


def row_local_is_true(subject: Subject, sample: Sample) -> Iterator[str]:
    """Neither what pods of one template differ in nor other nodes may count for a plugin that says it is row-local."""
    bench = PluginBench(subject, sample)
    pod = bench.pod(sample.pod)
    if not claims(bench, "is_row_local", pod):
        return
    told = _by_row(bench, pod)
    for what, other in siblings(sample.pod):
        changed = bench.pod(other)
        if claims(bench, "is_row_local", changed) and _by_row(bench, changed) != told:
            yield f"is_row_local says True, but verdicts or scores depend on {what}"
    for number, info in enumerate(bench.infos):
        crowded = PluginBench(subject, sample, (EXTRA.node(info.name),))
        elsewhere = _by_row(crowded, crowded.pod(sample.pod))
        if [each for at, each in enumerate(elsewhere) if at != number] != [
            each for at, each in enumerate(told) if at != number
        ]:
            yield f"is_row_local says True, but a pod on {info.name} changes what is said of other nodes"


def _by_row(bench: PluginBench, pod: PodInfo) -> list[tuple[str, int]]:
    """Return what filter says of each node, and its raw score."""
    out = []
    filtering, scoring = ready_to_filter(bench, pod), ready_to_score(bench, pod, rows_of(bench))
    for info in bench.infos:
        verdict = "" if filtering is None else told_of(verdict_of(bench, pod, filtering, info))
        out.append((verdict, 0 if scoring is None else score_of(bench, pod, scoring, info)))
    return out


def amounts_are_all_that_counts(subject: Subject, sample: Sample) -> Iterator[str]:
    """Nodes that differ in everything but their amounts get the same verdict and score where `is_of_amounts` is True."""
    bench = PluginBench(subject, sample)
    pod = bench.pod(sample.pod)
    if not getattr(bench.plugin, "is_of_amounts", False) or not claims(bench, "is_row_local", pod):
        return
    other = PluginBench(subject, _otherwise(sample))
    told, elsewhere = _by_row(bench, pod), _by_row(other, other.pod(sample.pod))
    for here, there, mine, theirs in zip(bench.infos, other.infos, told, elsewhere, strict=True):
        if here.amounts() == there.amounts() and mine != theirs:
            yield f"is_of_amounts is True, but of {here.name} it says {mine}, of another node with the same amounts {theirs}"


def _otherwise(sample: Sample) -> Sample:
    """Return a sample with as much on its nodes, which have other names, labels, taints and pods."""
    names = {node.get("metadata.name"): f"other-{number}" for number, node in enumerate(sample.nodes)}
    nodes = tuple(
        node.name(name).set("metadata.labels", {"kind": "other"}).set("spec", {}).set("status.images", [])
        for node, name in zip(sample.nodes, names.values(), strict=True)
    )
    placed = tuple(
        first_container(pod, ports=[], image="else")
        .labels({"app": "else"})
        .priority(7)
        .set("spec.volumes", [])
        .node(names[pod.get("spec.nodeName")])
        for pod in sample.placed
    )
    return Sample(sample.name, nodes, sample.pod, placed)


def reserves_nothing_is_true(subject: Subject, sample: Sample) -> Iterator[str]:
    """It makes no difference whether a plugin that says `reserves_nothing` of a pod is asked to reserve for it."""
    bench = PluginBench(subject, sample)
    for builder in (sample.pod, *(sibling for _, sibling in siblings(sample.pod))):
        pod = bench.pod(builder)
        for info in bench.infos if claims(bench, "reserves_nothing", pod) else ():
            state = after_pre_filter(bench, pod)
            before = _kept(bench, state), verdicts(bench, pod)
            status = bench.plugin.reserve(state, pod, info.name)
            if not is_success(status):
                yield f"reserves_nothing says True, but reserve on {info.name} answers {told_of(status)}"
            elif (_kept(bench, state), verdicts(bench, pod)) != before:
                yield f"reserves_nothing says True, but reserve on {info.name} leaves something behind"
            bench.plugin.unreserve(state, pod, info.name)


def _kept(bench: PluginBench, state: CycleState) -> dict[str, bytes]:
    """Return what the cycle and the plugin keep, as far as it can be compared."""
    kept: dict[str, Any] = {
        **getattr(bench.plugin, "__dict__", {}),
        **{str(key): v for key, v in state.values().items()},
    }
    return {name: data for name, value in kept.items() if (data := _pickled(value)) is not None}


def _pickled(value: object) -> bytes | None:
    try:
        return pickle.dumps(value)
    except Exception:  # noqa: BLE001 - a handle, a lister or whatever else cannot be compared
        return None


def pre_binds_nothing_is_true(subject: Subject, sample: Sample) -> Iterator[str]:
    """A plugin that says `pre_binds_nothing` of a pod skips it before the binding."""
    bench = PluginBench(subject, sample)
    for builder in (sample.pod, *(sibling for _, sibling in siblings(sample.pod))):
        pod = bench.pod(builder)
        for info in bench.infos if claims(bench, "pre_binds_nothing", pod) else ():
            status = bench.plugin.pre_bind_pre_flight(after_pre_filter(bench, pod), pod, info.name)
            if code_of(status) != Code.SKIP:
                yield f"pre_binds_nothing says True, but pre_bind_pre_flight on {info.name} answers {told_of(status)}"


def changed_verdicts_are_told(subject: Subject, sample: Sample) -> Iterator[str]:
    """Rows that `changed_verdicts` leaves out have the verdict that they had at the mark, whatever pods came and went."""
    bench = PluginBench(subject, sample)
    if not hasattr(bench.plugin, "changed_verdicts"):
        return
    pod, cache = bench.pod(sample.pod), bench.scheduler.cache
    extras = [
        bench.pod(EXTRA.name(f"extra-{info.name}").uid(f"extra-{info.name}").node(info.name)) for info in bench.infos
    ]
    steps = [(f"a pod on {each.pod.spec.node_name} came", cache.add_pod, each) for each in extras]
    steps += [(f"a pod on {each.pod.spec.node_name} went", cache.remove_pod, each) for each in extras]
    mark, _, before = _marked(bench, pod, None)
    for what, change, extra in steps:
        change(extra)
        cache.refresh()
        mark, rows, after = _marked(bench, pod, mark)
        for row, info in enumerate(bench.infos):
            if rows is not None and row not in rows and before and after and before[row] != after[row]:
                yield f"when {what}, changed_verdicts left out {info.name}: {before[row]} before, {after[row]} then"
        before = after


def _marked(bench: PluginBench, pod: PodInfo, since: object | None) -> tuple[object, Sequence[int] | None, list[str]]:
    """Return a mark of now, the rows that have changed since another one, and all verdicts; none if filter is skipped."""
    state = ready_to_filter(bench, pod)
    if state is None:
        return None, None, []
    answer = bench.plugin.changed_verdicts(state, pod, bench.table, since)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise BrokenRule(f"changed_verdicts returned {answer!r}, not (a mark, rows or None)")
    mark, rows = answer
    if rows is not None and not all(0 <= row < len(bench.table) for row in rows):
        raise BrokenRule(f"changed_verdicts gave the rows {rows!r} of {len(bench.table)} nodes")
    return mark, rows, [told_of(verdict_of(bench, pod, state, info)) for info in bench.infos]

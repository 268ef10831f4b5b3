"""The rules that `plugin_checks` tries: each takes a subject and a sample and yields what is wrong.

A rule about a method that the plugin does not have is kept without a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedlab.client.protocol import Write
from schedlab.scheduler.config.types import ConfigStruct
from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.interface import CycleState, PostFilterResult, Work
from schedlab.scheduler.framework.status import Code, NodeStatuses, Status, code_of, is_success
from schedlab.scheduler.framework.types import MAX_NODE_SCORE, NodeInfo, PodInfo
from schedlab.scheduler.plugins.registry import IN_TREE
from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
from schedlab.testing.builders import PodBuilder
from schedlab.testing.plugin_bench import PluginBench, Sample, Subject
from schedlab.testing.plugin_calls import (
    EXTRA,
    REJECTIONS,
    BrokenRule,
    Variant,
    after_pre_filter,
    checked_status,
    first_container,
    pre_filter,
    ready_to_filter,
    ready_to_score,
    rows_of,
    score_of,
    scores_of,
    siblings,
    told_of,
    verdict_of,
    verdicts,
)

# --- Configuration and queue ---


def refuses_unknown_arguments(subject: Subject, _sample: Sample) -> Iterator[str]:
    entry = subject.entry
    if entry.args is None or entry.name in IN_TREE:
        return
    decoded = entry.args(dict(subject.args or {}))
    if isinstance(decoded, (dict, ConfigStruct)):
        return
    try:
        entry.args({**(subject.args or {}), "noSuchArgument": 1})
    except ValueError:
        return
    yield "the argument noSuchArgument was taken"


def registers_events(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    if not hasattr(bench.plugin, "events_to_register"):
        return
    pod, node, other = bench.pod(sample.pod), bench.infos[0].node, bench.pod(EXTRA).pod
    changed: dict[EventResource, Any] = {EventResource.NODE: node, EventResource.POD: other}
    for registered in bench.plugin.events_to_register():
        if not isinstance(registered, ClusterEventWithHint) or not isinstance(registered.event, ClusterEvent):
            yield f"events_to_register gave {registered!r}, not a ClusterEventWithHint"
            continue
        what = changed.get(registered.event.resource)
        if registered.hint is None or what is None:
            continue
        for action, old, new in ((ActionType.ADD, None, what), (ActionType.DELETE, what, None)):
            if registered.event.action & action:
                hint = registered.hint(pod, old, new)
                if hint not in (QueueingHint.SKIP, QueueingHint.QUEUE):
                    yield f"the hint for {registered.event.resource} answered {hint!r}, not a QueueingHint"


def pre_enqueue_answers(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    if hasattr(bench.plugin, "pre_enqueue"):
        checked_status("pre_enqueue", bench.plugin.pre_enqueue(bench.pod(sample.pod)), *REJECTIONS)
    yield from ()


def sort_key_compares(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    if not hasattr(bench.plugin, "sort_key"):
        return
    pods = [bench.pod(builder) for builder in (sample.pod, *sample.placed, EXTRA)]
    keys = [bench.plugin.sort_key(QueuedPodInfo(pod, number)) for number, pod in enumerate(pods)]
    sorted(keys)
    again = [bench.plugin.sort_key(QueuedPodInfo(pod, number)) for number, pod in enumerate(pods)]
    if keys != again:
        yield f"the same pods have the keys {keys!r} and then {again!r}"


# --- Filtering ---


def pre_filter_answers(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    result, _ = pre_filter(bench, bench.pod(sample.pod), CycleState())
    names = result.node_names if result is not None and result.node_names is not None else ()
    unknown = [name for name in names if name not in bench.table.row_of]
    # A node that the pod names may be gone; it is no mistake to leave it.
    if unknown and len(unknown) == len(names) > 1:
        yield f"pre_filter left nodes that do not exist: {', '.join(unknown)}"


def filter_answers(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    pod = bench.pod(sample.pod)
    state = ready_to_filter(bench, pod)
    if state is not None:
        for info in bench.infos:
            verdict_of(bench, pod, state, info)
    yield from ()


def filter_is_independent(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    pod = bench.pod(sample.pod)
    forward, backward = ready_to_filter(bench, pod), ready_to_filter(bench, pod)
    if forward is None or backward is None:
        return
    first = {info.name: verdict_of(bench, pod, forward, info) for info in bench.infos}
    second = {info.name: verdict_of(bench, pod, backward, info) for info in reversed(bench.infos)}
    for name, verdict in first.items():
        if told_of(verdict) != told_of(second[name]):
            yield f"filter says of {name}: {told_of(verdict)}, asked from the last node on: {told_of(second[name])}"


def filter_nodes_equals_filter(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    pod, total = bench.pod(sample.pod), len(bench.table)
    for first, last in ((0, total), (0, 1), (1, total), (1, 1)):
        state, scalar = ready_to_filter(bench, pod), ready_to_filter(bench, pod)
        if state is None or scalar is None or not hasattr(bench.plugin, "filter_nodes"):
            return
        found = bench.plugin.filter_nodes(state, pod, bench.table, slice(first, last))
        if not isinstance(found, NodeStatuses) or len(found.code) != last - first or len(found.reason) != last - first:
            raise BrokenRule(
                f"filter_nodes did not return NodeStatuses of {last - first} nodes for rows {first}:{last}"
            )
        for at, info in enumerate(bench.infos[first:last]):
            one, many = told_of(verdict_of(bench, pod, scalar, info)), told_of(found.status(at))
            if one != many:
                yield f"filter says of {info.name}: {one}, filter_nodes over rows {first}:{last}: {many}"


def dry_runs_follow(subject: Subject, sample: Sample) -> Iterator[str]:
    """What filter says after add_pod and remove_pod is what it says when those pods really came and went."""
    bench = PluginBench(subject, sample)
    pod = bench.pod(sample.pod)
    for info in bench.infos:
        state = ready_to_filter(bench, pod)
        if state is None:
            return
        node, dry = info.copy(), state.copy()
        extra = EXTRA.node(info.name)
        added = bench.pod(extra)
        node.add_pod(added)
        _change(bench, "add_pod", dry, pod, added, node)
        yield from _compare(subject, sample, (extra,), verdict_of(bench, pod, dry, node), node, pod, "an extra pod")
        node.remove_pod(added)
        _change(bench, "remove_pod", dry, pod, added, node)
        if told_of(verdict_of(bench, pod, dry, node)) != told_of(verdict_of(bench, pod, state, info)):
            yield f"filter says something else of {info.name} after a pod came and went"
        for placed in list(info.pods):
            node, dry = info.copy(), state.copy()
            node.remove_pod(placed)
            _change(bench, "remove_pod", dry, pod, placed, node)
            rest = tuple(each for each in sample.placed if each.get("metadata.name") != placed.name)
            less = Sample(sample.name, sample.nodes, sample.pod, rest)
            yield from _compare(subject, less, (), verdict_of(bench, pod, dry, node), node, pod, f"no {placed.name}")


def _change(bench: PluginBench, method: str, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
    if hasattr(bench.plugin, method):
        checked_status(method, getattr(bench.plugin, method)(state, pod, other, node))


def _compare(
    subject: Subject,
    sample: Sample,
    extra: Sequence[PodBuilder],
    dry: Status | None,
    node: NodeInfo,
    pod: PodInfo,
    what: str,
) -> Iterator[str]:
    real = PluginBench(subject, sample, extra)
    state = ready_to_filter(real, pod)
    if state is None:
        return
    truth = verdict_of(real, pod, state, real.infos[real.table.row_of[node.name]])
    if told_of(dry) != told_of(truth):
        yield (
            f"with {what} on {node.name} filter says {told_of(truth)}, in a dry run {told_of(dry)}; "
            "state of pre_filter that depends on pods needs add_pod and remove_pod"
        )


# --- Scoring ---


def scores_are_in_range(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    for name, score in scores_of(bench, bench.pod(sample.pod)):
        if not 0 <= score <= MAX_NODE_SCORE:
            yield f"{name} has {score} points after normalising, not 0 to {MAX_NODE_SCORE}"


def score_nodes_equals_score(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    pod = bench.pod(sample.pod)
    if not hasattr(bench.plugin, "score_nodes"):
        return
    everything = rows_of(bench)
    for rows in (everything, everything[::-1].copy(), everything[:1]):
        state, scalar = ready_to_score(bench, pod, rows), ready_to_score(bench, pod, rows)
        if state is None or scalar is None:
            return
        found = bench.plugin.score_nodes(state, pod, bench.table, rows)
        if isinstance(found, Status):
            raise BrokenRule(f"score_nodes returned {told_of(found)}")
        if not isinstance(found, np.ndarray) or found.shape != rows.shape or found.dtype != np.int64:
            raise BrokenRule(f"score_nodes did not return int64[{len(rows)}]")
        for row, many in zip(rows.tolist(), found.tolist(), strict=True):
            one = score_of(bench, pod, scalar, bench.infos[row])
            if one != many:
                yield f"score gives {bench.table.names[row]} {one} points, score_nodes {many}"


# --- From post_filter to bind ---


class _NoStatuses:
    """A failed cycle in which every node was turned down for good."""

    def get(self, name: str) -> Status:  # noqa: ARG002 - the protocol's signature
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("no",))

    def rows_with(self, *codes: int) -> NDArray[np.int64]:  # noqa: ARG002 - the protocol's signature
        return np.zeros(0, np.int64)

    def explicit(self) -> dict[str, Status]:
        return {}


def post_filter_answers(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    pod = bench.pod(sample.pod)
    if not hasattr(bench.plugin, "post_filter"):
        return
    answer = bench.plugin.post_filter(after_pre_filter(bench, pod), pod, _NoStatuses())
    if not isinstance(answer, tuple) or len(answer) != 3:
        raise BrokenRule(
            f"post_filter returned {answer!r}, not (PostFilterResult or None, Status or None, Work or None)"
        )
    result, status, work = answer
    checked_status("post_filter", status, *REJECTIONS)
    if result is not None and not isinstance(result, PostFilterResult):
        yield f"post_filter returned {result!r}, not a PostFilterResult or None"
    if work is not None:
        yield from _work(bench, "post_filter", work)


def reserve_is_undone(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    pod = bench.pod(sample.pod)
    if not hasattr(bench.plugin, "reserve"):
        return
    before = verdicts(bench, pod)
    for info in bench.infos:
        state = CycleState()
        _, status = pre_filter(bench, pod, state)
        if code_of(status) not in {Code.SUCCESS, Code.SKIP}:
            return
        bench.plugin.unreserve(state, pod, info.name)
        if (
            is_success(status)
            and hasattr(bench.plugin, "filter")
            and not is_success(verdict_of(bench, pod, state, info))
        ):
            continue
        checked_status("reserve", bench.plugin.reserve(state, pod, info.name), *REJECTIONS, Code.PENDING)
        bench.plugin.unreserve(state, pod, info.name)
        after = verdicts(bench, pod)
        if after != before:
            yield f"after reserve and unreserve on {info.name} the verdicts are {after}, before they were {before}"


def permit_answers(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    pod = bench.pod(sample.pod)
    if not hasattr(bench.plugin, "permit"):
        return
    for info in bench.infos:
        answer = bench.plugin.permit(after_pre_filter(bench, pod), pod, info.name)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise BrokenRule(f"permit returned {answer!r}, not (Status or None, a time in ns)")
        status, timeout_ns = answer
        checked_status("permit", status, Code.WAIT, *REJECTIONS)
        if not isinstance(timeout_ns, int):
            yield f"permit waits for {timeout_ns!r}, not a whole number of ns"
        elif code_of(status) == Code.WAIT and timeout_ns <= 0:
            yield f"permit waits, but for {timeout_ns} ns"


def binding_answers(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    pod, name = bench.pod(sample.pod), bench.table.names[0]
    state = after_pre_filter(bench, pod)
    plugin = bench.plugin
    if hasattr(plugin, "reserve") and not is_success(plugin.reserve(state, pod, name)):
        return
    if hasattr(plugin, "pre_bind"):
        flight = checked_status("pre_bind_pre_flight", plugin.pre_bind_pre_flight(state, pod, name), Code.SKIP)
        if is_success(flight):
            yield from _done_or_work(bench, "pre_bind", plugin.pre_bind(state, pod, name))
    if hasattr(plugin, "bind"):
        yield from _done_or_work(bench, "bind", plugin.bind(state, pod, name), Code.SKIP)
    if hasattr(plugin, "post_bind"):
        plugin.post_bind(state, pod, name)


def _done_or_work(bench: PluginBench, method: str, answer: object, *allowed: Code) -> Iterator[str]:
    if isinstance(answer, Work):
        yield from _work(bench, method, answer)
    else:
        checked_status(method, answer, *REJECTIONS, *allowed)


def _work(bench: PluginBench, method: str, work: object) -> Iterator[str]:
    if not isinstance(work, Work):
        yield f"{method} returned {work!r}, not Work"
    elif not work.calls and not hasattr(bench.plugin, "resume"):
        yield f"{method} returns Work, but there is no resume to go on with"
    elif not all(isinstance(write, Write) for write in work.writes):
        yield f"{method} returns Work with writes that are none"


# --- Everything together ---


def signatures_hold(subject: Subject, sample: Sample) -> Iterator[str]:
    """A pod that differs in something and has the same signature must get the same verdicts and scores."""
    bench = PluginBench(subject, sample)
    if not hasattr(bench.plugin, "sign_pod"):
        return
    pod = bench.pod(sample.pod)
    signature = _signature(bench, pod)
    if signature is None:
        return
    told = verdicts(bench, pod), scores_of(bench, pod)
    for what, other in _variants(sample.pod):
        changed = bench.pod(other)
        if _signature(bench, changed) == signature and (verdicts(bench, changed), scores_of(bench, changed)) != told:
            yield f"sign_pod leaves {what} out, but verdicts or scores depend on it"


def _signature(bench: PluginBench, pod: PodInfo) -> bytes | None:
    fragments, status = bench.plugin.sign_pod(pod)
    if not is_success(checked_status("sign_pod", status, *REJECTIONS, Code.ERROR)):
        return None
    return msgspec.json.encode(dict(fragments or ()), order="deterministic")


def _variants(pod: PodBuilder) -> Iterator[Variant]:
    yield from siblings(pod)
    yield "requests", pod.req(cpu="900m", memory="1Gi")
    yield "host ports", first_container(pod, ports=[{"containerPort": 8080, "hostPort": 8080}])
    yield "tolerations", pod.toleration("dedicated", "db", "NoSchedule").toleration("soft", operator="Exists")
    yield "the node selector", pod.node_selector({"tier": "fast"})
    yield "the node name", pod.node("node-0")
    yield "the image", first_container(pod, image="shop/web:1")


def answers_repeat(subject: Subject, sample: Sample) -> Iterator[str]:
    bench, other = PluginBench(subject, sample), PluginBench(subject, sample)
    pod = bench.pod(sample.pod)
    first, again = (verdicts(bench, pod), scores_of(bench, pod)), (verdicts(bench, pod), scores_of(bench, pod))
    if first != again:
        yield f"asked twice, it answered {first} and then {again}"
    anew = verdicts(other, pod), scores_of(other, pod)
    if first != anew:
        yield f"another instance answered {anew} instead of {first}"


def nothing_is_changed(subject: Subject, sample: Sample) -> Iterator[str]:
    bench = PluginBench(subject, sample)
    pod = bench.pod(sample.pod)
    before = _fingerprint(bench, pod)
    verdicts(bench, pod)
    scores_of(bench, pod)
    state = ready_to_filter(bench, pod)
    if state is not None and hasattr(bench.plugin, "filter_nodes"):
        bench.plugin.filter_nodes(state, pod, bench.table, slice(0, len(bench.table)))
    after = _fingerprint(bench, pod)
    for what, value in before.items():
        if after[what] != value:
            yield f"{what} was changed"


def _fingerprint(bench: PluginBench, pod: PodInfo) -> dict[str, bytes]:
    table = bench.table
    arrays = (table.allocatable, table.requested, table.non_zero_requested, table.pod_count, table.taint_set)
    return {
        "the pod": _encoded(pod),
        "the table": b"".join(array.tobytes() for array in arrays),
        **{f"node {info.name}": _encoded_node(info) for info in bench.infos},
    }


def _encoded(pod: PodInfo) -> bytes:
    return msgspec.json.encode([pod.pod, pod.labels, None if pod.stored is None else pod.stored.raw])


def _encoded_node(info: NodeInfo) -> bytes:
    amounts = [
        [r.milli_cpu, r.memory, r.ephemeral_storage, r.allowed_pod_number, r.scalar]
        for r in (info.allocatable, info.requested)
    ]
    pods = [[pod.uid, pod.labels] for pod in info.pods]
    return msgspec.json.encode([info.node, amounts, pods, list(info.used_ports.used()), info.claim_counts])

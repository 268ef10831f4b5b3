"""Turns down nodes with too little left of what the pod asks for; scores how full they would be.

Mirrors: pkg/scheduler/framework/plugins/noderesources/fit.go (v1.36).
Differs: reasons for extended resources come in the order of their names, where upstream's order is random.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from schedlab.api.rules.requests import SPEC_RULES, RequestRules, pod_requests
from schedlab.api.rules.resource_names import DEVICE_CLASS_PREFIX, is_extended_resource
from schedlab.apimachinery.field import aggregate
from schedlab.scheduler.config.validation_args import check_node_resources_fit
from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.explanations import Fact, Formula, amount_text
from schedlab.scheduler.framework.interface import PluginEntry, PreFilterResult
from schedlab.scheduler.framework.status import REASONS, Code, NodeStatuses, Status, error
from schedlab.scheduler.framework.types import PODS, NodeInfo
from schedlab.scheduler.plugins.node_resources.allocation import (
    ScoredResources,
    amount_of,
    explained_amounts,
)
from schedlab.scheduler.plugins.node_resources.least_allocated import LeastAllocated
from schedlab.scheduler.plugins.node_resources.most_allocated import MostAllocated
from schedlab.scheduler.plugins.node_resources.requested_to_capacity_ratio import RequestedToCapacityRatio
from schedlab.scheduler.plugins.node_resources.requests import NATIVE, PendingRequests

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.views.core import Node, Pod
    from schedlab.api.views.meta import ObjectMeta
    from schedlab.scheduler.config.args import NodeResourcesFitArgs, ScoringStrategy
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.plugins.node_resources.allocation import Amounts, NodeAmounts

REASON_TOO_MANY_PODS: Final = "Too many pods"

_PRE_FILTER_KEY: Final = "PreFilterNodeResourcesFit"
_PRE_SCORE_KEY: Final = "PreScoreNodeResourcesFit"
_NO_PRE_FILTER: Final = error(f'error reading "{_PRE_FILTER_KEY}" from cycleState: not found')

# Shortages of one node are bits of an int64: one for the number of pods, one for each resource.
_RESOURCES_MAX: Final = 62

Requests: TypeAlias = tuple[tuple[str, int], ...]


class Shortage(NamedTuple):
    """What a node has too little of; hopeless when even an empty node would."""

    reason: str
    is_hopeless: bool


class Strategy(Protocol):
    """How full a node should be."""

    def score(self, amounts: Amounts) -> int:
        """Return 0 to 100."""

    def score_nodes(self, amounts: NodeAmounts) -> NDArray[np.int64]:
        """Return the same for F nodes."""

    def expression(self, amounts: Amounts) -> str:
        """Return `score` as arithmetic."""


class DeviceClassSpec(Protocol):
    """spec of a DeviceClass."""

    extended_resource_name: str | None


class DeviceClass(Protocol):
    """The typed view of a DeviceClass, as far as it is read here."""

    metadata: ObjectMeta
    spec: DeviceClassSpec


class NodeResourcesFit:
    """The plugin."""

    name = "NodeResourcesFit"
    looks_at = "amounts"
    is_of_amounts = True

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        """ValueError, in upstream's words, when the arguments are wrong."""
        if errors := list(check_node_resources_fit(None, args)):
            raise ValueError(aggregate(errors))
        self._pending = PendingRequests(handle)
        self._has_devices = handle.features.enabled("DRAExtendedResource")
        self._resize_rules = RequestRules(
            pod_level_status=handle.features.enabled("InPlacePodLevelResourcesVerticalScaling")
        )
        self._ignored_resources = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        assert args.scoring_strategy is not None, "arguments have their defaults"
        self._resources = ScoredResources(args.scoring_strategy.resources, real=None)
        self._strategy = _strategy(args.scoring_strategy, self._resources.weights)
        self._weights = dict(zip(self._resources.names, self._resources.weights, strict=True))

    def pre_filter(
        self, state: CycleState, pod: PodInfo, _table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        requests = self.judged_requests(pod)
        state.write(_PRE_FILTER_KEY, requests)
        return None, None

    def judged_requests(self, pod: PodInfo) -> Requests:
        """Return (resource, amount) of what a pod asks for, but for resources that the profile ignores."""
        return tuple(each for each in self._pending.of(pod) if not self._is_ignored(each[0]))

    def is_for_devices(self, resource: str) -> bool:
        """Whether nodes need not offer the resource themselves, because a DeviceClass stands behind it."""
        return self._pending.is_for_devices(resource)

    def filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Status | None:
        requests: Requests | None = state.find(_PRE_FILTER_KEY)
        if requests is None:
            return _NO_PRE_FILTER
        shortages = tuple(self._shortages(requests, node))
        return _rejection(shortages) if shortages else None

    def filter_nodes(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        requests: Requests | None = state.find(_PRE_FILTER_KEY)
        infos = table.infos[rows]
        if requests is None:
            return NodeStatuses.of([_NO_PRE_FILTER] * len(infos))
        if len(requests) > _RESOURCES_MAX:
            return NodeStatuses.of([self.filter(state, pod, info) for info in infos])
        bits = (table.pod_count[rows] >= table.allowed_pods[rows]).astype(np.int64)
        hopeless = np.zeros(len(infos), np.bool_)
        for k, (name, amount) in enumerate(requests, 1):
            allocatable, requested = _columns(table, name, rows)
            short = amount > allocatable - requested
            if self._pending.is_for_devices(name):
                short &= allocatable > 0
            bits |= short.astype(np.int64) << k
            hopeless |= short & (amount > allocatable)
        return verdicts(bits, hopeless, [REASON_TOO_MANY_PODS, *(_insufficient(name) for name, _ in requests)])

    def pre_score(self, state: CycleState, pod: PodInfo, _table: NodeTable, _rows: NDArray[np.int64]) -> Status | None:
        state.write(_PRE_SCORE_KEY, self._resources.requests_of(pod))
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[int, Status | None]:
        amounts = self._resources.on_node(node, self._scored_requests(state, pod))
        return self._strategy.score(amounts), None

    def score_nodes(
        self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        amounts = self._resources.on_nodes(table, rows, self._scored_requests(state, pod))
        return self._strategy.score_nodes(amounts)

    def explain_filter(self, state: CycleState, _pod: PodInfo, node: NodeInfo) -> Sequence[Fact]:
        most, there = node.allocatable.allowed_pod_number, len(node.pods)
        text = f"{there} of {most} pods are there" + ("" if there < most else ", none may be added")
        facts = [Fact(text, {"resource": PODS, "allocatable": most, "requested": there}, there < most)]
        requests: Requests = state.find(_PRE_FILTER_KEY) or ()
        return facts + [self._explain_amount(name, amount, node) for name, amount in requests]

    def _explain_amount(self, name: str, amount: int, node: NodeInfo) -> Fact:
        allocatable, requested = amount_of(node.allocatable, name), amount_of(node.requested, name)
        if allocatable == 0 and self._pending.is_for_devices(name):
            text = f"needs {name} {amount_text(name, amount)}, which devices stand for"
            return Fact(text, {"resource": name, "needs": amount_text(name, amount)}, fits=True)
        amounts = {"needs": amount, "free": allocatable - requested, "allocatable": allocatable, "requested": requested}
        words = {what: amount_text(name, number) for what, number in amounts.items()}
        text = "needs {0} {needs}, free {free} (allocatable {allocatable}, requested {requested})".format(name, **words)
        if amount > allocatable:
            text += "; even an empty node has too little"
        return Fact(text, {"resource": name, **words}, amount <= allocatable - requested)

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Formula:
        requests = self._scored_requests(state, pod)
        return self._formula(requests, self._resources.on_node(node, requests))

    def explain_scores(
        self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> Sequence[Formula]:
        requests = self._scored_requests(state, pod)
        return [self._formula(requests, amounts) for amounts in self._resources.on_each(table, rows, requests)]

    def _formula(self, requests: Sequence[int], amounts: Amounts) -> Formula:
        inputs = {
            "strategy": type(self._strategy).__name__,
            "weights": self._weights,
            "resources": explained_amounts(self._resources.names, requests, amounts),
        }
        return Formula(self._strategy.expression(amounts), inputs)

    def is_row_local(self, pod: PodInfo) -> bool:
        # Whether devices stand behind an extended resource does not depend on the node.
        return all(name in NATIVE for name, _ in self._pending.of(pod))

    def is_pod_local(self, _pod: PodInfo) -> bool:
        return True

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        return self._pending.sign(pod)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        pod = ClusterEvent(EventResource.POD, ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN)
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE)
        events = (
            ClusterEventWithHint(pod, self._after_pod_event),
            ClusterEventWithHint(node, self._after_node_change),
        )
        if not self._has_devices:
            return events
        device_class = ClusterEvent(EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE)
        return (*events, ClusterEventWithHint(device_class, _after_device_class_event))

    def _scored_requests(self, state: CycleState, pod: PodInfo) -> tuple[int, ...]:
        found: tuple[int, ...] | None = state.find(_PRE_SCORE_KEY)
        return self._resources.requests_of(pod) if found is None else found

    def _is_ignored(self, name: str) -> bool:
        if not is_extended_resource(name):
            return False
        return name in self._ignored_resources or name.split("/", maxsplit=1)[0] in self._ignored_groups

    def _shortages(self, requests: Requests, node: NodeInfo) -> Iterator[Shortage]:
        if len(node.pods) + 1 > node.allocatable.allowed_pod_number:
            yield Shortage(REASON_TOO_MANY_PODS, is_hopeless=False)
        for name, amount in requests:
            allocatable = amount_of(node.allocatable, name)
            if allocatable == 0 and self._pending.is_for_devices(name):
                continue
            if amount > allocatable - amount_of(node.requested, name):
                yield Shortage(_insufficient(name), amount > allocatable)

    # --- Queueing hints ---

    def _after_pod_event(self, pod: PodInfo, old: Pod, new: Pod | None) -> QueueingHint:
        if new is None:
            was_placed = old.spec.node_name or old.status.nominated_node_name
            return QueueingHint.QUEUE if was_placed else QueueingHint.SKIP
        if new.metadata.uid == pod.uid:
            return QueueingHint.QUEUE
        if not new.spec.node_name:
            return QueueingHint.SKIP
        before, after = (pod_requests(each, self._resize_rules) for each in (old, new))
        wanted = pod_requests(pod.pod, self._resize_rules)
        freed = any(amount and before.get(name, 0) > after.get(name, 0) for name, amount in wanted.items())
        return QueueingHint.QUEUE if freed else QueueingHint.SKIP

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
        requests, empty = self._pending.of(pod), NodeInfo(new)
        if any(self._shortages(requests, empty)):
            return QueueingHint.SKIP
        if old is None or self._has_more(requests, empty, NodeInfo(old)):
            return QueueingHint.QUEUE
        return QueueingHint.SKIP

    def _has_more(self, requests: Requests, now: NodeInfo, before: NodeInfo) -> bool:
        if now.allocatable.allowed_pod_number > before.allocatable.allowed_pod_number:
            return True
        for name, _ in requests:
            allocatable = amount_of(now.allocatable, name)
            if allocatable > amount_of(before.allocatable, name):
                return True
            if allocatable == 0 and self._pending.is_for_devices(name):
                return True
        return False


def _strategy(scoring: ScoringStrategy, weights: Sequence[int]) -> Strategy:
    if scoring.type == "LeastAllocated":
        return LeastAllocated(weights)
    if scoring.type == "MostAllocated":
        return MostAllocated(weights)
    assert scoring.requested_to_capacity_ratio is not None
    return RequestedToCapacityRatio(weights, scoring.requested_to_capacity_ratio.shape)


def _after_device_class_event(pod: PodInfo, old: DeviceClass | None, new: DeviceClass) -> QueueingHint:
    """A class may start to offer what the pod asks for: under its implicit name when it is new, or under its own."""
    names = [new.spec.extended_resource_name]
    if old is None:
        names.append(DEVICE_CLASS_PREFIX + new.metadata.name)
    elif old.spec.extended_resource_name == new.spec.extended_resource_name:
        return QueueingHint.SKIP
    wanted = pod_requests(pod.pod, SPEC_RULES)
    return QueueingHint.QUEUE if any(name in wanted for name in names) else QueueingHint.SKIP


def _insufficient(name: str) -> str:
    return f"Insufficient {name}"


def _rejection(shortages: Sequence[Shortage]) -> Status:
    hopeless = any(shortage.is_hopeless for shortage in shortages)
    code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE
    return Status(code, tuple(shortage.reason for shortage in shortages))


def _columns(table: NodeTable, name: str, rows: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """allocatable, requested: int64[M] of a resource; zeros when no node and no placed pod has it."""
    index = table.resource_index(name)
    if index < 0:
        nothing = np.zeros_like(table.pod_count[rows])
        return nothing, nothing
    return table.allocatable[index, rows], table.requested[index, rows]


def verdicts(bits: NDArray[np.int64], hopeless: NDArray[np.bool_], reasons: Sequence[str]) -> NodeStatuses:
    """Return statuses of M nodes. bits: int64[M], bit k stands for reasons[k]; hopeless: bool[M]."""
    statuses = NodeStatuses.success(len(bits))
    left = failed = np.flatnonzero(bits)
    while len(left):
        combination = int(bits[left[0]])
        same = bits[left] == combination
        texts = tuple(text for k, text in enumerate(reasons) if combination >> k & 1)
        statuses.reason[left[same]] = REASONS.id_of(texts)
        left = left[~same]
    statuses.code[failed] = np.where(
        hopeless[failed], np.uint8(Code.UNSCHEDULABLE_AND_UNRESOLVABLE), np.uint8(Code.UNSCHEDULABLE)
    )
    return statuses


ENTRY: Final = PluginEntry(NodeResourcesFit.name, NodeResourcesFit)

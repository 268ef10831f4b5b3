"""The contract between the scheduler and its plugins: extension points, what they get, what they return.

A plugin is any class with a `name` and some of the methods of the protocols below; the runtime looks for the methods.
It is made by `factory(args, handle)`. Only the scalar forms are required. Where a `*_nodes` form exists too it must
give the same answers (tests/property proves it for every registered plugin).

Order of one cycle: pre_enqueue* (queue) | pre_filter, filter, [post_filter] | pre_score, score, normalize_score |
reserve, permit | pre_bind, bind, post_bind.

Mirrors: staging/src/k8s.io/kube-scheduler/framework/interface.go (v1.36).
Differs: no contexts or goroutines; a step that must wait returns `Work` (ADR 0004); array forms (ADR 0002).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from schedlab.scheduler.framework.helpers.lazy import lazy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.apimachinery.features import FeatureGates
    from schedlab.client.listers import Listers
    from schedlab.client.protocol import Outcome, Write
    from schedlab.kernel.clock import Clock
    from schedlab.kernel.randomness import RandomSource
    from schedlab.scheduler.dra.devices import Devices
    from schedlab.scheduler.framework.events import ClusterEventWithHint, EventResource
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.pod_groups import PodGroups
    from schedlab.scheduler.framework.status import NodeStatuses, Status
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo
    from schedlab.scheduler.metrics import Recorder

T = TypeVar("T")


class StateCopyError(Exception):
    """What a plugin keeps in the cycle state cannot be copied for a dry run."""


class CycleState:
    """What plugins keep between the points of one cycle of one pod, under keys of their own.

    A value with a `copy()` method is copied when the state is (preemption dry runs change copies); all other values
    are shared and must not be changed after pre_filter.
    """

    __slots__ = (
        "_values",
        "in_pod_group_cycle",
        "pods_to_activate",
        "skip_filter",
        "skip_post_filter",
        "skip_pre_bind",
        "skip_score",
    )

    def __init__(self) -> None:
        self._values: dict[object, Any] = {}
        self.skip_filter: frozenset[str] = frozenset()
        self.skip_score: frozenset[str] = frozenset()
        self.skip_pre_bind: frozenset[str] = frozenset()
        self.skip_post_filter = False
        # Whether the pod is tried as one of its group, before anything is decided.
        self.in_pod_group_cycle = False
        # Pods that a plugin wants moved to the active queue when the scheduling (or later the binding) cycle succeeded.
        self.pods_to_activate: list[PodInfo] = []

    def write(self, key: object, value: object) -> None:
        """Keep a value."""
        self._values[key] = value

    def read(self, key: object) -> Any:
        """Return a value; KeyError when nothing was written under the key."""
        return self._values[key]

    def find(self, key: object) -> Any | None:
        """Return a value or None."""
        return self._values.get(key)

    def write_all(self, values: Mapping[object, Any]) -> None:
        """Keep several values."""
        self._values.update(values)

    def values(self) -> dict[object, Any]:
        """Return what is kept, by key, as it is now."""
        return dict(self._values)

    def copy(self) -> CycleState:
        """Return an independent copy for a dry run."""
        other = CycleState()
        other.skip_filter, other.skip_score = self.skip_filter, self.skip_score
        other.skip_pre_bind, other.skip_post_filter = self.skip_pre_bind, self.skip_post_filter
        other.in_pod_group_cycle = self.in_pod_group_cycle
        other.pods_to_activate = self.pods_to_activate
        for key, value in self._values.items():
            try:
                other._values[key] = value.copy() if hasattr(value, "copy") else value
            except Exception as error:
                raise StateCopyError(f"copying what is kept under {key!r}: {type(error).__name__}: {error}") from error
        return other


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """Nodes a plugin leaves, by name and in its order; None means all."""

    node_names: tuple[str, ...] | None = None

    def merge(self, other: PreFilterResult) -> PreFilterResult:
        """Return what both leave."""
        if self.node_names is None or other.node_names is None:
            return other if self.node_names is None else self
        keep = frozenset(other.node_names)
        return PreFilterResult(tuple(name for name in self.node_names if name in keep))


@dataclass(frozen=True, slots=True)
class NominatingInfo:
    """A node to nominate; `override` False leaves the pod's nomination as it is."""

    nominated_node_name: str = ""
    override: bool = True


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What a post_filter plugin made of an unschedulable pod."""

    nominating: NominatingInfo | None = None


class Work(msgspec.Struct, frozen=True):
    """What a plugin wants done before it can go on: writes, then optionally waiting for events of some kinds.

    Writes are submitted together. When every one is answered the runtime calls the plugin's `resume` (see
    `ResumablePlugin`); with `wait_for` it does so again at each event of those kinds and at `deadline_ns`, as long as
    `resume` returns that same work. Work without writes waits for its first event or its deadline. New work replaces
    the old one. All of it is data, so that a fork can drop it.
    `note` is the plugin's own.

    From post_filter, work is background work (async preemption): the cycle ends at once and `resume` is called later
    with node name "". Only `calls`, requests to HTTP extenders, are waited for inside the cycle: the runtime suspends
    it and then calls `resume_post_filter` with one answer per call.
    """

    writes: tuple[Write, ...] = ()
    calls: tuple[ExtenderRequest, ...] = ()
    wait_for: tuple[EventResource, ...] = ()
    deadline_ns: int | None = None
    note: Any = None


class NodeToStatus(Protocol):
    """Verdicts of a failed cycle, by node."""

    def get(self, name: str) -> Status:
        """Return the node's status; nodes without one of their own share the absent-nodes status."""

    def rows_with(self, *codes: int) -> NDArray[np.int64]:
        """Return the rows of the nodes whose status has one of the codes, in row order."""

    def explicit(self) -> Mapping[str, Status]:
        """Return the nodes with a status of their own."""


@dataclass(frozen=True)
class Victims:
    """Pods to be preempted on one node, most important first, and how many disruption budgets that breaks."""

    pods: tuple[PodInfo, ...]
    pdb_violations: int = 0

    @lazy
    def keys(self) -> tuple[str, ...]:
        """namespace/name of each pod."""
        return tuple([pod.key for pod in self.pods])

    @lazy
    def standing(self) -> tuple[int, int, int, int, int | None, bool]:
        """Budgets that are broken, number of pods (at least one), priority of the first, sum of priorities; of the pods
        with the highest one the earliest start in ns that is known, and whether one of them has not started.

        An extender may have put the pods in another order: upstream takes the first for the highest all the same.
        """
        priorities = [pod.priority for pod in self.pods]
        highest = max(priorities)
        starts = [pod.started_ns for pod in self.pods if pod.priority == highest]
        known = [start for start in starts if start is not None]
        start_ns, some_wait = min(known, default=None), len(known) < len(starts)
        return self.pdb_violations, len(priorities), priorities[0], sum(priorities), start_ns, some_wait


@dataclass(frozen=True, slots=True)
class ExtenderRequest:
    """A request to an HTTP extender: made by the extender's `*_request` methods, carried out by the runtime."""

    extender: Extender
    verb: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ExtenderAnswer:
    """The decoded JSON of an answer with status 200, or the text of the error."""

    result: Any = None
    error: str = ""


class Extender(Protocol):
    """An HTTP extender as plugins see it."""

    name: str
    ignorable: bool
    supports_preemption: bool

    def is_interested(self, pod: PodInfo) -> bool:
        """Whether the extender manages a resource of the pod (or every pod)."""

    def preemption_request(self, pod: PodInfo, victims: Mapping[str, Victims]) -> ExtenderRequest:
        """Ask which of the candidate nodes (by name) the extender agrees to."""

    def preemption_result(self, answer: ExtenderAnswer, table: NodeTable) -> dict[str, Victims] | Status:
        """Read the answer: victims by node, or an error status."""


class WaitingPod(Protocol):
    """A pod that is held back in permit."""

    pod: PodInfo

    def pending_plugins(self) -> Sequence[str]:
        """Return the plugins that have not allowed the pod yet."""

    def allow(self, plugin: str) -> None:
        """Let the pod go as far as this plugin is concerned."""

    def reject(self, plugin: str, message: str) -> bool:
        """Turn the pod down (it becomes unschedulable); False when its wait was over already."""

    def preempt(self, plugin: str, message: str) -> bool:
        """Turn the pod down as an error (it goes to the backoff queue); False when its wait was over already."""


class PodInPreBind(Protocol):
    """A pod whose pre_bind work is under way."""

    def cancel(self, message: str) -> bool:
        """End the binding with an error; False when pre_bind was over already."""


class DeviceClassResolver(Protocol):
    """Knows which extended resources are requests for devices."""

    def device_class(self, resource_name: str) -> Any | None:
        """Return the DeviceClass behind an extended resource (by its own or its implicit name), or None."""


class FilterTap(Protocol):
    """Hears of every call of a filter that a plugin asks for; what the cycle itself asks is in its record."""

    def filter_called(self, node_name: str, plugin: str, status: Status | None) -> None:
        """A filter was called for a node (or for a copy of it in a dry run)."""


class Nominator(Protocol):
    """Pods that were promised a node by preemption (or asked for one) and are not bound yet."""

    def add(self, pod: PodInfo, nominating: NominatingInfo | None) -> None:
        """Note the pod's nomination (`status.nominatedNodeName` when there is no info)."""

    def delete(self, pod: PodInfo) -> None:
        """Forget the pod's nomination."""

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Replace a nominated pod by its new state, keeping a nomination the API object does not show yet."""

    def node_names(self) -> Collection[str]:
        """Return the names of the nodes with nominations; usually empty."""

    def pods_for_node(self, node_name: str) -> Sequence[PodInfo]:
        """Return the pods nominated to a node, in order of nomination."""


class Handle(Protocol):
    """What a plugin may use of the scheduler it runs in."""

    profile_name: str
    features: FeatureGates
    clock: Clock
    random: RandomSource
    table: NodeTable
    listers: Listers
    # The filters of the profile, in order.
    filter_plugins: Sequence[Any]
    # When set, plugins with an array form of their dry runs use the scalar one, so that every filter call is heard of.
    filter_tap: FilterTap | None
    # Whether anybody hears of the cycles; if not, nothing need be gathered for a record.
    observed: bool
    # Takes what is counted of the work of plugins.
    metrics: Recorder
    # What is known of devices, shared by all profiles.
    devices: Devices
    # None where devices are not looked after: then no extended resource is backed by a device class.
    device_classes: DeviceClassResolver | None
    # Which pods belong together.
    pod_groups: PodGroups

    @property
    def nominator(self) -> Nominator:
        """The nominations; not there yet while plugins are made."""

    def plugin(self, name: str) -> Any | None:
        """Return another plugin instance of this profile by name."""

    def run_pre_filter_add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status | None:
        """Tell every plugin's pre-filter state that `added` is on `node` (a copy) for this dry run."""

    def run_pre_filter_remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status | None:
        """Tell every plugin's pre-filter state that `removed` is gone from `node` (a copy) for this dry run."""

    def run_filters_with_nominated_pods(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Run the filters of the profile on one node, counting nominated pods of equal or higher priority."""

    def extenders(self) -> Sequence[Extender]:
        """Return the profile-independent HTTP extenders, in order."""

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Move the pods to the active queue, now (see also `CycleState.pods_to_activate`)."""

    def record_event(
        self, regarding: PodInfo, related: PodInfo | None, type_: str, reason: str, action: str, note: str
    ) -> None:
        """Send an event of events.k8s.io about a pod; nobody waits for it."""

    def start_work(self, plugin: object, state: CycleState, pod: PodInfo, work: Work) -> None:
        """Carry out work that nobody waits for; `plugin.resume` is called with node name ""."""

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        """Return the pod that waits in permit, if it does."""

    def waiting_pods(self) -> Sequence[WaitingPod]:
        """Return all pods that wait in permit, in order of arrival."""

    def pod_in_pre_bind(self, uid: str) -> PodInPreBind | None:
        """Return the pod whose pre_bind runs, if it does."""


class Plugin(Protocol):
    """Every plugin has a name: the one configuration files use."""

    name: str


class PreEnqueuePlugin(Plugin, Protocol):
    """Keeps pods out of the active queue until they are ready."""

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Return None to let the pod in, a rejection to gate it."""


class QueueSortPlugin(Plugin, Protocol):
    """Orders the active queue."""

    def sort_key(self, queued: Any) -> tuple[Any, ...]:
        """Return a key; the smallest is popped first."""


class EnqueueExtensions(Plugin, Protocol):
    """Says which events may help the pods this plugin rejected."""

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Return the events, each with a hint or none."""


class PreFilterPlugin(Plugin, Protocol):
    """Looks at the pod once before the nodes are filtered."""

    def pre_filter(
        self, state: CycleState, pod: PodInfo, table: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        """Return the nodes to keep (None: all) and a status; SKIP leaves the plugin's filter out for this pod."""


class PreFilterExtensions(Plugin, Protocol):
    """Keeps pre-filter state right while pods are added to or removed from node copies."""

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status | None:
        """`added` is now on `node`."""

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status | None:
        """`removed` is no longer on `node`."""


class FilterPlugin(Plugin, Protocol):
    """Turns nodes down."""

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """Return None if the pod fits the node as far as this plugin knows."""


class FilterNodesPlugin(FilterPlugin, Protocol):
    """The array form of a filter.

    An attribute `looks_at` may say what of the pods on a node the filter looks at: "node" nothing, "amounts" only
    `NodeTable.requested` and `pod_count`, "ports" only host ports; the default is "pods". Where no filter looks at
    pods, preemption tries many nodes at once.
    """

    def filter_nodes(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: slice) -> NodeStatuses:
        """Return what `filter` would say for each row of the (contiguous) slice; M = its length."""


class PostFilterPlugin(Plugin, Protocol):
    """Tries to make room when no node fits. Work with `calls` needs `resume_post_filter` as well."""

    def post_filter(
        self, state: CycleState, pod: PodInfo, statuses: NodeToStatus
    ) -> tuple[PostFilterResult | None, Status | None, Work | None]:
        """Return a nomination, a status (success ends the phase; unschedulable goes on) and work to be done."""

    def resume_post_filter(
        self,
        state: CycleState,
        pod: PodInfo,
        statuses: NodeToStatus,
        work: Work,
        answers: Sequence[ExtenderAnswer],
    ) -> tuple[PostFilterResult | None, Status | None, Work | None]:
        """Go on inside the cycle after `work.calls` were answered."""


class PreScorePlugin(Plugin, Protocol):
    """Looks at the pod once before feasible nodes are scored."""

    def pre_score(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]) -> Status | None:
        """`rows: int64[F]` are the feasible nodes, in order; SKIP leaves the plugin's score out."""


class ScorePlugin(Plugin, Protocol):
    """Rates feasible nodes."""

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[int, Status | None]:
        """Return the raw score; within 0..100 unless normalize_score brings it there."""


class ScoreNodesPlugin(ScorePlugin, Protocol):
    """The array form of a score.

    An attribute `score_looks_at` may be "node": raw scores of a node do not depend on the pods on it.
    """

    def score_nodes(
        self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> NDArray[np.int64] | Status:
        """Return the raw scores of `rows: int64[F]` as int64[F], or the error `score` would return for them."""


class ScoreExtensions(Plugin, Protocol):
    """Brings raw scores to 0..100.

    An attribute `normalized_zeros` may say what every score becomes where all raw scores are 0.
    """

    def normalize_score(
        self, state: CycleState, pod: PodInfo, rows: NDArray[np.int64], scores: NDArray[np.int64]
    ) -> Status | None:
        """Change `scores: int64[F]` in place."""


class ReservePlugin(Plugin, Protocol):
    """Keeps account of a pod that is about to be bound; changes only memory."""

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Take what the pod needs on the node."""

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Give it back; must be harmless when reserve did not run."""


class PermitPlugin(Plugin, Protocol):
    """May hold a pod back after it was assigned."""

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status | None, int]:
        """Return a status; with WAIT also for how long at most, in ns."""


class PreBindPlugin(Plugin, Protocol):
    """Prepares the binding. Neighbours with an attribute `pre_bind_parallel = True` work side by side."""

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Return SKIP if pre_bind has nothing to do for this pod."""

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Work | None:
        """Do it, or return the work that has to be done first."""


class BindPlugin(Plugin, Protocol):
    """Binds the pod."""

    def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Work | None:
        """Return SKIP to leave the pod to the next bind plugin."""


class PostBindPlugin(Plugin, Protocol):
    """Hears of a binding that succeeded."""

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Clean up."""


class ResumablePlugin(Plugin, Protocol):
    """A plugin of pre_bind, bind or post_filter that returns `Work`."""

    def resume(
        self, state: CycleState, pod: PodInfo, node_name: str, work: Work, outcomes: Sequence[Outcome]
    ) -> Status | Work | None:
        """Go on after the writes (`outcomes`, in order of the writes; the same ones again at later wake-ups)."""


class SignPlugin(Plugin, Protocol):
    """Says which parts of a pod its verdicts depend on; pods with equal signatures are interchangeable."""

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        """Return (key, value) fragments; UNSCHEDULABLE means the pod cannot be signed."""


PluginFactory = Callable[[Any, Handle], Any]


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """A plugin in the registry: how it is made from its arguments.

    `args` turns the mapping of a configuration file into whatever the factory takes (defaults filled in, wrong values
    refused with a ValueError); without it the factory gets the mapping itself, or None. Plugins that come with the
    scheduler get the structs of `config.args`, checked already.
    """

    name: str
    factory: PluginFactory
    args: Callable[[Mapping[str, Any]], Any] | None = None

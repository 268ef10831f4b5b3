"""One profile: its plugins, and the calling of them at every extension point.

Mirrors: pkg/scheduler/framework/runtime/framework.go (v1.36), frameworkImpl.
Differs: filtering and scoring work on rows of the node table (`filtering`, `scoring`); what waits is a value: post_filter
is a generator that yields requests to extenders, pre_bind and bind return Work (the binding cycle carries it out).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from schedlab.scheduler.config.types import ConfigStruct
from schedlab.scheduler.events import cut_note
from schedlab.scheduler.framework.helpers.claims import says
from schedlab.scheduler.framework.interface import PostFilterResult, PreFilterResult, Work
from schedlab.scheduler.framework.record import PASSED
from schedlab.scheduler.framework.status import SKIP, Code, Status, is_success
from schedlab.scheduler.metrics import NOT_COUNTED
from schedlab.scheduler.runtime.batch import OpportunisticBatch
from schedlab.scheduler.runtime.equal_pods import EqualPods, Evaluation
from schedlab.scheduler.runtime.errors import as_status, checked, error_text, failure_of, wrapped
from schedlab.scheduler.runtime.filtering import FilterRun
from schedlab.scheduler.runtime.hooks import HookedPlugin
from schedlab.scheduler.runtime.plugin_lists import ProfileError, expand, needed, score_weights
from schedlab.scheduler.runtime.pre_binding import ask_pre_flights, grouped
from schedlab.scheduler.runtime.prepared import KeptSteps, Known, Recorder, Steps, keep, succeeding
from schedlab.scheduler.runtime.routine import Routine, Routines
from schedlab.scheduler.runtime.scoring import ScoreFailure, Scores, run_pre_score, run_score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.apimachinery.features import FeatureGates
    from schedlab.client.listers import Listers
    from schedlab.kernel.clock import Clock
    from schedlab.kernel.randomness import RandomSource
    from schedlab.scheduler.config.types import KubeSchedulerProfile
    from schedlab.scheduler.dra.devices import Devices
    from schedlab.scheduler.framework.hooks import HooksFactory
    from schedlab.scheduler.framework.interface import (
        CycleState,
        DeviceClassResolver,
        Extender,
        ExtenderAnswer,
        ExtenderRequest,
        FilterTap,
        NodeToStatus,
        Nominator,
        PluginEntry,
        PodInPreBind,
        WaitingPod,
    )
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.pod_groups import PodGroups
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo
    from schedlab.scheduler.metrics import Recorder as MetricsRecorder
    from schedlab.scheduler.runtime.waiting import PodsOnTheWay

PLUGIN_FAILED: Final = "PluginFailed"
MAX_PERMIT_WAIT_NS: Final = 15 * 60 * 1_000_000_000
_ALL_NODES: Final = PreFilterResult()

PostFilterAnswer = tuple["PostFilterResult | None", "Status | None"]
EventSender = Callable[["PodInfo", "PodInfo | None", str, str, str, str, str], None]


@dataclass(slots=True)
class Services:
    """What the profiles of one scheduler share."""

    features: FeatureGates
    clock: Clock
    random: RandomSource
    table: NodeTable
    listers: Listers
    on_the_way: PodsOnTheWay
    extenders: tuple[Extender, ...]
    activate: Callable[[Iterable[PodInfo]], None]
    send_event: EventSender
    start_work: Callable[[object, CycleState, PodInfo, Work], None]
    devices: Devices
    pod_groups: PodGroups
    # The queue keeps it, and is made after the profiles.
    nominator: Nominator = field(init=False)
    filter_tap: FilterTap | None = None
    metrics: MetricsRecorder | None = None
    observed: bool = False
    # Whether pods that were made alike share what row-local plugins say of nodes (`equal_pods`).
    shares_evaluations: bool = True
    hooks: Mapping[str, HooksFactory] = field(default_factory=dict)


@dataclass(slots=True)
class PreFilterOutcome:
    """The whole pre_filter phase: nodes left (None: all), a rejection or error, and who restricted the nodes."""

    nodes: tuple[str, ...] | None
    status: Status | None
    restricting: tuple[str, ...]


@dataclass(slots=True)
class _Left:
    """The nodes that plugins leave, and which plugins leave not all; `record` takes what each of them says."""

    record: dict[str, tuple[str, ...]] | None
    result: PreFilterResult = _ALL_NODES
    restricting: list[str] = field(default_factory=list)

    def restrict(self, name: str, names: tuple[str, ...]) -> bool:
        """Take the nodes that a plugin leaves; False when there is none any more."""
        self.restricting.append(name)
        if self.record is not None:
            self.record[name] = names
        self.result = self.result.merge(PreFilterResult(names))
        return bool(self.result.node_names)

    def outcome(self, status: Status | None = None) -> PreFilterOutcome:
        """Return what the phase comes to."""
        return PreFilterOutcome(self.result.node_names, status, tuple(self.restricting))


class Framework:
    """The plugins of a profile at work; also the `Handle` that they are given."""

    def __init__(
        self,
        profile: KubeSchedulerProfile,
        registry: Mapping[str, PluginEntry],
        services: Services,
    ) -> None:
        assert profile.plugins is not None
        assert profile.scheduler_name is not None
        self.profile_name = profile.scheduler_name
        self.percentage_of_nodes_to_score = profile.percentage_of_nodes_to_score
        self.services = services
        self.features, self.clock, self.random = services.features, services.clock, services.random
        self.table, self.listers = services.table, services.listers
        self.filter_tap, self.observed = services.filter_tap, services.observed
        self.metrics = NOT_COUNTED if services.metrics is None else services.metrics
        self.devices = services.devices
        self.pod_groups = services.pod_groups
        self.device_classes: DeviceClassResolver | None = services.devices.classes
        self._plugins = self._make(profile, registry)
        points = expand(profile, self._plugins)
        self.points = points
        self.weights = score_weights(profile.plugins, self._plugins)
        for plugin in points["score"]:
            if plugin.name not in self.weights:
                raise ProfileError(f'score plugin "{plugin.name}" is not configured with weight')
        self.pre_filter_plugins = points["pre_filter"]
        self.filter_plugins: Sequence[Any] = points["filter"]
        self.post_filter_plugins = points["post_filter"]
        self.pre_score_plugins = points["pre_score"]
        self.score_plugins: Sequence[Any] = points["score"]
        self.reserve_plugins = points["reserve"]
        self.permit_plugins = points["permit"]
        self.pre_bind_plugins = points["pre_bind"]
        self.bind_plugins = points["bind"]
        self.post_bind_plugins = points["post_bind"]
        self.batch = OpportunisticBatch(self) if self.features.enabled("OpportunisticBatching") else None
        self.equal_pods = EqualPods(self.table) if services.shares_evaluations else None
        self._pre_filter_steps: KeptSteps = OrderedDict()
        self._pre_score_steps: KeptSteps = OrderedDict()
        self._reserve_steps: KeptSteps = OrderedDict()
        self._pre_binds: KeptSteps = OrderedDict()
        self._pre_bind_names = frozenset(plugin.name for plugin in self.pre_bind_plugins)
        self._routines = Routines(self)
        self._adders = tuple(plugin for plugin in self.pre_filter_plugins if hasattr(plugin, "add_pod"))

    def _make(self, profile: KubeSchedulerProfile, registry: Mapping[str, PluginEntry]) -> dict[str, Any]:
        assert profile.plugins is not None
        wanted = needed(profile.plugins)
        made: dict[str, Any] = {}
        for name, entry in registry.items():
            if name not in wanted:
                continue
            args = profile.args_of(name)
            try:
                if entry.args is not None and not isinstance(args, ConfigStruct):
                    args = entry.args({} if args is None else args)
                made[name] = self._hooked(entry.factory(args, self))
            except ValueError as error:
                raise ProfileError(f'initializing plugin "{name}": {error}') from error
        return made

    def _hooked(self, plugin: Any) -> Any:
        hooks = self.services.hooks.get(plugin.name)
        return plugin if hooks is None else HookedPlugin(plugin, hooks(self))

    # --- What plugins may ask (Handle) ---

    @property
    def nominator(self) -> Nominator:
        """See Handle."""
        return self.services.nominator

    def plugin(self, name: str) -> Any | None:
        """See Handle."""
        return self._plugins.get(name)

    def extenders(self) -> Sequence[Extender]:
        """See Handle."""
        return self.services.extenders

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """See Handle."""
        self.services.activate(pods)

    def record_event(
        self, regarding: PodInfo, related: PodInfo | None, type_: str, reason: str, action: str, note: str
    ) -> None:
        """See Handle."""
        self.services.send_event(regarding, related, type_, reason, action, note, self.profile_name)

    def start_work(self, plugin: object, state: CycleState, pod: PodInfo, work: Work) -> None:
        """See Handle."""
        self.services.start_work(plugin, state, pod, work)

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        """See Handle."""
        return self.services.on_the_way.waiting.get(uid)

    def waiting_pods(self) -> Sequence[WaitingPod]:
        """See Handle."""
        return tuple(self.services.on_the_way.waiting.values())

    def pod_in_pre_bind(self, uid: str) -> PodInPreBind | None:
        """See Handle."""
        return self.services.on_the_way.in_pre_bind.get(uid)

    def run_pre_filter_add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status | None:
        """See Handle."""
        return self._change_state("AddPod", "add_pod", state, pod, added, node)

    def run_pre_filter_remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status | None:
        """See Handle."""
        return self._change_state("RemovePod", "remove_pod", state, pod, removed, node)

    def _change_state(
        self, what: str, method: str, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo
    ) -> Status | None:
        for plugin in self._adders:
            if plugin.name in state.skip_filter:
                continue
            try:
                status = as_status(getattr(plugin, method)(state, pod, other, node))
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                status = failure_of(error)
            if status is not None and status.code != Code.SUCCESS:
                return wrapped(f'running {what} on PreFilter plugin "{plugin.name}"', status)
        return None

    def run_filters_with_nominated_pods(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """See Handle."""
        filters = self.filter_run(state, pod, self.filter_tap)
        plugin, status, _ = filters.with_nominated_pods(state, node)
        if status is None or status.rejected or plugin == PASSED:
            return status
        return filters.named_error(plugin, status)

    @property
    def plugins(self) -> tuple[Any, ...]:
        """All plugin instances of the profile."""
        return tuple(self._plugins.values())

    # --- Filtering ---

    def run_pre_filter(
        self,
        state: CycleState,
        pod: PodInfo,
        record: dict[str, Status | None] | None = None,
        nodes_record: dict[str, tuple[str, ...]] | None = None,
    ) -> PreFilterOutcome:
        """Let plugins look at the pod; those that skip do not filter."""
        skip: list[str] = []
        left = _Left(nodes_record)
        rejection: Status | None = None
        steps, recorder = self._prepared(self._pre_filter_steps, self.pre_filter_plugins, pod, state)
        try:
            for plugin in steps:
                if isinstance(plugin, Known):
                    plugin.apply(state, record, skip)
                    if plugin.named and not all(left.restrict(*each) for each in plugin.named.items()):
                        return left.outcome(_nobody_left(left.restricting))
                    continue
                name = plugin.name
                try:
                    more, status = plugin.pre_filter(state, pod, self.table)
                    if status is not None:
                        status = as_status(status)
                    if more is not None:
                        checked(more, PreFilterResult, "a PreFilterResult or None")
                except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                    more, status = None, failure_of(error)
                if record is not None:
                    record[name] = status
                skips = status is not None and status.code == Code.SKIP
                names = None if more is None else more.node_names
                if recorder is not None:
                    recorder.note(plugin, status, skips=skips, is_plain=skips or is_success(status), names=names)
                if skips:
                    skip.append(name)
                    continue
                if status is not None and status.code != Code.SUCCESS:
                    if status.code == Code.UNSCHEDULABLE:
                        # Preemption may come, so every plugin has to prepare its state.
                        rejection = status.with_plugin(name)
                    elif status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                        return PreFilterOutcome(None, status.with_plugin(name), ())
                    else:
                        failure = wrapped(f'running PreFilter plugin "{name}"', status, name)
                        return PreFilterOutcome(None, failure, ())
                    continue
                if names is not None and not left.restrict(name, names):
                    return left.outcome(_nobody_left(left.restricting))
        finally:
            state.skip_filter = frozenset(skip)
        if recorder is not None:
            keep(self._pre_filter_steps, pod, recorder.steps)
        return left.outcome(rejection)

    def _prepared(
        self, kept: KeptSteps, plugins: Sequence[Any], pod: PodInfo, state: CycleState
    ) -> tuple[Steps, Recorder | None]:
        """Return the steps of a point for a pod; with a recorder while those for pods like it are to be found out."""
        if self.equal_pods is None:
            return plugins, None
        steps = kept.get(pod.facts)
        if steps is not None:
            return steps, None
        return plugins, Recorder(pod, state) if self.equal_pods.knows(pod) else None

    def routine(self, state: CycleState, pod: PodInfo) -> Routine | None:
        """Return what cycles of pods like this one have in common; None when this one has to be an ordinary one."""
        return self._routines.of(state, pod, self._pre_filter_steps, self._pre_score_steps)

    def filter_run(
        self, state: CycleState, pod: PodInfo, tap: FilterTap | None = None, kept: Evaluation | None = None
    ) -> FilterRun:
        """Return the filters that run for this pod, after pre_filter; `tap` hears of scalar calls."""
        return FilterRun(
            self.filter_plugins,
            self.run_pre_filter_add_pod,
            state,
            pod,
            self.table,
            self.services.nominator,
            tap,
            kept,
        )

    def evaluation(self, state: CycleState, pod: PodInfo) -> Evaluation | None:
        """Return what is known of the nodes from pods like this one, after pre_filter."""
        if self.equal_pods is None:
            return None
        return self.equal_pods.of(pod, self.filter_plugins, state.skip_filter)

    def run_post_filter(
        self,
        state: CycleState,
        pod: PodInfo,
        statuses: NodeToStatus,
        record: dict[str, tuple[Status | None, str | None, bool]] | None,
        background: Callable[[Any, Work], None],
    ) -> Generator[tuple[ExtenderRequest, ...], tuple[ExtenderAnswer, ...], PostFilterAnswer]:
        """Let plugins make room until one succeeds or says that it is no use."""
        if state.skip_post_filter:
            return None, Status(Code.UNSCHEDULABLE, ("All PostFilter plugins are skipped",))
        last: PostFilterResult | None = None
        reasons: list[str] = []
        rejector = ""
        for plugin in self.post_filter_plugins:
            name = plugin.name
            result, status = yield from self._post_filter(plugin, state, pod, statuses, background)
            if record is not None:
                nominating = result.nominating if result is not None else None
                record[name] = (
                    status,
                    None if nominating is None else nominating.nominated_node_name,
                    nominating is not None and nominating.override,
                )
            if status is None or status.code == Code.SUCCESS:
                return result, status
            if status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return result, status.with_plugin(name)
            if not status.rejected:
                return None, Status(Code.ERROR, (), name, error_text(status))
            if result is not None and result.nominating is not None and result.nominating.override:
                last = result
            reasons.extend((status.error, *status.reasons) if status.error else status.reasons)
            rejector = rejector or name
        return last, Status(Code.UNSCHEDULABLE, tuple(reasons), rejector)

    def _post_filter(
        self,
        plugin: Any,
        state: CycleState,
        pod: PodInfo,
        statuses: NodeToStatus,
        background: Callable[[Any, Work], None],
    ) -> Generator[tuple[ExtenderRequest, ...], tuple[ExtenderAnswer, ...], PostFilterAnswer]:
        try:
            result, status, work = _post_filtered(plugin.post_filter(state, pod, statuses))
            while work is not None and work.calls:
                answers = yield work.calls
                answer = plugin.resume_post_filter(state, pod, statuses, work, answers)
                result, status, work = _post_filtered(answer)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            return None, failure_of(error)
        if work is not None:
            background(plugin, work)
        return result, status

    # --- Scoring ---

    def run_pre_score(
        self,
        state: CycleState,
        pod: PodInfo,
        rows: NDArray[np.int64],
        record: dict[str, Status | None] | None = None,
    ) -> Status | None:
        """See scoring."""
        steps, recorder = self._prepared(self._pre_score_steps, self.pre_score_plugins, pod, state)
        failure = run_pre_score(steps, state, pod, self.table, rows, record, recorder)
        if recorder is not None and failure is None:
            keep(self._pre_score_steps, pod, recorder.steps)
        return failure

    def run_score(
        self,
        state: CycleState,
        pod: PodInfo,
        rows: NDArray[np.int64],
        infos: Sequence[NodeInfo] | None = None,
        kept: Evaluation | None = None,
    ) -> Scores | ScoreFailure:
        """See scoring."""
        return run_score(self.score_plugins, self.weights, state, pod, self.table, rows, infos, kept)

    # --- Reserving and permitting ---

    def run_reserve(
        self, state: CycleState, pod: PodInfo, node_name: str, record: dict[str, Status | None] | None = None
    ) -> Status | None:
        """Let plugins take what the pod needs; the first that refuses ends it."""
        for plugin in self._reserving(pod):
            if isinstance(plugin, Known):
                plugin.tell(record)
                continue
            try:
                status = as_status(plugin.reserve(state, pod, node_name))
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                status = failure_of(error)
            if record is not None:
                record[plugin.name] = status
            if status is not None and status.code != Code.SUCCESS:
                if status.rejected:
                    return status.with_plugin(plugin.name)
                return wrapped(f'running Reserve plugin "{plugin.name}"', status)
        return None

    def _reserving(self, pod: PodInfo) -> Steps:
        """Return the plugins that have to be asked about a pod, and what is known of those between them."""
        steps = self._reserve_steps.get(pod.facts)
        if steps is not None:
            return steps
        if self.equal_pods is None or not self.equal_pods.knows(pod):
            return self.reserve_plugins
        steps = succeeding(self.reserve_plugins, "reserves_nothing", pod)
        keep(self._reserve_steps, pod, steps)
        return steps

    def run_unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Let plugins give back what they took, in the reverse order."""
        for plugin in reversed(self.reserve_plugins):
            try:
                plugin.unreserve(state, pod, node_name)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything; the others must still be asked
                self.report_failure(pod, f'running Unreserve plugin "{plugin.name}"', error)

    def run_permit(
        self,
        state: CycleState,
        pod: PodInfo,
        node_name: str,
        record: dict[str, tuple[Status | None, int]] | None = None,
    ) -> tuple[Status | None, dict[str, int]]:
        """Ask plugins to let the pod go; return a status and, with WAIT, for how long (ns) each holds it back."""
        waits: dict[str, int] = {}
        waiting: Status | None = None
        for plugin in self.permit_plugins:
            name = plugin.name
            try:
                status, timeout_ns = plugin.permit(state, pod, node_name)
                status = as_status(status)
                timeout_ns = checked(timeout_ns, int, "a whole number of ns")
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                status, timeout_ns = failure_of(error), 0
            if record is not None:
                record[name] = (status, timeout_ns)
            if status is None or status.code == Code.SUCCESS:
                continue
            if status.rejected:
                return status.with_plugin(name), {}
            if status.code != Code.WAIT:
                return wrapped(f'running Permit plugin "{name}"', status, name), {}
            waits[name] = min(timeout_ns, MAX_PERMIT_WAIT_NS)
            waiting = status
        if waiting is None:
            return None, {}
        reasons = (*waiting.reasons, "one or more plugins asked to wait and no plugin rejected pod")
        return Status(Code.WAIT, reasons), waits

    # --- Binding ---

    def run_pre_bind_pre_flights(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Ask which pre_bind plugins have work: None if any has, SKIP if none, else an error."""
        if self._pre_binds_nothing(pod):
            state.skip_pre_bind = self._pre_bind_names
            return SKIP
        return ask_pre_flights(self.pre_bind_plugins, state, pod, node_name)

    def _pre_binds_nothing(self, pod: PodInfo) -> bool:
        """Whether all pre_bind plugins say that they have no work for pods like this one."""
        known = self._pre_binds.get(pod.facts)
        if known is not None:
            return not known
        if self.equal_pods is None or not self.equal_pods.knows(pod):
            return False
        left = [plugin for plugin in self.pre_bind_plugins if not says(plugin, "pre_binds_nothing", pod)]
        keep(self._pre_binds, pod, left)
        return not left

    def pre_bind_groups(self, state: CycleState) -> list[list[Any]]:
        """Return the pre_bind plugins that have work; those of a group work side by side."""
        return grouped(self.pre_bind_plugins, state.skip_pre_bind)

    def run_post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Tell plugins that the pod is bound."""
        for plugin in self.post_bind_plugins:
            try:
                plugin.post_bind(state, pod, node_name)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything; the pod is bound all the same
                self.report_failure(pod, f'running PostBind plugin "{plugin.name}"', error)

    def report_failure(self, pod: PodInfo, what: str, error: Exception) -> None:
        """Tell, by an event about the pod, of a plugin that raised where nothing can be turned down any more."""
        note = f"{what}: {failure_of(error).error}"
        self.services.send_event(pod, None, "Warning", PLUGIN_FAILED, "Scheduling", cut_note(note), self.profile_name)


def _post_filtered(answer: Any) -> tuple[PostFilterResult | None, Status | None, Work | None]:
    result, status, work = answer
    if result is not None:
        checked(result, PostFilterResult, "a PostFilterResult or None")
    if work is not None:
        checked(work, Work, "Work or None")
    return result, as_status(status), work


def _nobody_left(restricting: Sequence[str]) -> Status:
    if len(restricting) == 1:
        text = f"node(s) didn't satisfy plugin {restricting[0]}"
    else:
        text = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(restricting))}] simultaneously"
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,))

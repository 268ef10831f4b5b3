"""Pods, plugins and queues for the tests of the scheduling queue."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schedlab.api.views.core import (
    Container,
    Pod,
    PodSchedulingGroup,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    SchedulingGate,
    Toleration,
)
from schedlab.api.views.meta import ObjectMeta
from schedlab.apimachinery.features import FeatureGates
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, QueueMove
from schedlab.scheduler.framework.status import Status, unresolvable
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.queue.environment import QueueEnvironment, QueueProfile, QueueSettings
from schedlab.scheduler.queue.hints import HintMap, RequeueVerdict
from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
from schedlab.scheduler.queue.scheduling_queue import SchedulingQueue

PROFILE = "default-scheduler"
NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_LABEL = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)


def make_pod(
    name: str,
    *,
    uid: str = "",
    priority: int = 0,
    cpu: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    gates: Sequence[str] = (),
    tolerations: int = 0,
    node: str = "",
    nominated: str = "",
    group: str = "",
    revision: int = 1,
    status: PodStatus | None = None,
) -> PodInfo:
    """A pod with what the queue looks at."""
    requests = {"cpu": cpu} if cpu else {}
    return PodInfo(
        Pod(
            metadata=ObjectMeta(
                name=name,
                namespace="default",
                uid=uid or f"uid-{name}",
                labels=dict(labels or {}),
                annotations=dict(annotations or {}),
                resource_version=str(revision),
            ),
            spec=PodSpec(
                containers=(Container(name="c", resources=ResourceRequirements(requests=requests)),),
                scheduler_name=PROFILE,
                priority=priority,
                node_name=node,
                scheduling_gates=tuple(SchedulingGate(name=gate) for gate in gates),
                scheduling_group=PodSchedulingGroup(pod_group_name=group) if group else None,
                tolerations=tuple(Toleration(key=f"k{index}") for index in range(tolerations)),
            ),
            status=status or PodStatus(nominated_node_name=nominated),
        )
    )


def by_priority(queued: QueuedPodInfo) -> tuple[int, int]:
    """The order of the default QueueSort plugin."""
    return -queued.pod.priority, queued.timestamp_ns


@dataclass
class FakePlugin:
    """Turns pods down elsewhere; here it registers events and answers hints with what `answer` says."""

    name: str
    events: Sequence[ClusterEvent] = (NODE_ADD,)
    answer: Callable[[PodInfo, Any, Any], QueueingHint] | None = None

    def filter(self, *_: object) -> Status | None:
        return None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return [ClusterEventWithHint(event, self.answer) for event in self.events]


@dataclass
class Gate:
    """A pre_enqueue plugin that turns down the pods whose names it holds."""

    name: str
    events: Sequence[ClusterEvent] = (NODE_ADD,)
    closed_for: set[str] = field(default_factory=set)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return unresolvable(f"{self.name} is closed") if pod.name in self.closed_for else None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return [ClusterEventWithHint(event) for event in self.events]


@dataclass
class Moves:
    """An observer that remembers the queue's moves."""

    seen: list[QueueMove] = field(default_factory=list)

    def cycle(self, record: CycleRecord) -> None:
        raise NotImplementedError

    def binding(self, record: BindingRecord) -> None:
        raise NotImplementedError

    def queue_move(self, move: QueueMove) -> None:
        self.seen.append(move)

    def take(self) -> list[tuple[str, str, str]]:
        """The moves since the last call: pod, place, reason."""
        moves: list[tuple[str, str, str]] = [(move.pod.name, move.place, move.reason) for move in self.seen]
        self.seen.clear()
        return moves


@dataclass
class Bench:
    """A queue on a virtual clock with everything around it at hand."""

    queue: SchedulingQueue
    clock: VirtualClock
    moves: Moves
    verdicts: list[RequeueVerdict] = field(default_factory=list)

    def advance(self, seconds: float) -> None:
        self.clock.advance_to(self.clock.now_ns() + int(seconds * SECOND_NS))

    def fail(self, *plugins: str, pending: Sequence[str] = ()) -> QueuedPodInfo:
        """Pop the next pod and put it back, turned down by some plugins; by none it met an error."""
        queued = self.queue.pop()
        assert queued is not None
        queued.set_rejectors(plugins, pending)
        self.queue.add_unschedulable(queued)
        self.queue.validate()
        return queued

    def places(self) -> dict[str, list[str]]:
        """The names of the pods in each place that has some."""
        contents = self.queue.contents()
        names = {
            "active": contents.active,
            "backoff": tuple(key for key in contents.backoff if key not in contents.error_backoff),
            "errorBackoff": contents.error_backoff,
            "unschedulable": contents.unschedulable,
            "gated": contents.gated,
            "inFlight": contents.in_flight,
        }
        return {place: [key.removeprefix("default/") for key in keys] for place, keys in names.items() if keys}


def hint_map(*plugins: FakePlugin | Gate) -> HintMap:
    hints = HintMap()
    for plugin in plugins:
        hints.register(plugin.name, plugin.events_to_register())
    return hints


def make_bench(
    *plugins: FakePlugin | Gate,
    gates: Mapping[str, bool] | None = None,
    settings: QueueSettings | None = None,
    verdicts: bool = False,
) -> Bench:
    """A queue whose profile has these plugins."""
    clock, moves = VirtualClock(), Moves()
    profile = QueueProfile(tuple(plugin for plugin in plugins if isinstance(plugin, Gate)), hint_map(*plugins))
    environment = QueueEnvironment(
        clock,
        by_priority,
        {PROFILE: profile},
        FeatureGates.default().with_overrides(gates or {}),
        settings or QueueSettings(),
        observer=moves,
    )
    bench = Bench(SchedulingQueue(environment), clock, moves)
    if verdicts:
        bench.queue.on_verdict = bench.verdicts.append
    return bench

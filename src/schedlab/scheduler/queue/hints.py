"""Queueing hints: which plugins hear of which events, and what they make of one for a pod they turned down.

Mirrors: buildQueueingHintMap in pkg/scheduler/scheduler.go, isPodWorthRequeuing in
pkg/scheduler/backend/queue/scheduling_queue.go, fillEnqueueExtensions in pkg/scheduler/framework/runtime/framework.go
(v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    QueueingHintFn,
)
from schedlab.scheduler.queue.cluster_events import event_label, event_matches

if TYPE_CHECKING:
    from schedlab.apimachinery.features import FeatureGates
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.queue.queued_pod import QueuedPodInfo

#: Stands among a pod's rejecting plugins when an HTTP extender turned nodes down.
EXTENDER_NAME: Final = "Extender"

# Only plugins with one of these can turn a pod down and so have something to hear of.
_REJECTING_POINTS: Final = ("pre_enqueue", "pre_filter", "filter", "reserve", "permit")

_HINT_TEXTS: Final = {QueueingHint.SKIP: "QueueSkip", QueueingHint.QUEUE: "Queue"}

#: A plugin's name and its hint, None standing for "always".
PluginHint: TypeAlias = tuple[str, QueueingHintFn | None]


class HintError(Exception):
    """A plugin that cannot say what it wants to hear of."""

    def __init__(self, plugin: str, text: str) -> None:
        super().__init__(f'initializing plugin "{plugin}": {text}')


class Strategy(Enum):
    """Where an event sends a pod that waits; the values are upstream's words."""

    SKIP = "Skip"
    AFTER_BACKOFF = "AfterBackoff"
    IMMEDIATELY = "Immediately"


@dataclass(frozen=True, slots=True)
class HintAnswer:
    """One plugin's answer: `Queue` or `QueueSkip`, and the text of the error that made it Queue."""

    plugin: str
    hint: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class RequeueVerdict:
    """What came of an event for a waiting pod, with the answers it rests on."""

    pod: PodInfo
    event: ClusterEvent
    strategy: Strategy
    answers: tuple[HintAnswer, ...] = ()

    @property
    def label(self) -> str:
        """Upstream's text of the event."""
        return event_label(self.event)


class HintMap:
    """The events that the plugins of one profile registered."""

    def __init__(self) -> None:
        self._registered: list[tuple[ClusterEvent, PluginHint]] = []
        self._matching: dict[ClusterEvent, tuple[PluginHint, ...]] = {}
        self._concerned: dict[tuple[ClusterEvent, frozenset[str]], tuple[PluginHint, ...]] = {}

    def register(self, plugin: str, events: Sequence[ClusterEventWithHint]) -> None:
        """Add what a plugin wants to hear of."""
        for wanted in events:
            self._registered.append((wanted.event, (plugin, wanted.hint)))
        actions = [wanted.event.action for wanted in events if wanted.event.resource is EventResource.NODE]
        # Upstream adds taint updates for whoever hears of new nodes only, from the time when events of new nodes were
        # filtered before plugins saw them.
        if any(action & ActionType.ADD for action in actions) and not any(
            action & ActionType.UPDATE_NODE_TAINT for action in actions
        ):
            taints = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
            self._registered.append((taints, (plugin, None)))
        self._matching.clear()
        self._concerned.clear()

    def matching(self, event: ClusterEvent) -> tuple[PluginHint, ...]:
        """Return the hints for something that happened, in order of registration."""
        found = self._matching.get(event)
        if found is None:
            found = tuple(hint for registered, hint in self._registered if event_matches(registered, event))
            self._matching[event] = found
        return found

    def concerning(self, event: ClusterEvent, plugins: frozenset[str]) -> tuple[PluginHint, ...]:
        """Return those of the matching hints that are of some plugins."""
        found = self._concerned.get((event, plugins))
        if found is None:
            found = tuple(hint for hint in self.matching(event) if hint[0] in plugins)
            self._concerned[event, plugins] = found
        return found

    def registered_by(self, plugin: str) -> tuple[ClusterEvent, ...]:
        """Return the events a plugin registered."""
        return tuple(event for event, (name, _) in self._registered if name == plugin)

    def actions(self) -> dict[EventResource, ActionType]:
        """Return what somebody wants to hear of each resource."""
        wanted: dict[EventResource, ActionType] = {}
        for event, _ in self._registered:
            wanted[event.resource] = wanted.get(event.resource, ActionType.NONE) | event.action
        return wanted


def every_event(features: FeatureGates) -> tuple[ClusterEventWithHint, ...]:
    """Return what is registered for a plugin that does not say what it wants to hear of."""
    resources = [
        EventResource.POD,
        EventResource.NODE,
        EventResource.PERSISTENT_VOLUME,
        EventResource.PERSISTENT_VOLUME_CLAIM,
        EventResource.CSI_NODE,
        EventResource.CSI_DRIVER,
        EventResource.CSI_STORAGE_CAPACITY,
        EventResource.STORAGE_CLASS,
        EventResource.RESOURCE_CLAIM,
        EventResource.DEVICE_CLASS,
    ]
    if features.enabled("GenericWorkload"):
        resources.append(EventResource.POD_GROUP)
    return tuple(ClusterEventWithHint(ClusterEvent(resource, ActionType.ALL)) for resource in resources)


def hint_map_of(plugins: Iterable[Any], features: FeatureGates, *, has_extenders: bool) -> HintMap:
    """Return the events that plugin instances (of one profile) register, and those that extenders stand for."""
    hints = HintMap()
    if has_extenders:
        hints.register(EXTENDER_NAME, every_event(features))
    for plugin in plugins:
        if not any(hasattr(plugin, point) for point in _REJECTING_POINTS):
            continue
        hints.register(
            plugin.name, _events_of(plugin) if hasattr(plugin, "events_to_register") else every_event(features)
        )
    return hints


def _events_of(plugin: Any) -> tuple[ClusterEventWithHint, ...]:
    try:
        events = tuple(plugin.events_to_register())
    except Exception as error:
        raise HintError(plugin.name, f"events_to_register raised {type(error).__name__}: {error}") from error
    for event in events:
        if not isinstance(event, ClusterEventWithHint):
            raise HintError(plugin.name, f"events_to_register gave {event!r}, which is no ClusterEventWithHint")
    return events


def ask_hints(
    hints: Sequence[PluginHint], queued: QueuedPodInfo, old: object, new: object, *, exhaustive: bool
) -> tuple[Strategy, tuple[HintAnswer, ...]]:
    """Ask the hints of the plugins that turned the pod down; `exhaustive` goes on when the strategy is settled.

    A plugin that turned the pod down as pending sends it on without backoff.
    """
    pending = queued.pending_plugins
    strategy = Strategy.SKIP
    answers = []
    for plugin, hint in hints:
        answer = _ask(plugin, hint, queued.pod, old, new)
        answers.append(answer)
        if answer.hint == _HINT_TEXTS[QueueingHint.SKIP]:
            continue
        if plugin in pending:
            strategy = Strategy.IMMEDIATELY
        elif strategy is Strategy.SKIP:
            strategy = Strategy.AFTER_BACKOFF
        if not exhaustive and (strategy is Strategy.IMMEDIATELY or not pending):
            break
    return strategy, tuple(answers)


def _ask(plugin: str, hint: QueueingHintFn | None, pod: PodInfo, old: object, new: object) -> HintAnswer:
    if hint is None:
        return HintAnswer(plugin, _HINT_TEXTS[QueueingHint.QUEUE])
    try:
        return HintAnswer(plugin, _HINT_TEXTS[hint(pod, old, new)])
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a hint, the pod must not be stuck because of it
        return HintAnswer(plugin, _HINT_TEXTS[QueueingHint.QUEUE], str(error) or type(error).__name__)

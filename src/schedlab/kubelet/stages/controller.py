"""Plays Stages: follows the objects they are for, waits, and does what they say.

    object changed ──► which Stage matches? ──none──► forget what it waited for
                          │ one, by weight
                          └─► its delay ──► its steps ──► the object has changed again
    50 plays for one object within a second ──► the object waits, longer each time, and the Stage says Looping

A Stage that is broken, fails or loops is told of on itself (`reports.py`) and is in nobody's way: what other Stages and
the built-in life of pods and nodes do does not depend on it.

Mirrors: KWOK's pkg/kwok/controllers/{stages_manager,pod_controller,node_controller,stage_controller}.go.
Differs: one queue for all kinds. As long as a Stage matches a pod or node the built-in life leaves it alone; Stages that
have the name of a part of that life (pod-ready, pod-complete, pod-delete, node-initialize) take its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery.resources import ResourceType
from schedlab.client.effects import Effect, WriteEffect
from schedlab.client.event_recorder import EventRecorder, EventStamps, Sent
from schedlab.client.informers import Informer
from schedlab.client.protocol import Outcome, Write
from schedlab.kernel.clock import SECOND_NS, Clock, Timer
from schedlab.kernel.randomness import RandomSource
from schedlab.kubelet.pod_workers import Observer
from schedlab.kubelet.stages import matching, steps
from schedlab.kubelet.stages.definition import STAGES
from schedlab.kubelet.stages.expressions import ExpressionError, Subject
from schedlab.kubelet.stages.functions import Addresses, Functions
from schedlab.kubelet.stages.reports import Reports
from schedlab.kubelet.stages.stage import Stage, StageError, read_ref, read_stage
from schedlab.kubelet.stages.steps import Deed, StepError

_NODE_INDEX: Final = "node"
_UNMATCHED_NS: Final = 60 * SECOND_NS
_RETRY_NS: Final = SECOND_NS
_LOOP_WITHIN_NS: Final = SECOND_NS
_PLAYS_MAX: Final = 50
_HOLD_NS_MAX: Final = 1920 * SECOND_NS

#: Resource, namespace, name.
Key: TypeAlias = tuple[str, str, str]


class Informers(Protocol):
    """Where changes are heard of."""

    def lister(self, resource: str) -> Informer:
        """Return the current objects of a resource."""


class Nodes(Addresses, Protocol):
    """The simulated nodes."""

    def runs(self, node: str) -> bool:
        """Whether the kubelet of a node lives."""

    def look_again(self, resource: str, only: tuple[str, str] | None = None) -> None:
        """Look at all pods or nodes, or at one: what held them may be gone."""


@dataclass(frozen=True, slots=True)
class _About:
    """The kind of an object, for events."""

    api_version: str
    kind: str


@dataclass(frozen=True, slots=True)
class _Doing:
    """A write on its way: for which object, by which Stage."""

    key: Key
    stage: str
    instead: Write | None = None


@dataclass(slots=True)
class _Track:
    """What is known of one object: the Stage chosen for a version of it, and how often something was played."""

    revision: int = -1
    uid: str = ""
    choice: Stage | None = None
    timer: Timer | None = None
    plays: int = 0
    since_ns: int = 0
    hold_ns: int = 0


class StageController:
    """All Stages of a cluster (client.effects.Part)."""

    def __init__(
        self,
        informers: Informers,
        clock: Clock,
        random: RandomSource,
        nodes: Nodes,
        find: steps.Find,
        *,
        follow: Callable[[str, Callable[[WatchEvent], None]], None],
    ) -> None:
        self._informers = informers
        self._clock = clock
        self._random = random
        self._nodes = nodes
        self._find = find
        self._follow = follow
        self._functions = Functions(clock, random, nodes)
        stamps = EventStamps(clock)
        self._events = EventRecorder("kwok_controller", clock, stamps)
        self._reports = Reports(clock, EventRecorder("schedlab-kubelet", clock, stamps))
        self._stored: dict[str, StoredObject] = {}
        self._stages: dict[str, Stage] = {}
        #: The Stages of each resource, by name.
        self._of: dict[str, tuple[Stage, ...]] = {}
        self._followed: dict[str, Informer] = {}
        self._tracks: dict[Key, _Track] = {}
        self._queue: dict[Key, None] = {}
        self._due: dict[Key, None] = {}
        self.observer: Observer | None = None
        follow(STAGES, self._on_stage)

    # --- asked by the kubelet ------------------------------------------------------------------------------------------

    def holds(self, stored: StoredObject) -> bool:
        """Say whether a Stage matches the object as it is: then only that Stage acts on it."""
        return stored.resource in self._of and self._choose(stored) is not None

    def replaces(self, name: str) -> bool:
        """Say whether a Stage takes the place of a part of the built-in life."""
        return name in self._stages

    def node_came(self, node: str) -> None:
        """Look at a node whose kubelet has begun to live, and at its pods."""
        for resource in ("nodes", "pods"):
            informer = self._followed.get(resource)
            if informer is not None and resource == "nodes":
                self._queue["nodes", "", node] = None
            elif informer is not None:
                informer.add_index(_NODE_INDEX, lambda pod: str(pod.view.spec.node_name))
                for pod in informer.indexed(_NODE_INDEX, node):
                    self._queue["pods", pod.namespace, pod.name] = None

    # --- part ----------------------------------------------------------------------------------------------------------

    def ready(self) -> bool:
        """Whether an object waits for its Stage, or something is to be told."""
        return bool(self._queue) or bool(self._due) or self._reports.waits()

    def step(self) -> Sequence[Effect]:
        """Look at one object, or play what is due for one, or write the conditions of one Stage."""
        effects: list[Effect] = []
        if self._due:
            key = next(iter(self._due))
            del self._due[key]
            effects += self._play_due(key)
        elif self._queue:
            key = next(iter(self._queue))
            del self._queue[key]
            effects += self._look(key)
        elif self._reports.waits():
            write = self._reports.write(self._stored)
            if write is not None:
                effects.append(WriteEffect(None, write))
        return [*effects, *self._told()]

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """Take the answer to a write."""
        assert isinstance(effect, WriteEffect)
        assert isinstance(outcome, Outcome)
        doing, error = effect.token, outcome.error
        if isinstance(doing, Sent):
            recorder = self._events if doing.body["source"]["component"] == "kwok_controller" else self._reports.events
            recorder.answered(doing, outcome)
        elif isinstance(doing, _Doing) and error is not None:
            if doing.instead is not None and error.reason == "AlreadyExists":
                return [WriteEffect(_Doing(doing.key, doing.stage), doing.instead)]
            if error.code == 429 or error.code >= 500:
                self._clock.at(self._clock.now_ns() + _RETRY_NS, lambda: self._queue.setdefault(doing.key))
            elif error.code not in {404, 409}:
                self._fail(doing.stage, doing.key, error.message)
        return self._told()

    def _told(self) -> list[Effect]:
        drained = [*self._events.drain(), *self._reports.events.drain()]
        return [WriteEffect(sent, write) for sent, write in drained]

    # --- Stages --------------------------------------------------------------------------------------------------------

    def _on_stage(self, event: WatchEvent) -> None:
        stored = event.object
        if event.type == "MODIFIED" and event.previous is not None and stored.raw["spec"] == event.previous.raw["spec"]:
            self._stored[stored.name] = stored
            return
        gone = self._stages.pop(stored.name, None)
        if event.type == "DELETED":
            self._stored.pop(stored.name, None)
            self._reports.forget(stored.name)
        else:
            self._stored[stored.name] = stored
            self._reports.renew(stored.name, "Failing")
            self._reports.renew(stored.name, "Looping")
            self._load(stored)
        self._arrange({stage.ref for stage in (gone, self._stages.get(stored.name)) if stage is not None})

    def _load(self, stored: StoredObject) -> None:
        ref = read_ref(stored.raw)
        try:
            stage = read_stage(stored.raw)
        except StageError as error:
            self._reports.say(stored, "Ready", "False", error.reason, str(error), "Warning")
            return
        self._stages[stored.name] = stage
        if self._resource(stage) is None:
            message = f"spec.resourceRef: no kind {ref.kind!r} in {ref.api_group!r} is served"
            self._reports.say(stored, "Ready", "False", "UnknownKind", message, "Warning")
            return
        self._reports.say(stored, "Ready", "True", "Loaded", f"is played for objects of kind {ref}")
        uid = stored.uid
        self._clock.at(self._clock.now_ns() + _UNMATCHED_NS, lambda: self._check_matched(stored.name, uid))

    def _resource(self, stage: Stage) -> str | None:
        found = self._find(stage.ref.api_group, stage.ref.kind)
        return None if found is None else found.full_name

    def _check_matched(self, name: str, uid: str) -> None:
        stored = self._stored.get(name)
        if stored is None or stored.uid != uid or self._reports.has(name, "Matched", "True"):
            return
        message = f"its selector has matched nothing of kind {read_ref(stored.raw)} in 60s"
        self._reports.say(stored, "Matched", "False", "NeverMatched", message, "Normal")

    def resources_changed(self) -> None:
        """Look anew at which kinds there are; those of some Stages may have come or gone."""
        waiting = [name for name, stage in self._stages.items() if self._resource(stage) not in self._of]
        for name in waiting:
            self._load(self._stored[name])
        self._arrange({self._stages[name].ref for name in waiting})

    def _arrange(self, refs: set[Any]) -> None:
        """Sort the Stages by resource; what the resources of `refs` have is to be looked at again."""
        found: dict[str, list[Stage]] = {}
        for name in sorted(self._stages):
            resource = self._resource(self._stages[name])
            if resource is not None:
                found.setdefault(resource, []).append(self._stages[name])
        before, self._of = self._of, {resource: tuple(stages) for resource, stages in found.items()}
        for resource in sorted({*before, *self._of}):
            if before.get(resource) == self._of.get(resource) and not any(
                stage.ref in refs for stage in self._of.get(resource, ())
            ):
                continue
            if resource not in self._followed and resource in self._of:
                self._followed[resource] = self._informers.lister(resource)
                self._follow(resource, self._on_object)
            for stored in self._followed[resource].all_stored():
                key = resource, stored.namespace, stored.name
                track = self._tracks.setdefault(key, _Track())
                track.revision, track.plays, track.hold_ns = -1, 0, 0
                self._queue[key] = None
            self._nodes.look_again(resource)

    # --- objects -------------------------------------------------------------------------------------------------------

    def _on_object(self, event: WatchEvent) -> None:
        stored = event.object
        key = stored.resource, stored.namespace, stored.name
        if event.type == "DELETED":
            track = self._tracks.pop(key, None)
            if track is not None and track.timer is not None:
                track.timer.cancel()
            self._queue.pop(key, None)
            self._due.pop(key, None)
        elif stored.resource in self._of:
            self._queue[key] = None

    def _look(self, key: Key) -> Sequence[Effect]:
        """Choose a Stage for an object and wait for its delay."""
        stored = self._current(key)
        if stored is None:
            return ()
        stage = self._choose(stored)
        track = self._tracks[key]
        if track.timer is not None:
            track.timer.cancel()
            track.timer = None
        if stage is None:
            track.plays = track.hold_ns = 0
            return ()
        subject = Subject(stored, self._clock.now_ns(), self._random)
        try:
            delay_ns = matching.delay_ns(stage, subject, self._random)
        except ExpressionError as error:
            self._fail(stage.name, key, str(error))
            delay_ns = 0
        delay_ns = max(delay_ns, track.hold_ns)
        if delay_ns <= 0:
            return self._play(key, stored, stage)
        track.timer = self._clock.at(self._clock.now_ns() + delay_ns, lambda: self._due.setdefault(key))
        return ()

    def _play_due(self, key: Key) -> Sequence[Effect]:
        stored, track = self._current(key), self._tracks.get(key)
        if stored is None or track is None:
            return ()
        track.timer = None
        stage = self._choose(stored)
        return () if stage is None else self._play(key, stored, stage)

    def _current(self, key: Key) -> StoredObject | None:
        """Return an object if a kubelet that lives is in charge of it."""
        resource, namespace, name = key
        if resource not in self._of:
            return None
        stored = self._followed[resource].stored(name, namespace)
        if stored is None:
            return None
        if resource == "pods" and not self._nodes.runs(stored.view.spec.node_name):
            return None
        return None if resource == "nodes" and not self._nodes.runs(name) else stored

    def _choose(self, stored: StoredObject) -> Stage | None:
        """Return the Stage of a version of an object; it is drawn once."""
        key = stored.resource, stored.namespace, stored.name
        track = self._tracks.setdefault(key, _Track())
        if track.revision != stored.revision or track.uid != stored.uid:
            subject = Subject(stored, self._clock.now_ns(), self._random)
            track.choice = matching.match(self._of[stored.resource], subject, self._random, self._report_failure(key))
            track.revision, track.uid = stored.revision, stored.uid
            if track.choice is not None and not self._reports.has(track.choice.name, "Matched", "True"):
                message = f"first matched {_told(key)}"
                stage = self._stored[track.choice.name]
                self._reports.say(stage, "Matched", "True", "Matched", message)
        return track.choice

    def _report_failure(self, key: Key) -> matching.Report:
        return lambda stage, error: self._fail(stage.name, key, str(error))

    def _fail(self, name: str, key: Key, message: str) -> None:
        stored = self._stored.get(name)
        if stored is not None:
            self._reports.say(stored, "Failing", "True", "StepFailed", f"{_told(key)}: {message}", "Warning")

    # --- playing -------------------------------------------------------------------------------------------------------

    def _play(self, key: Key, stored: StoredObject, stage: Stage) -> Sequence[Effect]:
        if self._loops(key, stage):
            return ()
        try:
            deeds = steps.deeds(stage, stored, self._functions.of(stored.raw), self._find)
        except StepError as error:
            self._fail(stage.name, key, str(error))
            # What it cannot do is in the way of nothing else.
            self._tracks[key].choice = None
            self._nodes.look_again(key[0], key[1:])
            return ()
        if self.observer is not None and key[0] == "pods":
            self.observer.pod_step(stored, "stage", f"{stage.name} is played")
        effects: list[Effect] = []
        for deed in deeds:
            if isinstance(deed, Deed):
                effects.append(WriteEffect(_Doing(key, stage.name, deed.instead), deed.write))
            else:
                self._record(stored, deed)
        return effects

    def _loops(self, key: Key, stage: Stage) -> bool:
        """Count a play; hold the object back when there are too many."""
        track, now_ns = self._tracks[key], self._clock.now_ns()
        if track.hold_ns:
            track.hold_ns = min(2 * track.hold_ns, _HOLD_NS_MAX)
            return False
        if now_ns - track.since_ns > _LOOP_WITHIN_NS:
            track.since_ns, track.plays = now_ns, 0
        track.plays += 1
        if track.plays <= _PLAYS_MAX:
            return False
        track.hold_ns = _LOOP_WITHIN_NS
        track.timer = self._clock.at(now_ns + track.hold_ns, lambda: self._due.setdefault(key))
        stored = self._stored.get(stage.name)
        if stored is not None:
            message = f"{_told(key)}: {_PLAYS_MAX} Stages were played for it within 1s; it now waits longer each time"
            self._reports.say(stored, "Looping", "True", "Looping", message, "Warning")
        return True

    def _record(self, stored: StoredObject, event: Mapping[str, Any]) -> None:
        raw = stored.raw
        about = _About(raw["apiVersion"], raw["kind"])
        tell = self._events.warning if event.get("type") == "Warning" else self._events.normal
        tell(about, stored, event.get("reason") or "", event.get("message") or "")


def _told(key: Key) -> str:
    resource, namespace, name = key
    return f"{resource} {namespace}/{name}" if namespace else f"{resource} {name}"


def finder(resources: Callable[[], Sequence[ResourceType]]) -> steps.Find:
    """Return what finds a resource by apiVersion and kind, or plural, among those that are served now."""

    def find(api_version: str, kind: str) -> ResourceType | None:
        for each in resources():
            if each.api_version == api_version and kind in (each.kind, each.resource):
                return each
        return None

    return find

"""Runs the Scenarios of a living cluster, one after the other: what KEP-140 calls the scenario controller.

    run_scenarios(cluster)           before the cluster starts

A Scenario begins by taking away what is there (`_stays` says what is not), then does its operations step by step; a step
ends when the cluster is at rest. Its status is written when it begins, when a step has begun and when one has ended; what
happened is kept with the last of these. One that is deleted just stops.

    Pending ──► Running ──► Succeeded      with the step of its doneOperation
       │        │    ▲ ▼
       │        │    Paused                no operations are left; adding some lets it go on
       └────────┴──► Failed                an operation that is none or that the API refuses, another scheduler
                                           configuration, a restart of the simulator

Mirrors: keps/140-scenario-based-simulation of kube-scheduler-simulator.
Differs: all controllers run together; the cluster is at rest when nothing has changed for five seconds and no pod is
about to be tried, on its way out or to be collected; other writes are not forbidden while one runs, the timeline tells of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from schedlab import __version__
from schedlab.apimachinery.errors import NotFound, StatusError
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.kept_state import stored_resources
from schedlab.registry import WriteOptions
from schedlab.registry.custom.provided import provide
from schedlab.scenario.doing import Doer
from schedlab.scenario.kep140 import Operation, read_stepped
from schedlab.scenario.mistakes import MistakesError
from schedlab.scenario.scenario_definition import SCENARIOS, scenario_definition
from schedlab.scenario.source import Source
from schedlab.scenario.stepping import Stepping

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject, WatchEvent
    from schedlab.client.effects import Effect
    from schedlab.cluster.cluster import Cluster

_QUIET_NS: Final = 5 * SECOND_NS
_LOOK_EVERY_NS: Final = SECOND_NS // 2
#: So many objects are taken away at a time.
_AT_ONCE: Final = 50
_OPTIONS: Final = WriteOptions(field_manager="schedlab-scenario")
_RESTARTED: Final = "the controller restarted while the Scenario was running"
#: What parts of the cluster write to tell of themselves.
_NO_CHANGES: Final = ("events", "events.events.k8s.io", "leases.coordination.k8s.io")
_OVER: Final = ("Succeeded", "Failed")
_SYSTEM: Final = ("kube-system", "kube-public", "kube-node-lease")
#: Groups whose objects say how the API and simulated nodes work.
_OF_THE_API: Final = (
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "certificates.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "kwok.x-k8s.io",
    "rbac.authorization.k8s.io",
)


class ScenarioController:
    """A part of the cluster (client.effects.Part)."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._clock = cluster, cluster.clock
        provide(cluster.registry, scenario_definition())
        self._scenarios = cluster.informers.lister(SCENARIOS)
        self._running: _Running | None = None
        self._is_new = True
        self._is_due = True
        self._scenarios.on_change(self._scenario_changed)
        for resource in cluster.informers.resources():
            if resource not in (SCENARIOS, *_NO_CHANGES):
                cluster.informers.on_change(resource, self._changed)

    # --- Part --------------------------------------------------------------------------------------------------------

    def ready(self) -> bool:
        """See Part."""
        return self._is_due

    def step(self) -> Sequence[Effect]:
        """See Part: one step of the Scenario that runs, or a look for one that may."""
        self._is_due = False
        if self._is_new:
            self._is_new = False
            self._take_over()
        running = self._running
        if running is None:
            self._choose()
        elif running.go_on():
            self._is_due = True
        elif running.is_over:
            self._running, self._is_due = None, True
        elif running.waits_for_rest:
            self._clock.at(self._clock.now_ns() + _LOOK_EVERY_NS, self._look)
        return ()

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """See Part; it has no effects."""
        raise AssertionError(f"{effect} is not one of its own: {outcome}")

    # --- Which one runs ----------------------------------------------------------------------------------------------

    def _look(self) -> None:
        self._is_due = True

    def _scenario_changed(self, event: WatchEvent) -> None:
        running = self._running
        if running is not None and running.uid == event.object.uid:
            running.follow(None if event.type == "DELETED" else event.object)
        elif running is not None and event.type == "ADDED":
            self._let_wait(event.object, running.name)
        # A status of its own says nothing new.
        if event.type != "MODIFIED" or event.previous is None or _spec(event.previous) != _spec(event.object):
            self._is_due = True

    def _changed(self, event: WatchEvent) -> None:
        if self._running is not None:
            self._running.changed(event)

    def _take_over(self) -> None:
        """After a restart: what was running has failed, what was paused is paused."""
        for scenario in self._scenarios.all_stored():
            phase = _phase(scenario)
            if phase == "Running":
                _write(self._cluster, scenario.name, {"phase": "Failed", "message": _RESTARTED})
            elif phase == "Paused":
                self._running = _Running(self._cluster, scenario, is_paused=True)

    def _let_wait(self, scenario: StoredObject, first: str) -> None:
        if _phase(scenario) in ("", "Pending"):
            _write(self._cluster, scenario.name, {"phase": "Pending", "message": f"waits for {first}"})

    def _choose(self) -> None:
        """Begin the oldest Scenario that has not run; the others are told for what they wait."""
        waiting = [one for one in self._scenarios.all_stored() if _phase(one) in ("", "Pending")]
        waiting.sort(key=lambda one: (one.raw["metadata"].get("creationTimestamp", ""), one.name))
        if not waiting:
            return
        first, *others = waiting
        for other in others:
            self._let_wait(other, first.name)
        self._running, self._is_due = _Running(self._cluster, first), True


class _Running:
    """The Scenario that runs, or is paused."""

    def __init__(self, cluster: Cluster, scenario: StoredObject, *, is_paused: bool = False) -> None:
        self._cluster = cluster
        self.name, self.uid = scenario.name, scenario.uid
        self._scenario: StoredObject | None = scenario
        self._is_changed = not is_paused
        self._scheduler = cluster.scheduler
        self._stepping = Stepping(cluster, Doer(cluster, {}, cluster.clock.now_ns()), ())
        self._removals: Iterator[None] | None = None
        self._rest = ExitStack()
        self._in_step = False
        if is_paused:
            self._stepping.resume(scenario.raw.get("status") or {})
        else:
            self._removals = self._take_away()
            self._rest.enter_context(cluster.at_rest())

    @property
    def is_over(self) -> bool:
        """Whether it has ended, or is gone."""
        return self._scenario is None or self._stepping.phase in _OVER

    @property
    def waits_for_rest(self) -> bool:
        """Whether a step has begun and has not ended."""
        return self._in_step

    def follow(self, scenario: StoredObject | None) -> None:
        """Take note of its newest state; None: it was deleted."""
        if scenario is not None and self._scenario is not None and _spec(scenario) == _spec(self._scenario):
            self._scenario = scenario
            return
        self._scenario, self._is_changed = scenario, True

    def changed(self, event: WatchEvent) -> None:
        """Take note of what happens in the cluster."""
        self._stepping.changed(event)

    def go_on(self) -> bool:
        """Do one thing; whether there is more to do now."""
        if self._scenario is None:
            self._rest.close()
            return False
        if self._cluster.scheduler is not self._scheduler and self._stepping.phase == "Running":
            self._rest.close()
            self._end("the scheduler's configuration was changed while the Scenario was running")
            return False
        if self._is_changed and not self._read():
            return False
        if self._removals is not None:
            return self._prepare(self._removals)
        return self._end_step() if self._in_step else self._begin_step()

    def _read(self) -> bool:
        """Read the operations; False when there are mistakes."""
        assert self._scenario is not None, "it is there"
        self._is_changed = False
        try:
            self._stepping.operations = _operations(self._scenario)
        except SchedlabError as error:
            self._rest.close()
            self._end("; ".join(map(str, error.mistakes)) if isinstance(error, MistakesError) else error.message)
            return False
        return True

    def _prepare(self, removals: Iterator[None]) -> bool:
        """Take away some of what is there; then operations can begin."""
        if not self._stepping.timeline and _phase_of(self._scenario) != "Running":
            self._tell()
        if not [*islice(removals, _AT_ONCE)]:
            self._rest.close()
            self._removals = None
        return True

    def _take_away(self) -> Iterator[None]:
        registry = self._cluster.registry
        for resource in reversed(stored_resources(registry)):
            for obj in registry.list(resource).items:
                if not _stays(obj):
                    registry.remove(resource, obj.name, obj.namespace)
                    yield

    def _begin_step(self) -> bool:
        before = self._stepping.phase
        self._in_step = self._stepping.begin()
        if self._in_step or self._stepping.phase != before:
            self._tell()
        return False

    def _end_step(self) -> bool:
        """End the step if the cluster is at rest."""
        if not self._is_at_rest():
            return False
        self._in_step = False
        self._stepping.end()
        self._tell()
        return self._stepping.phase == "Running"

    def _is_at_rest(self) -> bool:
        if self._cluster.clock.now_ns() - self._stepping.changed_ns < _QUIET_NS:
            return False
        queue = self._cluster.scheduler.queue.contents()
        if queue.active or queue.backoff or queue.in_flight:
            return False
        nodes = self._cluster.informers.lister("nodes")
        return not any(
            pod.metadata.deletion_timestamp or (pod.spec.node_name and nodes.get(pod.spec.node_name) is None)
            for pod in self._cluster.informers.lister("pods").list()
        )

    def _end(self, problem: str) -> None:
        self._stepping.fail(problem)
        self._tell()

    def _tell(self) -> None:
        """Write the status; what happened is told of steps that are over."""
        status = self._stepping.status(__version__)
        if self._in_step:
            del status["scenarioResult"]
        try:
            _write(self._cluster, self.name, status)
        except StatusError as error:
            self._stepping.fail(f"what happened cannot be kept: {error.message}")
            _write(self._cluster, self.name, {"phase": "Failed", "message": self._stepping.problem})


def run_scenarios(cluster: Cluster) -> None:
    """Let a cluster that has not started yet run Scenarios."""
    cluster.engine.add(ScenarioController(cluster), cluster.client("schedlab-scenario"))


def _operations(scenario: StoredObject) -> list[Operation]:
    """Return the operations of a Scenario; raises SchedlabError with every mistake."""
    document = {key: scenario.raw[key] for key in ("apiVersion", "kind", "metadata", "spec") if key in scenario.raw}
    text = orjson.dumps(document).decode()
    return list(read_stepped(document, text, Source(Path(f"scenario {scenario.name}"), text))[1].spec.operations)


def _stays(obj: StoredObject) -> bool:
    """Whether an object is there before any Scenario begins: what the API needs, and what runs in kube-system."""
    group = obj.resource.partition(".")[2]
    if obj.resource == SCENARIOS or group in _OF_THE_API or obj.namespace in _SYSTEM:
        return True
    match obj.resource:
        case "namespaces":
            return obj.name == "default" or obj.name in _SYSTEM
        case "priorityclasses.scheduling.k8s.io":
            return obj.name.startswith("system-")
        case "nodes":
            return obj.name == "control-plane"
        case _:
            return (obj.namespace, obj.name) == ("default", "kubernetes")


def _write(cluster: Cluster, name: str, status: Mapping[str, Any]) -> None:
    """Write a status; nothing happens when the Scenario is gone."""
    try:
        cluster.registry.patch(SCENARIOS, name, "merge", {"status": dict(status)}, "", _OPTIONS, "status")
    except NotFound:
        return


def _spec(scenario: StoredObject) -> object:
    return scenario.raw.get("spec")


def _phase(scenario: StoredObject) -> str:
    return str((scenario.raw.get("status") or {}).get("phase", ""))


def _phase_of(scenario: StoredObject | None) -> str:
    return "" if scenario is None else _phase(scenario)

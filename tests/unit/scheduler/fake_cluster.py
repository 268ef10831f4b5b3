"""A cluster small enough for scheduler tests: objects, listers, a driver that carries effects out at once.

It knows just what the scheduler writes: bindings, status patches, deletions, events.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import StatusError, new_not_found
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.gvk import GroupResource
from schedlab.client.effects import CallEffect, CallOutcome, Effect, WriteEffect
from schedlab.client.protocol import Outcome, WatchEvent, Write
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.config import load
from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, QueueMove
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.metrics import SchedulerMetrics
from schedlab.scheduler.scheduler import Origin, Scheduler
from schedlab.testing.builders import NodeBuilder, PodBuilder

EVENTS = "events.events.k8s.io"


class FakeLister:
    """The objects of one resource."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], StoredObject] = {}

    def get(self, name: str, namespace: str = "") -> Any | None:
        found = self.stored(name, namespace)
        return None if found is None else found.view

    def list(self, namespace: str | None = None) -> Sequence[Any]:
        return [each.view for (place, _), each in self.objects.items() if namespace in {None, place}]

    def stored(self, name: str, namespace: str = "") -> StoredObject | None:
        return self.objects.get((namespace, name))


class FakeListers:
    """One lister per resource."""

    def __init__(self) -> None:
        self.by_resource: dict[str, FakeLister] = {}

    def lister(self, resource: str) -> FakeLister:
        return self.by_resource.setdefault(resource, FakeLister())


class RecordingObserver:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.cycles: list[CycleRecord] = []
        self.bindings: list[BindingRecord] = []
        self.moves: list[QueueMove] = []

    def cycle(self, record: CycleRecord) -> None:
        record.work_out()
        self.cycles.append(record)

    def binding(self, record: BindingRecord) -> None:
        self.bindings.append(record)

    def queue_move(self, move: QueueMove) -> None:
        self.moves.append(move)


# Plugins that need nothing but pods and nodes.
BASIC_PLUGINS = (
    "SchedulingGates",
    "PrioritySort",
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "DefaultBinder",
)


def profile(*plugins: str, name: str = "default-scheduler", **more: Any) -> dict[str, Any]:
    """Return a profile with only these plugins."""
    sets = {
        "multiPoint": {"enabled": [{"name": plugin} for plugin in plugins], "disabled": [{"name": "*"}]},
        **more.pop("plugins", {}),
    }
    return {"schedulerName": name, "plugins": sets, **more}


def configuration(*profiles: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a configuration document."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": list(profiles) or [profile(*BASIC_PLUGINS)],
        **more,
    }


class FakeCluster:
    """A scheduler with its surroundings. `calls` answers extenders; None leaves effects in `pending`. `counts`: whether it
    keeps metrics.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        gates: Mapping[str, bool] | None = None,
        calls: Callable[[str, Any], CallOutcome] | None = None,
        observe: bool = True,
        counts: bool = True,
        **options: Any,
    ) -> None:
        self.clock = VirtualClock()
        self.listers = FakeListers()
        self.features = FeatureGates.default().with_overrides(gates or {})
        self.observer = RecordingObserver()
        self.metrics = SchedulerMetrics(self.features)
        self.calls = calls
        self.pending: list[Effect] = []
        self.held: Callable[[Effect], bool] = lambda _: False
        self.refuse: Callable[[Write], StatusError | None] = lambda _: None
        self.writes: list[Write] = []
        self.asked: list[tuple[str, Any]] = []
        self.revision = 0
        self._options = {
            "clock": self.clock,
            "random": SeededRandom(1),
            "listers": self.listers,
            "features": self.features,
            "observer": self.observer if observe else None,
            "metrics": self.metrics if counts else None,
            **options,
        }
        self._config = load(configuration() if config is None else config, self.features)
        self.scheduler = Scheduler(self._config, **self._options)
        self.scheduler.start()

    def fork(self) -> None:
        """Let another scheduler go on from where this one stands."""
        before = self.scheduler
        before.stop()
        self.scheduler = Scheduler(self._config, **self._options, origin=Origin.of(before))
        self.scheduler.start()

    # --- Objects ---

    def put(self, resource: str, raw: Mapping[str, Any]) -> StoredObject:
        """Create or replace an object."""
        self.revision += 1
        new = StoredObject.encode(resource, raw, self.revision)
        objects = self.listers.lister(resource).objects
        old = objects.get((new.namespace, new.name))
        objects[new.namespace, new.name] = new
        if resource in self.scheduler.resources():
            self.scheduler.handle(WatchEvent("ADDED" if old is None else "MODIFIED", new, old))
        return new

    def add(self, *builders: NodeBuilder | PodBuilder) -> None:
        """Create the nodes and pods."""
        for builder in builders:
            kind = "Node" if isinstance(builder, NodeBuilder) else "Pod"
            raw = {"apiVersion": "v1", "kind": kind, **builder.dict()}
            if kind == "Pod":
                raw["spec"] = {"schedulerName": "default-scheduler", **raw.get("spec", {})}
                raw["status"] = {"phase": "Pending", **raw.get("status", {})}
            self.put(f"{kind.lower()}s", raw)

    def change(self, resource: str, name: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Change an object."""
        namespace = "" if resource == "nodes" else "default"
        raw = copy.deepcopy(self.listers.lister(resource).objects[namespace, name].raw)
        change(raw)
        self.put(resource, raw)

    def remove(self, resource: str, name: str) -> None:
        """Delete an object."""
        namespace = "" if resource == "nodes" else "default"
        old = self.listers.lister(resource).objects.pop((namespace, name))
        self.revision += 1
        self.scheduler.handle(WatchEvent("DELETED", old.with_revision(self.revision), old))

    def pod(self, name: str) -> Any:
        """Return the view of a pod."""
        return self.listers.lister("pods").get(name, "default")

    def info(self, name: str) -> PodInfo:
        """Return a pod as the scheduler sees it."""
        stored = self.listers.lister("pods").objects["default", name]
        return PodInfo(stored.view, stored)

    def nodes_of(self, *names: str) -> list[str]:
        """Return where pods are bound."""
        return [self.pod(name).spec.node_name for name in names]

    def condition(self, name: str) -> Any:
        """Return the PodScheduled condition of a pod."""
        return self.pod(name).status.condition("PodScheduled")

    def notes(self, reason: str = "") -> list[str]:
        """Return the notes of the events so far."""
        found = [write.body for write in self.writes if write.resource == EVENTS]
        return [body["note"] for body in found if reason in {"", body["reason"]}]  # type: ignore[index,call-overload]

    # --- Driving ---

    def run(self) -> None:
        """Step until nothing is ready."""
        while self.scheduler.ready():
            self.carry(self.scheduler.step())

    def schedule(self, *builders: PodBuilder) -> list[str]:
        """Create pods, run, and return where they are."""
        self.add(*builders)
        self.run()
        return self.nodes_of(*(builder.dict()["metadata"]["name"] for builder in builders))

    def advance(self, seconds: float) -> None:
        """Let time pass, then run."""
        self.clock.advance_to(self.clock.now_ns() + int(seconds * 1_000_000_000))
        self.run()

    def carry(self, effects: Sequence[Effect]) -> None:
        """Carry effects out, depth first."""
        for effect in effects:
            if self.held(effect):
                self.pending.append(effect)
            else:
                self.finish(effect)

    def finish(self, effect: Effect, outcome: object = None) -> None:
        """Carry one effect out, or end it with a given outcome."""
        if outcome is None:
            outcome = self._write(effect.write) if isinstance(effect, WriteEffect) else self._call(effect)
        self.carry(self.scheduler.complete(effect, outcome))

    def _call(self, effect: Effect) -> CallOutcome:
        assert isinstance(effect, CallEffect)
        assert self.calls is not None
        body = orjson.loads(effect.body)
        self.asked.append((effect.url, body))
        return self.calls(effect.url, body)

    def _write(self, write: Write) -> Outcome:
        self.writes.append(write)
        refusal = self.refuse(write)
        if refusal is not None:
            return Outcome(error=refusal)
        if write.resource == EVENTS:
            return Outcome()
        objects = self.listers.lister(write.resource).objects
        stored = objects.get((write.namespace, write.name))
        if stored is None:
            return Outcome(error=new_not_found(GroupResource("", write.resource), write.name))
        if write.verb == "delete":
            self.remove(write.resource, write.name)
            return Outcome(stored)
        raw = copy.deepcopy(stored.raw)
        body: Any = write.body
        if write.subresource == "binding":
            raw["spec"]["nodeName"] = body["target"]["name"]
            _set_condition(raw, {"type": "PodScheduled", "status": "True"})
            raw["status"].pop("nominatedNodeName", None)
        else:
            assert write.patch_type == "strategic"
            status = raw.setdefault("status", {})
            for condition in body["status"].get("conditions", ()):
                _set_condition(raw, condition)
            if "nominatedNodeName" in body["status"]:
                status["nominatedNodeName"] = body["status"]["nominatedNodeName"] or ""
        return Outcome(self.put(write.resource, raw))


def _set_condition(raw: dict[str, Any], changes: Mapping[str, Any]) -> None:
    conditions = raw.setdefault("status", {}).setdefault("conditions", [])
    for condition in conditions:
        if condition["type"] == changes["type"]:
            condition.update(changes)
            return
    conditions.append({key: value for key, value in changes.items() if value is not None})

"""The cluster of one case: the real store, registry, informers and scheduler, and what the data says happens around them.

No controller and no kubelet runs. Instead a scheduled pod is bound and running at once, victims of preemption are gone
at once (or linger as terminating, with `gracefulDelete`), and volumes are bound and provisioned at once.
Every change of an object is one revision, counted from 100; events are looked at and not stored.

What the scheduler chooses at random or wrongly must not spoil the steps after it. So dice fall as the recorder's did
where that can be seen, a pod is bound to the node that the data has, and the victims are those of the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from schedlab.api.kinds.conditions import set_condition
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery.errors import new_conflict
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.gvk import GroupResource
from schedlab.apimachinery.time import format_time
from schedlab.client.effects import CallEffect, Effect, WriteEffect
from schedlab.client.informers import Informers
from schedlab.client.inprocess import InProcessClient
from schedlab.client.protocol import Outcome, Write
from schedlab.kernel.clock import EPOCH_NS, MILLISECOND_NS, SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry
from schedlab.scheduler.config import load
from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, QueueMove
from schedlab.scheduler.framework.status import Status
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.metrics import SchedulerMetrics
from schedlab.scheduler.scheduler import Scheduler
from schedlab.store import Snapshot, Store
from tests.parity import volumes
from tests.parity.extenders import Extenders
from tests.parity.families import Case
from tests.parity.front_door import CREATED_NS, FrontDoor, uid_of
from tests.parity.scalar import scalar_registry

FIRST_REVISION: Final = 100
#: When the first step begins; as for the recorder, later than any start time of a pod.
START_NS: Final = EPOCH_NS + 24 * 3600 * SECOND_NS
EVENTS: Final = "events.events.k8s.io"
#: What `objectsAfter` speaks of.
_WATCHED: Final = ("persistentvolumeclaims", "persistentvolumes", "resourceclaims.resource.k8s.io")
_CLASS: Final = "PriorityClass"
_PENDING: Final = "the data has this pod pending"


class GivenNames(SeededRandom):
    """Randomness of which the registry's part is chosen: uids and the ends of generated names."""

    def __init__(self) -> None:
        super().__init__(1)
        self.next_uid = ""
        self.next_suffix = ""

    def uid(self) -> str:
        """Return the uid that was chosen."""
        return self.next_uid or super().uid()

    def suffix(self, length: int = 5) -> str:
        """Return the end that was chosen."""
        return self.next_suffix or super().suffix(length)


class Dice(SeededRandom):
    """The scheduler's randomness, of which every draw is chosen."""

    def __init__(self) -> None:
        super().__init__(1)
        self.draw = 0

    def below(self, n: int) -> int:
        """Return the draw that was chosen."""
        return self.draw % n


class Observer:
    """Keeps what the scheduler tells of itself during a step; also its filter tap."""

    def __init__(self) -> None:
        self.cycles: list[CycleRecord] = []
        self.bindings: list[BindingRecord] = []
        self.gates: list[tuple[str, str, str]] = []
        self.filter_calls: list[tuple[str, str, Status | None]] = []

    def cycle(self, record: CycleRecord) -> None:
        record.work_out()
        self.cycles.append(record)

    def binding(self, record: BindingRecord) -> None:
        self.bindings.append(record)

    def queue_move(self, move: QueueMove) -> None:
        if move.gate is not None:
            self.gates.append((move.pod.key, *move.gate))

    def filter_called(self, node_name: str, plugin: str, status: Status | None) -> None:
        self.filter_calls.append((node_name, plugin, status))


@dataclass(slots=True)
class Traffic:
    """What the scheduler sent, in order."""

    events: list[Mapping[str, Any]] = field(default_factory=list)
    status_patches: list[Write] = field(default_factory=list)
    victims: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Mode:
    """What may be varied without changing a decision, and gates that are forced.

    arrays: nobody listens to single filter calls, so that preemption may try all nodes at once. full: every filter
    judges every node for the record. scalar: plugins are asked about one node at a time.
    counted: the scheduler keeps metrics, which puts its plugins behind stop watches.
    alone: pods that were made alike share nothing, every one is looked at by itself.
    """

    gates: Mapping[str, bool] = field(default_factory=dict)
    arrays: bool = False
    full: bool = False
    scalar: bool = False
    counted: bool = False
    alone: bool = False


class World:
    """One case's cluster."""

    def __init__(self, case: Case, features: FeatureGates, mode: Mode) -> None:
        """Make it and its objects; raises ConfigError."""
        self.options: Mapping[str, Any] = case.get("options") or {}
        self.step = 0
        self._recorded: Mapping[str, Any] = {}
        self.traffic = Traffic()
        self.observer = Observer()
        self.clock = VirtualClock(START_NS)
        self.front_door = FrontDoor(features)
        self.extenders = Extenders(case.get("extenders") or {}, self._bind_for_extender)
        self.store = Store(initial=Snapshot(FIRST_REVISION, ()))
        self._names = GivenNames()
        self._dice = Dice()
        self._registry = Registry(self.store, self.clock, self._names, features, admission=())
        self._client = InProcessClient(self._registry, "kube-scheduler")
        self._created = 0
        self._written: dict[tuple[str, str], None] = {}
        self._ours: set[tuple[str, str]] = set()
        informers = Informers(self._client)
        self.scheduler = Scheduler(
            load(case["config"], features),
            clock=self.clock,
            random=self._dice,
            listers=informers,
            features=features,
            observer=self.observer,
            filter_tap=None if mode.arrays else self.observer,
            full=mode.full,
            shares_evaluations=not mode.alone,
            registry=scalar_registry() if mode.scalar else None,
            metrics=SchedulerMetrics(features) if mode.counted else None,
        )
        for resource in self.scheduler.resources():
            informers.on_change(resource, self.scheduler.handle)
        for manifest in case["objects"]:
            if manifest["kind"] == _CLASS:
                self.front_door.learn(manifest)
        for manifest in case["objects"]:
            self.put(manifest)

    # --- Objects ---

    def put(self, manifest: Mapping[str, Any]) -> StoredObject:
        """Create an object, or replace it: a pod keeps its status and its node."""
        if manifest["kind"] == _CLASS:
            self.front_door.learn(manifest)
        resource, obj = self.front_door.resource_of(manifest), self.front_door.admit(manifest)
        metadata = obj["metadata"]
        key = key_of(metadata)
        self._ours.add((resource, key))
        old = self.store.get(resource, key)
        if old is None:
            metadata["creationTimestamp"] = format_time(CREATED_NS + self.step * SECOND_NS)
            return self._store(resource, obj, None)
        before = old.raw
        metadata["creationTimestamp"] = before["metadata"].get("creationTimestamp")
        if not manifest["metadata"].get("uid"):
            metadata["uid"] = old.uid
        if resource == "pods":
            obj["status"] = {**before["status"], **manifest.get("status", {})}
            if not obj["spec"].get("nodeName") and before["spec"].get("nodeName"):
                obj["spec"]["nodeName"] = before["spec"]["nodeName"]
        return self._store(resource, obj, old)

    def make(self, manifest: Mapping[str, Any]) -> None:
        """Create an object that nobody asked for; it has no creation time."""
        self._store(self.front_door.resource_of(manifest), self.front_door.admit(manifest), None)

    def replace(self, resource: str, obj: Object) -> None:
        """Store an object's new state."""
        old = self.store.get(resource, key_of(obj["metadata"]))
        assert old is not None, f"{resource} {obj['metadata']['name']} is changed after its end"
        self._store(resource, obj, old)

    def delete(self, reference: Mapping[str, Any]) -> None:
        """Remove an object at once."""
        resource = self.front_door.resource_of(reference)
        namespaced = self._registry.resource(resource).namespaced
        key = f"{reference.get('namespace') or 'default'}/{reference['name']}" if namespaced else reference["name"]
        self._remove(resource, key)

    def pod(self, key: str) -> StoredObject | None:
        """Return a pod as it is."""
        return self.store.get("pods", key)

    def written(self) -> list[Object]:
        """Return the volumes and claims that were written in this step, as they are, by resource and key."""
        found = []
        for resource, key in sorted(self._written):
            stored = self.store.get(resource, key)
            if stored is not None:
                obj = stored.thaw()
                for name in ("resourceVersion", "managedFields"):
                    obj["metadata"].pop(name, None)
                if (resource, key) not in self._ours:
                    obj["metadata"].pop("creationTimestamp", None)
                found.append(obj)
        return found

    def _store(self, resource: str, obj: Object, old: StoredObject | None) -> StoredObject:
        stored = StoredObject.encode(resource, obj, self.store.next_revision)
        if old is None:
            self._created += 1
            self.store.create(stored)
        else:
            self.store.update(stored, old.revision)
        if resource in _WATCHED:
            self._written[resource, stored.key] = None
        return stored

    def _remove(self, resource: str, key: str) -> None:
        stored = self.store.get(resource, key)
        if stored is not None:
            self.store.delete(resource, key, stored.revision)

    # --- Steps ---

    def tick(self, duration_ns: int = MILLISECOND_NS) -> None:
        """Let time pass."""
        self.clock.advance_to(self.clock.now_ns() + duration_ns)

    def begin_step(self, number: int) -> None:
        """Note which step this is, from 1."""
        self.step = number
        self._written.clear()

    def begin_attempt(self, recorded: Mapping[str, Any]) -> None:
        """Forget what was sent and told before; take what the data says of the attempt, if it has it."""
        self._recorded = recorded
        self._dice.draw = draw_of(recorded, self.scheduler.cache.table.names)
        self.traffic = Traffic()
        self.observer.cycles.clear()
        self.observer.bindings.clear()
        self.observer.filter_calls.clear()
        self.extenders.take_calls()

    def attempt(self, pod: PodInfo) -> None:
        """Try a pod, and carry everything out that follows."""
        self.carry(self.scheduler.attempt(pod))

    def carry(self, effects: Sequence[Effect]) -> None:
        """Carry effects out, depth first, and what events make of them."""
        for effect in effects:
            if isinstance(effect, WriteEffect):
                outcome: object = self._write(effect.write)
            else:
                assert isinstance(effect, CallEffect), f"the scheduler asks for {effect!r}"
                outcome = self.extenders.call(effect)
            self.carry(self.scheduler.complete(effect, outcome))
        while self.scheduler.outbox:
            self.carry(self.scheduler.outbox.drain())

    def follow(self) -> None:
        """Do for the pod that was tried what the data did and the scheduler did not."""
        for victim in self._recorded.get("victims", ()):
            if victim not in self.traffic.victims:
                self._evict(victim)
        node = self._recorded.get("selected")
        if node:
            stored = self.pod(self._recorded["pod"])
            if stored is not None and not stored.view.spec.node_name:
                self.bind(stored.key, node)

    def bind(self, key: str, node: str) -> None:
        """Put a pod onto a node, where it runs at once."""
        stored = self.pod(key)
        assert stored is not None, f"pod {key} is bound after its end"
        pod = stored.thaw()
        pod["spec"]["nodeName"] = node
        status = pod["status"]
        status.pop("nominatedNodeName", None)
        set_condition(status, {"type": "PodScheduled", "status": "True"}, format_time(self.clock.now_ns()))
        status |= {"phase": "Running", "startTime": format_time(EPOCH_NS + self.step * SECOND_NS)}
        self._store("pods", pod, stored)

    # --- What the scheduler writes ---

    def _write(self, write: Write) -> Outcome:
        key = f"{write.namespace}/{write.name}" if write.namespace else write.name
        if write.resource == EVENTS:
            assert isinstance(write.body, Mapping)
            self.traffic.events.append(write.body)
            return self._submit(write, dry_run=True)
        if write.resource == "pods":
            return self._write_pod(write, key)
        return self._write_object(write, key)

    def _write_pod(self, write: Write, key: str) -> Outcome:
        if write.subresource == "binding":
            return self._bind_pod(write, key)
        if write.verb == "delete":
            self.traffic.victims.append(key)
            return self._evict(key) if self._is_victim(key) else Outcome(self.pod(key))
        if write.subresource != "status":
            return self._submit(write)
        self.traffic.status_patches.append(write)
        if key == self.observer.cycles[0].pod.key:
            return self._submit(self._with_nomination(write, key))
        if _announces_eviction(write) and not self._is_victim(key):
            return Outcome(self.pod(key))
        return self._submit(write)

    def _is_victim(self, key: str) -> bool:
        """Whether the data has the pod among the victims of the pod that is tried."""
        return not self._recorded or key in self._recorded.get("victims", ())

    def _evict(self, key: str) -> Outcome:
        """Delete a victim: it is gone at once, or terminating."""
        victim = self.pod(key)
        if victim is None:
            return Outcome()
        if self.options.get("gracefulDelete"):
            return self._submit(Write("delete", "pods", victim.namespace, victim.name))
        self._remove("pods", key)
        return Outcome(victim)

    def _with_nomination(self, write: Write, key: str) -> Write:
        """Return a patch of the tried pod's status with the nomination of the data, should it have another one."""
        assert isinstance(write.body, Mapping)
        status, nominated = write.body["status"], self._recorded.get("nominated")
        if self._recorded.get("pod") != key or not nominated or not status.get("nominatedNodeName"):
            return write
        return replace(write, body={"status": {**status, "nominatedNodeName": nominated}})

    def _bind_pod(self, write: Write, key: str) -> Outcome:
        checked = self._submit(write, dry_run=True)
        if checked.error is not None:
            return checked
        assert isinstance(write.body, Mapping)
        node = self._node_for(key, write.body["target"]["name"])
        if node is None:
            return Outcome(error=new_conflict(GroupResource("", "pods/binding"), write.name, _PENDING))
        self.bind(key, node)
        return Outcome()

    def _node_for(self, key: str, chosen: str) -> str | None:
        """Return where the data has the pod; what the data does not speak of goes where it was to go."""
        return self._recorded.get("selected") if self._recorded.get("pod") == key else chosen

    def _bind_for_extender(self, key: str, node: str) -> str:
        wanted = self._node_for(key, node)
        if wanted is None:
            return _PENDING
        self.bind(key, wanted)
        return ""

    def _write_object(self, write: Write, key: str) -> Outcome:
        if write.verb == "create":
            assert isinstance(write.body, Mapping)
            # Generated names count what was created.
            self._created += 1
            self._names.next_suffix = f"gen{self._created}"
            metadata = dict(write.body["metadata"])
            metadata.setdefault("name", metadata.get("generateName", "") + self._names.next_suffix)
            self._names.next_uid = uid_of(metadata)
        outcome = self._submit(write)
        self._names.next_uid = self._names.next_suffix = ""
        if outcome.object is not None and write.resource in _WATCHED:
            self._written[write.resource, outcome.object.key] = None
            volumes.react(self, write.resource, outcome.object.key)
        return outcome

    def _submit(self, write: Write, *, dry_run: bool = False) -> Outcome:
        answers: list[Outcome] = []
        sent = replace(write, options={**write.options, "dryRun": "All"}) if dry_run else write
        self._client.submit(sent, answers.append)
        return answers[0]


def _announces_eviction(write: Write) -> bool:
    assert isinstance(write.body, Mapping)
    return any(condition["type"] == "DisruptionTarget" for condition in write.body["status"].get("conditions", ()))


def draw_of(recorded: Mapping[str, Any], node_order: Sequence[str]) -> int:
    """Return the draw that the recorder's dice made in an attempt, as far as it can be seen.

    It chose a node among equal ones, or the node with which preemption began its dry runs.
    """
    order = (recorded.get("preemption") or {}).get("dryRunOrder")
    if order:
        return [node for node in node_order if node in order].index(order[0])
    calls = recorded.get("extenderCalls") or ()
    asked = next((call["request"]["Node"] for call in calls if call["verb"] == "bind"), None)
    chosen = recorded.get("selected") or asked
    equals = [node for node in recorded.get("feasible") or () if node in (recorded.get("top") or ())]
    return equals.index(chosen) if chosen in equals else 0


def key_of(metadata: Mapping[str, Any]) -> str:
    """Return the place of an object: `namespace/name`, or the name of a cluster-scoped one."""
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])

"""A cluster with devices: the real store, registry, informers and scheduler, whose writes a test may hold or refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schedlab.api.kinds.strategy import Context
from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.features import FeatureGates
from schedlab.client.effects import Effect, WriteEffect
from schedlab.client.informers import Informers
from schedlab.client.inprocess import InProcessClient
from schedlab.client.protocol import Outcome, Write
from schedlab.kernel.clock import EPOCH_NS, SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry
from schedlab.scheduler.config import default_configuration
from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, QueueMove
from schedlab.scheduler.scheduler import Scheduler
from schedlab.store import Store

Raw = dict[str, Any]

CLAIMS = "resourceclaims.resource.k8s.io"
SLICES = "resourceslices.resource.k8s.io"
CLASSES = "deviceclasses.resource.k8s.io"
DRIVER = "gpu.example.com"

_RESOURCES = {
    "Node": "nodes",
    "Pod": "pods",
    "ResourceClaim": CLAIMS,
    "ResourceSlice": SLICES,
    "DeviceClass": CLASSES,
}


def node(name: str, labels: Mapping[str, str] | None = None, **allocatable: str) -> Raw:
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110", **allocatable}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}


def device(name: str, **fields: Any) -> Raw:
    """A device; attributes are given as plain values."""
    attributes = {key: _attribute(value) for key, value in fields.pop("attributes", {}).items()}
    capacity = {key: {"value": value} for key, value in fields.pop("memory", {}).items()}
    return {"name": name, **({"attributes": attributes} if attributes else {}), **_if(capacity=capacity), **fields}


def _attribute(value: object) -> Raw:
    for kind, key in ((bool, "bool"), (int, "int"), (str, "string")):
        if isinstance(value, kind):
            return {key: value}
    assert isinstance(value, dict)
    return value


def _if(**fields: Any) -> Raw:
    return {key: value for key, value in fields.items() if value}


def slice_of(name: str, *devices: str | Raw, node: str = "", pool: str = "", driver: str = DRIVER, **spec: Any) -> Raw:
    """A slice for one node, or with fields of the spec that say for which."""
    count, generation = spec.pop("count", 1), spec.pop("generation", 1)
    given = [device(each) if isinstance(each, str) else each for each in devices]
    wanted = {
        "driver": driver,
        "pool": {"name": pool or node or name, "generation": generation, "resourceSliceCount": count},
        **_if(nodeName=node, devices=given),
        **spec,
    }
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": wanted}


def device_class(name: str, *expressions: str, **spec: Any) -> Raw:
    wanted = {**_if(selectors=[{"cel": {"expression": each}} for each in expressions]), **spec}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": wanted}


def request(name: str = "r", class_name: str = "gpu", *expressions: str, **fields: Any) -> Raw:
    selectors = [{"cel": {"expression": each}} for each in expressions]
    return {"name": name, "exactly": {"deviceClassName": class_name, **_if(selectors=selectors), **fields}}


def either(name: str, *alternatives: Raw) -> Raw:
    """A request for the first of some requests that can be met."""
    return {"name": name, "firstAvailable": [{"name": each["name"], **each["exactly"]} for each in alternatives]}


def claim(name: str, *requests: Raw, metadata: Raw | None = None, status: Raw | None = None, **devices: Any) -> Raw:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", **(metadata or {})},
        "spec": {"devices": {**_if(requests=list(requests)), **devices}},
        **_if(status=status),
    }


def allocated(*devices: str, node: str = "", reserved_for: Sequence[str] = (), **fields: Any) -> Raw:
    """The status of a claim with these devices (pool/device) on a node."""
    results = []
    for each in devices:
        pool, name = each.split("/")
        results.append({"request": "r", "driver": DRIVER, "pool": pool, "device": name, **fields})
    selector = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}
    return {
        "allocation": {"devices": {"results": results}, **({"nodeSelector": selector} if node else {})},
        "reservedFor": [{"resource": "pods", "name": each, "uid": f"uid-{each}"} for each in reserved_for],
    }


def pod(name: str, *claims: str, template: str = "", requests: Mapping[str, str] | None = None, **spec: Any) -> Raw:
    """A pod that uses claims, or a claim made from a template."""
    amounts = {"requests": dict(requests), "limits": dict(requests)} if requests else {}
    references: list[Raw] = [{"name": each, "resourceClaimName": each} for each in claims]
    if template:
        references.append({"name": "made", "resourceClaimTemplateName": template})
    container = {"name": "c", "image": "i", "resources": amounts}
    wanted = {"containers": [container], **_if(resourceClaims=references), **spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": wanted,
    }


class Ears:
    """Hears of the scheduler's cycles."""

    def __init__(self) -> None:
        self.cycles: list[CycleRecord] = []
        self.bindings: list[BindingRecord] = []
        self.gates: list[str] = []

    def cycle(self, record: CycleRecord) -> None:
        self.cycles.append(record)

    def binding(self, record: BindingRecord) -> None:
        self.bindings.append(record)

    def queue_move(self, move: QueueMove) -> None:
        if move.gate is not None:
            self.gates.append(": ".join(move.gate))


class DeviceCluster:
    """`held` leaves writes in `pending`; `refuse` answers them with an error; `before` is called ahead of each."""

    def __init__(self, *manifests: Raw, gates: Mapping[str, bool] | None = None) -> None:
        self.features = features = FeatureGates.default().with_overrides(gates or {})
        self.clock = VirtualClock(EPOCH_NS)
        self.store = Store()
        self.registry = Registry(self.store, self.clock, SeededRandom(1), features, admission=())
        self.client = InProcessClient(self.registry, "kube-scheduler")
        self.ears = Ears()
        self.informers = informers = Informers(self.client)
        self.scheduler = Scheduler(
            default_configuration(features),
            clock=self.clock,
            random=SeededRandom(1),
            listers=informers,
            features=features,
            observer=self.ears,
        )
        for resource in self.scheduler.resources():
            informers.on_change(resource, self.scheduler.handle)
        self.scheduler.start()
        self.held: Callable[[Write], bool] = lambda _: False
        self.refuse: Callable[[Write], StatusError | None] = lambda _: None
        self.before: Callable[[Write], object] = lambda _: None
        self.pending: list[Effect] = []
        self.writes: list[Write] = []
        for manifest in manifests:
            self.add(manifest)

    # --- Objects ---

    def add(self, manifest: Raw) -> StoredObject:
        """Create an object, with its status; pods as a user does, others with defaults and without any checks."""
        resource = _RESOURCES[manifest["kind"]]
        obj = self.registry.decode(resource, manifest)
        if resource == "pods":
            made = self.registry.create(resource, obj, "default")
            status = manifest.get("status")
            return made if not status else self.change(resource, made.name, lambda raw: raw["status"].update(status))
        self.registry.resource(resource).strategy.default(obj, Context(self.features, "2026-01-01T00:00:00Z"))
        obj["metadata"].setdefault("uid", f"uid-{obj['metadata']['name']}")
        obj["metadata"].setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        return self._store(StoredObject.encode(resource, obj, self.store.next_revision), None)

    def change(self, resource: str, name: str, change: Callable[[Raw], object]) -> StoredObject:
        """Change an object, without any checks."""
        namespace = "default" if resource in {CLAIMS, "pods"} else ""
        old = self.registry.get(resource, name, namespace)
        raw = old.thaw()
        change(raw)
        return self._store(StoredObject.encode(resource, raw, self.store.next_revision), old)

    def _store(self, obj: StoredObject, old: StoredObject | None) -> StoredObject:
        if old is None:
            self.store.create(obj)
        else:
            self.store.update(obj, old.revision)
        return obj

    def remove(self, resource: str, name: str) -> None:
        namespace = "default" if resource in {CLAIMS, "pods"} else ""
        self.registry.delete(resource, name, namespace)

    def get(self, resource: str, name: str) -> Raw:
        namespace = "default" if resource in {CLAIMS, "pods"} else ""
        return self.registry.get(resource, name, namespace).thaw()

    def names(self, resource: str) -> list[str]:
        return [each.name for each in self.client.list(resource)[0]]

    def devices_of(self, name: str) -> list[str]:
        """What a claim has: request=pool/device."""
        allocation = (self.get(CLAIMS, name).get("status") or {}).get("allocation") or {}
        results = allocation.get("devices", {}).get("results", [])
        return [f"{each['request']}={each['pool']}/{each['device']}" for each in results]

    def node_of(self, name: str) -> str:
        node_name: str = self.get("pods", name)["spec"].get("nodeName", "")
        return node_name

    def message(self, name: str) -> str:
        """Why a pod is pending."""
        conditions = self.get("pods", name)["status"].get("conditions") or []
        return next((each["message"] for each in conditions if each["type"] == "PodScheduled"), "")

    def failures(self) -> list[str]:
        """Why pods failed, attempt by attempt."""
        cycles = [each.failure_message for each in self.ears.cycles if each.failure_message]
        return cycles + [each.error for each in self.ears.bindings if each.error]

    def events(self) -> list[str]:
        return [f"{write.body['reason']}: {write.body['note']}" for write in self._events()]  # type: ignore[index,call-overload]

    def _events(self) -> list[Write]:
        return [write for write in self.writes if write.resource == "events.events.k8s.io"]

    def about(self, resource: str) -> list[str]:
        """The writes about a resource: verb and subresource."""
        return [f"{each.verb} {each.subresource}".strip() for each in self.writes if each.resource == resource]

    # --- Driving ---

    def schedule(self, *manifests: Raw) -> list[str]:
        """Create pods, try them, and return where they are."""
        for manifest in manifests:
            self.add(manifest)
        self.run()
        return [self.node_of(manifest["metadata"]["name"]) for manifest in manifests]

    def run(self) -> None:
        while self.scheduler.ready():
            self.carry(self.scheduler.step())

    def advance(self, seconds: float) -> None:
        """Let time pass, and carry out what each timer asks for at its own time."""
        end = self.clock.now_ns() + int(seconds * SECOND_NS)
        while (due := self.clock.next_ns()) is not None and due <= end:
            self.clock.advance_to(due)
            self.run()
        self.clock.advance_to(end)
        self.run()

    def carry(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            assert isinstance(effect, WriteEffect)
            if self.held(effect.write):
                self.pending.append(effect)
            else:
                self.finish(effect)

    def finish(self, effect: Effect) -> None:
        """Carry a write out."""
        assert isinstance(effect, WriteEffect)
        self.writes.append(effect.write)
        self.before(effect.write)
        refusal = self.refuse(effect.write)
        outcomes = [Outcome(error=refusal)] if refusal is not None else []
        if not outcomes:
            self.client.submit(effect.write, outcomes.append)
        self.carry(self.scheduler.complete(effect, outcomes[0]))

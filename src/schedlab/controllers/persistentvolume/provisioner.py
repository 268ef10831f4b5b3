"""A simulated provisioner: makes the volumes that classes of every provisioner are asked for, and deletes them.

    claim with the annotation of its provisioner, and with a node if its class waits for one
      ──► a Stage matches it: left to that, for 15 seconds at a time
      ──► the node is not allowed, or nothing is left there: ProvisioningFailed, and the scheduler chooses anew
      ──► a volume of the size, reachable where the driver's topology says; what was free becomes less

Mirrors: the external provisioner of CSI drivers (sig-storage-lib-external-provisioner, external-provisioner).
Differs: volumes are made at once; what a CSIStorageCapacity holds is counted down here, as no driver measures it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.rules.volumes import (
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    requested_storage,
    topology_matches,
)
from schedlab.api.views.storage import CSIStorageCapacity, StorageClass
from schedlab.apimachinery.quantity import Quantity, parse_cached
from schedlab.apimachinery.selectors import selector_from_view
from schedlab.client.protocol import Write
from schedlab.controllers.framework.controller import (
    Asking,
    Controller,
    ControllerContext,
    Steps,
    ask,
    attempt,
    split_key,
)
from schedlab.controllers.framework.kinds import PERSISTENT_VOLUME_CLAIM
from schedlab.controllers.persistentvolume.controller import (
    CLAIMS,
    PROVISIONED_BY,
    PROVISIONER,
    STORAGE_CLASSES,
    VOLUMES,
)
from schedlab.controllers.persistentvolume.writes import update
from schedlab.kernel.clock import SECOND_NS

_CAPACITIES: Final = "csistoragecapacities.storage.k8s.io"
_CAPACITY: Final = "schedlab.dev/storage-capacity"
#: How long a claim is left to a Stage that matches it, until it is looked at again.
_STAGED_NS: Final = 15 * SECOND_NS


def _source(provisioner: str, name: str) -> dict[str, Any]:
    """Return what a volume is made of: provisioners of old have a slash in their names and are no CSI drivers."""
    if "/" in provisioner:
        return {"hostPath": {"path": f"/var/lib/volumes/{name}"}}
    return {"csi": {"driver": provisioner, "volumeHandle": name}}


class SimulatedProvisioner(Controller):
    """Keys are `claim:NAMESPACE/NAME` and `volume:NAME`."""

    name: ClassVar[str] = "simulated-provisioner"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._claims = context.lister(CLAIMS)
        self._volumes = context.lister(VOLUMES)
        self._classes = context.lister(STORAGE_CLASSES)
        self._nodes = context.lister("nodes")
        self._csi_nodes = context.lister("csinodes.storage.k8s.io")
        self._drivers = context.lister("csidrivers.storage.k8s.io")
        self._capacities = context.lister(_CAPACITIES)
        self._is_staged = context.is_staged
        self._claims.on_change(self._on_claim)
        self._volumes.on_change(self._on_volume)
        self._capacities.on_change(self._on_capacity)

    def _on_claim(self, event: WatchEvent) -> None:
        claim = event.object
        if event.type != "DELETED" and not claim.view.spec.volume_name and not claim.view.metadata.deletion_timestamp:
            self.queue.add(f"claim:{claim.key}")

    def _on_volume(self, event: WatchEvent) -> None:
        if event.type != "DELETED" and event.object.view.status.phase == "Released":
            self.queue.add(f"volume:{event.object.name}")

    def _on_capacity(self, event: WatchEvent) -> None:
        """Try again where there was too little."""
        if event.type != "DELETED":
            for claim in self._claims.all_stored():
                self._on_claim(WatchEvent("MODIFIED", claim))

    def sync(self, key: str) -> Steps:
        """Make the volume of a claim, or delete one that is not needed any more."""
        kind, _, place = key.partition(":")
        namespace, name = split_key(place)
        if kind == "volume":
            volume = self._volumes.stored(name)
            if volume is not None:
                yield from self._delete(volume)
            return
        claim = self._claims.stored(name, namespace)
        if claim is not None and not claim.view.spec.volume_name:
            yield from self._provision(claim)

    # --- Making ------------------------------------------------------------------------------------------------------

    def _provision(self, claim: StoredObject) -> Steps:
        annotations = claim.view.metadata.annotations
        storage_class: StorageClass | None = self._classes.get(claim_class(claim.view))
        if storage_class is None or annotations.get(PROVISIONER[1]) != storage_class.provisioner:
            return
        node_name = annotations.get(SELECTED_NODE)
        if node_name is None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            return
        if self._is_staged(claim):
            self.queue.add_after(f"claim:{claim.key}", _STAGED_NS)
            return
        labels: Mapping[str, str] | None = None
        if node_name is not None:
            node = self._nodes.stored(node_name)
            labels = {} if node is None else node.labels
            if node is None or not topology_matches(storage_class.allowed_topologies, labels):
                yield from self._fail(claim, f"node {node_name} is not in the allowed topologies of the storage class")
                return
        capacity = self._capacity(storage_class, labels, requested_storage(claim.view))
        if capacity is None and self._measures(storage_class.provisioner):
            yield from self._fail(claim, f"not enough free storage for {requested_storage(claim.view)}")
            return
        volume = self._new_volume(claim, storage_class, node_name, labels, capacity)
        if self._volumes.stored(volume["metadata"]["name"]) is not None:
            return
        if capacity is not None:
            yield from self._take(capacity, requested_storage(claim.view))
        yield from ask(Write("create", VOLUMES, "", volume["metadata"]["name"], volume))
        text = f"Successfully provisioned volume {volume['metadata']['name']}"
        self.events.normal(PERSISTENT_VOLUME_CLAIM, claim, "ProvisioningSucceeded", text)

    def _fail(self, claim: StoredObject, problem: str) -> Steps:
        """Tell why there is no volume; without a chosen node the scheduler looks again."""
        class_name = claim_class(claim.view)
        text = f'failed to provision volume with StorageClass "{class_name}": {problem}'
        self.events.warning(PERSISTENT_VOLUME_CLAIM, claim, "ProvisioningFailed", text)
        if SELECTED_NODE in claim.view.metadata.annotations:
            body = claim.thaw()
            del body["metadata"]["annotations"][SELECTED_NODE]
            yield from ask(update(claim, body))

    def _measures(self, driver: str) -> bool:
        """Whether a driver says how much it has left."""
        found = self._drivers.get(driver)
        return found is not None and bool(found.spec.storage_capacity)

    def _capacity(
        self, storage_class: StorageClass, labels: Mapping[str, str] | None, size: Quantity
    ) -> StoredObject | None:
        """Return what the volume can be made of, if the driver says how much it has left."""
        if not self._measures(storage_class.provisioner):
            return None
        for stored in self._capacities.all_stored():
            view: CSIStorageCapacity = stored.view
            if view.storage_class_name != storage_class.metadata.name or view.capacity is None:
                continue
            largest = view.capacity if view.maximum_volume_size is None else view.maximum_volume_size
            reached = labels is None or selector_from_view(view.node_topology).matches(labels)
            if reached and not parse_cached(view.capacity) < size and not parse_cached(largest) < size:
                return stored
        return None

    def _new_volume(
        self,
        claim: StoredObject,
        storage_class: StorageClass,
        node_name: str | None,
        labels: Mapping[str, str] | None,
        capacity: StoredObject | None,
    ) -> dict[str, Any]:
        name = f"pvc-{claim.uid}"
        raw_class = self._classes.stored(storage_class.metadata.name)
        fields: Mapping[str, Any] = {} if raw_class is None else raw_class.raw
        annotations = {PROVISIONED_BY: storage_class.provisioner}
        if capacity is not None:
            annotations[_CAPACITY] = capacity.key
        spec: dict[str, Any] = {
            "accessModes": list(claim.view.spec.access_modes),
            "capacity": {"storage": str(requested_storage(claim.view))},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": claim.namespace,
                "name": claim.name,
                "uid": claim.uid,
                "resourceVersion": str(claim.revision),
            },
            **_source(storage_class.provisioner, name),
            "persistentVolumeReclaimPolicy": fields.get("reclaimPolicy", "Delete"),
            "storageClassName": storage_class.metadata.name,
            "volumeMode": claim.view.spec.volume_mode or "Filesystem",
        }
        for key in ("mountOptions", "volumeAttributesClassName"):
            source = fields if key == "mountOptions" else claim.raw["spec"]
            if source.get(key):
                spec[key] = source[key]
        if terms := self._reach(storage_class, node_name, labels):
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        metadata = {"name": name, "annotations": annotations}
        return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}

    def _reach(
        self, storage_class: StorageClass, node_name: str | None, labels: Mapping[str, str] | None
    ) -> list[dict[str, Any]]:
        """Return where the volume can be used: where its driver's topology puts it, else where the class allows it."""
        csi_node = None if node_name is None else self._csi_nodes.get(node_name)
        drivers = () if csi_node is None else csi_node.spec.drivers
        keys = next((each.topology_keys for each in drivers if each.name == storage_class.provisioner), ())
        if keys and labels is not None:
            own = [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys if key in labels]
            return [{"matchExpressions": own}] if own else []
        return [
            {
                "matchExpressions": [
                    {"key": each.key, "operator": "In", "values": list(each.values)}
                    for each in term.match_label_expressions
                ]
            }
            for term in storage_class.allowed_topologies
        ]

    # --- Capacity and deletion ---------------------------------------------------------------------------------------

    def _take(self, capacity: StoredObject, size: Quantity) -> Asking[None]:
        left = str(parse_cached(capacity.view.capacity or "0") - size)
        yield from ask(update(capacity, {**capacity.thaw(), "capacity": left}))

    def _delete(self, volume: StoredObject) -> Steps:
        """Delete a volume that this has made, and give back what it took."""
        annotations = volume.view.metadata.annotations
        is_kept = volume.raw["spec"].get("persistentVolumeReclaimPolicy") != "Delete"
        if PROVISIONED_BY not in annotations or is_kept or volume.view.metadata.deletion_timestamp:
            return
        error = (yield from attempt(Write("delete", VOLUMES, "", volume.name))).error
        if error is not None:
            if error.reason != "NotFound":
                raise error
            return
        namespace, name = split_key(annotations.get(_CAPACITY, ""))
        capacity = self._capacities.stored(name, namespace) if name else None
        if capacity is not None:
            size = parse_cached(volume.view.spec.capacity.get("storage", "0"))
            whole = str(parse_cached(capacity.view.capacity or "0") + size)
            yield from ask(update(capacity, {**capacity.thaw(), "capacity": whole}))

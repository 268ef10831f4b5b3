"""Changes that may help a pod that VolumeBinding turned down."""

from typing import Any

import pytest

from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.plugins.volume_binding import ENTRY
from schedlab.testing.builders import make_pod
from tests.unit.scheduler.plugins.storage_bench import (
    Raw,
    StorageBench,
    claim,
    csi_capacity,
    csi_driver,
    csi_node,
    storage_class,
    view,
    volume,
)

POD = make_pod().set(
    "spec.volumes",
    [
        {"name": "a", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "v", "ephemeral": {}},
        {"name": "i", "csi": {"driver": "csi.example.com"}},
    ],
)
CLASS, CLAIM = EventResource.STORAGE_CLASS, EventResource.PERSISTENT_VOLUME_CLAIM
CSI_NODE, CAPACITY = EventResource.CSI_NODE, EventResource.CSI_STORAGE_CAPACITY
DRIVER, VOLUME, NODE = EventResource.CSI_DRIVER, EventResource.PERSISTENT_VOLUME, EventResource.NODE
ADD, UPDATE, DELETE = ActionType.ADD, ActionType.UPDATE, ActionType.DELETE

IN_ZONE: Raw = {"allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["z"]}]}]}
TRACKS, STOPS = csi_driver(storageCapacity=True), csi_driver(storageCapacity=False)


def room(**fields: str) -> Raw:
    return csi_capacity("x", {}, **fields)


@pytest.mark.parametrize(
    ("event", "old", "new", "hint"),
    [
        ((CLASS, ADD), None, storage_class(), "queue"),
        ((CLASS, UPDATE), storage_class(), storage_class(**IN_ZONE), "queue"),
        ((CLASS, UPDATE), storage_class(**IN_ZONE), storage_class(**IN_ZONE, provisioner="x"), "skip"),
        ((CLAIM, ADD), None, claim("c"), "queue"),
        ((CLAIM, UPDATE), claim("pod-v"), claim("pod-v"), "queue"),
        ((CLAIM, ADD), None, claim("other"), "skip"),
        ((CLAIM, ADD), None, claim("c", namespace="elsewhere"), "skip"),
        ((VOLUME, ADD), None, volume("v"), "queue"),
        ((VOLUME, UPDATE), volume("v"), volume("v"), "queue"),
        ((VOLUME, DELETE), volume("v"), None, "not registered"),
        ((NODE, ADD), None, None, "queue"),
        ((NODE, ActionType.UPDATE_NODE_LABEL), None, None, "queue"),
        ((NODE, ActionType.UPDATE_NODE_TAINT), None, None, "not registered"),
        ((CSI_NODE, ADD), None, csi_node("a"), "queue"),
        ((CSI_NODE, UPDATE), csi_node("a", "x"), csi_node("a", "x", "y"), "queue"),
        ((CSI_NODE, UPDATE), csi_node("a", "x"), csi_node("a", "x", driver=3), "skip"),
        ((DRIVER, UPDATE), TRACKS, STOPS, "queue"),
        ((DRIVER, UPDATE), TRACKS, csi_driver(), "queue"),
        ((DRIVER, UPDATE), STOPS, TRACKS, "skip"),
        ((DRIVER, UPDATE), csi_driver(), STOPS, "skip"),
        ((DRIVER, UPDATE), csi_driver("other", storageCapacity=True), csi_driver("other"), "skip"),
        ((DRIVER, ADD), None, TRACKS, "not registered"),
        ((CAPACITY, ADD), None, room(), "queue"),
        ((CAPACITY, UPDATE), room(), room(capacity="1Gi"), "queue"),
        ((CAPACITY, UPDATE), room(capacity="1Gi"), room(capacity="2Gi"), "queue"),
        ((CAPACITY, UPDATE), room(capacity="1Gi"), room(capacity="1024Mi"), "skip"),
        ((CAPACITY, UPDATE), room(capacity="2Gi"), room(capacity="1Gi"), "skip"),
        ((CAPACITY, UPDATE), room(capacity="1Gi"), room(), "skip"),
        ((CAPACITY, UPDATE), room(capacity="1Gi"), room(capacity="2Gi", maximumVolumeSize="1Gi"), "skip"),
    ],
)
def test_hints(event: tuple[Any, Any], old: Raw | None, new: Raw | None, hint: str) -> None:
    assert StorageBench(ENTRY).hint(*event, POD, view(old), view(new)) == hint


def test_the_signature_is_made_of_volume_sources() -> None:
    bench = StorageBench(ENTRY)

    assert bench.signature(POD) == bench.signature(POD.name("other"))
    assert bench.signature(POD) != bench.signature(make_pod())

"""VolumeZone."""

from typing import Any

import pytest

from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import SKIP
from schedlab.scheduler.plugins.volume_zone import ENTRY, REASON_CONFLICT
from schedlab.testing.builders import NodeBuilder, make_node, make_pod
from tests.unit.scheduler.plugins.storage_bench import Raw, StorageBench, claim, storage_class, view, volume

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
NO = f"{REASON_CONFLICT}!"
POD = make_pod().claim("c")


def labelled(name: str, **labels: str) -> Raw:
    keys = {"zone": ZONE, "region": REGION, "beta_zone": BETA_ZONE, "beta_region": BETA_REGION}
    return volume(name, metadata={"labels": {keys[key]: value for key, value in labels.items()}})


def node(name: str, labels: dict[str, str]) -> NodeBuilder:
    return make_node(name).labels(labels)


@pytest.mark.parametrize(
    ("volume_labels", "node_labels", "fits"),
    [
        ({"zone": "z1"}, {ZONE: "z1"}, True),
        ({"zone": "z1"}, {ZONE: "z2"}, False),
        ({"zone": "z1__z2"}, {ZONE: "z2"}, True),
        ({"zone": " z1 __ z2 "}, {ZONE: "z2"}, True),
        ({"zone": "z1____z2"}, {ZONE: "z3"}, True),
        ({"zone": "z1"}, {}, True),
        ({"zone": "z1"}, {REGION: "r"}, False),
        ({"zone": "z1", "region": "r"}, {ZONE: "z1", REGION: "other"}, False),
        ({"beta_zone": "z1"}, {ZONE: "z1"}, True),
        ({"beta_zone": "z1"}, {ZONE: "z2"}, False),
        ({"beta_zone": "z1"}, {BETA_ZONE: "z1", ZONE: "z2"}, True),
        ({"beta_zone": "z1"}, {BETA_ZONE: "z2", ZONE: "z1"}, False),
        ({"beta_region": "r"}, {REGION: "r"}, True),
        ({"zone": "z1"}, {BETA_ZONE: "z1"}, False),
    ],
)
def test_a_node_needs_the_zone_and_region_of_the_volume(
    volume_labels: dict[str, str], node_labels: dict[str, str], *, fits: bool
) -> None:
    """A node that knows of no zone at all takes any volume; old labels are looked for under their new names, too."""
    other = node("other", {ZONE: "elsewhere", REGION: "elsewhere"})
    nodes = (node("a", node_labels), other)
    bench = StorageBench(ENTRY, *nodes, claim("c", volume="v"), labelled("v", **volume_labels))

    if volume_labels == {"zone": "z1____z2"}:
        # A label that cannot be read is passed over.
        assert bench.pre_filter(POD) == (None, SKIP)
    else:
        assert {"a": "" if fits else NO, "other": NO} == bench.filter(POD)


def test_every_volume_counts() -> None:
    nodes = (node("a", {ZONE: "z1"}), node("b", {ZONE: "z2"}))
    volumes = (labelled("v", zone="z1"), labelled("w", zone="z1__z2"), labelled("x", zone="z2"))
    claims = (claim("c", volume="v"), claim("d", volume="w"), claim("e", volume="x"))
    bench = StorageBench(ENTRY, *nodes, *volumes, *claims)

    assert bench.filter(make_pod().claim("c").claim("d")) == {"a": "", "b": NO}
    assert bench.filter(make_pod().claim("c").claim("e")) == {"a": NO, "b": NO}


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ([], 'persistentvolumeclaim "c" not found!'),
        ([claim("c", volume="v")], 'persistentvolume "v" not found!'),
        ([claim("c", None)], "PersistentVolumeClaim had no pv name and storageClass name!"),
        ([claim("c", "gone")], 'storageclass.storage.k8s.io "gone" not found!'),
        ([claim("c"), storage_class(mode=None)], 'VolumeBindingMode not set for StorageClass "wait"!'),
        ([claim("c"), storage_class(mode="Immediate")], "PersistentVolume had no name!"),
        ([claim("c"), storage_class()], "Skip"),
        ([claim("c", volume="v"), volume("v")], "Skip"),
    ],
)
def test_what_is_missing_is_named(objects: list[Raw], text: str) -> None:
    bench = StorageBench(ENTRY, make_node("a"), *objects)

    assert text == bench.refused(POD)
    if text != "Skip":
        # The filter finds out by itself when pre_filter is disabled.
        assert bench.statuses(POD, CycleState())["a"] == bench.pre_filter(POD)[1]


def test_a_claim_without_a_name_and_a_pod_without_volumes() -> None:
    bench = StorageBench(ENTRY, node("a", {ZONE: "z1"}))

    assert bench.refused(make_pod().claim("")) == "PersistentVolumeClaim had no name!"
    assert bench.statuses(make_pod(), CycleState()) == {"a": None}


def test_the_class_in_the_old_annotation_wins() -> None:
    annotated = claim("c", "now", metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": "wait"}})

    assert StorageBench(ENTRY, annotated, storage_class()).refused(POD) == "Skip"


VOLUME_ADDED = EventResource.PERSISTENT_VOLUME, ActionType.ADD
CLAIM_ADDED = EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD
CLASS_ADDED = EventResource.STORAGE_CLASS, ActionType.ADD


@pytest.mark.parametrize(
    ("event", "old", "new", "hint"),
    [
        (CLASS_ADDED, None, storage_class(), "queue"),
        (CLASS_ADDED, None, storage_class(mode="Immediate"), "skip"),
        (CLASS_ADDED, None, storage_class(mode=None), "skip"),
        (CLAIM_ADDED, None, claim("c"), "queue"),
        (CLAIM_ADDED, claim("c"), claim("c", volume="v"), "queue"),
        (CLAIM_ADDED, None, claim("other"), "skip"),
        (CLAIM_ADDED, None, claim("c", namespace="elsewhere"), "skip"),
        (VOLUME_ADDED, None, volume("v"), "queue"),
        (VOLUME_ADDED, labelled("v", zone="z1"), labelled("v", zone="z1__z2"), "queue"),
        (VOLUME_ADDED, labelled("v", zone="z2__z1"), labelled("v", zone="z1__z2"), "skip"),
        (VOLUME_ADDED, labelled("v"), labelled("v"), "skip"),
        ((EventResource.STORAGE_CLASS, ActionType.UPDATE), None, None, "not registered"),
        ((EventResource.NODE, ActionType.ADD), None, None, "queue"),
        ((EventResource.NODE, ActionType.UPDATE_NODE_LABEL), None, None, "queue"),
    ],
)
def test_hints(event: tuple[Any, Any], old: Raw | None, new: Raw | None, hint: str) -> None:
    """Only a class that waits for pods, the pod's own claims, and other labels of a volume help."""
    found = StorageBench(ENTRY).hint(*event, POD, view(old), view(new))

    assert hint == found


def test_the_signature_is_made_of_volume_sources() -> None:
    bench = StorageBench(ENTRY)

    assert bench.signature(POD) == bench.signature(make_pod("other").claim("c"))
    assert bench.signature(POD) != bench.signature(make_pod().claim("d"))

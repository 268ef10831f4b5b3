"""VolumeBinding rates nodes by the storage that would be used."""

import pytest

from schedlab.scheduler.config.args import UtilizationShapePoint, VolumeBindingArgs
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.plugins.volume_binding import ENTRY
from schedlab.testing.builders import make_node, make_pod, term
from tests.unit.scheduler.plugins.storage_bench import (
    Raw,
    StorageBench,
    claim,
    csi_capacity,
    csi_driver,
    storage_class,
    volume,
)

SHAPE = [UtilizationShapePoint(utilization=0, score=0), UtilizationShapePoint(utilization=100, score=10)]
ARGS = VolumeBindingArgs(bind_timeout_seconds=600, shape=SHAPE)
GATES = {"StorageCapacityScoring": True}
TRACKED = csi_driver(storageCapacity=True)


def score(*objects: Raw, claims: str = "c", filtered: bool = True) -> int:
    pod = make_pod()
    for name in claims:
        pod = pod.claim(name)
    bench, state = StorageBench(ENTRY, make_node("a"), *objects, args=ARGS, gates=GATES), CycleState()
    assert bench.pre_filter(pod, state) == (None, None)
    node = bench.table.infos[0]
    if filtered:
        bench.plugin.filter(state, pod.obj(), node)
    assert bench.plugin.pre_score(state, pod.obj(), bench.table, None) is None
    points, status = bench.plugin.score(state, pod.obj(), node)
    assert status is None
    return int(points)


@pytest.mark.parametrize(
    ("requested", "capacity", "expected"),
    [("1Gi", "2Gi", 50), ("1Gi", "3Gi", 33), ("0", "1Gi", 0), ("1Gi", "1Gi", 100)],
)
def test_a_volume_that_is_there_counts_by_how_full_it_gets(requested: str, capacity: str, expected: int) -> None:
    assert score(claim("c", size=requested), storage_class(), volume("v", size=capacity)) == expected


def test_volumes_of_a_class_count_together_and_classes_equally() -> None:
    waits = {"volumeBindingMode": "WaitForFirstConsumer"}
    objects = [
        claim("c", "x", size="1Gi"),
        claim("d", "x", size="2Gi"),
        claim("e", "y", size="1Gi"),
        volume("v", "x", size="1Gi"),
        volume("w", "x", size="8Gi"),
        volume("u", "y", size="1Gi"),
        storage_class("x", **waits),
        storage_class("y", **waits),
    ]

    assert score(*objects, claims="cd") == 33
    # (33 + 100) / 2, rounded half up.
    assert score(*objects, claims="cde") == 67


def test_a_volume_to_be_made_counts_by_the_room_it_comes_from() -> None:
    """Two claims of a class share it; nothing is known without an account."""
    room = csi_capacity("x", {}, capacity="10Gi")
    claims = claim("c", size="2Gi"), claim("d", size="3Gi")

    assert score(*claims, storage_class(), TRACKED, room) == 20
    assert score(*claims, storage_class(), TRACKED, room, claims="cd") == 50
    assert score(*claims, storage_class(), claims="cd") == 0
    no_total = csi_capacity("x", {}, maximumVolumeSize="10Gi")
    assert score(*claims, storage_class(), TRACKED, no_total) == 100


def test_volumes_to_be_made_do_not_count_beside_those_that_are_there() -> None:
    room = csi_capacity("x", {}, capacity="10Gi")
    objects = claim("c"), claim("d", size="2Gi"), storage_class(), TRACKED, room, volume("v", size="1Gi")

    assert score(*objects, claims="cd") == 100


def test_claims_that_are_bound_do_not_count() -> None:
    assert score(claim("c", volume="v"), volume("v")) == 0


def test_nodes_that_were_not_filtered_or_do_not_fit_get_nothing() -> None:
    objects = claim("c"), storage_class(), volume("v", size="1Gi")

    assert score(*objects, filtered=False) == 0
    unreachable = volume("v", on=term(("zone", "In", ["z"])))
    assert score(claim("c"), storage_class(provisioner=""), unreachable) == 0

"""VolumeBinding finds volumes on every node, alone and at once."""

from typing import Any

import pytest

from schedlab.scheduler.plugins.volume_binding import ENTRY
from schedlab.scheduler.plugins.volume_binding.finding import (
    REASON_BIND_CONFLICT,
    REASON_NODE_CONFLICT,
    REASON_NOT_ENOUGH_SPACE,
    REASON_VOLUME_MISSING,
    find_pod_volumes,
)
from schedlab.scheduler.plugins.volume_binding.finding_nodes import find_on_nodes
from schedlab.testing.builders import make_node, make_pod, term
from tests.unit.scheduler.plugins.storage_bench import (
    Raw,
    StorageBench,
    claim,
    csi_capacity,
    csi_driver,
    csi_node,
    storage_class,
    volume,
)

A, B = make_node("a").label("zone", "one"), make_node("b").label("zone", "two")
ONE, TWO = term(("zone", "In", ["one"])), term(("zone", "In", ["two"]))
NO_PROVISIONER = {"provisioner": "kubernetes.io/no-provisioner"}
STATIC = storage_class(**NO_PROVISIONER)

NODE, BIND = f"{REASON_NODE_CONFLICT}!", f"{REASON_BIND_CONFLICT}!"
SPACE, MISSING = f"{REASON_NOT_ENOUGH_SPACE}!", f"{REASON_VOLUME_MISSING}!"


def found(*objects: Raw, claims: str = "c") -> tuple[str, str]:
    """Return what is wrong with nodes a and b for a pod with these claims."""
    pod = make_pod()
    for name in claims:
        pod = pod.claim(name)
    result = StorageBench(ENTRY, A, B, *objects).filter(pod)
    return result["a"], result["b"]


# --- Claims that have their volumes ---


def test_a_bound_volume_must_be_in_reach_of_the_node() -> None:
    assert found(claim("c", volume="v"), volume("v", on=ONE)) == ("", NODE)
    assert found(claim("c", volume="v"), volume("v", on=[TWO, ONE])) == ("", "")
    assert found(claim("c", volume="v"), volume("v", on=[])) == (NODE, NODE)
    assert found(claim("c", volume="v"), volume("v", spec={"nodeAffinity": {}})) == ("", "")


def test_a_bound_volume_is_asked_about_nodes_without_names() -> None:
    """As upstream does: so a name it asks for is nobody's, and one that it excludes excludes nobody."""
    wants = term(fields=[("metadata.name", "In", ["a"])])
    excludes = term(("zone", "In", ["one", "two"]), fields=[("metadata.name", "NotIn", ["a"])])

    assert found(claim("c", volume="v"), volume("v", on=wants)) == (NODE, NODE)
    assert found(claim("c", volume="v"), volume("v", on=excludes)) == ("", "")


def test_a_volume_that_is_gone_is_named_on_every_node_that_fits_so_far() -> None:
    objects = claim("c", volume="v"), volume("v", on=ONE), claim("d", volume="gone")

    assert found(*objects, claims="d") == (MISSING, MISSING)
    assert found(*objects, claims="cd") == (MISSING, NODE)
    assert found(*objects, claims="dc") == (MISSING, MISSING)


def test_a_migrated_volume_is_in_the_zone_its_driver_knows() -> None:
    """Only on nodes whose CSINode says that the plugin is migrated."""
    zone = {"topology.kubernetes.io/zone": "z-z-1"}
    disk = volume("v", metadata={"labels": zone}, spec={"gcePersistentDisk": {"pdName": "d"}})
    objects = claim("c", volume="v"), disk

    assert found(*objects) == ("", "")
    assert found(*objects, csi_node("a", "kubernetes.io/gce-pd"), csi_node("b")) == (NODE, "")


def test_a_volume_that_cannot_be_translated_is_an_error_where_it_is_migrated() -> None:
    source = {"awsElasticBlockStore": {"volumeID": "aws://zone/bad"}}
    objects = claim("c", volume="v"), volume("v", on=ONE, spec=source), csi_node("a", "kubernetes.io/aws-ebs")
    text = (
        "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID "
        "Invalid format for AWS volume (aws://zone/bad)"
    )

    assert found(*objects) == (text, NODE)
    assert found(*objects, claim("d"), STATIC, claims="cd") == (text, f"{NODE[:-1]}, {BIND}")


# --- Volumes that are there ---


def test_a_claim_waits_for_a_node_where_a_volume_is_in_reach() -> None:
    assert found(claim("c"), STATIC, volume("v", on=ONE)) == ("", BIND)
    assert found(claim("c"), STATIC, volume("v", on=ONE), volume("w", on=TWO)) == ("", "")
    assert found(claim("c"), STATIC, volume("v", "other")) == (BIND, BIND)
    assert found(claim("c"), STATIC) == (BIND, BIND)


def test_every_claim_needs_a_volume_of_its_own_and_the_smallest_chooses_first() -> None:
    claims = claim("c", size="2Gi"), claim("d", size="1Gi")
    volumes = volume("v", size="2Gi", on=ONE), volume("w", size="1Gi")

    assert found(*claims, STATIC, *volumes, claims="cd") == ("", BIND)
    assert found(*claims, STATIC, volume("v", size="2Gi"), claims="cd") == (BIND, BIND)
    assert found(claim("c", size="1Gi"), claims[1], STATIC, volume("v"), volume("w", on=ONE), claims="cd") == ("", BIND)


def test_a_volume_meant_for_the_claim_is_the_only_one() -> None:
    meant = volume("v", on=ONE, size="9Gi", spec={"claimRef": {"name": "c", "namespace": "default"}})

    assert found(claim("c"), STATIC, meant, volume("free")) == ("", BIND)


def test_the_same_claim_twice_needs_two_volumes() -> None:
    """Upstream's way: it looks for one per volume of the pod."""
    objects = claim("c"), STATIC, volume("v"), volume("w", on=ONE)

    assert found(*objects, claims="cc") == ("", BIND)


def test_where_a_claim_without_class_comes_from_the_old_annotation() -> None:
    annotated = claim("c", None, metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": "wait"}})

    assert found(annotated, STATIC, volume("v", on=ONE)) == ("", BIND)


# --- Volumes that are to be made ---


def topology(*terms: dict[str, list[str]]) -> dict[str, Any]:
    return {
        "allowedTopologies": [
            {"matchLabelExpressions": [{"key": key, "values": values} for key, values in each.items()]}
            for each in terms
        ]
    }


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([], ("", "")),
        ([{"zone": ["one"]}], ("", BIND)),
        ([{"zone": ["one", "two"]}], ("", "")),
        ([{"zone": ["one"], "disk": ["ssd"]}, {"zone": ["two"]}], (BIND, "")),
        ([{}], (BIND, BIND)),
        ([{"zone": ["three"]}], (BIND, BIND)),
    ],
)
def test_a_class_makes_volumes_where_its_topologies_allow(
    terms: list[dict[str, list[str]]], expected: tuple[str, str]
) -> None:
    assert found(claim("c"), storage_class(**topology(*terms))) == expected


def test_a_class_without_provisioner_makes_none() -> None:
    assert found(claim("c"), storage_class(provisioner="")) == (BIND, BIND)


def test_what_is_there_comes_before_what_can_be_made() -> None:
    objects = claim("c"), claim("d"), storage_class(**topology({"zone": ["one"]}))

    assert found(*objects, volume("v", on=TWO)) == ("", "")
    assert found(*objects, volume("v", on=TWO), claims="cd") == ("", BIND)


def test_a_claim_that_was_promised_a_volume_on_a_node_belongs_there() -> None:
    annotated = claim("c", metadata={"annotations": {"volume.kubernetes.io/selected-node": "a"}})

    assert found(annotated, storage_class(), volume("v", on=TWO)) == ("", BIND)
    assert found(annotated, STATIC, volume("v")) == (BIND, BIND)
    gone = claim("c", metadata={"annotations": {"volume.kubernetes.io/selected-node": "gone"}})
    assert found(gone, storage_class()) == (BIND, BIND)
    # The fast way out: nothing else is asked where the claim does not belong.
    full = csi_driver(storageCapacity=True)
    assert found(claim("d"), annotated, storage_class(), full, claims="dc") == (SPACE, BIND)


# --- Capacity ---

TRACKED = csi_driver(storageCapacity=True)


@pytest.mark.parametrize(
    ("capacities", "expected"),
    [
        ([], (SPACE, SPACE)),
        ([csi_capacity("x", {"zone": "one"}, capacity="1Gi")], ("", SPACE)),
        ([csi_capacity("x", {}, capacity="1Gi")], ("", "")),
        ([csi_capacity("x", None, capacity="1Gi")], (SPACE, SPACE)),
        ([csi_capacity("x", {}, capacity="1023Mi")], (SPACE, SPACE)),
        ([csi_capacity("x", {}, "other", capacity="1Gi")], (SPACE, SPACE)),
        ([csi_capacity("x", {})], (SPACE, SPACE)),
        ([csi_capacity("x", {}, capacity="9Gi", maximumVolumeSize="1Mi")], (SPACE, SPACE)),
        ([csi_capacity("x", {}, capacity="1Mi", maximumVolumeSize="1Gi")], ("", "")),
        (
            [csi_capacity("x", {"zone": "one"}, capacity="1Mi"), csi_capacity("y", {"zone": "two"}, capacity="1Gi")],
            (SPACE, ""),
        ),
    ],
)
def test_a_driver_that_keeps_account_needs_room(capacities: list[Raw], expected: tuple[str, str]) -> None:
    assert found(claim("c"), storage_class(), TRACKED, *capacities) == expected


def test_nobody_needs_room_without_an_account_or_a_size() -> None:
    assert found(claim("c"), storage_class(), csi_driver(storageCapacity=False)) == ("", "")
    assert found(claim("c"), storage_class(), csi_driver()) == ("", "")
    assert found(claim("c", spec={"resources": {}}), storage_class(), TRACKED) == ("", "")


def test_topology_is_looked_at_before_room() -> None:
    assert found(claim("c"), storage_class(**topology({"zone": ["one"]})), TRACKED) == (SPACE, BIND)


def test_room_is_looked_at_for_each_claim_alone() -> None:
    """Two volumes of one pod may each find the same room, as upstream has it."""
    room = csi_capacity("x", {}, capacity="1Gi")

    assert found(claim("c"), claim("d"), storage_class(), TRACKED, room, claims="cd") == ("", "")


def test_reasons_are_in_upstreams_order() -> None:
    bound = claim("b", volume="v"), volume("v", "other", on=TWO)
    gone = claim("g", volume="gone")
    waiting = claim("c"), storage_class()

    assert found(*bound, *waiting, TRACKED, claims="bc") == (f"{REASON_NODE_CONFLICT}, {SPACE}", SPACE)
    assert found(gone, *waiting, TRACKED, claims="cg") == (f"{REASON_NOT_ENOUGH_SPACE}, {MISSING}",) * 2
    assert found(gone, claim("c"), STATIC, claims="gc") == (f"{REASON_BIND_CONFLICT}, {MISSING}",) * 2


def test_a_class_that_goes_during_the_search_is_an_error() -> None:
    bench = StorageBench(ENTRY, A, claim("c"), storage_class())
    plugin, pod = bench.plugin, make_pod().claim("c")
    claims = plugin._storage.claims_of(pod.view())
    bench.drop("StorageClass", "wait")

    for put, text in (
        (claim("c"), 'failed to find storage class "wait"'),
        (claim("c", None), 'no class for claim "default/c"'),
    ):
        bench.put(put)
        changed = bench.stored("PersistentVolumeClaim", "c", "default").view
        claims.waiting, claims.volumes = [changed], {"wait": [], "": []}
        verdicts = _both(plugin, claims, bench)
        assert [verdict.error or verdict.message for verdict in verdicts] == [text, text]


def _both(plugin: Any, claims: Any, bench: StorageBench) -> list[Any]:
    alone = find_pod_volumes(plugin._storage, claims, bench.table.infos[0].node)
    return [alone, find_on_nodes(plugin._storage, claims, bench.table).status(0)]

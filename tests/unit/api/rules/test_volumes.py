"""Rules about volumes and claims."""

from typing import Any

import msgspec
import pytest

from schedlab.api.rules.volumes import (
    affinity_mismatch,
    bind_volume,
    claim_class,
    claim_name,
    find_matching_volume,
    is_fully_bound,
    not_made_for_pod,
    topology_matches,
    volume_class,
)
from schedlab.api.views.core import Pod
from schedlab.api.views.storage import PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeNodeAffinity

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def claim(name: str = "c", size: str = "1Gi", **spec: Any) -> PersistentVolumeClaim:
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": "7"}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": "k",
        **spec,
    }
    return msgspec.convert({"metadata": metadata, "spec": spec}, PersistentVolumeClaim)


def volume(
    name: str, size: str = "1Gi", phase: str = "Available", metadata: Any = None, **spec: Any
) -> PersistentVolume:
    spec = {
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "capacity": {"storage": size},
        "storageClassName": "k",
        **spec,
    }
    raw = {"metadata": {"name": name, **(metadata or {})}, "spec": spec, "status": {"phase": phase}}
    return msgspec.convert(raw, PersistentVolume)


def ref(name: str = "c", uid: str = "uid-c", namespace: str = "ns") -> dict[str, str]:
    return {"name": name, "namespace": namespace, "uid": uid}


def find(wanted: PersistentVolumeClaim, *volumes: PersistentVolume, taken: Any = (), far: Any = ()) -> str | None:
    found = find_matching_volume(wanted, volumes, taken, lambda each: each.metadata.name not in far)
    return None if found is None else found.metadata.name


def test_the_smallest_volume_that_is_big_enough_wins_and_of_equal_ones_the_first() -> None:
    volumes = (volume("big", "5Gi"), volume("small", "1Mi"), volume("b", "2Gi"), volume("a", "2048Mi"))

    assert find(claim(size="1500Mi"), *volumes) == "b"
    assert find(claim(size="1500Mi"), *volumes, taken=("b",)) == "a"
    assert find(claim(size="1500Mi"), *volumes, far=("b", "a")) == "big"
    assert find(claim(size="6Gi"), *volumes) is None


@pytest.mark.parametrize(
    "unfit",
    [
        volume("v", volumeMode="Block"),
        volume("v", accessModes=["ReadOnlyMany"]),
        volume("v", storageClassName="other"),
        volume("v", metadata={"annotations": {CLASS_ANNOTATION: "other"}}),
        volume("v", volumeAttributesClassName="gold"),
        volume("v", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        volume("v", phase="Pending"),
        volume("v", phase="Bound"),
        volume("v", phase="Released"),
        volume("v", capacity={}),
        volume("v", claimRef=ref("other")),
        volume("v", claimRef=ref(namespace="elsewhere")),
        volume("v", claimRef=ref(uid="earlier")),
    ],
)
def test_a_volume_of_another_kind_or_state_is_passed_over(unfit: PersistentVolume) -> None:
    assert find(claim(), unfit) is None
    assert find(claim(), unfit, volume("good")) == "good"


def test_kinds_that_are_asked_for_are_found() -> None:
    assert find(claim(volumeMode="Block"), volume("v", volumeMode="Block")) == "v"
    assert find(claim(volumeMode="Filesystem"), volume("v")) == "v"
    assert find(claim(volumeAttributesClassName="gold"), volume("v", volumeAttributesClassName="gold")) == "v"
    assert find(claim(accessModes=["ReadOnlyMany", "ReadWriteOnce"]), volume("v")) == "v"
    labelled = volume("v", metadata={"labels": {"disk": "ssd"}})
    assert find(claim(selector={"matchLabels": {"disk": "ssd"}}), labelled) == "v"
    assert find(claim(selector={"matchLabels": {"disk": "hdd"}}), labelled) is None


@pytest.mark.parametrize("uid", ["", "uid-c"])
def test_a_volume_that_is_meant_for_the_claim_wins_or_nothing_does(uid: str) -> None:
    """However big it is, whatever its phase, class and access modes."""
    meant = volume("meant", "9Gi", "Bound", claimRef=ref(uid=uid), storageClassName="other", accessModes=[])

    assert find(claim(), volume("free"), meant) == "meant"
    assert find(claim(), volume("free"), meant, far=("meant",)) is None
    assert find(claim(), volume("free"), meant, taken=("meant",)) == "free"
    assert find(claim(size="10Gi"), volume("free", "20Gi"), meant) == "free"


def test_binding_sets_a_full_reference_and_says_who_did_it() -> None:
    wanted = claim()

    bound = bind_volume(volume("v"), wanted)

    assert msgspec.to_builtins(bound.spec.claim_ref) == {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": "ns",
        "name": "c",
        "uid": "uid-c",
        "resourceVersion": "7",
    }
    assert bound.metadata.annotations == {"pv.kubernetes.io/bound-by-controller": "yes"}


def test_a_volume_that_its_maker_meant_for_the_claim_only_gets_the_uid() -> None:
    bound = bind_volume(volume("v", claimRef=ref(uid="")), claim())

    assert bound.spec.claim_ref is not None
    assert bound.spec.claim_ref.uid == "uid-c"
    assert bound.metadata.annotations == {}


def test_a_volume_that_is_bound_already_stays_the_same() -> None:
    bound = volume("v", claimRef=ref())

    assert bind_volume(bound, claim()) is bound


def test_the_old_annotation_of_a_class_wins_even_when_it_is_empty() -> None:
    metadata = {"annotations": {CLASS_ANNOTATION: ""}}
    annotated = msgspec.convert({"metadata": metadata, "spec": {"storageClassName": "k"}}, PersistentVolumeClaim)

    assert claim_class(annotated) == ""
    assert volume_class(volume("v", metadata=metadata)) == ""
    assert claim_class(claim(storageClassName=None)) == ""
    assert (claim_class(claim()), volume_class(volume("v"))) == ("k", "k")


def test_a_claim_is_fully_bound_when_the_controller_says_so() -> None:
    def bound(annotations: dict[str, str], name: str) -> bool:
        raw = {"metadata": {"annotations": annotations}, "spec": {"volumeName": name}}
        return is_fully_bound(msgspec.convert(raw, PersistentVolumeClaim))

    assert bound({"pv.kubernetes.io/bind-completed": ""}, "v")
    assert not bound({"pv.kubernetes.io/bind-completed": "yes"}, "")
    assert not bound({}, "v")


def affinity(*terms: dict[str, Any]) -> VolumeNodeAffinity:
    return msgspec.convert({"required": {"nodeSelectorTerms": list(terms)}}, VolumeNodeAffinity)


def among(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("where", "mismatch"),
    [
        (None, None),
        (VolumeNodeAffinity(), None),
        (affinity(among("zone", "a", "b")), None),
        (affinity(among("zone", "b"), among("zone", "a")), None),
        (affinity(among("zone", "b")), "no matching NodeSelectorTerms"),
        (affinity(), "no matching NodeSelectorTerms"),
        # Upstream asks about a node without a name.
        (
            affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}),
            "no matching NodeSelectorTerms",
        ),
        (affinity({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}]}), None),
    ],
)
def test_a_node_reaches_a_volume_by_its_labels(where: VolumeNodeAffinity | None, mismatch: str | None) -> None:
    assert affinity_mismatch(where, {"zone": "a"}) == mismatch


def test_a_node_affinity_that_cannot_be_read_says_why() -> None:
    text = affinity_mismatch(affinity(among("zone", "a", operator="Near")), {"zone": "a"})

    assert text is not None
    assert "Near" in text


@pytest.mark.parametrize(
    ("terms", "matches"),
    [
        ([], True),
        ([[]], False),
        ([[("zone", ["a", "b"])]], True),
        ([[("zone", ["a"]), ("disk", ["ssd"])]], False),
        ([[("disk", ["ssd"])], [("zone", ["a"])]], True),
        ([[("zone", [])]], False),
    ],
)
def test_allowed_topologies(terms: list[list[tuple[str, list[str]]]], *, matches: bool) -> None:
    """One term must match, of which every label must have one of the values."""
    raw = [{"matchLabelExpressions": [{"key": key, "values": values} for key, values in term]} for term in terms]
    topologies = msgspec.convert({"allowedTopologies": raw}, StorageClass).allowed_topologies

    assert topology_matches(topologies, {"zone": "a"}) is matches


def pod() -> Pod:
    sources: list[dict[str, Any]] = [
        {"persistentVolumeClaim": {"claimName": "c"}},
        {"ephemeral": {}},
        {"emptyDir": {}},
    ]
    volumes = [{"name": f"v{index}", **source} for index, source in enumerate(sources)]
    metadata = {"name": "p", "namespace": "ns", "uid": "uid-p"}
    return msgspec.convert({"metadata": metadata, "spec": {"volumes": volumes}}, Pod)


def test_claims_of_ephemeral_volumes_are_named_after_pod_and_volume() -> None:
    assert [claim_name(pod(), each) for each in pod().spec.volumes] == ["c", "p-v1", None]


@pytest.mark.parametrize(
    ("namespace", "uid", "controller", "mine"),
    [
        ("ns", "uid-p", True, True),
        ("ns", "uid-p", False, False),
        ("ns", "x", True, False),
        ("other", "uid-p", True, False),
    ],
)
def test_a_claim_is_made_for_the_pod_that_controls_it(
    namespace: str, uid: str, *, controller: bool, mine: bool
) -> None:
    owner = {"kind": "Pod", "name": "p", "uid": uid, "controller": controller}
    metadata = {"name": "p-v1", "namespace": namespace, "ownerReferences": [owner]}
    made = msgspec.convert({"metadata": metadata}, PersistentVolumeClaim)

    text = None if mine else f"PVC {namespace}/p-v1 was not created for pod ns/p (pod is not owner)"
    assert not_made_for_pod(pod(), made) == text

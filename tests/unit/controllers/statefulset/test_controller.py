"""StatefulSets keep pods with names, in order, with claims of their own."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.features import FeatureGates
from tests.support.control_plane import ControlPlane, Object, template

SETS = "statefulsets.apps"
CLAIMS = "persistentvolumeclaims"
REVISIONS = "controllerrevisions.apps"


def stateful_set(replicas: int = 2, **spec: Any) -> Object:
    selector = {"matchLabels": {"app": "a"}}
    return {
        "metadata": {"name": "db"},
        "spec": {"replicas": replicas, "serviceName": "s", "selector": selector, "template": template(), **spec},
    }


def claim_template() -> Object:
    request = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    return {"metadata": {"name": "data"}, "spec": request}


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("statefulset-controller", "garbage-collector-controller")


def names(plane: ControlPlane) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in plane.pods())


def images(plane: ControlPlane) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in plane.pods()}


def run(plane: ControlPlane, times: int = 6) -> None:
    """Play scheduler and kubelet."""
    for _ in range(times):
        plane.settle()
        plane.run_pods()
        plane.end_pods()
    plane.settle()


def new_image(plane: ControlPlane) -> None:
    plane.patch(SETS, "db", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "new"}]}}}})
    plane.settle()


def status(plane: ControlPlane) -> Object:
    return dict(plane.get(SETS, "db")["status"])


def test_pods_start_one_after_the_other(plane: ControlPlane) -> None:
    """The next one comes when the one before is available; each knows who it is."""
    plane.create(SETS, stateful_set())
    plane.settle()
    first = names(plane)
    plane.run_pods()
    plane.settle()
    pod = plane.get("pods", "db-1")
    (revision,) = plane.all(REVISIONS)

    assert (first, names(plane)) == (["db-0"], ["db-0", "db-1"])
    assert pod["metadata"]["labels"] == {
        "app": "a",
        "apps.kubernetes.io/pod-index": "1",
        "controller-revision-hash": revision["metadata"]["name"],
        "statefulset.kubernetes.io/pod-name": "db-1",
    }
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-1", "s")
    assert ("SuccessfulCreate", "db", "Create Pod db-0 in StatefulSet db successful") in plane.messages()


def test_parallel_pods_start_together(plane: ControlPlane) -> None:
    """Nobody waits for anybody."""
    plane.create(SETS, stateful_set(3, podManagementPolicy="Parallel"))
    plane.settle()

    assert names(plane) == ["db-0", "db-1", "db-2"]


def test_ordinals_may_start_elsewhere(plane: ControlPlane) -> None:
    """The first pod has the number that was asked for."""
    plane.create(SETS, stateful_set(2, podManagementPolicy="Parallel", ordinals={"start": 5}))
    plane.settle()

    assert names(plane) == ["db-5", "db-6"]


def test_status_counts(plane: ControlPlane) -> None:
    """Counts, revisions, generation."""
    plane.create(SETS, stateful_set(1))
    run(plane, 1)
    (revision,) = plane.names(REVISIONS)

    assert status(plane) == {
        "observedGeneration": 1,
        "replicas": 1,
        "readyReplicas": 1,
        "availableReplicas": 1,
        "currentReplicas": 1,
        "updatedReplicas": 1,
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }


def test_scaling_down_takes_the_last_first(plane: ControlPlane) -> None:
    """One at a time, and the next only when the last has gone."""
    plane.create(SETS, stateful_set(3))
    run(plane)
    plane.patch(SETS, "db", {"spec": {"replicas": 1}})
    plane.settle()
    first = names(plane)
    plane.end_pods()
    plane.settle()

    assert (first, names(plane)) == (["db-0", "db-1"], ["db-0"])


def test_rolling_update_goes_from_the_last_to_the_first(plane: ControlPlane) -> None:
    """Each successor must be available before the next pod goes; then the update is the current revision."""
    plane.create(SETS, stateful_set(2))
    run(plane)
    new_image(plane)
    first = names(plane)
    plane.end_pods()
    plane.settle()
    second = images(plane)
    run(plane)

    assert first == ["db-0"]
    assert second == {"db-0": "i", "db-1": "new"}
    assert images(plane) == {"db-0": "new", "db-1": "new"}
    assert status(plane)["currentRevision"] == status(plane)["updateRevision"]
    assert sorted(each["revision"] for each in plane.all(REVISIONS)) == [1, 2]


def test_partition_holds_the_first_pods_back(plane: ControlPlane) -> None:
    """Pods below the partition stay, and come back, as they were."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    plane.create(SETS, stateful_set(2, updateStrategy=strategy))
    run(plane)
    new_image(plane)
    run(plane)
    updated = images(plane)
    plane.delete("pods", "db-0", grace_s=0)
    run(plane)

    assert updated == images(plane) == {"db-0": "i", "db-1": "new"}


def test_several_may_be_missing_behind_the_gate() -> None:
    """With MaxUnavailableStatefulSet more than one pod is updated at a time."""
    features = FeatureGates.parse("MaxUnavailableStatefulSet=true")
    plane = ControlPlane("statefulset-controller", features=features)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 2}}
    plane.create(SETS, stateful_set(3, updateStrategy=strategy, podManagementPolicy="Parallel"))
    run(plane)
    new_image(plane)

    assert names(plane) == ["db-0"]


def test_on_delete_waits_for_the_user(plane: ControlPlane) -> None:
    """Pods are replaced when somebody deletes them."""
    plane.create(SETS, stateful_set(1, updateStrategy={"type": "OnDelete"}))
    run(plane)
    new_image(plane)
    before = images(plane)
    plane.delete("pods", "db-0", grace_s=0)
    plane.settle()

    assert (before, images(plane)) == ({"db-0": "i"}, {"db-0": "new"})


def test_failed_pods_are_replaced(plane: ControlPlane) -> None:
    """A pod that has ended is deleted and made anew."""
    plane.create(SETS, stateful_set(1))
    run(plane)
    uid = plane.get("pods", "db-0")["metadata"]["uid"]
    plane.finish("db-0", "Failed")
    run(plane)

    assert plane.get("pods", "db-0")["metadata"]["uid"] != uid


def test_each_pod_has_its_claims(plane: ControlPlane) -> None:
    """Claims are made before the pod, named after it, and stay when it goes."""
    plane.create(SETS, stateful_set(1, volumeClaimTemplates=[claim_template()]))
    run(plane)
    (claim,) = plane.all(CLAIMS)
    plane.patch(SETS, "db", {"spec": {"replicas": 0}})
    run(plane)

    assert (claim["metadata"]["name"], claim["metadata"]["labels"]) == ("data-db-0", {"app": "a"})
    assert "ownerReferences" not in claim["metadata"]
    assert plane.names(CLAIMS) == ["data-db-0"]
    assert ("SuccessfulCreate", "db", "Create Claim data-db-0 Pod db-0 in StatefulSet db success") in plane.messages()


def kept(plane: ControlPlane) -> list[str]:
    """Return the claims that nobody deletes; protection keeps the others while pods use them."""
    for claim in plane.all(CLAIMS):
        if "deletionTimestamp" in claim["metadata"]:
            plane.patch(CLAIMS, claim["metadata"]["name"], {"metadata": {"finalizers": None}})
    return plane.names(CLAIMS)


@pytest.mark.parametrize(
    ("scaled", "deleted", "after_scaling", "after_deletion"),
    [
        ("Retain", "Retain", ["data-db-0", "data-db-1"], ["data-db-0", "data-db-1"]),
        ("Delete", "Retain", ["data-db-0"], ["data-db-0"]),
        ("Retain", "Delete", ["data-db-0", "data-db-1"], []),
        ("Delete", "Delete", ["data-db-0"], []),
    ],
)
def test_retention_of_claims(
    plane: ControlPlane, scaled: str, deleted: str, after_scaling: list[str], after_deletion: list[str]
) -> None:
    """Claims go when pods are scaled away, or with the set, if their policy says so."""
    policy = {"whenScaled": scaled, "whenDeleted": deleted}
    spec = {"volumeClaimTemplates": [claim_template()], "persistentVolumeClaimRetentionPolicy": policy}
    plane.create(SETS, stateful_set(2, **spec))
    run(plane)
    plane.patch(SETS, "db", {"spec": {"replicas": 1}})
    run(plane)
    left = kept(plane)
    plane.delete(SETS, "db", "Background")
    run(plane)

    assert left == after_scaling
    assert kept(plane) == after_deletion


def test_lost_identity_is_given_back(plane: ControlPlane) -> None:
    """The label that says which pod it is cannot be taken away."""
    plane.create(SETS, stateful_set(1))
    run(plane)
    plane.patch("pods", "db-0", {"metadata": {"labels": {"statefulset.kubernetes.io/pod-name": None}}})
    plane.settle()

    assert plane.get("pods", "db-0")["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "db-0"


def test_history_is_reused_and_limited(plane: ControlPlane) -> None:
    """An old template gets its revision back under a new number; the oldest unused ones go."""
    plane.create(SETS, stateful_set(1, revisionHistoryLimit=1))
    run(plane)
    for name in ("two", "three", "two"):
        plane.patch(SETS, "db", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": name}]}}}})
        run(plane)

    assert sorted(each["revision"] for each in plane.all(REVISIONS)) == [3, 4]

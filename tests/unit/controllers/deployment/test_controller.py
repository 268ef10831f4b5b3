"""Deployments roll out new templates over ReplicaSets, within the bounds of their strategy."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import ControlPlane, Object, template

DEPLOYMENTS = "deployments.apps"
SETS = "replicasets.apps"
SURE = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def deployment(replicas: int = 2, **spec: Any) -> Object:
    return {
        "metadata": {"name": "web", "annotations": {"note": "first"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "a"}},
            "template": template(),
            **spec,
        },
    }


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("replicaset-controller", "deployment-controller")


def image(name: str) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": name}]}}}}


def sizes(plane: ControlPlane) -> list[int]:
    """Return the sizes of the sets, oldest revision first."""
    key = "deployment.kubernetes.io/revision"
    sets = sorted(plane.all(SETS), key=lambda found: int(found["metadata"]["annotations"][key]))
    return [found["spec"]["replicas"] for found in sets]


def progressing(plane: ControlPlane) -> Object:
    conditions = plane.get(DEPLOYMENTS, "web")["status"]["conditions"]
    return next(dict(each) for each in conditions if each["type"] == "Progressing")


def roll(plane: ControlPlane, steps: int = 20) -> None:
    """Play the kubelet until nothing moves."""
    for _ in range(steps):
        plane.run_for(1)
        plane.run_pods()
        plane.end_pods()
    plane.run_for(1)


def test_a_set_is_made_for_the_template(plane: ControlPlane) -> None:
    """It carries the hash of the template, the revision, the size, and the annotations of the Deployment."""
    plane.create(DEPLOYMENTS, deployment())
    plane.settle()
    (found,) = plane.all(SETS)
    code = found["metadata"]["labels"]["pod-template-hash"]

    assert found["metadata"]["name"] == f"web-{code}"
    assert found["spec"]["selector"]["matchLabels"] == {"app": "a", "pod-template-hash": code}
    assert found["metadata"]["generation"] == 1
    assert found["metadata"]["annotations"] == {
        "note": "first",
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/desired-replicas": "2",
        "deployment.kubernetes.io/max-replicas": "3",
    }
    assert plane.get(DEPLOYMENTS, "web")["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    assert plane.messages()[0] == ("ScalingReplicaSet", "web", f"Scaled up replica set web-{code} from 0 to 2")


def test_status_follows_the_rollout(plane: ControlPlane) -> None:
    """Counts and conditions while pods start, and when all are available."""
    plane.create(DEPLOYMENTS, deployment())
    plane.settle()
    starting = plane.get(DEPLOYMENTS, "web")["status"]
    plane.run_pods()
    plane.settle()
    done = plane.get(DEPLOYMENTS, "web")["status"]

    assert (starting["replicas"], starting["unavailableReplicas"], starting["terminatingReplicas"]) == (2, 2, 0)
    assert [(each["type"], each["status"], each["reason"]) for each in starting["conditions"]] == [
        ("Available", "False", "MinimumReplicasUnavailable"),
        ("Progressing", "True", "ReplicaSetUpdated"),
    ]
    assert (done["availableReplicas"], "unavailableReplicas" in done) == (2, False)
    assert [(each["type"], each["reason"]) for each in done["conditions"]] == [
        ("Available", "MinimumReplicasAvailable"),
        ("Progressing", "NewReplicaSetAvailable"),
    ]


def test_rolling_update_keeps_within_its_bounds(plane: ControlPlane) -> None:
    """With one pod to spare and none to miss, one new pod starts before one old pod goes."""
    plane.create(DEPLOYMENTS, deployment(3, strategy=SURE))
    roll(plane, 2)
    plane.patch(DEPLOYMENTS, "web", image("new"))
    plane.settle()
    first = sizes(plane)
    plane.run_pods()
    plane.settle()
    second = sizes(plane)
    roll(plane)

    assert (first, second) == ([3, 1], [2, 2])
    assert sizes(plane) == [0, 3]
    assert progressing(plane)["reason"] == "NewReplicaSetAvailable"
    assert {pod["spec"]["containers"][0]["image"] for pod in plane.pods()} == {"new"}


def test_unhealthy_old_pods_go_first(plane: ControlPlane) -> None:
    """Old pods that are not available are no loss."""
    plane.create(
        DEPLOYMENTS,
        deployment(4, strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}),
    )
    plane.settle()
    plane.run_pods(plane.pods()[:2])
    plane.settle()
    plane.patch(DEPLOYMENTS, "web", image("new"))
    plane.settle()

    assert sizes(plane) == [2, 2]
    assert sorted(pod["status"]["phase"] for pod in plane.pods()) == ["Pending", "Pending", "Running", "Running"]


def test_recreate_waits_for_the_old_pods(plane: ControlPlane) -> None:
    """No new pod as long as an old one is left."""
    plane.create(DEPLOYMENTS, deployment(strategy={"type": "Recreate"}))
    roll(plane, 2)
    plane.patch(DEPLOYMENTS, "web", image("new"))
    plane.settle()
    waiting = sizes(plane)
    plane.end_pods()
    plane.settle()

    assert waiting == [0]
    assert sizes(plane) == [0, 2]


def test_scaling_in_the_middle_is_proportional(plane: ControlPlane) -> None:
    """A rollout that is under way grows in both sets by their part."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}
    plane.create(DEPLOYMENTS, deployment(10, strategy=strategy))
    roll(plane, 2)
    plane.patch(DEPLOYMENTS, "web", image("broken"))
    plane.settle()
    before = sizes(plane)
    plane.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 15}})
    plane.settle()

    assert (before, sizes(plane)) == ([8, 5], [11, 7])


def test_paused_deployments_scale_but_do_not_roll(plane: ControlPlane) -> None:
    """A pause stops new templates only; the conditions tell of pause and resumption."""
    plane.create(DEPLOYMENTS, deployment())
    roll(plane, 2)
    plane.patch(DEPLOYMENTS, "web", {"spec": {"paused": True, "replicas": 3}})
    plane.patch(DEPLOYMENTS, "web", image("new"))
    plane.settle()
    paused = progressing(plane)["reason"], sizes(plane)
    plane.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    plane.settle()

    assert paused == ("DeploymentPaused", [3])
    assert len(sizes(plane)) == 2


def test_deployment_that_is_made_paused_waits_without_any_set(plane: ControlPlane) -> None:
    made = deployment(2)
    plane.create(DEPLOYMENTS, {**made, "spec": {**made["spec"], "paused": True}})
    plane.settle()
    waiting = progressing(plane)["reason"], sizes(plane)
    plane.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    plane.settle()

    assert waiting == ("DeploymentPaused", [])
    assert sizes(plane) == [2]


def test_undo_by_template_reuses_the_old_set(plane: ControlPlane) -> None:
    """The old template again: its set comes back under a new revision, with its history."""
    plane.create(DEPLOYMENTS, deployment(1))
    roll(plane, 2)
    plane.patch(DEPLOYMENTS, "web", image("new"))
    roll(plane)
    plane.patch(DEPLOYMENTS, "web", image("i"))
    roll(plane)
    found = next(each for each in plane.all(SETS) if each["spec"]["replicas"])

    assert len(plane.all(SETS)) == 2
    assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"
    assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("0", "DeploymentRollback"),
        ("1", "DeploymentRollback"),
        ("2", "DeploymentRollbackTemplateUnchanged"),
        ("9", "DeploymentRollbackRevisionNotFound"),
    ],
)
def test_rollback_by_annotation(plane: ControlPlane, target: str, reason: str) -> None:
    """A revision, or the last one, is taken back; what cannot be is told."""
    plane.create(DEPLOYMENTS, deployment(1))
    roll(plane, 2)
    plane.patch(DEPLOYMENTS, "web", image("new"))
    roll(plane)
    plane.patch(DEPLOYMENTS, "web", {"metadata": {"annotations": {"deprecated.deployment.rollback.to": target}}})
    roll(plane)
    back = plane.get(DEPLOYMENTS, "web")

    assert "deprecated.deployment.rollback.to" not in back["metadata"]["annotations"]
    assert reason in [each[0] for each in plane.messages()]
    assert back["spec"]["template"]["spec"]["containers"][0]["image"] == (
        "i" if reason == "DeploymentRollback" else "new"
    )


def test_history_is_limited(plane: ControlPlane) -> None:
    """Old sets beyond the limit are deleted once the rollout is complete."""
    plane.create(DEPLOYMENTS, deployment(1, revisionHistoryLimit=1))
    for number in range(4):
        plane.patch(DEPLOYMENTS, "web", image(f"i{number}"))
        roll(plane, 5)

    assert sizes(plane) == [0, 1]


def test_lack_of_progress_is_told_after_the_deadline(plane: ControlPlane) -> None:
    """A rollout that stands still for progressDeadlineSeconds has timed out."""
    plane.create(DEPLOYMENTS, deployment(1, progressDeadlineSeconds=30))
    plane.run_for(29)
    early = progressing(plane)["reason"]
    plane.run_for(5)

    assert early == "ReplicaSetUpdated"
    assert (progressing(plane)["status"], progressing(plane)["reason"]) == ("False", "ProgressDeadlineExceeded")


def test_failures_of_sets_are_shown(plane: ControlPlane) -> None:
    """What keeps a set from making pods is a condition of the Deployment."""
    plane.create(DEPLOYMENTS, deployment(1, template=template(priorityClassName="missing")))
    plane.settle()
    conditions = plane.get(DEPLOYMENTS, "web")["status"]["conditions"]

    assert [each["reason"] for each in conditions if each["type"] == "ReplicaFailure"] == ["FailedCreate"]


def test_matching_orphans_are_adopted(plane: ControlPlane) -> None:
    """A set that an earlier Deployment left becomes the new set again if it has the template."""
    plane.create(DEPLOYMENTS, deployment(1))
    plane.settle()
    plane.delete(DEPLOYMENTS, "web", "Orphan")
    (left,) = plane.all(SETS)
    plane.patch(SETS, left["metadata"]["name"], {"metadata": {"ownerReferences": None}})
    plane.patch(DEPLOYMENTS, "web", {"metadata": {"finalizers": None}})
    plane.create(DEPLOYMENTS, deployment(1))
    plane.settle()
    (found,) = plane.all(SETS)

    assert found["metadata"]["uid"] == left["metadata"]["uid"]
    assert found["metadata"]["ownerReferences"][0]["uid"] == plane.get(DEPLOYMENTS, "web")["metadata"]["uid"]


def test_a_taken_name_takes_another_hash(plane: ControlPlane) -> None:
    """A foreign set under the new set's name counts as a collision of hashes."""
    plane.create(DEPLOYMENTS, deployment(1))
    plane.settle()
    (found,) = plane.all(SETS)
    name = found["metadata"]["name"]
    plane.delete(DEPLOYMENTS, "web", "Background")
    plane.delete(SETS, name, "Background")
    labels = {"matchLabels": {"app": "other"}}
    plane.create(
        SETS,
        {
            "metadata": {"name": name},
            "spec": {"replicas": 0, "selector": labels, "template": template({"app": "other"})},
        },
    )
    plane.create(DEPLOYMENTS, deployment(1))
    plane.run_for(1)

    assert plane.get(DEPLOYMENTS, "web")["status"]["collisionCount"] == 1
    assert len(plane.all(SETS)) == 2

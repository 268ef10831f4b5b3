"""DaemonSets have one pod on each node that should have one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import ControlPlane, Object, template

DAEMONS = "daemonsets.apps"
REVISIONS = "controllerrevisions.apps"
ON_DELETE = {"type": "OnDelete"}


def daemon_set(**spec: Any) -> Object:
    selector = {"matchLabels": {"app": "a"}}
    return {"metadata": {"name": "d"}, "spec": {"selector": selector, "template": template(), **spec}}


def rolling(**bounds: Any) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": bounds}


@pytest.fixture
def plane() -> ControlPlane:
    plane = ControlPlane("daemonset-controller")
    for name in ("n1", "n2", "n3"):
        plane.node(name, disk="ssd" if name == "n1" else "hdd")
    return plane


def node_of(pod: Object) -> str:
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return str(terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])


def nodes(plane: ControlPlane, image: str = "") -> list[str]:
    """Return for which nodes there are pods (with an image)."""
    pods = [pod for pod in plane.pods() if image in ("", pod["spec"]["containers"][0]["image"])]
    return sorted(map(node_of, pods))


def run(plane: ControlPlane) -> None:
    """Play scheduler and kubelet once."""
    for pod in plane.pods():
        plane.run_pods([pod], node_of(pod))
    plane.end_pods()
    plane.settle()


def image(plane: ControlPlane, name: str) -> None:
    plane.patch(DAEMONS, "d", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": name}]}}}})
    plane.settle()


def test_each_node_gets_a_pod(plane: ControlPlane) -> None:
    """The pod asks for its node by name, endures trouble of nodes, and is of a revision."""
    plane.create(DAEMONS, daemon_set())
    plane.settle()
    pod = plane.pods()[0]
    (revision,) = plane.all(REVISIONS)

    assert nodes(plane) == ["n1", "n2", "n3"]
    assert {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"} in pod["spec"][
        "tolerations"
    ]
    assert (
        pod["metadata"]["labels"]["controller-revision-hash"]
        == revision["metadata"]["labels"]["controller-revision-hash"]
    )
    assert (revision["revision"], revision["data"]["spec"]["template"]["$patch"]) == (1, "replace")


def test_status_counts_nodes(plane: ControlPlane) -> None:
    """Desired, current, ready, available, up to date."""
    plane.create(DAEMONS, daemon_set())
    plane.settle()
    before = plane.get(DAEMONS, "d")["status"]
    run(plane)

    assert before == {
        "currentNumberScheduled": 3,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 3,
        "numberReady": 0,
        "observedGeneration": 1,
        "updatedNumberScheduled": 3,
        "numberUnavailable": 3,
    }
    assert plane.get(DAEMONS, "d")["status"]["numberAvailable"] == 3


def test_new_nodes_get_a_pod_and_deleted_ones_lose_theirs(plane: ControlPlane) -> None:
    """A pod that waits for a node that is gone is deleted."""
    plane.create(DAEMONS, daemon_set())
    plane.settle()
    plane.node("n4")
    plane.delete("nodes", "n2")
    plane.settle()
    plane.patch(DAEMONS, "d", {"metadata": {"labels": {"look": "again"}}})
    plane.settle()

    assert nodes(plane) == ["n1", "n3", "n4"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, ["n1"]),
        ({"nodeName": "n2"}, ["n2"]),
        ({"tolerations": [{"key": "mine", "operator": "Exists"}]}, ["n1", "n2", "n3"]),
        ({}, ["n1", "n2"]),
    ],
)
def test_nodes_must_fit(plane: ControlPlane, spec: Object, expected: list[str]) -> None:
    """Selectors and taints decide which nodes get one."""
    plane.patch("nodes", "n3", {"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]}})
    plane.create(DAEMONS, daemon_set(template=template(**spec)))
    plane.settle()

    assert nodes(plane) == expected


def test_taints_that_come_later(plane: ControlPlane) -> None:
    """NoSchedule lets a pod stay, NoExecute does not; labels that no longer fit end it, too."""
    plane.create(DAEMONS, daemon_set(template=template(nodeSelector={"disk": "hdd"})))
    plane.settle()
    run(plane)
    plane.patch("nodes", "n2", {"spec": {"taints": [{"key": "mine", "effect": "NoSchedule"}]}})
    plane.settle()
    stayed = nodes(plane)
    plane.patch("nodes", "n2", {"spec": {"taints": [{"key": "mine", "effect": "NoExecute"}]}})
    plane.patch("nodes", "n3", {"metadata": {"labels": {"disk": "ssd"}}})
    plane.settle()

    assert stayed == ["n2", "n3"]
    assert nodes(plane) == []


def test_failed_pods_are_replaced_with_growing_delays(plane: ControlPlane) -> None:
    """The first one at once, the next after a second."""
    plane.create(DAEMONS, daemon_set(template=template(nodeSelector={"disk": "ssd"})))
    plane.settle()
    for _ in range(2):
        run(plane)
        plane.finish(plane.pods()[0]["metadata"]["name"], "Failed")
        plane.settle()
        plane.end_pods()
        plane.settle()
    waiting = [pod["status"]["phase"] for pod in plane.pods()]
    plane.run_for(2)

    assert waiting == ["Failed"]
    assert [reason for reason, _, _ in plane.messages()].count("FailedDaemonPod") == 2


def test_rolling_update_misses_one_at_a_time(plane: ControlPlane) -> None:
    """An old pod goes, its successor must be available before the next one goes."""
    plane.create(DAEMONS, daemon_set())
    plane.settle()
    run(plane)
    image(plane, "new")
    first = len(nodes(plane, "i"))
    plane.end_pods()
    plane.settle()
    second = len(nodes(plane, "i")), len(nodes(plane, "new"))
    for _ in range(4):
        run(plane)

    assert (first, second) == (2, (2, 1))
    assert nodes(plane, "new") == ["n1", "n2", "n3"]
    assert [each["revision"] for each in plane.all(REVISIONS)] in ([1, 2], [2, 1])


def test_surge_starts_the_new_pod_first(plane: ControlPlane) -> None:
    """With surge a node has both pods until the new one is available."""
    plane.create(DAEMONS, daemon_set(updateStrategy=rolling(maxSurge=1, maxUnavailable=0)))
    plane.settle()
    run(plane)
    image(plane, "new")
    both = len(nodes(plane, "i")), len(nodes(plane, "new"))
    for _ in range(6):
        run(plane)

    assert both == (3, 1)
    assert (nodes(plane, "i"), nodes(plane, "new")) == ([], ["n1", "n2", "n3"])


def test_on_delete_waits_for_the_user(plane: ControlPlane) -> None:
    """Pods are replaced when somebody deletes them."""
    plane.create(DAEMONS, daemon_set(updateStrategy=ON_DELETE))
    plane.settle()
    image(plane, "new")
    untouched = nodes(plane, "new")
    plane.delete("pods", plane.pods()[0]["metadata"]["name"], grace_s=0)
    plane.settle()

    assert untouched == []
    assert len(nodes(plane, "new")) == 1


def test_history_is_reused_and_limited(plane: ControlPlane) -> None:
    """A template that was there before gets its revision back under a new number; old ones go."""
    plane.create(DAEMONS, daemon_set(revisionHistoryLimit=1, updateStrategy=rolling(maxUnavailable="100%")))
    plane.settle()
    for name in ("two", "three", "two"):
        image(plane, name)
        for _ in range(4):
            run(plane)
    numbers = sorted(each["revision"] for each in plane.all(REVISIONS))

    assert numbers == [3, 4]


def test_two_pods_on_a_node_are_one_too_many(plane: ControlPlane) -> None:
    """Of several pods the one that came first stays."""
    plane.create(DAEMONS, daemon_set(template=template(nodeSelector={"disk": "ssd"})))
    plane.settle()
    (first,) = plane.pods()
    plane.run_for(5)
    stray = {"metadata": {"name": "stray", "labels": {"app": "a"}}, "spec": {**template()["spec"], "nodeName": "n1"}}
    plane.run_pods([first], "n1")
    plane.create("pods", stray)
    plane.settle()

    assert plane.pods() == [plane.get("pods", first["metadata"]["name"])]

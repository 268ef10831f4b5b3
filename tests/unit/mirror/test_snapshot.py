"""Snapshots in kube-scheduler-simulator's form: what they hold, and what a load makes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.snapshot import check, export, load
from tests.support.clusters import Lab


def _exported(lab: Lab) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(export(lab.registry, {"kind": "KubeSchedulerConfiguration"}))
    return found


def test_an_export_has_upstreams_keys_in_their_order() -> None:
    keys = list(_exported(Lab(nodes=1)))

    assert keys == [
        "pods",
        "nodes",
        "pvs",
        "pvcs",
        "storageClasses",
        "priorityClasses",
        "schedulerConfig",
        "namespaces",
    ]


def test_an_export_leaves_out_what_every_cluster_has() -> None:
    lab = Lab(nodes=1)
    lab.create("namespaces", {"metadata": {"name": "shop"}})
    exported = _exported(lab)

    assert [one["metadata"]["name"] for one in exported["namespaces"]] == ["shop"]
    assert exported["priorityClasses"] == []


def test_objects_come_without_kind_and_with_what_the_scheduler_said() -> None:
    lab = Lab(nodes=1)
    lab.create_pod("a")
    lab.run()
    (pod,) = _exported(lab)["pods"]

    assert "kind" not in pod
    assert pod["metadata"]["annotations"]["kube-scheduler-simulator.sigs.k8s.io/selected-node"] == "node-0"


def test_what_was_exported_can_be_loaded_elsewhere() -> None:
    lab = Lab(nodes=2)
    lab.create("namespaces", {"metadata": {"name": "shop"}})
    lab.create("priorityclasses.scheduling.k8s.io", {"metadata": {"name": "high"}, "value": 7})
    lab.create_pod("a", priorityClassName="high")
    lab.create_pod("waits", nodeSelector={"no": "node"})
    lab.run()
    other = Lab(seed=2)

    loaded = load(other.registry, check(_exported(lab)))
    other.run()

    assert loaded.problems == []
    assert other.nodes_of_pods() == lab.nodes_of_pods()
    assert other.registry.get("pods", "a", "default").view.status.phase == "Running"
    assert "shop" in other.names("namespaces")


def test_loading_twice_changes_nothing_that_matters() -> None:
    lab = Lab(nodes=2)
    lab.create_pod("a")
    lab.run()
    exported = _exported(lab)

    loaded = load(lab.registry, check(exported))

    assert loaded.problems == []
    assert lab.nodes_of_pods() == {"a": "node-0"} or lab.nodes_of_pods() == {"a": "node-1"}


def test_a_bound_volume_names_the_claim_that_is_here() -> None:
    lab = Lab(nodes=1)
    storage = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    claim = {"metadata": {"name": "c", "namespace": "default", "uid": "old"}, "spec": {**storage, "volumeName": "v"}}
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "c", "uid": "old"}
    volume = {
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/v"},
            "claimRef": reference,
        },
        "status": {"phase": "Bound"},
    }

    loaded = load(lab.registry, check({"pvs": [volume], "pvcs": [claim]}))

    uid = lab.registry.get("persistentvolumeclaims", "c", "default").uid
    assert loaded.problems == []
    assert lab.registry.get("persistentvolumes", "v").raw["spec"]["claimRef"]["uid"] == uid


def test_owners_that_are_not_here_are_left_out_and_those_that_are_stay() -> None:
    lab = Lab(nodes=1)
    lab.create("configmaps", {"metadata": {"name": "owner"}}, "default")
    uid = lab.registry.get("configmaps", "owner", "default").uid
    owners = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "gone", "uid": "u"},
    ]
    pod = {
        "metadata": {"name": "p", "ownerReferences": owners},
        "spec": {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "nobody"},
    }

    loaded = load(lab.registry, check({"pods": [pod]}))

    assert loaded.problems == []
    kept = lab.registry.get("pods", "p", "default").raw
    assert [owner["name"] for owner in kept["metadata"]["ownerReferences"]] == ["owner"]
    assert kept["spec"]["serviceAccountName"] == "default"


def test_what_is_refused_is_named_and_the_rest_is_loaded() -> None:
    lab = Lab()
    nodes = [{"metadata": {"name": "Bad_Name"}}, {"metadata": {"name": "good"}}]

    loaded = load(lab.registry, check({"nodes": nodes}))

    assert loaded.objects == 1
    assert lab.names("nodes") == ["good"]
    assert loaded.problems[0].startswith('nodes Bad_Name: Node "Bad_Name" is invalid')


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ([], ""),
        ({"pod": []}, "pod"),
        ({"pods": {}}, "pods"),
        ({"pods": [{"metadata": {"name": "a"}}, {}]}, "pods[1]"),
        ({"nodes": [{"metadata": {"name": ""}}]}, "nodes[0]"),
        ({"schedulerConfig": []}, "schedulerConfig"),
    ],
)
def test_a_document_of_another_shape_is_refused_with_its_place(document: object, place: str) -> None:
    with pytest.raises(SchedlabError) as caught:
        check(document)

    assert caught.value.location == place
    assert caught.value.hint


def test_lists_and_configuration_may_be_missing_or_null() -> None:
    assert load(Lab().registry, check({"pods": None, "schedulerConfig": None})).problems == []

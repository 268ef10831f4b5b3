"""The garbage collector deletes what lost its owners, and orphans what is to outlive them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import ControlPlane, Object, template

MAPS = "configmaps"
DEPLOYMENTS = "deployments.apps"
SETS = "replicasets.apps"


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("garbage-collector-controller", "replicaset-controller", "deployment-controller")


def owned(plane: ControlPlane, name: str, *owners: str, **fields: Any) -> Object:
    """Make a config map that belongs to others."""
    references = []
    for owner in owners:
        uid = plane.get(MAPS, owner)["metadata"]["uid"] if plane.exists(MAPS, owner) else "nobody"
        references.append({"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, **fields})
    return plane.create(MAPS, {"metadata": {"name": name, "ownerReferences": references}})


def shop(plane: ControlPlane) -> None:
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template()}
    plane.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
    plane.settle()


def test_background_deletion_takes_everything_below(plane: ControlPlane) -> None:
    """The owner goes at once, its dependents follow."""
    shop(plane)
    plane.delete(DEPLOYMENTS, "web", "Background")
    plane.settle()

    assert plane.all(SETS) == plane.all("pods") == []


def test_foreground_deletion_keeps_owners_until_dependents_are_gone(plane: ControlPlane) -> None:
    """Each owner waits for those that block it."""
    shop(plane)
    plane.run_pods()
    plane.delete(DEPLOYMENTS, "web", "Foreground")
    plane.settle()
    waiting = plane.exists(DEPLOYMENTS, "web"), len(plane.all(SETS)), plane.pods()
    plane.end_pods()
    plane.settle()

    assert waiting == (True, 1, [])
    assert not plane.exists(DEPLOYMENTS, "web")
    assert plane.all(SETS) == plane.all("pods") == []


def test_orphans_stay(plane: ControlPlane) -> None:
    """References are taken out; the owner goes, what it owned does not."""
    shop(plane)
    plane.delete(DEPLOYMENTS, "web", "Orphan")
    plane.settle()
    (left,) = plane.all(SETS)

    assert not plane.exists(DEPLOYMENTS, "web")
    assert "ownerReferences" not in left["metadata"]
    assert len(plane.pods()) == 2


def test_owner_that_never_was(plane: ControlPlane) -> None:
    """A reference to nothing is no reason to stay."""
    owned(plane, "dependent", "missing")
    plane.settle()

    assert not plane.exists(MAPS, "dependent")


def test_one_owner_is_enough(plane: ControlPlane) -> None:
    """A dependent stays while one owner is left; the reference to the other is taken out."""
    for name in ("one", "two"):
        plane.create(MAPS, {"metadata": {"name": name}})
    owned(plane, "dependent", "one", "two")
    plane.delete(MAPS, "one")
    plane.settle()
    names = [each["name"] for each in plane.get(MAPS, "dependent")["metadata"]["ownerReferences"]]
    plane.delete(MAPS, "two")
    plane.settle()

    assert names == ["two"]
    assert not plane.exists(MAPS, "dependent")


def test_reference_under_a_wrong_name_is_dangling(plane: ControlPlane) -> None:
    """The uid alone does not make an owner."""
    uid = plane.create(MAPS, {"metadata": {"name": "owner"}})["metadata"]["uid"]
    wrong = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": uid}
    plane.create(MAPS, {"metadata": {"name": "dependent", "ownerReferences": [wrong]}})
    plane.settle()

    assert not plane.exists(MAPS, "dependent")


def test_owner_in_another_namespace_is_told_and_does_not_count(plane: ControlPlane) -> None:
    """Owners are in the namespace of their dependents, or in none."""
    uid = plane.create(MAPS, {"metadata": {"name": "owner"}}, "kube-system")["metadata"]["uid"]
    wrong = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    plane.create(MAPS, {"metadata": {"name": "dependent", "ownerReferences": [wrong]}})
    plane.settle()

    assert not plane.exists(MAPS, "dependent")
    assert [reason for reason, _, _ in plane.messages()] == ["OwnerRefInvalidNamespace"]


def test_cluster_wide_object_with_a_namespaced_owner_is_left_alone(plane: ControlPlane) -> None:
    """Nobody knows which namespace would be meant."""
    wrong = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "u"}
    plane.create("nodes", {"metadata": {"name": "n", "ownerReferences": [wrong]}})
    plane.run_for(5)

    assert plane.exists("nodes", "n")


def test_finalizers_of_others_are_respected(plane: ControlPlane) -> None:
    """A dependent that somebody holds is deleted, and stays until it is let go; a foreground owner waits."""
    plane.create(MAPS, {"metadata": {"name": "owner"}})
    owned(plane, "dependent", "owner", blockOwnerDeletion=True)
    plane.patch(MAPS, "dependent", {"metadata": {"finalizers": ["a.b/c"]}})
    plane.delete(MAPS, "owner", "Foreground")
    plane.settle()
    held = plane.exists(MAPS, "owner"), "deletionTimestamp" in plane.get(MAPS, "dependent")["metadata"]
    plane.patch(MAPS, "dependent", {"metadata": {"finalizers": None}})
    plane.settle()

    assert held == (True, True)
    assert not plane.exists(MAPS, "owner")


def test_dependent_that_does_not_block_is_not_waited_for(plane: ControlPlane) -> None:
    """Foreground waits for those that say so."""
    plane.create(MAPS, {"metadata": {"name": "owner"}})
    owned(plane, "dependent", "owner")
    plane.patch(MAPS, "dependent", {"metadata": {"finalizers": ["a.b/c"]}})
    plane.delete(MAPS, "owner", "Foreground")
    plane.settle()

    assert not plane.exists(MAPS, "owner")
    assert plane.exists(MAPS, "dependent")


def test_circles_are_collected(plane: ControlPlane) -> None:
    """Two objects that own and block each other can be deleted in the foreground."""
    plane.create(MAPS, {"metadata": {"name": "one"}})
    owned(plane, "two", "one", blockOwnerDeletion=True)
    uid = plane.get(MAPS, "two")["metadata"]["uid"]
    back = {"apiVersion": "v1", "kind": "ConfigMap", "name": "two", "uid": uid, "blockOwnerDeletion": True}
    plane.patch(MAPS, "one", {"metadata": {"ownerReferences": [back]}})
    plane.delete(MAPS, "one", "Foreground")
    plane.run_for(5)

    assert [name for name in plane.names(MAPS) if name in ("one", "two")] == []


def test_unknown_kinds_are_tried_again(plane: ControlPlane) -> None:
    """An owner of a kind that is not served may be there; nothing is deleted."""
    wrong = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": "u"}
    plane.create(MAPS, {"metadata": {"name": "dependent", "ownerReferences": [wrong]}})
    plane.run_for(5)

    assert plane.exists(MAPS, "dependent")


def test_custom_resources_are_followed(plane: ControlPlane) -> None:
    """A kind that is defined while the collector runs can own, and be owned."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    definition = {"metadata": {"name": "things.example.com"}, "spec": spec}
    plane.create("customresourcedefinitions.apiextensions.k8s.io", definition)
    plane.settle()
    kind = {"apiVersion": "example.com/v1", "kind": "Thing"}
    uid = plane.create("things.example.com", {**kind, "metadata": {"name": "one"}})["metadata"]["uid"]
    reference = {**kind, "name": "one", "uid": uid}
    plane.create("things.example.com", {**kind, "metadata": {"name": "two", "ownerReferences": [reference]}})
    plane.create(MAPS, {"metadata": {"name": "dependent", "ownerReferences": [reference]}})
    plane.settle()
    before = plane.names("things.example.com"), plane.exists(MAPS, "dependent")
    plane.delete("things.example.com", "one")
    plane.settle()
    after = plane.names("things.example.com"), plane.exists(MAPS, "dependent")
    uid = plane.create(MAPS, {"metadata": {"name": "owner"}})["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    plane.create("things.example.com", {**kind, "metadata": {"name": "three", "ownerReferences": [reference]}})
    plane.delete(MAPS, "owner", "Orphan")
    plane.settle()

    assert (before, after) == ((["one", "two"], True), ([], False))
    assert "ownerReferences" not in plane.get("things.example.com", "three")["metadata"]

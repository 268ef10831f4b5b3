"""The namespace controller empties a deleted namespace, pods first, and lets it go; conditions tell what is left."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.errors import new_internal_error
from schedlab.client.inprocess import InProcessClient
from schedlab.client.protocol import Completion, Outcome, Write
from tests.support.control_plane import ControlPlane

FINE = {
    "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("False", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


class Noted(InProcessClient):
    """A client that notes what is written, and refuses to delete objects of one name."""

    def __init__(self, plane: ControlPlane) -> None:
        super().__init__(plane.registry, "controller/1.0")
        self.written: list[str] = []
        self.refused = ""

    def submit(self, write: Write, done: Completion | None = None) -> None:
        self.written.append(f"{write.verb} {write.resource}{'/' * bool(write.subresource)}{write.subresource}")
        if write.verb == "delete" and write.name == self.refused:
            assert done is not None
            done(Outcome(error=new_internal_error("no luck")))
        else:
            super().submit(write, done)


@pytest.fixture
def plane() -> ControlPlane:
    made = ControlPlane("namespace-controller")
    made.create("namespaces", {"metadata": {"name": "x"}})
    made.create("serviceaccounts", {"metadata": {"name": "default"}, "automountServiceAccountToken": False}, "x")
    made.delete("serviceaccounts", "default", namespace="x")
    return made


@pytest.fixture
def noted(plane: ControlPlane) -> Noted:
    client = Noted(plane)
    plane.drive_through(client)
    return client


def pod(**spec: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "none", **spec}
    return {"metadata": {"name": "p"}, "spec": spec}


def conditions(plane: ControlPlane) -> dict[str, tuple[str, str, str]]:
    found = plane.get("namespaces", "x")["status"].get("conditions", ())
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


def test_empty_namespace_goes_at_once(plane: ControlPlane, noted: Noted) -> None:
    """Nothing to delete: the conditions say so, and the finalizer is taken away."""
    plane.delete("namespaces", "x")
    plane.settle()

    assert noted.written == ["update namespaces/status", "update namespaces/finalize"]
    assert not plane.exists("namespaces", "x")


def test_living_namespaces_are_left_alone(plane: ControlPlane, noted: Noted) -> None:
    """A namespace that nobody deleted is no business of the controller."""
    plane.create("configmaps", {"metadata": {"name": "c"}}, "x")
    plane.settle()

    assert noted.written == []


def test_pods_go_before_the_rest(plane: ControlPlane, noted: Noted) -> None:
    """A pod that takes its time keeps what it may use; when it has gone, everything goes."""
    plane.create("configmaps", {"metadata": {"name": "c"}}, "x")
    plane.create("serviceaccounts", {"metadata": {"name": "none"}, "automountServiceAccountToken": False}, "x")
    plane.create("pods", pod(nodeName="n"), "x")
    plane.delete("namespaces", "x")
    plane.run_for(2)
    first = list(noted.written)
    told = conditions(plane)
    plane.delete("pods", "p", grace_s=0, namespace="x")
    plane.run_for(2)

    assert first == ["delete pods", "update namespaces/status"]
    assert told["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: pods. has 1 resource instances",
    )
    assert noted.written[2:] == [
        "delete configmaps",
        "delete serviceaccounts",
        "update namespaces/status",
        "update namespaces/finalize",
    ]
    assert not plane.exists("namespaces", "x")


def test_what_is_held_by_finalizers_is_told(plane: ControlPlane) -> None:
    """Kinds and finalizers are counted; times move only where a condition comes or goes."""
    for name, finalizers in (("a", ["x.y/1"]), ("b", ["x.y/1", "x.y/2"])):
        plane.create("configmaps", {"metadata": {"name": name, "finalizers": finalizers}}, "x")
    meta = {"name": "d", "finalizers": ["x.y/1"]}
    plane.create("leases.coordination.k8s.io", {"metadata": meta}, "x")
    plane.delete("namespaces", "x")
    plane.run_for(2)
    held = conditions(plane)
    times = {each["type"]: each["lastTransitionTime"] for each in plane.get("namespaces", "x")["status"]["conditions"]}
    plane.run_for(10)
    plane.patch("configmaps", "b", {"metadata": {"finalizers": None}}, "x")
    plane.run_for(2)
    less = conditions(plane)
    later = {each["type"]: each["lastTransitionTime"] for each in plane.get("namespaces", "x")["status"]["conditions"]}
    plane.patch("configmaps", "a", {"metadata": {"finalizers": None}}, "x")
    plane.patch("leases.coordination.k8s.io", "d", {"metadata": {"finalizers": None}}, "x")
    plane.run_for(2)

    assert held == {
        **FINE,
        "NamespaceContentRemaining": (
            "True",
            "SomeResourcesRemain",
            (
                "Some resources are remaining: configmaps. has 2 resource instances, "
                "leases.coordination.k8s.io has 1 resource instances"
            ),
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "SomeFinalizersRemain",
            (
                "Some content in the namespace has finalizers remaining: "
                "x.y/1 in 3 resource instances, x.y/2 in 1 resource instances"
            ),
        ),
    }
    assert less["NamespaceFinalizersRemaining"][2].endswith("remaining: x.y/1 in 2 resource instances")
    assert later == times
    assert not plane.exists("namespaces", "x")


def test_failed_deletions_are_told_and_tried_again(plane: ControlPlane, noted: Noted) -> None:
    """The namespace says why it does not go, until it does."""
    plane.create("configmaps", {"metadata": {"name": "stuck"}}, "x")
    noted.refused = "stuck"
    plane.delete("namespaces", "x")
    plane.run_for(2)
    told = conditions(plane)
    noted.refused = ""
    plane.run_for(30)

    assert told["NamespaceDeletionContentFailure"] == (
        "True",
        "ContentDeletionFailed",
        "Failed to delete all resource types, 1 remaining: Internal error occurred: no luck",
    )
    assert not plane.exists("namespaces", "x")


def test_custom_resources_go_with_their_namespace(plane: ControlPlane) -> None:
    """Of definitions that came after the controller, too."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {
        "group": "example.com",
        "names": {"plural": "things", "kind": "Thing"},
        "scope": "Namespaced",
        "versions": [version],
    }
    plane.settle()
    plane.create(
        "customresourcedefinitions.apiextensions.k8s.io", {"metadata": {"name": "things.example.com"}, "spec": spec}
    )
    thing = {"apiVersion": "example.com/v1", "kind": "Thing"}
    plane.create("things.example.com", {**thing, "metadata": {"name": "a"}}, "x")
    plane.create("things.example.com", {**thing, "metadata": {"name": "b", "finalizers": ["x.y/z"]}}, "x")
    plane.create("things.example.com", {**thing, "metadata": {"name": "elsewhere"}})
    plane.delete("namespaces", "x")
    plane.run_for(2)
    told = conditions(plane)["NamespaceContentRemaining"]
    names = plane.names("things.example.com", "x")
    plane.patch("things.example.com", "b", {"metadata": {"finalizers": None}}, "x")
    plane.run_for(2)

    assert names == ["b"]
    assert told[2] == "Some resources are remaining: things.example.com has 1 resource instances"
    assert not plane.exists("namespaces", "x")
    assert plane.names("things.example.com") == ["elsewhere"]

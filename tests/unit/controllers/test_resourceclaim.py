"""Claims of devices are made from templates and taken back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import ControlPlane

CLAIMS, TEMPLATES = "resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io"
SPEC = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.example.com"}}]}}


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("resourceclaim-controller", "garbage-collector-controller")


def make_pod(plane: ControlPlane, name: str = "p", node: str = "", **claim: str) -> None:
    """Store a pod with one claim."""
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}
    spec: dict[str, Any] = {"containers": [container], "resourceClaims": [{"name": "gpu", **claim}]}
    if node:
        spec["nodeName"] = node
    plane.create("pods", {"metadata": {"name": name}, "spec": spec})


def make_template(plane: ControlPlane) -> None:
    """Store the template `t`."""
    plane.create(TEMPLATES, {"metadata": {"name": "t"}, "spec": {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}})


def allocate(plane: ControlPlane, name: str, *pods: str) -> None:
    """Allocate a claim for pods, as the scheduler does."""
    uids = {pod: plane.get("pods", pod)["metadata"]["uid"] for pod in pods}
    plane.patch(CLAIMS, name, {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}})
    reserved = [{"resource": "pods", "name": pod, "uid": uid} for pod, uid in uids.items()]
    status = {"allocation": {"devices": {}}, "reservedFor": reserved}
    plane.patch(CLAIMS, name, {"status": status}, subresource="status")


def test_a_claim_is_made_from_the_template(plane: ControlPlane) -> None:
    """The pod owns it and knows its name; it is made once."""
    make_template(plane)
    make_pod(plane, resourceClaimTemplateName="t")
    plane.settle()
    (claim,) = plane.all(CLAIMS)
    pod = plane.get("pods", "p")

    assert claim["metadata"]["generateName"] == "p-gpu-"
    assert claim["metadata"]["labels"] == {"a": "b"}
    assert claim["metadata"]["annotations"] == {"resource.kubernetes.io/pod-claim-name": "gpu"}
    assert claim["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    assert pod["status"]["resourceClaimStatuses"] == [{"name": "gpu", "resourceClaimName": claim["metadata"]["name"]}]


def test_a_deleted_claim_is_made_anew(plane: ControlPlane) -> None:
    """The pod still needs one."""
    make_template(plane)
    make_pod(plane, resourceClaimTemplateName="t")
    plane.settle()
    before = plane.names(CLAIMS)
    plane.delete(CLAIMS, before[0])
    plane.run_for(1)

    assert len(plane.names(CLAIMS)) == 1
    assert plane.names(CLAIMS) != before


def test_a_missing_template_is_told_and_waited_for(plane: ControlPlane) -> None:
    """When it comes, the pod gets its claim."""
    make_pod(plane, resourceClaimTemplateName="t")
    plane.settle()

    assert plane.messages() == [
        (
            "FailedResourceClaimCreation",
            "p",
            'PodResourceClaim gpu: resource claim template "t": resourceclaimtemplate.resource.k8s.io "t" not found',
        )
    ]
    make_template(plane)
    plane.settle()

    assert len(plane.names(CLAIMS)) == 1


def test_long_names_are_shortened_alike(plane: ControlPlane) -> None:
    """So that both can be recognised."""
    make_template(plane)
    make_pod(plane, "p" * 60, resourceClaimTemplateName="t")
    plane.settle()

    assert plane.all(CLAIMS)[0]["metadata"]["generateName"] == "p" * 52 + "-gp"


def test_the_last_user_frees_the_devices(plane: ControlPlane) -> None:
    """A user's own claim stays, without allocation; one that was made for the pod goes."""
    plane.create(CLAIMS, {"metadata": {"name": "mine"}, "spec": SPEC})
    make_template(plane)
    for name in ("a", "b"):
        make_pod(plane, name, "n", resourceClaimName="mine")
    make_pod(plane, "c", "n", resourceClaimTemplateName="t")
    plane.settle()
    (made,) = [name for name in plane.names(CLAIMS) if name != "mine"]
    allocate(plane, "mine", "a", "b")
    allocate(plane, made, "c")
    plane.finish("a")
    plane.settle()

    assert [each["name"] for each in plane.get(CLAIMS, "mine")["status"]["reservedFor"]] == ["b"]
    plane.delete("pods", "b", grace_s=0)
    plane.finish("c")
    plane.settle()
    mine = plane.get(CLAIMS, "mine")

    assert mine["status"] == {}
    assert "finalizers" not in mine["metadata"]
    assert plane.names(CLAIMS) == ["mine"]


def test_pods_that_came_without_the_scheduler_are_reserved_for(plane: ControlPlane) -> None:
    """If the claim is allocated already."""
    plane.create(CLAIMS, {"metadata": {"name": "mine"}, "spec": SPEC})
    make_pod(plane, "a", "n", resourceClaimName="mine")
    plane.settle()
    allocate(plane, "mine", "a")
    make_pod(plane, "b", "n", resourceClaimName="mine")
    plane.settle()

    assert [each["name"] for each in plane.get(CLAIMS, "mine")["status"]["reservedFor"]] == ["a", "b"]


def test_a_deleted_claim_that_nobody_uses_goes(plane: ControlPlane) -> None:
    """Though it was allocated once."""
    plane.create(CLAIMS, {"metadata": {"name": "mine"}, "spec": SPEC})
    plane.settle()
    allocate(plane, "mine")
    plane.delete(CLAIMS, "mine")
    plane.settle()

    assert plane.names(CLAIMS) == []

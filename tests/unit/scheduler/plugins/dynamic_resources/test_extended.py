"""Extended resources that device classes stand behind: a claim is made for them, allocated, and named in the pod."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.api.views.resource import (
    AllocationResult,
    DeviceClaim,
    DeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from schedlab.apimachinery.errors import new_conflict, new_internal_error
from schedlab.apimachinery.gvk import GroupResource
from schedlab.client.protocol import WatchEvent, Write
from schedlab.scheduler.dra.device_classes import DeviceClasses
from schedlab.scheduler.plugins.dynamic_resources.extended import claim_for_node, requests_and_mappings
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import (
    CLAIMS,
    DeviceCluster,
    Raw,
    claim,
    device_class,
    node,
    pod,
    request,
    slice_of,
)

RESOURCE = "example.com/gpu"
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"
GPU = device_class("gpu", extendedResourceName=RESOURCE)


def cluster_of(*manifests: Raw, gates: dict[str, bool] | None = None) -> DeviceCluster:
    """Node n1 with two devices, node n2 with a device plugin."""
    return DeviceCluster(
        GPU,
        node("n1"),
        node("n2", None, **{RESOURCE: "1"}),
        slice_of("s", "a", "b", node="n1"),
        *manifests,
        gates=gates,
    )


class TestScheduling:
    @pytest.mark.parametrize("name", [RESOURCE, IMPLICIT])
    def test_claim_is_made_and_named(self, name: str) -> None:
        cluster = cluster_of()
        assert cluster.schedule(pod("p", requests={name: "2"})) == ["n1"]

        made = cluster.names(CLAIMS)[0]
        assert made.startswith("p-extended-resources-")
        assert cluster.devices_of(made) == ["container-0-request-0=n1/a", "container-0-request-0=n1/b"]
        status = cluster.get("pods", "p")["status"]["extendedResourceClaimStatus"]
        mapping = {"containerName": "c", "resourceName": name, "requestName": "container-0-request-0"}
        assert status == {"requestMappings": [mapping], "resourceClaimName": made}
        metadata = cluster.get(CLAIMS, made)["metadata"]
        assert metadata["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
        assert metadata["ownerReferences"][0]["uid"] == cluster.get("pods", "p")["metadata"]["uid"]

    def test_device_plugin_goes_before_devices(self) -> None:
        cluster = cluster_of()
        cluster.change("nodes", "n1", lambda raw: raw["spec"].update(unschedulable=True))

        assert cluster.schedule(pod("p", requests={RESOURCE: "1"})) == ["n2"]
        assert cluster.names(CLAIMS) == []

    def test_node_without_the_resource_does_not_fit(self) -> None:
        cluster = cluster_of()
        cluster.schedule(pod("p", requests={RESOURCE: "1", "example.com/other": "1"}))

        assert "Insufficient example.com/other" in cluster.message("p")

    def test_no_devices_left(self) -> None:
        cluster = cluster_of()
        cluster.schedule(pod("p", requests={IMPLICIT: "2"}), pod("q", requests={IMPLICIT: "1"}))

        assert cluster.node_of("q") == ""
        assert "cannot allocate all claims" in cluster.message("q")

    def test_devices_of_claims_and_of_resources_are_kept_apart(self) -> None:
        cluster = cluster_of(claim("c", request()))
        assert cluster.schedule(pod("p", "c", requests={IMPLICIT: "1"})) == ["n1"]

        made = next(name for name in cluster.names(CLAIMS) if name != "c")
        assert cluster.devices_of("c") == ["r=n1/a"]
        assert cluster.devices_of(made) == ["container-0-request-0=n1/b"]

    def test_feature_off_leaves_the_resource_to_nodes(self) -> None:
        cluster = cluster_of(gates={"DRAExtendedResource": False})

        assert cluster.schedule(pod("p", requests={RESOURCE: "1"})) == ["n2"]
        assert cluster.names(CLAIMS) == []

    def test_claim_that_a_former_attempt_left_is_deleted_first(self) -> None:
        cluster = cluster_of()
        made = cluster.add(pod("p", requests={IMPLICIT: "1"}, schedulingGates=[{"name": "wait"}]))
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": made.uid, "controller": True}
        annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
        metadata = {
            "ownerReferences": [owner],
            "annotations": annotations,
            "finalizers": ["resource.kubernetes.io/delete-protection"],
        }
        cluster.add(claim("left", request(), metadata=metadata))
        cluster.change("pods", "p", lambda raw: raw["spec"].pop("schedulingGates"))
        cluster.run()

        first = cluster.failures()[0]
        assert "2 cannot schedule extended resource claim. deletion of ResourceClaim completed" in first
        assert "left" not in cluster.names(CLAIMS)
        # Nothing wakes the pod but the flush of those that wait for long.
        cluster.advance(330)
        assert cluster.node_of("p") == "n1"


class TestSlowInformer:
    """The pod is bound once the scheduler has heard of the claim that it made, or gives up waiting for that."""

    def waiting(self) -> DeviceCluster:
        cluster = cluster_of()
        cluster.informers.lister(CLAIMS).stop()
        assert cluster.schedule(pod("p", requests={IMPLICIT: "1"})) == [""]
        assert cluster.about("pods") == ["patch status", "patch status"]
        return cluster

    def test_claim_is_heard_of(self) -> None:
        cluster = self.waiting()
        made = cluster.registry.get(CLAIMS, cluster.names(CLAIMS)[0], "default")
        other = StoredObject.encode(CLAIMS, claim("other"), 1)
        cluster.scheduler.handle(WatchEvent("ADDED", other))
        cluster.run()
        assert cluster.node_of("p") == ""

        cluster.scheduler.handle(WatchEvent("ADDED", made))
        cluster.run()
        assert cluster.node_of("p") == "n1"
        assert len(cluster.scheduler.devices.claims.allocated_state().devices) == 1

    def test_claim_is_never_heard_of(self) -> None:
        cluster = self.waiting()
        cluster.advance(119)
        assert cluster.node_of("p") == ""
        cluster.advance(1)
        assert cluster.node_of("p") == "n1"


class TestFailures:
    def fail(self, cluster: DeviceCluster, kind: str, resource: str = CLAIMS) -> str:
        cause = new_internal_error("no")

        def refuse(write: Write) -> Any:
            said = f"{write.verb} {write.subresource}".strip()
            is_it = write.resource == resource and said == kind and "Claim" in str(write.body)
            return cause if is_it else None

        cluster.refuse = refuse
        cluster.schedule(pod("p", requests={IMPLICIT: "1"}))
        cluster.refuse = lambda _: None
        return cluster.failures()[0].removesuffix(f": {cause}")

    def test_claim_cannot_be_created(self) -> None:
        cluster = cluster_of()
        failed = 'running PreBind plugin "DynamicResources": create claim for extended resources default/'
        assert self.fail(cluster, "create") == failed
        assert cluster.names(CLAIMS) == []

        cluster.advance(10)
        assert cluster.node_of("p") == "n1"

    def test_created_claim_is_deleted_when_it_cannot_be_allocated(self) -> None:
        cluster = cluster_of()
        assert "add allocation and reservation to claim" in self.fail(cluster, "update status")
        cluster.advance(0.1)
        assert cluster.names(CLAIMS) == []

        cluster.advance(10)
        assert cluster.node_of("p") == "n1"
        assert len(cluster.names(CLAIMS)) == 1

    def test_allocated_claim_is_deleted_when_the_pod_cannot_be_told(self) -> None:
        cluster = cluster_of()
        failed = 'running PreBind plugin "DynamicResources": update pod default/p ExtendedResourceClaimStatus'
        assert self.fail(cluster, "patch status", "pods") == failed
        cluster.advance(0.1)
        assert cluster.names(CLAIMS) == []

        cluster.schedule(pod("q", requests={IMPLICIT: "2"}))
        assert cluster.node_of("q") == "n1"

    @pytest.mark.parametrize("conflicts", [1, 9])
    def test_deletion_survives_conflicts(self, conflicts: int) -> None:
        cluster = cluster_of()
        conflict = new_conflict(GroupResource("resource.k8s.io", "resourceclaims"), "c", "changed")
        left = [new_internal_error("no"), *[conflict] * conflicts]

        def refuse(write: Write) -> Any:
            is_it = write.resource == CLAIMS and write.verb == "update" and len(left) > 0
            return left.pop(0) if is_it else None

        cluster.refuse = refuse
        cluster.schedule(pod("p", requests={IMPLICIT: "1"}))
        cluster.advance(0.2)

        assert len(cluster.names(CLAIMS)) == (0 if conflicts == 1 else 1)


def classes(*names: str) -> DeviceClasses:
    known = DeviceClasses()
    cluster = DeviceCluster(*(device_class(name, extendedResourceName=f"example.com/{name}") for name in names))
    for name in names:
        found = cluster.scheduler.devices.classes.get(name)
        known.observe(None, found)
    return known


def container(name: str, restart: str = "", **amounts: str) -> Raw:
    requests = {f"example.com/{key}": value for key, value in amounts.items()}
    return {"name": name, "resources": {"requests": requests}, **({"restartPolicy": restart} if restart else {})}


CASES: tuple[tuple[str, list[Raw], list[Raw], dict[str, int], list[str]], ...] = (
    (
        "each container has a request of its own",
        [],
        [container("a", gpu="1"), container("b", gpu="2")],
        {"container-0-request-0": 1, "container-1-request-0": 2},
        ["a=container-0-request-0", "b=container-1-request-0"],
    ),
    (
        "requests are numbered by the names of all resources of the container",
        [],
        [container("a", net="1", gpu="1")],
        {"container-0-request-0": 1, "container-0-request-1": 1},
        ["a=container-0-request-0", "a=container-0-request-1"],
    ),
    (
        "an init container uses what later containers have",
        [container("i", gpu="2")],
        [container("a", gpu="1"), container("b", gpu="2")],
        {"container-1-request-0": 1, "container-2-request-0": 2},
        [
            "a=container-1-request-0",
            "b=container-2-request-0",
            "i=container-1-request-0",
            "i=container-2-request-0",
        ],
    ),
    (
        "what is missing is requested once, as much as the neediest init container needs",
        [container("i", gpu="3"), container("j", gpu="5")],
        [container("a", gpu="1")],
        {"container-1-request-0": 4, "container-2-request-0": 1},
        [
            "a=container-2-request-0",
            "i=container-2-request-0",
            "i=container-1-request-0",
            "j=container-2-request-0",
            "j=container-1-request-0",
        ],
    ),
    (
        "a sidecar runs for long, and is only shared with init containers before it",
        [container("i", gpu="1"), container("s", "Always", gpu="1"), container("j", gpu="2")],
        [container("a", gpu="1")],
        {"container-1-request-0": 1, "container-2-request-0": 1, "container-3-request-0": 1},
        [
            "s=container-1-request-0",
            "a=container-3-request-0",
            "i=container-1-request-0",
            "j=container-3-request-0",
            "j=container-2-request-0",
        ],
    ),
    ("nothing is requested for nothing", [], [container("a", gpu="0"), container("b")], {}, []),
)


@pytest.mark.parametrize(
    ("init", "containers", "counts", "mapped"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_requests_and_mappings(
    init: list[Raw], containers: list[Raw], counts: dict[str, int], mapped: list[str]
) -> None:
    """Containers that run for long have their own devices; init containers share."""
    given = make_pod("p").set("spec.initContainers", init).set("spec.containers", containers).view()
    resources = ["example.com/gpu", "example.com/net", "example.com/none"]

    requests, mappings = requests_and_mappings(given, resources, classes("gpu", "net"))

    assert {each.name: each.exactly.count for each in requests if each.exactly is not None} == counts
    assert [f"{each.container_name}={each.request_name}" for each in mappings] == mapped


class TestClaimForNode:
    """A claim is made for what the node does not offer itself."""

    POD = make_pod("p").req({RESOURCE: "1"}).obj()

    def made(self, claim: ResourceClaim, *, has_user_claims: bool = False, **offered: str) -> tuple[Any, Any, Any]:
        allocatable = {f"example.com/{name}": amount for name, amount in offered.items()}
        node = make_node("n").capacity(allocatable).obj()
        resources = {RESOURCE: 1, "example.com/other": 1, "example.com/none": 0, "hugepages-2Mi": 1}
        return claim_for_node(claim, resources, self.POD.pod, node, classes("gpu"), has_user_claims=has_user_claims)

    def test_resource_that_nobody_offers_does_not_fit(self) -> None:
        assert self.made(ResourceClaim())[2].message == "cannot fit resource"

    def test_node_that_offers_everything_needs_none(self) -> None:
        assert self.made(ResourceClaim(), gpu="1", other="1") == (None, (), None)
        claim, mappings, status = self.made(ResourceClaim(), gpu="1", other="1", has_user_claims=True)
        assert (claim, mappings, status) == (ResourceClaim(), (), None)

    def test_node_with_none_of_it_left_is_asked_for_devices(self) -> None:
        claim, mappings, status = self.made(ResourceClaim(), gpu="0", other="1")
        assert [each.name for each in claim.spec.devices.requests] == ["container-0-request-0"]
        assert len(mappings) == 1
        assert status is None

    def test_claim_of_a_former_attempt_is_in_the_way(self) -> None:
        left = ResourceClaim(spec=ResourceClaimSpec(DeviceClaim((DeviceRequest("r"),))))
        assert self.made(left)[2].message == "cannot schedule extended resource claim"

    def test_claim_that_has_devices_is_left_alone(self) -> None:
        done = ResourceClaim(status=ResourceClaimStatus(AllocationResult()))
        assert self.made(done, gpu="0", other="1") == (None, (), None)

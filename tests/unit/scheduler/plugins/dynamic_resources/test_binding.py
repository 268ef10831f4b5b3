"""Before a pod is bound its claims are allocated and reserved for it; what fails is taken back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from schedlab.apimachinery.errors import StatusError, new_conflict, new_internal_error
from schedlab.apimachinery.gvk import GroupResource
from schedlab.client.protocol import Write
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import (
    CLAIMS,
    DRIVER,
    DeviceCluster,
    Raw,
    allocated,
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
)

FINALIZER = "resource.kubernetes.io/delete-protection"
GPU = device_class("gpu")
RESOURCE = GroupResource("resource.k8s.io", "resourceclaims")
CONFLICT = new_conflict(RESOURCE, "c", "changed")


def one_node(*manifests: Raw, devices: int = 2) -> DeviceCluster:
    names = [f"d{number}" for number in range(devices)]
    return DeviceCluster(GPU, node("n1"), slice_of("s", *names, node="n1"), *manifests)


def once(error: StatusError, *kinds: str) -> Callable[[Write], StatusError | None]:
    """Answer the first write of these kinds (verb and subresource) about claims with an error."""
    left = list(kinds)

    def refuse(write: Write) -> StatusError | None:
        kind = f"{write.verb} {write.subresource}".strip()
        if write.resource != CLAIMS or kind not in left:
            return None
        left.remove(kind)
        return error

    return refuse


class TestWrites:
    def test_claim_gets_finalizer_devices_and_consumer(self) -> None:
        cluster = one_node(claim("c", request(count=2)))
        assert cluster.schedule(pod("p", "c")) == ["n1"]

        made = cluster.get(CLAIMS, "c")
        assert made["metadata"]["finalizers"] == [FINALIZER]
        assert made["status"]["allocation"]["allocationTimestamp"] == "2026-01-01T00:00:00Z"
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
        assert made["status"]["allocation"]["nodeSelector"] == {"nodeSelectorTerms": [term]}
        uid = cluster.get("pods", "p")["metadata"]["uid"]
        assert made["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": uid}]
        assert cluster.about(CLAIMS) == ["update", "update status"]

    def test_second_pod_only_reserves(self) -> None:
        cluster = one_node(claim("c", request()))

        assert cluster.schedule(pod("p", "c"), pod("q", "c")) == ["n1", "n1"]
        assert cluster.about(CLAIMS) == ["update", "update status", "update status"]
        assert [each["name"] for each in cluster.get(CLAIMS, "c")["status"]["reservedFor"]] == ["p", "q"]

    def test_claim_that_is_reserved_already_is_left_alone(self) -> None:
        cluster = one_node(claim("c", request(), status=allocated("n1/d0", node="n1")))
        uid = cluster.add(pod("p", "c", schedulingGates=[{"name": "wait"}])).uid
        consumer = {"resource": "pods", "name": "p", "uid": uid}
        cluster.change(CLAIMS, "c", lambda raw: raw["status"].update(reservedFor=[consumer]))
        cluster.change("pods", "p", lambda raw: raw["spec"].pop("schedulingGates"))
        cluster.run()

        assert cluster.node_of("p") == "n1"
        assert cluster.about(CLAIMS) == []

    def test_claims_are_written_one_after_the_other(self) -> None:
        cluster = one_node(claim("c", request()), claim("d", request()))
        cluster.schedule(pod("p", "c", "d"))

        assert cluster.devices_of("c") == ["r=n1/d0"]
        assert cluster.devices_of("d") == ["r=n1/d1"]
        assert cluster.about(CLAIMS) == ["update", "update status"] * 2

    def test_without_binding_conditions_there_is_no_time(self) -> None:
        cluster = DeviceCluster(
            GPU,
            node("n1"),
            slice_of("s", "a", node="n1"),
            claim("c", request()),
            gates={"DRADeviceBindingConditions": False},
        )
        cluster.schedule(pod("p", "c"))

        assert "allocationTimestamp" not in cluster.get(CLAIMS, "c")["status"]["allocation"]


class TestUnderWay:
    def test_devices_are_taken_before_they_are_written(self) -> None:
        cluster = one_node(claim("c", request()), claim("d", request()), devices=1)
        cluster.held = lambda write: write.resource == CLAIMS
        cluster.schedule(pod("p", "c"), pod("q", "d"))
        assert "cannot allocate all claims" in cluster.message("q")

        cluster.held = lambda _: False
        cluster.finish(cluster.pending.pop())
        assert cluster.node_of("p") == "n1"

    def test_claim_under_way_is_waited_for(self) -> None:
        cluster = one_node(claim("c", request()))
        cluster.held = lambda write: write.resource == CLAIMS
        cluster.schedule(pod("p", "c"), pod("q", "c"))
        assert "resource claim default/c is in the process of being allocated" in cluster.message("q")

        cluster.held = lambda _: False
        cluster.finish(cluster.pending.pop())
        cluster.advance(10)
        assert cluster.node_of("q") == "n1"


class TestConflicts:
    @pytest.mark.parametrize("kinds", [("update",), ("update status",), ("update", "update status")])
    def test_conflict_is_tried_again_with_the_claim_as_it_is(self, kinds: tuple[str, ...]) -> None:
        cluster = one_node(claim("c", request()))
        cluster.refuse = once(CONFLICT, *kinds)
        cluster.schedule(pod("p", "c"))
        assert cluster.node_of("p") == ""

        cluster.advance(0.1)
        assert cluster.node_of("p") == "n1"
        assert cluster.get(CLAIMS, "c")["metadata"]["finalizers"] == [FINALIZER]

    def test_too_many_conflicts_fail_the_pod(self) -> None:
        cluster = one_node(claim("c", request()))
        cluster.refuse = lambda write: CONFLICT if write.resource == CLAIMS else None
        cluster.schedule(pod("p", "c"))
        cluster.advance(0.1)

        assert cluster.about(CLAIMS) == ["update"] * 5
        failed = f'running PreBind plugin "DynamicResources": add finalizer to claim default/c: {CONFLICT}'
        assert cluster.message("p") == failed

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (lambda raw: raw.update(status=allocated("n1/d1")), "got allocated elsewhere in the meantime"),
            (None, "got deleted in the meantime"),
        ],
    )
    def test_claim_that_changed_meanwhile_is_given_up(
        self, change: Callable[[Raw], object] | None, reason: str
    ) -> None:
        cluster = one_node(claim("c", request(), metadata={"finalizers": ["a/b"]}))
        cluster.refuse = once(CONFLICT, "update status")
        cluster.schedule(pod("p", "c"))
        if change is None:
            cluster.remove(CLAIMS, "c")
        else:
            cluster.change(CLAIMS, "c", change)
        cluster.advance(0.1)

        assert cluster.message("p") == f'running PreBind plugin "DynamicResources": claim default/c {reason}'

    def test_claim_that_is_gone_is_given_up(self) -> None:
        cluster = one_node(claim("c", request()))
        cluster.refuse = once(CONFLICT, "update status")
        cluster.schedule(pod("p", "c"))
        cluster.change(CLAIMS, "c", lambda raw: raw["metadata"].pop("finalizers"))
        cluster.remove(CLAIMS, "c")
        cluster.advance(0.1)

        cause = 'get updated claim default/c after conflict: resourceclaims.resource.k8s.io "c" not found'
        assert cluster.message("p") == f'running PreBind plugin "DynamicResources": {cause}'

    def test_claim_that_lost_its_devices_is_given_up(self) -> None:
        cluster = one_node(claim("c", request(), status=allocated("n1/d0", node="n1")))
        cluster.refuse = once(CONFLICT, "update status")
        cluster.schedule(pod("p", "c"))
        cluster.change(CLAIMS, "c", lambda raw: raw.update(status={}))
        cluster.advance(0.1)

        assert cluster.message("p").endswith("claim default/c got deallocated elsewhere in the meantime")


class TestFailures:
    @pytest.mark.parametrize(
        ("kind", "status", "what"),
        [
            ("update", None, "add finalizer to claim default/c"),
            ("update status", None, "add allocation and reservation to claim default/c"),
            ("update status", allocated("n1/d0", node="n1"), "add reservation to claim default/c"),
        ],
    )
    def test_other_errors_fail_the_pod(self, kind: str, status: Raw | None, what: str) -> None:
        cluster = one_node(claim("c", request(), status=status))
        cause = new_internal_error("no")
        cluster.refuse = once(cause, kind)
        cluster.schedule(pod("p", "c"))
        assert cluster.message("p") == f'running PreBind plugin "DynamicResources": {what}: {cause}'

        cluster.advance(10)
        assert cluster.node_of("p") == "n1"

    def test_devices_of_a_failed_binding_are_free_again(self) -> None:
        cluster = one_node(claim("c", request()), claim("d", request()), devices=1)
        cluster.refuse = once(new_internal_error("no"), "update")
        cluster.schedule(pod("p", "c"))
        assert cluster.node_of("p") == ""
        assert cluster.schedule(pod("q", "d")) == ["n1"]

    def test_written_reservations_are_taken_back(self) -> None:
        cluster = one_node(claim("c", request()), claim("d", request()))
        cluster.refuse = lambda write: new_internal_error("no") if write.name == "d" else None
        cluster.schedule(pod("p", "c", "d"))

        assert cluster.about(CLAIMS) == ["update", "update status", "update", "patch status"]
        assert cluster.get(CLAIMS, "c")["status"].get("reservedFor", []) == []
        assert cluster.devices_of("c") == ["r=n1/d0"]

        cluster.refuse = lambda _: None
        cluster.advance(10)
        assert cluster.node_of("p") == "n1"


class TestConditions:
    """A device with binding conditions: the pod waits until its driver says that they are met."""

    READY = device("a", bindingConditions=["Ready"], bindingFailureConditions=["Broken"], bindsToNode=True)

    def cluster(self) -> DeviceCluster:
        everywhere = slice_of("s", self.READY, pool="shared", allNodes=True)
        cluster = DeviceCluster(GPU, node("n1"), everywhere, claim("c", request()))
        assert cluster.schedule(pod("p", "c")) == [""]
        note = "BindingConditionsPending: waiting for binding conditions for device on node n1"
        assert cluster.events() == [note]
        return cluster

    def report(self, cluster: DeviceCluster, kind: str, status: str = "True") -> None:
        condition = {
            "type": kind,
            "status": status,
            "reason": "Said",
            "message": "so",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        entry = {"driver": DRIVER, "pool": "shared", "device": "a", "conditions": [condition]}
        cluster.change(CLAIMS, "c", lambda raw: raw["status"].update(devices=[entry]))

    def test_pod_is_bound_when_they_are_met(self) -> None:
        cluster = self.cluster()
        self.report(cluster, "Ready", "False")
        cluster.advance(5)
        assert cluster.node_of("p") == ""

        self.report(cluster, "Ready")
        cluster.advance(4)
        assert cluster.node_of("p") == ""
        cluster.advance(1)
        assert cluster.node_of("p") == "n1"

    def test_failure_ends_the_wait_and_frees_the_device(self) -> None:
        cluster = self.cluster()
        self.report(cluster, "Broken")
        cluster.advance(5)
        failed = 'device binding failed: claim=c, reason=Said, message="so"'
        assert cluster.message("p") == f'running PreBind plugin "DynamicResources": {failed}'

        cluster.advance(10)
        assert "deallocation of ResourceClaim completed" in cluster.failures()[0]
        # Then it is tried again.
        assert cluster.devices_of("c") == ["r=shared/a"]

    def test_wait_has_an_end(self) -> None:
        cluster = self.cluster()
        for _ in range(120):
            cluster.advance(5)

        timed_out = "device binding timeout: context deadline exceeded"
        assert cluster.message("p") == f'running PreBind plugin "DynamicResources": {timed_out}'

    def test_overdue_claim_is_deallocated(self) -> None:
        status = allocated("shared/a", node="n1", bindingConditions=["Ready"])
        status["allocation"]["allocationTimestamp"] = "2025-12-31T23:49:59Z"
        everywhere = slice_of("s", self.READY, pool="shared", allNodes=True)
        cluster = DeviceCluster(GPU, node("n1"), everywhere, claim("c", request(), status=status))
        cluster.schedule(pod("p", "c"))

        assert "1 resourceclaim not available on the node" in cluster.failures()[0]
        assert cluster.about(CLAIMS)[0] == "update status"

    def test_claim_that_goes_while_it_is_waited_for(self) -> None:
        cluster = self.cluster()
        cluster.change(CLAIMS, "c", lambda raw: raw["metadata"].pop("finalizers"))
        cluster.remove(CLAIMS, "c")
        cluster.advance(5)

        assert cluster.message("p").endswith('could not find ResourceClaim "default/c"')


class TestDeallocation:
    def test_claim_that_keeps_the_pod_from_every_node_is_deallocated(self) -> None:
        given = claim("c", request(), status=allocated("n1/d0", node="gone"))
        cluster = one_node(given)
        cluster.schedule(pod("p", "c"))

        said = "0/1 nodes are available: 1 resourceclaim not available on the node. deallocation of ResourceClaim completed"
        assert cluster.failures()[0].startswith(said)
        assert cluster.node_of("p") == "n1"

    def test_claim_that_others_use_is_not(self) -> None:
        given = claim("c", request(), status=allocated("n1/d0", node="gone", reserved_for=["a"]))
        cluster = one_node(given)
        cluster.schedule(pod("p", "c"))

        assert "still not schedulable" in cluster.message("p")
        assert cluster.about(CLAIMS) == []

    def test_any_of_several_goes(self) -> None:
        away = [claim(name, request(), status=allocated(f"n1/{name}", node="gone")) for name in ("a", "b", "c")]
        cluster = one_node(*away)
        cluster.schedule(pod("p", "a", "b", "c"))

        gone = [each.failure_message for each in cluster.ears.cycles]
        assert len([message for message in gone if "deallocation of ResourceClaim completed" in message]) == 3

"""DynamicResources gates pods until their claims are there, then finds a node with devices for them."""

from __future__ import annotations

import pytest

from schedlab.apimachinery.features import FeatureGates
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import SKIP
from schedlab.scheduler.plugins.dynamic_resources import DynamicResources
from schedlab.testing.builders import make_pod
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import (
    CLAIMS,
    CLASSES,
    SLICES,
    DeviceCluster,
    Raw,
    allocated,
    claim,
    device,
    device_class,
    either,
    node,
    pod,
    request,
    slice_of,
)

GPU = device_class("gpu")
CANNOT = "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, preemption: "


def two_nodes() -> tuple[Raw, ...]:
    """Devices a (fast) on node n1, b and c (slow) on node n2."""
    fast, slow = {"fast": True}, {"fast": False}
    return (
        GPU,
        node("n1"),
        node("n2"),
        slice_of("s1", device("a", attributes=fast), node="n1"),
        slice_of("s2", device("b", attributes=slow), device("c", attributes=slow), node="n2"),
    )


class TestQueueing:
    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            (pod("p", "c"), 'could not find ResourceClaim "default/c"'),
            (pod("p", template="t"), 'pod "default/p": ResourceClaim not created yet'),
        ],
    )
    def test_pod_waits_for_its_claims(self, given: Raw, reason: str) -> None:
        cluster = DeviceCluster(*two_nodes())

        assert cluster.schedule(given) == [""]
        assert cluster.ears.gates == [f"DynamicResources: {reason}"]
        assert cluster.ears.cycles == []

    def test_claim_that_appears_lets_the_pod_in(self) -> None:
        cluster = DeviceCluster(*two_nodes())
        cluster.schedule(pod("p", "c"))
        cluster.add(claim("c", request()))
        cluster.run()

        assert cluster.node_of("p")

    def test_claim_that_goes_keeps_the_pod_out(self) -> None:
        cluster = DeviceCluster(*two_nodes(), claim("c", request(), metadata={"finalizers": ["a/b"]}))
        cluster.remove(CLAIMS, "c")

        assert cluster.schedule(pod("p", "c")) == [""]
        assert cluster.ears.gates == ['DynamicResources: resourceclaim "c" is being deleted']

    def test_generated_claim_must_be_owned_by_the_pod(self) -> None:
        cluster = DeviceCluster(*two_nodes(), claim("p-made", request()))
        given = pod("p", template="t")
        given["status"] = {"resourceClaimStatuses": [{"name": "made", "resourceClaimName": "p-made"}]}
        made = cluster.add(given)
        cluster.run()
        assert cluster.ears.gates[-1].endswith("ResourceClaim not created yet")
        assert cluster.node_of("p") == ""

        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": made.uid, "controller": True}
        cluster.change(CLAIMS, "p-made", lambda raw: raw["metadata"].update(ownerReferences=[owner]))
        cluster.change(CLAIMS, "p-made", lambda raw: raw.update(status=allocated("n1/a", node="n1")))
        cluster.run()
        assert cluster.node_of("p") == "n1"

    def test_template_that_needs_no_claim_is_passed_over(self) -> None:
        cluster = DeviceCluster(*two_nodes())
        given = pod("p", template="t")
        given["status"] = {"resourceClaimStatuses": [{"name": "made"}]}
        cluster.add(given)
        cluster.run()

        assert cluster.node_of("p")

    def test_pods_with_claims_are_not_signed(self) -> None:
        cluster = DeviceCluster()
        plugin = cluster.scheduler.profiles["default-scheduler"].plugin("DynamicResources")
        assert plugin is not None

        with_claims = plugin.sign_pod(make_pod("p").set("spec.resourceClaims", [{"name": "x"}]).obj())
        plain = plugin.sign_pod(make_pod("q").obj())

        assert with_claims[1].message == "pods with dra resource claims are not signable"
        assert plain == (None, None)


class TestPodsWithoutClaims:
    def test_everything_is_skipped(self) -> None:
        cluster = DeviceCluster(*two_nodes())
        assert cluster.schedule(pod("p")) != [""]
        cycle = cluster.ears.cycles[0]

        assert cycle.pre_filter["DynamicResources"] == SKIP
        assert cycle.score is not None
        row = cycle.score.plugins.index("DynamicResources")
        assert cycle.score.raw[row].tolist() == [0, 0]

    def test_post_filter_has_nothing_to_do(self) -> None:
        cluster = DeviceCluster()
        cluster.add(node("n1", cpu="0"))
        cluster.schedule(pod("p", requests={"cpu": "1"}))

        assert "no new claims to deallocate" in cluster.message("p")

    def test_points_without_a_pre_filter_are_errors(self) -> None:
        cluster = DeviceCluster()
        plugin: DynamicResources = cluster.scheduler.profiles["default-scheduler"].plugin("DynamicResources")  # type: ignore[assignment]
        state = CycleState()
        assert plugin.filter(state, None, None).error == "not found"  # type: ignore[arg-type,union-attr]
        assert plugin.post_filter(state, None, None)[1].error == "not found"  # type: ignore[arg-type,union-attr]
        assert plugin.reserve(state, None, "n").error == "not found"  # type: ignore[arg-type,union-attr]
        assert plugin.pre_bind(state, None, "n").error == "not found"  # type: ignore[arg-type,union-attr]
        assert plugin.pre_bind_pre_flight(state, None, "n").error == "not found"  # type: ignore[arg-type,union-attr]
        plugin.unreserve(state, None, "n")  # type: ignore[arg-type]


class TestFiltering:
    def test_only_nodes_with_devices_are_left(self) -> None:
        cluster = DeviceCluster(*two_nodes(), claim("c", request(count=2)))

        assert cluster.schedule(pod("p", "c")) == ["n2"]
        assert cluster.devices_of("c") == ["r=n2/b", "r=n2/c"]

    def test_devices_are_given_once(self) -> None:
        fast = 'device.attributes["gpu.example.com"].fast'
        cluster = DeviceCluster(
            *two_nodes(), claim("c", request("r", "gpu", fast)), claim("d", request("r", "gpu", fast))
        )

        assert cluster.schedule(pod("p", "c"), pod("q", "d")) == ["n1", ""]
        assert cluster.message("q").startswith("0/2 nodes are available: 2 cannot allocate all claims.")

    def test_allocated_claim_binds_to_its_node(self) -> None:
        cluster = DeviceCluster(*two_nodes(), claim("c", request(), status=allocated("n2/b", node="n2")))

        assert cluster.schedule(pod("p", "c")) == ["n2"]
        cycle = cluster.ears.cycles[0]
        assert cycle.filter is not None

    def test_class_must_exist(self) -> None:
        cluster = DeviceCluster(node("n1"), claim("c", request()), claim("d", either("r", request("a", "gpu"))))
        cluster.schedule(pod("p", "c"), pod("q", "d"))

        assert "request r: device class gpu does not exist" in cluster.message("p")
        assert "request r/a: device class gpu does not exist" in cluster.message("q")

        cluster.add(GPU)
        cluster.add(slice_of("s", "a", "b", node="n1"))
        cluster.advance(10)
        assert cluster.node_of("p") == cluster.node_of("q") == "n1"

    @pytest.mark.parametrize(
        ("wanted", "status"),
        [
            ({"name": "r"}, "resource claim default/c, request r: unknown request type"),
            ({"name": "r", "exactly": {"deviceClassName": ""}}, "request r: unsupported request type"),
        ],
    )
    def test_requests_of_unknown_kinds_are_refused(self, wanted: Raw, status: str) -> None:
        cluster = DeviceCluster(node("n1"), GPU, claim("c", wanted))
        cluster.schedule(pod("p", "c"))

        assert status in cluster.message("p")

    def test_alternatives_need_their_feature(self) -> None:
        off = {"DRAPrioritizedList": False}
        cluster = DeviceCluster(*two_nodes(), claim("c", either("r", request("a"))), gates=off)
        cluster.schedule(pod("p", "c"))

        expected = "request r: has subrequests, but the DRAPrioritizedList feature is disabled"
        assert f"resource claim default/c, {expected}" in cluster.message("p")

    def test_selector_that_fails_fails_the_pod(self) -> None:
        wrong = 'device.attributes["gpu.example.com"].slow'
        cluster = DeviceCluster(*two_nodes(), claim("c", request("r", "gpu", wrong)))
        cluster.schedule(pod("p", "c"))

        failed = "claim default/c: selector #0: CEL runtime error: no such key: slow"
        assert cluster.message("p") == f'running "DynamicResources" filter plugin: {failed}'

    def test_invalid_pools_are_mentioned_only_if_nothing_else_fits(self) -> None:
        twice = slice_of("bad", "a", "a", node="n1", pool="bad")
        cluster = DeviceCluster(GPU, node("n1"), twice, claim("c", request()))
        cluster.schedule(pod("p", "c"))
        assert "1 invalid resource pools were encountered" in cluster.message("p")

        cluster.add(slice_of("good", "a", node="n1", pool="good"))
        cluster.advance(10)
        assert cluster.node_of("p") == "n1"

    def test_node_selector_that_cannot_be_parsed_is_an_error(self) -> None:
        status = allocated("n1/a")
        expression = {"key": "a", "operator": "Near", "values": ["b"]}
        status["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        cluster = DeviceCluster(*two_nodes(), claim("c", request(), status=status))
        cluster.schedule(pod("p", "c"))

        assert cluster.message("p").startswith('running PreFilter plugin "DynamicResources": nodeSelectorTerms[0]')


class TestScoring:
    def test_first_alternatives_win(self) -> None:
        fast = request("fast", "gpu", 'device.attributes["gpu.example.com"].fast')
        cluster = DeviceCluster(*two_nodes(), claim("c", either("r", fast, request("any"))))

        assert cluster.schedule(pod("p", "c")) == ["n1"]
        assert cluster.devices_of("c") == ["r/fast=n1/a"]
        score = cluster.ears.cycles[0].score
        assert score is not None
        row = score.plugins.index("DynamicResources")
        assert sorted(score.raw[row].tolist()) == [7, 8]
        assert sorted(score.final[row].tolist()) == [2 * 87, 2 * 100]

    def test_without_the_feature_nothing_is_scored(self) -> None:
        cluster = DeviceCluster(*two_nodes(), claim("c", request()), gates={"DRAPrioritizedList": False})
        cluster.schedule(pod("p", "c"))
        score = cluster.ears.cycles[0].score

        assert score is not None
        assert not score.raw[score.plugins.index("DynamicResources")].any()


def test_default_gates_are_those_the_search_knows() -> None:
    """What the search leaves out is off by default."""
    gates = FeatureGates.default()

    assert not any(
        gates.enabled(name)
        for name in ("DRAListTypeAttributes", "DRANodeAllocatableResources", "DRAWorkloadResourceClaims")
    )


def test_slices_and_classes_may_change() -> None:
    """A device that is gone is not given, a class that is gone stops new claims."""
    cluster = DeviceCluster(
        GPU, node("n1"), slice_of("s", "a", node="n1"), claim("c", request()), claim("d", request())
    )
    cluster.remove(SLICES, "s")
    cluster.schedule(pod("p", "c"))
    assert cluster.message("p").startswith(CANNOT)

    cluster.add(slice_of("s", "a", node="n1"))
    cluster.advance(10)
    assert cluster.node_of("p") == "n1"

    cluster.remove(CLASSES, "gpu")
    cluster.schedule(pod("q", "d"))
    assert "device class gpu does not exist" in cluster.message("q")

"""Services have slices with the addresses of their pods."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.controllers.endpointslice.slices import new_endpoint
from schedlab.controllers.framework.services import LAST_CHANGE
from tests.support.control_plane import ControlPlane, Object
from tests.support.services import SLICES, add_pod, add_service, set_ready, slices_of

OVERLOAD = "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold"
ZONE = "topology.kubernetes.io/zone"


@pytest.fixture
def plane() -> ControlPlane:
    plane = ControlPlane("endpointslice-controller")
    plane.node("n1", **{ZONE: "z"})
    return plane


def ready_nodes(plane: ControlPlane, cpu: dict[str, str]) -> None:
    """Store a ready node in each zone, with so much CPU."""
    for zone, amount in cpu.items():
        plane.node(f"n-{zone}", **{ZONE: zone})
        status = {"allocatable": {"cpu": amount}, "capacity": {"cpu": amount}}
        status["conditions"] = [{"type": "Ready", "status": "True"}]  # type: ignore[assignment]
        plane.patch("nodes", f"n-{zone}", {"status": status}, subresource="status")


def zones(slices: list[Object]) -> list[str]:
    """Return the zone that each endpoint is hinted to."""
    return sorted(each["hints"]["forZones"][0]["name"] for one in slices for each in one["endpoints"])


def test_an_empty_slice_keeps_the_place(plane: ControlPlane) -> None:
    """It is used when the first pod comes, and comes back after the last."""
    service = add_service(plane, labels={"team": "x"})
    plane.settle()
    (empty,) = slices_of(plane)
    add_pod(plane, 1)
    plane.run_for(5)
    (used,) = slices_of(plane)
    plane.delete("pods", "p1", grace_s=0)
    plane.settle()
    (again,) = slices_of(plane)

    assert empty["metadata"]["labels"] == {
        "team": "x",
        "kubernetes.io/service-name": "s",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    assert empty["metadata"]["ownerReferences"][0]["uid"] == service["metadata"]["uid"]
    assert empty["metadata"]["annotations"][LAST_CHANGE] == service["metadata"]["creationTimestamp"]
    assert (empty["endpoints"], empty["ports"]) == (None, None)
    assert {each["metadata"]["name"] for each in (empty, used, again)} == {empty["metadata"]["name"]}
    assert (again["endpoints"], again["metadata"]["generation"]) == (None, 3)


def test_what_an_endpoint_says(plane: ControlPlane) -> None:
    """Address, conditions, node, zone, host name, pod."""
    add_service(plane)
    add_pod(plane, 1, hostname="h", subdomain="s")
    plane.settle()
    (found,) = slices_of(plane)
    uid = plane.get("pods", "p1")["metadata"]["uid"]

    assert found["ports"] == [{"name": "web", "protocol": "TCP", "port": 8080}]
    assert found["endpoints"] == [
        {
            "addresses": ["10.0.0.2"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": {"kind": "Pod", "namespace": "default", "name": "p1", "uid": uid},
            "nodeName": "n1",
            "zone": "z",
            "hostname": "h",
        }
    ]


@pytest.mark.parametrize(
    ("publish", "ready", "deleted", "conditions"),
    [
        (False, True, False, (True, True, False)),
        (False, False, False, (False, False, False)),
        (False, True, True, (False, True, True)),
        (True, False, False, (True, False, False)),
        (True, True, True, (True, True, True)),
    ],
)
def test_conditions(plane: ControlPlane, publish: bool, ready: bool, deleted: bool, conditions: Any) -> None:  # noqa: FBT001
    """Pods on their way out still serve; a service may want those that are not ready, too."""
    add_service(plane, publishNotReadyAddresses=publish)
    add_pod(plane, 1, ready=ready)
    if deleted:
        plane.delete("pods", "p1")
    plane.settle()
    (found,) = slices_of(plane)[0]["endpoints"]

    assert tuple(found["conditions"][key] for key in ("ready", "serving", "terminating")) == conditions


def test_pods_that_are_no_endpoints(plane: ControlPlane) -> None:
    """Ended, without an address, of another label, of an unknown node, of a family that the service has not."""
    add_service(plane)
    for number in range(5):
        add_pod(plane, number, node="n9" if number == 3 else "n1")
    plane.finish("p0")
    plane.patch("pods", "p1", {"status": {"podIP": None, "podIPs": None}}, subresource="status")
    plane.patch("pods", "p2", {"metadata": {"labels": {"app": "b"}}})
    plane.patch("pods", "p4", {"status": {"podIP": "fd00::1", "podIPs": [{"ip": "fd00::1"}]}}, subresource="status")
    plane.settle()
    message = (
        "Error updating Endpoint Slices for Service default/s: skipping Pod p3 for Service default/s: Node n9 Not Found"
    )

    assert slices_of(plane)[0]["endpoints"] is None
    assert ("FailedToUpdateEndpointSlices", "s", message) in plane.messages()
    plane.node("n9")
    plane.run_for(3)

    assert [each["nodeName"] for each in slices_of(plane)[0]["endpoints"]] == ["n9"]


def test_ports_of_pods(plane: ControlPlane) -> None:
    """Named ones are looked up in the pod; those that a pod has not are left out, in a slice of its own."""
    ports = [{"name": "b", "port": 443, "targetPort": "tls"}, {"name": "a", "port": 80}]
    add_service(plane, ports=ports)
    add_pod(plane, 1, container={"ports": [{"name": "tls", "containerPort": 8443}]})
    add_pod(plane, 2)
    plane.settle()

    assert sorted(tuple(port["port"] for port in each["ports"]) for each in slices_of(plane)) == [(80,), (80, 8443)]


def test_a_hundred_endpoints_per_slice(plane: ControlPlane) -> None:
    """Slices are filled, and changed as few as possible."""
    add_service(plane)
    for number in range(101):
        add_pod(plane, number)
    plane.run_for(5)
    sizes = [len(each["endpoints"]) for each in slices_of(plane)]
    before = {each["metadata"]["name"]: each["metadata"]["generation"] for each in slices_of(plane)}
    plane.delete("pods", "p7", grace_s=0)
    add_pod(plane, 200)
    plane.run_for(5)
    after = {each["metadata"]["name"]: each["metadata"]["generation"] for each in slices_of(plane)}

    assert sizes == [100, 1]
    assert sorted(after[name] - before[name] for name in before) in ([0, 1], [0, 2])


@pytest.mark.parametrize("selector", [{}, {"app": "a"}])
def test_services_that_others_look_after(plane: ControlPlane, selector: dict[str, str]) -> None:
    """Without a selector, or names of other places."""
    spec: Object = {"type": "ExternalName", "externalName": "example.com", "ports": []} if selector else {}
    add_service(plane, selector=selector, **spec)
    plane.settle()

    assert slices_of(plane) == []


def test_families(plane: ControlPlane) -> None:
    """Only addresses of a family that the service has are there; a headless service says so."""
    add_service(plane, clusterIP="None")
    add_pod(plane, 1)
    set_ready(plane, "p1", ready=True, addresses=["10.0.0.2", "fd00:0::2"])
    plane.settle()
    (found,) = slices_of(plane)
    service = plane.informers.lister("services").stored("s", "default")
    pod = plane.informers.lister("pods").stored("p1", "default")
    assert service is not None
    assert pod is not None

    assert [each["addresses"] for each in found["endpoints"]] == [["10.0.0.2"]]
    assert "service.kubernetes.io/headless" in found["metadata"]["labels"]
    assert new_endpoint(pod, "", service.view, "IPv6")["addresses"] == ["fd00::2"]


def test_meddling_is_put_right(plane: ControlPlane) -> None:
    """Whoever changes or deletes a slice only costs time; its own writes wake nobody."""
    add_service(plane)
    add_pod(plane, 1)
    plane.run_for(5)
    quiet = plane.registry.revision
    plane.run_for(100)

    assert plane.registry.revision == quiet
    name = slices_of(plane)[0]["metadata"]["name"]
    plane.patch(SLICES, name, {"endpoints": [{"addresses": ["1.2.3.4"]}]})
    plane.run_for(2)
    mended = slices_of(plane)
    plane.delete(SLICES, name)
    plane.run_for(2)
    made_again = slices_of(plane)

    assert [each["endpoints"][0]["addresses"] for each in (*mended, *made_again)] == 2 * [["10.0.0.2"]]


def test_labels_follow_the_service(plane: ControlPlane) -> None:
    """Reserved ones do not."""
    add_service(plane, labels={"a": "1"})
    plane.settle()
    plane.patch("services", "s", {"metadata": {"labels": {"a": None, "b": "2", "kubernetes.io/service-name": "x"}}})
    add_pod(plane, 1)
    plane.settle()
    labels = slices_of(plane)[0]["metadata"]["labels"]

    assert {key: labels.get(key) for key in ("a", "b", "kubernetes.io/service-name")} == {
        "a": None,
        "b": "2",
        "kubernetes.io/service-name": "s",
    }


def test_the_time_of_a_change(plane: ControlPlane) -> None:
    """It is that of the pod; a change without one leaves no annotation."""
    add_service(plane)
    plane.settle()
    plane.run_for(60)
    add_pod(plane, 1)
    plane.settle()
    first = slices_of(plane)[0]["metadata"]["annotations"]
    plane.run_for(60)
    plane.delete("pods", "p1")
    plane.settle()
    second = slices_of(plane)[0]["metadata"].get("annotations")

    assert (first, second) == ({LAST_CHANGE: "2026-01-01T00:01:00Z"}, None)


# --- Hints -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distribution", "hints"),
    [
        ("PreferClose", {"forZones": [{"name": "z"}]}),
        ("PreferSameZone", {"forZones": [{"name": "z"}]}),
        ("PreferSameNode", {"forZones": [{"name": "z"}], "forNodes": [{"name": "n1"}]}),
    ],
)
def test_traffic_distribution(plane: ControlPlane, distribution: str, hints: Object) -> None:
    """Ready endpoints are hinted to what is near; hints go with the field."""
    add_service(plane, trafficDistribution=distribution)
    add_pod(plane, 1)
    add_pod(plane, 2, ready=False)
    plane.settle()
    hinted = [each.get("hints") for each in slices_of(plane)[0]["endpoints"]]
    plane.patch("services", "s", {"spec": {"trafficDistribution": None}})
    plane.settle()

    assert hinted == [hints, None]
    assert not any("hints" in each for each in slices_of(plane)[0]["endpoints"])


def test_topology_mode(plane: ControlPlane) -> None:
    """Zones get endpoints by their CPU; a zone with none of its own is given some."""
    plane.delete("nodes", "n1")
    ready_nodes(plane, {"a": "4", "b": "4"})
    add_service(plane)
    plane.patch("services", "s", {"metadata": {"annotations": {"service.kubernetes.io/topology-mode": "Auto"}}})
    for number in range(4):
        add_pod(plane, number, node="n-a")
    plane.settle()

    assert zones(slices_of(plane)) == ["a", "a", "b", "b"]
    assert plane.messages()[-1] == (
        "TopologyAwareHintsEnabled",
        "s",
        "Topology Aware Hints has been enabled, addressType: IPv4",
    )
    plane.patch("services", "s", {"metadata": {"annotations": None}})
    plane.settle()

    assert not any("hints" in each for each in slices_of(plane)[0]["endpoints"])
    assert plane.messages()[-1][0] == "TopologyAwareHintsDisabled"


@pytest.mark.parametrize(
    ("cpu", "pods", "why"),
    [
        ({"a": "4"}, 2, "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"),
        ({"a": "4", "b": "4"}, 1, "Insufficient number of endpoints (1 endpoints, 2 zones)"),
        (
            {"a": "1", "b": "1", "c": "10"},
            3,
            f"{OVERLOAD} (3 endpoints, 3 zones)",
        ),
    ],
)
def test_topology_mode_gives_up(plane: ControlPlane, cpu: dict[str, str], pods: int, why: str) -> None:
    """It says why, and there are no hints."""
    plane.delete("nodes", "n1")
    ready_nodes(plane, cpu)
    add_service(plane)
    plane.patch("services", "s", {"metadata": {"annotations": {"service.kubernetes.io/topology-mode": "Auto"}}})
    for number in range(pods):
        add_pod(plane, number, node="n-a")
    plane.settle()

    assert not any("hints" in each for each in slices_of(plane)[0]["endpoints"])
    assert ("TopologyAwareHintsDisabled", "s", f"{why}, addressType: IPv4") in plane.messages()


def test_nodes_that_go_take_hints_along(plane: ControlPlane) -> None:
    """With one zone left there is nothing to share out."""
    plane.delete("nodes", "n1")
    ready_nodes(plane, {"a": "4", "b": "4"})
    add_service(plane)
    plane.patch("services", "s", {"metadata": {"annotations": {"service.kubernetes.io/topology-mode": "Auto"}}})
    for number in range(4):
        add_pod(plane, number, node=f"n-{'ab'[number % 2]}")
    plane.settle()
    hinted = zones(slices_of(plane))
    plane.patch(
        "nodes", "n-b", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, subresource="status"
    )
    plane.settle()

    assert hinted == ["a", "a", "b", "b"]
    assert not any("hints" in each for each in slices_of(plane)[0]["endpoints"])

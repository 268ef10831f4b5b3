"""Services have Endpoints with the addresses of their pods."""

from __future__ import annotations

import pytest

from schedlab.controllers.endpoints.subsets import NO_PORT, PortKey, Subsets, truncate
from tests.support.control_plane import ControlPlane, Object
from tests.support.services import add_pod, add_service


@pytest.fixture
def plane() -> ControlPlane:
    plane = ControlPlane("endpoints-controller")
    plane.node("n1")
    return plane


def address(number: int) -> Object:
    """Return an address of a pod."""
    target = {"kind": "Pod", "namespace": "n", "name": f"p{number}", "uid": f"u{number}"}
    return {"ip": f"10.0.0.{number}", "nodeName": "n1", "targetRef": target}


def test_ready_and_others(plane: ControlPlane) -> None:
    """One subset for the same ports; pods on their way out are no addresses."""
    add_service(plane, labels={"team": "x"})
    add_pod(plane, 1)
    add_pod(plane, 2, ready=False)
    add_pod(plane, 3)
    plane.delete("pods", "p3")
    plane.settle()
    found = plane.get("endpoints", "s")
    uid = plane.get("pods", "p1")["metadata"]["uid"]
    target = {"kind": "Pod", "namespace": "default", "name": "p1", "uid": uid}

    assert found["metadata"]["labels"] == {"team": "x", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    (subset,) = found["subsets"]

    assert subset["addresses"] == [{"ip": "10.0.0.2", "nodeName": "n1", "targetRef": target}]
    assert [each["ip"] for each in subset["notReadyAddresses"]] == ["10.0.0.3"]
    assert subset["ports"] == [{"name": "web", "port": 8080, "protocol": "TCP"}]


def test_endpoints_go_with_their_service(plane: ControlPlane) -> None:
    """Those of services without a selector are somebody else's; deleted ones are made again."""
    add_service(plane)
    add_service(plane, "other", selector={})
    plane.settle()
    made = plane.names("endpoints")
    plane.delete("endpoints", "s")
    plane.settle()
    again = plane.names("endpoints")
    plane.delete("services", "s")
    plane.settle()

    assert (made, again, plane.names("endpoints")) == (["s"], ["s"], [])


def test_headless_without_ports(plane: ControlPlane) -> None:
    """There are addresses all the same."""
    add_service(plane, clusterIP="None", ports=[])
    add_pod(plane, 1)
    plane.settle()
    found = plane.get("endpoints", "s")

    assert "service.kubernetes.io/headless" in found["metadata"]["labels"]
    assert [set(each) for each in found["subsets"]] == [{"addresses"}]


def test_nothing_is_written_twice(plane: ControlPlane) -> None:
    """What does not change endpoints wakes nobody."""
    add_service(plane)
    add_pod(plane, 1)
    plane.settle()
    before = plane.get("endpoints", "s")["metadata"]["resourceVersion"]
    plane.patch("pods", "p1", {"metadata": {"annotations": {"a": "b"}}})
    plane.patch("services", "s", {"metadata": {"annotations": {"a": "b"}}})
    plane.settle()

    assert plane.get("endpoints", "s")["metadata"]["resourceVersion"] == before


def test_subsets_join_ports_of_the_same_addresses() -> None:
    """An address that is not ready on one port is so there only."""
    subsets = Subsets()
    one, two = PortKey("a", 80, "TCP", None), PortKey("b", 443, "TCP", None)
    subsets.add(address(1), one, ready=True)
    subsets.add(address(1), two, ready=True)
    subsets.add(address(2), two, ready=False)
    packed = subsets.pack()

    assert sorted(len(each.get("notReadyAddresses", ())) for each in packed) == [0, 1]
    assert sorted(port["name"] for each in packed for port in each["ports"]) == ["a", "b"]


def test_no_port_is_no_port() -> None:
    """Addresses without a port have none in the object."""
    subsets = Subsets()
    subsets.add(address(1), NO_PORT, ready=True)

    assert subsets.pack() == [{"addresses": [address(1)]}]


@pytest.mark.parametrize(
    ("ready", "others", "left"),
    [
        ([600, 400], [0, 0], None),
        ([1500], [10], [(1000, 0)]),
        ([600, 600], [0, 0], [(500, 0), (500, 0)]),
        ([900, 0], [50, 150], [(900, 25), (0, 75)]),
    ],
)
def test_a_thousand_addresses(ready: list[int], others: list[int], left: list[tuple[int, int]] | None) -> None:
    """Ready ones first, by the share of each subset."""
    subsets = [
        {"addresses": [address(1)] * many, "notReadyAddresses": [address(2)] * few}
        for many, few in zip(ready, others, strict=True)
    ]
    cut = truncate(subsets)
    sizes = None
    if cut is not None:
        sizes = [(len(each.get("addresses", ())), len(each.get("notReadyAddresses", ()))) for each in cut]

    assert sizes == left


def test_truncated_endpoints_say_so(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an annotation."""
    monkeypatch.setattr("schedlab.controllers.endpoints.subsets.CAPACITY", 1)
    monkeypatch.setattr("schedlab.controllers.endpoints.controller.CAPACITY", 1)
    add_service(plane)
    add_pod(plane, 1)
    add_pod(plane, 2)
    plane.settle()
    found = plane.get("endpoints", "s")

    assert found["metadata"]["annotations"]["endpoints.kubernetes.io/over-capacity"] == "truncated"
    assert len(found["subsets"][0]["addresses"]) == 1


def test_leftovers_of_a_former_life(plane: ControlPlane) -> None:
    """Endpoints whose service went while nobody looked are deleted at the start; those of elections are not."""
    for name, noted in (("left", {}), ("leader", {"control-plane.alpha.kubernetes.io/leader": "x"})):
        plane.create("endpoints", {"metadata": {"name": name, "annotations": noted}})
    plane.settle()
    before = plane.names("endpoints")
    restarted = ControlPlane("endpoints-controller", registry=plane.registry)
    restarted.settle()

    assert (before, restarted.names("endpoints")) == (["leader", "left"], ["leader"])

"""Which addresses and ports of nodes services get."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from schedlab.apimachinery.errors import Invalid
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import Registry, bootstrap
from schedlab.registry.services import ADDRESSES, PORTS
from schedlab.store import Store


@pytest.fixture
def registry() -> Registry:
    made = Registry(Store(), VirtualClock(), SeededRandom(1))
    bootstrap(made)
    return made


def create(registry: Registry, name: str, **spec: Any) -> dict[str, Any]:
    obj = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
    made: dict[str, Any] = registry.create("services", registry.decode("services", obj), "default").raw["spec"]
    return made


def patch(registry: Registry, name: str, change: dict[str, Any]) -> dict[str, Any]:
    old = registry.get("services", name, "default").thaw()
    old["spec"].update(change)
    written = registry.update("services", name, registry.decode("services", old), "default")
    made: dict[str, Any] = written.object.raw["spec"]
    return made


def test_each_service_gets_an_address_of_its_own(registry: Registry) -> None:
    specs = [create(registry, f"s{i}") for i in range(20)]
    addresses = [spec["clusterIP"] for spec in specs]
    assert len(dict.fromkeys(addresses)) == 20
    assert all(ipaddress.ip_address(address) in ADDRESSES for address in addresses)
    assert specs[0]["clusterIPs"] == [addresses[0]]
    assert specs[0]["ipFamilies"] == ["IPv4"]
    assert specs[0]["ipFamilyPolicy"] == "SingleStack"


def test_headless_services_get_none(registry: Registry) -> None:
    spec = create(registry, "s", clusterIP="None", selector={"a": "b"})
    assert (spec["clusterIP"], spec["clusterIPs"], spec["ipFamilies"]) == ("None", ["None"], ["IPv4"])
    spec = create(registry, "t", clusterIP="None")
    assert (spec["ipFamilyPolicy"], spec["ipFamilies"]) == ("RequireDualStack", ["IPv4", "IPv6"])


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"clusterIP": "10.96.0.1"}, "failed to allocate IP 10.96.0.1: provided IP is already allocated"),
        ({"clusterIP": "1.2.3.4"}, "the provided IP (1.2.3.4) is not in the valid range"),
        ({"ipFamilies": ["IPv6"]}, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
        ({"ipFamilyPolicy": "RequireDualStack"}, "this cluster is not configured for dual-stack services"),
        ({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}, "The range of valid ports is 30000-32767"),
    ],
)
def test_what_cannot_be_had(registry: Registry, spec: dict[str, Any], text: str) -> None:
    with pytest.raises(Invalid, match="Service") as refusal:
        create(registry, "s", **spec)
    assert text in refusal.value.message


def test_ports_of_nodes(registry: Registry) -> None:
    """A port is free, or the one asked for; protocols of one port share it, services do not."""
    ports = [{"name": "a", "port": 53, "protocol": "UDP"}, {"name": "b", "port": 53}, {"name": "c", "port": 80}]
    given = [port["nodePort"] for port in create(registry, "s", type="NodePort", ports=ports)["ports"]]
    assert given[0] == given[1] != given[2]
    assert all(number in PORTS for number in given)
    with pytest.raises(Invalid, match="provided port is already allocated"):
        create(registry, "t", type="NodePort", ports=[{"port": 80, "nodePort": given[2]}])


def test_an_update_keeps_what_was_given(registry: Registry) -> None:
    before = create(registry, "s", type="NodePort")
    after = patch(registry, "s", {"clusterIP": "", "clusterIPs": None, "ports": [{"port": 81}]})
    assert after["clusterIP"] == before["clusterIP"]
    assert after["ports"][0]["nodePort"] == before["ports"][0]["nodePort"]


def test_another_type_gives_ports_back(registry: Registry) -> None:
    number = create(registry, "s", type="NodePort")["ports"][0]["nodePort"]
    assert "nodePort" not in patch(registry, "s", {"type": "ClusterIP"})["ports"][0]
    assert (
        create(registry, "t", type="NodePort", ports=[{"port": 80, "nodePort": number}])["ports"][0]["nodePort"]
        == number
    )


def test_local_traffic_needs_a_port_for_health_checks(registry: Registry) -> None:
    spec = create(registry, "s", type="LoadBalancer", externalTrafficPolicy="Local")
    assert spec["healthCheckNodePort"] in PORTS
    assert spec["healthCheckNodePort"] != spec["ports"][0]["nodePort"]

"""Addresses are given in order, per node, and used again."""

from __future__ import annotations

from schedlab.kubelet.addresses import PodAddresses, node_address, pod_cidr


def test_nodes_get_distinct_addresses_and_ranges() -> None:
    assert [node_address(index) for index in (0, 1, 255, 256)] == [
        "10.128.0.1",
        "10.128.0.2",
        "10.128.1.0",
        "10.128.1.1",
    ]
    assert [pod_cidr(index) for index in (0, 1, 256)] == ["10.0.0.0/24", "10.0.1.0/24", "10.1.0.0/24"]


def test_pod_keeps_its_address() -> None:
    addresses = PodAddresses("10.0.3.0/24")

    assert addresses.take("a") == "10.0.3.1"
    assert addresses.take("b") == "10.0.3.2"
    assert addresses.take("a") == "10.0.3.1"


def test_released_address_is_used_again_last() -> None:
    addresses = PodAddresses("10.0.3.0/24")
    first = addresses.take("a")
    addresses.release("a")
    addresses.release("a")

    later = [addresses.take(f"p{number}") for number in range(254)]

    assert first not in later[:-1]
    assert later[-1] == first

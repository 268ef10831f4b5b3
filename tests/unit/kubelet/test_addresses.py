"""Addresses are given in order, per node, and used again."""

from __future__ import annotations

from schedlab.kubelet.addresses import NodeNumbers, PodAddresses, node_address, pod_cidr


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


def test_address_that_a_pod_has_is_given_to_no_other() -> None:
    """Until it goes: then it is used again like any other."""
    addresses = PodAddresses("10.0.3.0/24")
    addresses.keep("old", "10.0.3.2")

    assert [addresses.take(uid) for uid in ("old", "a", "b")] == ["10.0.3.2", "10.0.3.1", "10.0.3.3"]
    addresses.release("old")
    later = [addresses.take(f"p{number}") for number in range(252)]
    assert later[-1] == "10.0.3.2"
    assert len(set(later)) == 252


def test_numbers_behind_addresses_in_use_are_left_out() -> None:
    """Whether the address or the range shows the number; what does not follow the plan takes none away."""
    numbers = NodeNumbers()
    numbers.keep(node_address(0), "")
    numbers.keep("", pod_cidr(2))
    for address, cidr in (("192.168.0.9", "172.16.0.0/24"), ("::1", "fd00::/64"), ("10.128.0.300", "10.0.1.0/25")):
        numbers.keep(address, cidr)

    assert [numbers.take() for _ in range(3)] == [1, 3, 4]

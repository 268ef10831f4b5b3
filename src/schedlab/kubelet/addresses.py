"""Addresses of a simulated cluster: node addresses, pod CIDRs and pod addresses, all from one /8 each.

Nodes get 10.128.0.0/9 addresses and a /24 of 10.0.0.0/9 each for pods in order of registration; beyond 32,768 nodes the
pod ranges are shared. Nothing listens on any of them.
"""

from __future__ import annotations

from typing import Final

_POD_BASE: Final = 10 << 24
_NODE_BASE: Final = (10 << 24) | (1 << 23)
_RANGES: Final = 1 << 15
_POD_ADDRESSES: Final = 254


def _dotted(address: int) -> str:
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


def node_address(index: int) -> str:
    """Return the InternalIP of the node registered as number `index`, from 0."""
    return _dotted(_NODE_BASE + (index % (1 << 23)) + 1)


def pod_cidr(index: int) -> str:
    """Return the pod range of the node registered as number `index`."""
    return f"{_dotted(_POD_BASE | (index % _RANGES) << 8)}/24"


class PodAddresses:
    """Hands out the addresses of one node's pod range; a released address is used again last."""

    def __init__(self, cidr: str) -> None:
        parts = [int(part) for part in cidr.partition("/")[0].split(".")]
        self._base = parts[0] << 24 | parts[1] << 16 | parts[2] << 8
        self._next = 0
        self._held: dict[str, str] = {}
        self._free: list[str] = []

    def take(self, uid: str) -> str:
        """Return the pod's address; more than 254 pods on a node go on into the neighbouring range."""
        if uid in self._held:
            return self._held[uid]
        if self._free and self._next >= _POD_ADDRESSES:
            address = self._free.pop(0)
        else:
            self._next += 1
            address = _dotted(self._base + self._next)
        self._held[uid] = address
        return address

    def release(self, uid: str) -> None:
        """Give the pod's address back; harmless when it has none."""
        address = self._held.pop(uid, None)
        if address is not None:
            self._free.append(address)

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


def _number(text: str) -> int | None:
    parts = text.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdecimal() and int(part) < 256 for part in parts):
        return None
    return int(parts[0]) << 24 | int(parts[1]) << 16 | int(parts[2]) << 8 | int(parts[3])


def node_address(index: int) -> str:
    """Return the InternalIP of the node registered as number `index`, from 0."""
    return _dotted(_NODE_BASE + (index % (1 << 23)) + 1)


def pod_cidr(index: int) -> str:
    """Return the pod range of the node registered as number `index`."""
    return f"{_dotted(_POD_BASE | (index % _RANGES) << 8)}/24"


class NodeNumbers:
    """Numbers nodes as they register, leaving out the numbers behind addresses and ranges that are in use."""

    def __init__(self) -> None:
        self._next = 0
        self._used: set[int] = set()

    def keep(self, address: str, cidr: str) -> None:
        """Take note of what a node has already; what does not follow our plan is in nobody's way."""
        base, start = _number(address), _number(cidr.partition("/")[0])
        if base is not None and _NODE_BASE < base < _NODE_BASE + (1 << 23):
            self._used.add(base - _NODE_BASE - 1)
        if start is not None and _POD_BASE <= start < _NODE_BASE and cidr.endswith(".0/24"):
            self._used.add((start - _POD_BASE) >> 8)

    def take(self) -> int:
        """Return the number of a new node."""
        while self._next in self._used:
            self._next += 1
        self._next += 1
        return self._next - 1


class PodAddresses:
    """Hands out the addresses of one node's pod range; a released address is used again last."""

    def __init__(self, cidr: str) -> None:
        parts = [int(part) for part in cidr.partition("/")[0].split(".")]
        self._base = parts[0] << 24 | parts[1] << 16 | parts[2] << 8
        self._next = 0
        self._held: dict[str, str] = {}
        #: Those that were in use when we began.
        self._found: set[str] = set()
        self._free: list[str] = []

    def keep(self, uid: str, address: str) -> None:
        """Leave a pod the address that it has."""
        self._held[uid] = address
        self._found.add(address)

    def take(self, uid: str) -> str:
        """Return the pod's address; more than 254 pods on a node go on into the neighbouring range."""
        if uid in self._held:
            return self._held[uid]
        address = self._held[uid] = self._unused()
        return address

    def _unused(self) -> str:
        while self._next < _POD_ADDRESSES or not self._free:
            self._next += 1
            address = _dotted(self._base + self._next)
            if address not in self._found:
                return address
        return self._free.pop(0)

    def release(self, uid: str) -> None:
        """Give the pod's address back; harmless when it has none."""
        address = self._held.pop(uid, None)
        if address is not None:
            self._free.append(address)

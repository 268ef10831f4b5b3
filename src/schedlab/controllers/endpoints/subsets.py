"""Subsets of an Endpoints object: addresses that offer the same ports, in the order in which upstream writes them.

Mirrors: pkg/api/v1/endpoints/util.go, truncateEndpoints of pkg/controller/endpoint/endpoints_controller.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from schedlab.api.object import Object

CAPACITY: Final = 1000
_NIL: Final = "<nil>"

#: IP and uid of the pod: what makes addresses the same one.
AddressKey: TypeAlias = tuple[str, str]


class PortKey(NamedTuple):
    """A port as a value; a port number of -1 stands for none at all."""

    name: str
    port: int
    protocol: str
    app_protocol: str | None

    def object(self) -> Object:
        """Return the port as an object."""
        found: Object = {"port": self.port, "protocol": self.protocol}
        if self.name:
            found["name"] = self.name
        if self.app_protocol is not None:
            found["appProtocol"] = self.app_protocol
        return found


NO_PORT: Final = PortKey("", -1, "", None)


class Subsets:
    """Addresses with the ports that they offer and whether they are ready."""

    def __init__(self) -> None:
        self._addresses: dict[AddressKey, Object] = {}
        self._by_port: dict[PortKey, dict[AddressKey, bool]] = {}

    def add(self, address: Object, port: PortKey, *, ready: bool) -> None:
        """Add an address; one that is not ready once is not ready."""
        key = address["ip"], address["targetRef"]["uid"]
        self._addresses.setdefault(key, address)
        known = self._by_port.setdefault(port, {})
        known[key] = ready and known.get(key, True)

    def pack(self) -> list[Object]:
        """Return the fewest subsets that say the same."""
        ports: dict[tuple[tuple[AddressKey, bool], ...], list[PortKey]] = {}
        for port, known in self._by_port.items():
            ports.setdefault(tuple(sorted(known.items())), []).extend([] if port is NO_PORT else [port])
        packed = []
        for addresses, offered in ports.items():
            subset: Object = {}
            ready = [self._addresses[key] for key, is_ready in addresses if is_ready]
            others = [self._addresses[key] for key, is_ready in addresses if not is_ready]
            if ready:
                subset["addresses"] = ready
            if others:
                subset["notReadyAddresses"] = others
            if offered:
                subset["ports"] = [port.object() for port in sorted(offered, key=_port_hash)]
            packed.append(subset)
        return packed if len(packed) < 2 else sorted(packed, key=_subset_hash)


def truncate(subsets: Sequence[Object]) -> list[Object] | None:
    """Return subsets with no more addresses than there may be, ready ones first; None if they have no more."""
    ready = sum(len(each.get("addresses", ())) for each in subsets)
    others = sum(len(each.get("notReadyAddresses", ())) for each in subsets)
    if ready + others <= CAPACITY:
        return None
    cuts_ready = ready > CAPACITY
    member = "addresses" if cuts_ready else "notReadyAddresses"
    room = CAPACITY if cuts_ready else CAPACITY - ready
    total = ready if cuts_ready else others
    left = room
    cut = []
    for each in subsets:
        known = each.get(member, ())
        share = min(left, math.ceil(len(known) / total * room))
        kept = known[:share]
        left -= len(kept)
        subset = {key: value for key, value in each.items() if key not in (member, "notReadyAddresses")}
        cut.append({**subset, member: kept} if kept else subset)
    return cut


# --- The order of upstream: by the MD5 hashes of values as Go prints them --------------------------------------------


def _md5(text: str) -> bytes:
    return hashlib.md5(text.encode(), usedforsecurity=False).digest()


@functools.lru_cache(maxsize=1024)
def _port_hash(port: PortKey) -> bytes:
    return _md5(f"(v1.EndpointPort){_print_port(port)}")


def _print_port(port: PortKey) -> str:
    parts = f"Name:(string){port.name} Port:(int32){port.port} Protocol:(v1.Protocol){port.protocol}"
    return f"{{{parts} AppProtocol:(*string){_NIL if port.app_protocol is None else port.app_protocol}}}"


def _subset_hash(subset: Mapping[str, Any]) -> bytes:
    ready, others = (
        _print_list(map(_print_address, subset.get(key, ()))) for key in ("addresses", "notReadyAddresses")
    )
    ports = _print_list(
        _print_port(PortKey(each.get("name", ""), each["port"], each["protocol"], each.get("appProtocol")))
        for each in subset.get("ports", ())
    )
    addresses = f"Addresses:([]v1.EndpointAddress){ready} NotReadyAddresses:([]v1.EndpointAddress){others}"
    return _md5(f"(v1.EndpointSubset){{{addresses} Ports:([]v1.EndpointPort){ports}}}")


def _print_list(parts: Any) -> str:
    text = " ".join(parts)
    return f"[{text}]" if text else _NIL


def _print_address(address: Mapping[str, Any]) -> str:
    target = address["targetRef"]
    reference = (
        f"{{Kind:(string){target['kind']} Namespace:(string){target['namespace']} Name:(string){target['name']} "
        f"UID:(types.UID){target['uid']} APIVersion:(string) ResourceVersion:(string) FieldPath:(string)}}"
    )
    node = address.get("nodeName", _NIL)
    start = f"IP:(string){address['ip']} Hostname:(string){address.get('hostname', '')}"
    return f"{{{start} NodeName:(*string){node} TargetRef:(*v1.ObjectReference){reference}}}"

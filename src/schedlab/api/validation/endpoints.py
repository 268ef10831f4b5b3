"""Checks of addresses that traffic can be sent to.

Mirrors: pkg/apis/core/validation/validation.go (ValidateEndpointIP) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from schedlab.apimachinery import field
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.ip import parse_ip


def validate_endpoint_ip(text: str, path: Path) -> ErrorList:
    """Check that an address is one of a pod or host, not one that stands for the sender itself."""
    address = parse_ip(text)
    if address is None:
        return [field.invalid(path, text, "must be a valid IP address")]
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return [field.invalid(path, text, problem) for problem in _problems(mapped or address, text)]


def _problems(address: ipaddress.IPv4Address | ipaddress.IPv6Address, text: str) -> Iterator[str]:
    if address.is_unspecified:
        yield f"may not be unspecified ({text})"
    if address.is_loopback:
        yield "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    if address.is_link_local:
        yield "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    packed = address.packed
    multicast = packed[:3] == b"\xe0\x00\x00" if address.version == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 2
    if multicast:
        yield "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"

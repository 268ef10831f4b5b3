"""IP addresses and CIDR ranges in API fields.

Old fields accept leading zeros and IPv4-mapped IPv6 addresses unless strict validation is on; new fields want the
canonical form.

Mirrors: staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go and k8s.io/utils/net/parse.go (v1.36)
Differs: nothing.
"""

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeAlias

from schedlab.apimachinery import field
from schedlab.apimachinery.field import ErrorList, FieldError, FieldLike
from schedlab.apimachinery.gojson import quote

IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_DECIMAL: Final = re.compile("[0-9]+")
_HEX: Final = re.compile("[0-9A-Fa-f]+")
_DIGITS_MAX: Final = 64  # of one number; longer ones consist of leading zeros and nobody writes them


def _number(text: str, pattern: re.Pattern[str], base: int, highest: int) -> int | None:
    if len(text) > _DIGITS_MAX or not pattern.fullmatch(text):
        return None
    number = int(text, base)
    return number if number <= highest else None


def _parse_ipv4(text: str) -> ipaddress.IPv4Address | None:
    octets = [_number(part, _DECIMAL, 10, 255) for part in text.split(".")]
    if len(octets) != 4:
        return None
    packed = [octet for octet in octets if octet is not None]
    return ipaddress.IPv4Address(bytes(packed)) if len(packed) == 4 else None


def _hextets(text: str, *, is_last: bool) -> list[int] | None:
    """Parse colon-separated groups; the last one of an address may be an IPv4 address."""
    if not text:
        return []
    groups: list[int] = []
    *heads, last = text.split(":")
    for head in heads:
        number = _number(head, _HEX, 16, 0xFFFF)
        if number is None:
            return None
        groups.append(number)
    if is_last and "." in last:
        embedded = _parse_ipv4(last)
        return None if embedded is None else [*groups, int(embedded) >> 16, int(embedded) & 0xFFFF]
    number = _number(last, _HEX, 16, 0xFFFF)
    return None if number is None else [*groups, number]


def _parse_ipv6(text: str) -> ipaddress.IPv6Address | None:
    left, ellipsis, right = text.partition("::")
    head = _hextets(left, is_last=not ellipsis)
    tail = _hextets(right, is_last=True)
    if head is None or tail is None:
        return None
    missing = 8 - len(head) - len(tail)
    # An ellipsis stands for at least one group.
    if (missing < 1) if ellipsis else (missing != 0):
        return None
    number = 0
    for group in (*head, *[0] * missing, *tail):
        number = number << 16 | group
    return ipaddress.IPv6Address(number)


def parse_ip(text: str) -> IPAddress | None:
    """Parse as Go did before 1.17: leading zeros are allowed, zones are not."""
    first = next((char for char in text if char in ".:"), "")
    if first == ".":
        return _parse_ipv4(text)
    return _parse_ipv6(text) if first == ":" else None


def format_ip(address: IPAddress) -> str:
    """Write an address as Go's net.IP: RFC 5952, an IPv4-mapped one as IPv4."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def is_ipv6(text: str) -> bool:
    """Whether the text is an address of the IPv6 family; IPv4-mapped ones count as IPv4."""
    address = parse_ip(text)
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None


@dataclass(frozen=True, slots=True)
class CIDR:
    """An address with the number of bits that name its network."""

    address: IPAddress
    prefix_length: int

    @property
    def network_address(self) -> IPAddress:
        kept = ((1 << self.prefix_length) - 1) << (self.address.max_prefixlen - self.prefix_length)
        return type(self.address)(int(self.address) & kept)

    def __str__(self) -> str:
        """The network in canonical form."""
        return self._text(self.network_address)

    @property
    def interface_text(self) -> str:
        """The full address with the prefix length."""
        return self._text(self.address)

    def _text(self, address: IPAddress) -> str:
        mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
        return f"{format_ip(address)}/{self.prefix_length - 96 if mapped else self.prefix_length}"


def parse_cidr(text: str) -> CIDR | None:
    """Parse as Go did before 1.17."""
    address_text, slash, length_text = text.partition("/")
    address = _parse_ipv4(address_text) or _parse_ipv6(address_text)
    if not slash or address is None:
        return None
    length = _number(length_text, _DECIMAL, 10, address.max_prefixlen)
    return None if length is None else CIDR(address, length)


def _is_strict(text: str) -> bool:
    """Whether an address that parses has no leading zeros."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_mapped(address: IPAddress) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None


def _ip_errors(path: FieldLike, value: str, *, strict: bool) -> ErrorList:
    address = parse_ip(value)
    if address is None:
        return [field.invalid(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    if not strict:
        return []
    if not _is_strict(value):
        return [field.invalid(path, value, "must not have leading 0s")]
    if _is_mapped(address):
        return [field.invalid(path, value, "must not be an IPv4-mapped IPv6 address")]
    return []


def check_ip(path: FieldLike, value: str) -> ErrorList:
    """An address in canonical form."""
    errors = _ip_errors(path, value, strict=True)
    address = parse_ip(value)
    if not errors and address is not None and format_ip(address) != value:
        errors = [field.invalid(path, value, f"must be in canonical form ({quote(format_ip(address))})")]
    return [error.with_origin("format=ip-strict") for error in errors]


def check_ip_legacy(path: FieldLike, value: str, *, strict: bool, old_values: Collection[str] = ()) -> ErrorList:
    """An address in an old field; values that the stored object already has are accepted."""
    if value in old_values:
        return []
    return [error.with_origin("format=ip-sloppy") for error in _ip_errors(path, value, strict=strict)]


def ip_warnings(path: FieldLike, value: str) -> list[str]:
    """What to tell about an accepted address that is not in its standard form."""
    address = parse_ip(value)
    if address is None:
        return []
    canonical = quote(format_ip(address))
    if not _is_strict(value) or _is_mapped(address):
        return [f"{path}: non-standard IP address {quote(value)} is invalid: use {canonical}"]
    if address.version == 6 and format_ip(address) != value:
        return [f"{path}: IPv6 address {quote(value)} should be in RFC 5952 canonical format ({canonical})"]
    return []


def _is_strict_cidr(text: str) -> bool:
    address, _, length = text.partition("/")
    return _is_strict(address) and (length == "0" or not length.startswith("0"))


def _cidr_errors(path: FieldLike, value: str, *, strict: bool) -> ErrorList:
    cidr = parse_cidr(value)
    if cidr is None:
        return [field.invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]
    if not strict:
        return []
    if not _is_strict_cidr(value):
        return [field.invalid(path, value, "must not have leading 0s in IP or prefix length")]
    if _is_mapped(cidr.address):
        return [field.invalid(path, value, "must not have an IPv4-mapped IPv6 address")]
    if cidr.address != cidr.network_address:
        return [field.invalid(path, value, "must not have bits set beyond the prefix length")]
    return []


def check_cidr(path: FieldLike, value: str) -> ErrorList:
    """A network in canonical form."""
    errors = _cidr_errors(path, value, strict=True)
    return errors or _canonical_error(path, value, str(parse_cidr(value)))


def check_cidr_legacy(path: FieldLike, value: str, *, strict: bool, old_values: Collection[str] = ()) -> ErrorList:
    """A network in an old field; values that the stored object already has are accepted."""
    return [] if value in old_values else _cidr_errors(path, value, strict=strict)


def check_interface_address(path: FieldLike, value: str) -> ErrorList:
    """An address with its network's prefix length, in canonical form."""
    cidr = parse_cidr(value)
    if cidr is None:
        return [
            field.invalid(path, value, "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)")
        ]
    return _canonical_error(path, value, cidr.interface_text)


def _canonical_error(path: FieldLike, value: str, canonical: str) -> list[FieldError]:
    if value == canonical:
        return []
    return [field.invalid(path, value, f"must be in canonical form ({quote(canonical)})")]


def cidr_warnings(path: FieldLike, value: str) -> list[str]:
    """What to tell about an accepted network that is not in its standard form."""
    cidr = parse_cidr(value)
    if cidr is None:
        return []
    warnings = []
    network = quote(str(cidr))
    if cidr.address != cidr.network_address:
        single = quote(f"{format_ip(cidr.address)}/{cidr.address.max_prefixlen}")
        warnings.append(
            f"{path}: CIDR value {quote(value)} is ambiguous in this context (should be {network} or {single}?)"
        )
    if not _is_strict_cidr(value) or _is_mapped(cidr.address):
        warnings.append(f"{path}: non-standard CIDR value {quote(value)} is invalid: use {network}")
    if not warnings and cidr.address.version == 6 and cidr.interface_text != value:
        warnings.append(
            f"{path}: IPv6 CIDR value {quote(value)} should be in RFC 5952 canonical format "
            f"({quote(cidr.interface_text)})"
        )
    return warnings

"""IP addresses and networks in fields: lenient for old fields, canonical for new ones."""

import pytest

from schedlab.apimachinery import ip
from schedlab.apimachinery.field import ErrorList, Path

F = Path("f")


def details(errors: ErrorList) -> list[str]:
    return [error.detail for error in errors]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("001.02.3.4", "1.2.3.4"),
        ("::", "::"),
        ("::1", "::1"),
        ("1::", "1::"),
        ("FE80:0:0:0:0:0:0:0abc", "fe80::abc"),
        ("0000001::2", "1::2"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ("1.2.3", None),
        ("1.2.3.4.5", None),
        ("1.2.3.256", None),
        ("1.2.3.", None),
        ("1.2.3.4 ", None),
        ("1.2.3.٤", None),
        ("1:2:3:4:5:6:7", None),
        ("1:2:3:4:5:6:7:8:9", None),
        ("1:2:3:4:5:6:7::8", None),
        ("1::2::3", None),
        (":::", None),
        (":1::2", None),
        ("1::2:", None),
        ("12345::", None),
        ("fe80::1%eth0", None),
        ("1.2.3.4::", None),
        ("", None),
        ("a", None),
    ],
)
def test_addresses_parse_as_in_old_go(text: str, printed: str | None) -> None:
    parsed = ip.parse_ip(text)

    assert (None if parsed is None else ip.format_ip(parsed)) == printed


@pytest.mark.parametrize(
    ("value", "lenient", "strict", "canonical"),
    [
        ("1.2.3.4", [], [], []),
        ("01.2.3.4", [], ["must not have leading 0s"], ["must not have leading 0s"]),
        (
            "::ffff:1.2.3.4",
            [],
            ["must not be an IPv4-mapped IPv6 address"],
            ["must not be an IPv4-mapped IPv6 address"],
        ),
        ("FE80::1", [], [], ['must be in canonical form ("fe80::1")']),
        ("x", *[["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]] * 3),
    ],
)
def test_addresses_are_checked_in_three_grades(
    value: str, lenient: list[str], strict: list[str], canonical: list[str]
) -> None:
    assert details(ip.check_ip_legacy(F, value, strict=False)) == lenient
    assert details(ip.check_ip_legacy(F, value, strict=True)) == strict
    assert details(ip.check_ip(F, value)) == canonical
    assert ip.check_ip_legacy(F, value, strict=True, old_values=[value]) == []


@pytest.mark.parametrize(
    ("value", "lenient", "strict", "canonical"),
    [
        ("10.0.0.0/8", [], [], []),
        ("2001:db8::/64", [], [], []),
        ("2001:DB8::/64", [], [], ['must be in canonical form ("2001:db8::/64")']),
        ("10.0.0.0/08", [], *[["must not have leading 0s in IP or prefix length"]] * 2),
        ("10.0.0.1/8", [], *[["must not have bits set beyond the prefix length"]] * 2),
        ("::ffff:10.0.0.0/104", [], *[["must not have an IPv4-mapped IPv6 address"]] * 2),
        ("10.0.0.0/33", *[["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]] * 3),
        ("10.0.0.0", *[["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]] * 3),
    ],
)
def test_networks_are_checked_in_three_grades(
    value: str, lenient: list[str], strict: list[str], canonical: list[str]
) -> None:
    assert details(ip.check_cidr_legacy(F, value, strict=False)) == lenient
    assert details(ip.check_cidr_legacy(F, value, strict=True)) == strict
    assert details(ip.check_cidr(F, value)) == canonical
    assert ip.check_cidr_legacy(F, value, strict=True, old_values=[value]) == []


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("10.0.0.5/24", []),
        ("::ffff:10.0.0.5/120", ['must be in canonical form ("10.0.0.5/24")']),
        ("10.0.0.05/24", ['must be in canonical form ("10.0.0.5/24")']),
        ("10.0.0.5", ["must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"]),
    ],
)
def test_an_interface_address_keeps_its_host_bits(value: str, found: list[str]) -> None:
    assert details(ip.check_interface_address(F, value)) == found


@pytest.mark.parametrize(
    ("value", "warnings"),
    [
        ("1.2.3.4", []),
        ("x", []),
        ("01.2.3.4", ['f: non-standard IP address "01.2.3.4" is invalid: use "1.2.3.4"']),
        ("FE80::1", ['f: IPv6 address "FE80::1" should be in RFC 5952 canonical format ("fe80::1")']),
    ],
)
def test_nonstandard_addresses_get_a_warning(value: str, warnings: list[str]) -> None:
    assert ip.ip_warnings(F, value) == warnings


@pytest.mark.parametrize(
    ("value", "warnings"),
    [
        ("10.0.0.0/8", []),
        ("x", []),
        (
            "10.0.0.1/8",
            ['f: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)'],
        ),
        ("10.0.0.0/08", ['f: non-standard CIDR value "10.0.0.0/08" is invalid: use "10.0.0.0/8"']),
        ("FE80::/64", ['f: IPv6 CIDR value "FE80::/64" should be in RFC 5952 canonical format ("fe80::/64")']),
    ],
)
def test_nonstandard_networks_get_a_warning(value: str, warnings: list[str]) -> None:
    assert ip.cidr_warnings(F, value) == warnings


def test_mapped_addresses_belong_to_the_ipv4_family() -> None:
    assert ip.is_ipv6("::1")
    assert not ip.is_ipv6("::ffff:1.2.3.4")
    assert not ip.is_ipv6("1.2.3.4")

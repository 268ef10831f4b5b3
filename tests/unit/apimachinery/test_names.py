"""Names, keys and identifiers: which are valid and what is said about the others."""

from collections.abc import Callable

import pytest

from schedlab.apimachinery import names
from schedlab.apimachinery.field import Path

LABEL_MESSAGE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
KEY_MESSAGE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

Check = Callable[[str], list[str]]


@pytest.mark.parametrize(
    ("check", "value", "messages"),
    [
        (names.check_dns1123_label, "a", []),
        (names.check_dns1123_label, "0-a", []),
        (names.check_dns1123_label, "a" * 63, []),
        (names.check_dns1123_label, "a" * 64, ["must be no more than 63 characters"]),
        (names.check_dns1123_label, "a.b", ["must not contain dots"]),
        (names.check_dns1123_label, "", [LABEL_MESSAGE]),
        (names.check_dns1123_label, "A", [LABEL_MESSAGE]),
        (names.check_dns1123_label, "a\n", [LABEL_MESSAGE]),
        (names.check_dns1123_subdomain, "a.b-c.0", []),
        (names.check_dns1123_subdomain, "a..b", [SUBDOMAIN_MESSAGE]),
        (names.check_dns1123_subdomain, "-a" * 130, ["must be no more than 253 characters", SUBDOMAIN_MESSAGE]),
        (names.check_dns1123_subdomain_caseless, "A.b", []),
        (names.check_dns1123_subdomain_with_underscore, "_a.b", []),
        (names.check_wildcard_dns1123_subdomain, "*.a.b", []),
        (names.check_dns1035_label, "a-0", []),
        (names.check_qualified_name, "example.com/My_Name", []),
        (names.check_qualified_name, "/a", ["prefix part must be non-empty"]),
        (names.check_qualified_name, "a/", ["name part must be non-empty", f"name part {KEY_MESSAGE}"]),
        (names.check_qualified_name, "A/b", [f"prefix part {SUBDOMAIN_MESSAGE}"]),
        (names.check_qualified_name, "a" * 64, ["name part must be no more than 63 bytes"]),
        (names.check_qualified_name, "é" * 32, ["name part must be no more than 63 bytes", f"name part {KEY_MESSAGE}"]),
        (
            names.check_qualified_name,
            "a/b/c",
            [
                (
                    f"a valid label key {KEY_MESSAGE} with an optional DNS subdomain prefix and '/' "
                    "(e.g. 'example.com/MyName')"
                )
            ],
        ),
        (names.check_label_value, "", []),
        (names.check_label_value, "a b", [VALUE_MESSAGE]),
        (names.check_label_value, "a" * 64, ["must be no more than 63 bytes"]),
        (names.check_c_identifier, "_a0", []),
        (names.check_decimal_integer, "-10", []),
        (names.check_decimal_integer, "-0", ["must be a valid decimal integer in canonical form"]),
        (names.check_decimal_integer, "", ["must be non-empty"]),
        (names.check_port_name, "http-1", []),
        (
            names.check_port_name,
            "-1--2345678901234",
            [
                "must be no more than 15 characters",
                "must contain at least one letter (a-z)",
                "must not contain consecutive hyphens",
                "must not begin or end with a hyphen",
            ],
        ),
        (
            names.check_port_name,
            "",
            [
                "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                "must contain at least one letter (a-z)",
            ],
        ),
        (names.check_percent, "50%", []),
        (names.check_http_header_name, "X-Y", []),
        (names.check_env_var_name, "A.b_c-d", []),
        (names.check_env_var_name, "..", ["must not be '..'"]),
        (names.check_relaxed_env_var_name, "a b:c", []),
        (names.check_relaxed_env_var_name, "", ["environment variable name must be non-empty"]),
        (names.check_config_map_key, "..a", ["must not start with '..'"]),
        (names.check_path_segment_name, "..", ["may not be '..'"]),
        (names.check_path_segment_name, "a/b%c", ["may not contain '/'", "may not contain '%'"]),
    ],
)
def test_a_check_returns_what_is_wrong(check: Check, value: str, messages: list[str]) -> None:
    assert check(value) == messages


@pytest.mark.parametrize(
    ("check", "value", "start"),
    [
        (names.check_dns1035_label, "0a", "a DNS-1035 label must consist of"),
        (names.check_wildcard_dns1123_subdomain, "a.b", "a wildcard DNS-1123 subdomain must start with '*.'"),
        (names.check_c_identifier, "0", "a valid C identifier must start with"),
        (names.check_percent, "5", "a valid percent string must be"),
        (names.check_http_header_name, "", "a valid HTTP header must consist of"),
        (names.check_env_var_name, "0", "a valid environment variable name must consist of alphabetic"),
        (names.check_relaxed_env_var_name, "a=b", "a valid environment variable name must consist only of"),
        (names.check_config_map_key, "a b", "a valid config key must consist of"),
        (names.check_dns1123_subdomain_caseless, "a_b", "an RFC 1123 subdomain must consist of"),
        (names.check_dns1123_subdomain_with_underscore, "A", "a lowercase RFC 1123 subdomain must consist of"),
    ],
)
def test_a_mismatch_is_explained_by_its_rule(check: Check, value: str, start: str) -> None:
    assert [message.startswith(start) for message in check(value)] == [True]


def test_numbers_are_checked_against_inclusive_ranges() -> None:
    assert names.check_port_number(0) == ["must be between 1 and 65535, inclusive"]
    assert names.check_port_number(65535) == []
    assert names.check_user_id(-1) == ["must be between 0 and 2147483647, inclusive"]
    assert names.check_group_id(2**31) == ["must be between 0 and 2147483647, inclusive"]
    assert names.check_in_range(5, 5, 5) == []


def test_a_prefix_of_a_generated_name_may_end_with_a_dash() -> None:
    assert names.name_is_dns_subdomain("web-", prefix=True) == []
    assert names.name_is_dns_label("web-", prefix=True) == []
    assert names.name_is_dns1035_label("web-", prefix=True) == []
    assert names.name_is_dns_label("web-") == [LABEL_MESSAGE]
    assert names.name_is_path_segment("..", prefix=True) == []
    assert names.name_is_path_segment("..") == ["may not be '..'"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", "f: Required value"),
        ("a.b", 'f: Invalid value: "a.b": should be a domain with at least three segments separated by dots'),
        ("A.b.c", f'f: Invalid value: "A.b.c": {SUBDOMAIN_MESSAGE}'),
    ],
)
def test_a_fully_qualified_name_has_three_segments(value: str, text: str) -> None:
    assert [str(error) for error in names.check_fully_qualified_name(Path("f"), value)] == [text]
    assert names.check_fully_qualified_name(Path("f"), "a.b.c") == []


def test_a_fully_qualified_domain_name_has_two_segments_and_may_end_with_a_dot() -> None:
    path = Path("f")

    assert names.check_fully_qualified_domain_name(path, "a.b.") == []
    assert [str(error) for error in names.check_fully_qualified_domain_name(path, "a")] == [
        'f: Invalid value: "a": should be a domain with at least two segments separated by dots'
    ]
    assert [str(error) for error in names.check_fully_qualified_domain_name(path, "")] == ["f: Required value"]
    long = "a" * 64
    assert [error.bad_value for error in names.check_fully_qualified_domain_name(path, f"{long}.b")] == [long]


def test_prefixed_paths_and_keys_need_a_domain() -> None:
    path = Path("f")

    assert names.check_domain_prefixed_path(path, "acme.io/a/b?".removesuffix("?")) == []
    assert [error.detail for error in names.check_domain_prefixed_path(path, "acme")] == [
        'must be a domain-prefixed path (such as "acme.io/foo")'
    ]
    assert [error.bad_value for error in names.check_domain_prefixed_path(path, "A/b c")] == ["A", "b c"]
    assert [str(error) for error in names.check_domain_prefixed_path(path, "")] == ["f: Required value"]
    assert names.check_domain_prefixed_key(path, "acme.io/foo") == []
    assert [error.detail for error in names.check_domain_prefixed_key(path, "foo")] == [
        'must be a domain-prefixed key (such as "acme.io/foo")'
    ]
    assert [str(error) for error in names.check_domain_prefixed_key(path, "")] == ["f: Required value"]
    assert [error.detail for error in names.check_domain_prefixed_key(path, "/a")] == ["prefix part must be non-empty"]


def test_labels_are_checked_key_by_key() -> None:
    errors = names.validate_labels({"/a": "b c", "d": "e"}, Path("metadata", "labels"))

    assert [str(error) for error in errors] == [
        'metadata.labels: Invalid value: "/a": prefix part must be non-empty',
        f'metadata.labels: Invalid value: "b c": {VALUE_MESSAGE}',
    ]
    assert names.validate_labels(None, None) == []
    assert [str(error) for error in names.validate_nonnegative(-1, Path("n"))] == [
        "n: Invalid value: -1: must be greater than or equal to 0"
    ]
    assert names.validate_nonnegative(0, Path("n")) == []

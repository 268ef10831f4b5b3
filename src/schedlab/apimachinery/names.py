"""What names, keys and other identifiers may look like.

A `check_*` function takes a value and returns the messages about what is wrong with it, none when it is valid; those
that take a path return field errors. Limits count bytes, although half of the messages call them characters.

Mirrors: staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go, pkg/api/validate/content,
pkg/api/validation/generic.go and the label part of pkg/apis/meta/v1/validation (v1.36)
Differs: nothing.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from schedlab.apimachinery import field
from schedlab.apimachinery.field import ErrorList, FieldLike, Path

DNS1123_LABEL_LENGTH_MAX: Final = 63
DNS1123_SUBDOMAIN_LENGTH_MAX: Final = 253
DNS1035_LABEL_LENGTH_MAX: Final = 63
LABEL_KEY_NAME_LENGTH_MAX: Final = 63
LABEL_VALUE_LENGTH_MAX: Final = 63

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_UNDERSCORE = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_UNDERSCORE = rf"{_LABEL_UNDERSCORE}(\.{_LABEL_UNDERSCORE})*"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_KEY_NAME})?"
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_PERCENT = "[0-9]+%"
_HTTP_HEADER = "[-A-Za-z0-9]+"
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_ENV_VAR = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"

_LABEL_RE: Final = re.compile(_LABEL)
_SUBDOMAIN_RE: Final = re.compile(_SUBDOMAIN)
_SUBDOMAIN_CASELESS_RE: Final = re.compile(_SUBDOMAIN, re.IGNORECASE | re.ASCII)
_SUBDOMAIN_UNDERSCORE_RE: Final = re.compile(_SUBDOMAIN_UNDERSCORE)
_WILDCARD_RE: Final = re.compile(_WILDCARD)
_DNS1035_RE: Final = re.compile(_DNS1035)
_KEY_NAME_RE: Final = re.compile(_KEY_NAME)
_LABEL_VALUE_RE: Final = re.compile(_LABEL_VALUE)
_C_IDENTIFIER_RE: Final = re.compile(_C_IDENTIFIER)
_PERCENT_RE: Final = re.compile(_PERCENT)
_HTTP_HEADER_RE: Final = re.compile(_HTTP_HEADER)
_HTTP_PATH_RE: Final = re.compile(_HTTP_PATH)
_ENV_VAR_RE: Final = re.compile(_ENV_VAR)
_CONFIG_KEY_RE: Final = re.compile(_CONFIG_KEY)
_PORT_NAME_RE: Final = re.compile("[-a-z0-9]+")
_DECIMAL_RE: Final = re.compile("0|-?[1-9][0-9]*")

_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_CASELESS_RULE = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_UNDERSCORE_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_WILDCARD_RULE = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
)
_DNS1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character"
)
_KEY_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_C_IDENTIFIER_RULE = (
    "a valid C identifier must start with alphabetic character or '_', "
    "followed by a string of alphanumeric characters or '_'"
)
_ENV_VAR_RULE = (
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
    "and must not start with a digit"
)
_RELAXED_ENV_VAR_RULE = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_CONFIG_KEY_RULE = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
_PERCENT_RULE = "a valid percent string must be a numeric string followed by an ending '%'"
_HTTP_HEADER_RULE = "a valid HTTP header must consist of alphanumeric characters or '-'"
_DECIMAL_RULE = "must be a valid decimal integer in canonical form"

EMPTY: Final = "must be non-empty"
NEGATIVE: Final = "must be greater than or equal to 0"
FIELD_IMMUTABLE: Final = "field is immutable"


def max_len_error(length_max: int, unit: str = "characters") -> str:
    return f"must be no more than {length_max} {unit}"


def regex_error(rule: str, pattern: str, *examples: str) -> str:
    """Explain a mismatch: the rule in words, examples, the pattern."""
    shown = "".join(f"{' or ' if i else 'e.g. '}'{example}', " for i, example in enumerate(examples))
    return f"{rule} ({shown}regex used for validation is '{pattern}')"


def inclusive_range_error(lowest: int, highest: int) -> str:
    return f"must be between {lowest} and {highest}, inclusive"


def byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _check(
    value: str, pattern: re.Pattern[str], message: str, length_max: int = 0, unit: str = "characters"
) -> list[str]:
    messages = []
    if length_max and byte_length(value) > length_max:
        messages.append(max_len_error(length_max, unit))
    if not pattern.fullmatch(value):
        messages.append(message)
    return messages


_LABEL_MESSAGE = regex_error(_LABEL_RULE, _LABEL, "my-name", "123-abc")
_SUBDOMAIN_MESSAGE = regex_error(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com")
_SUBDOMAIN_CASELESS_MESSAGE = regex_error(_SUBDOMAIN_CASELESS_RULE, _SUBDOMAIN, "Example.com")
_SUBDOMAIN_UNDERSCORE_MESSAGE = regex_error(_SUBDOMAIN_UNDERSCORE_RULE, _SUBDOMAIN_UNDERSCORE, "example.com")
_WILDCARD_MESSAGE = regex_error(_WILDCARD_RULE, _WILDCARD, "*.example.com")
_DNS1035_MESSAGE = regex_error(_DNS1035_RULE, _DNS1035, "my-name", "abc-123")
_KEY_NAME_MESSAGE = regex_error(_KEY_NAME_RULE, _KEY_NAME, "MyName", "my.name", "123-abc")
_LABEL_VALUE_MESSAGE = regex_error(_LABEL_VALUE_RULE, _LABEL_VALUE, "MyValue", "my_value", "12345")
_C_IDENTIFIER_MESSAGE = regex_error(_C_IDENTIFIER_RULE, _C_IDENTIFIER, "my_name", "MY_NAME", "MyName")
_ENV_VAR_MESSAGE = regex_error(_ENV_VAR_RULE, _ENV_VAR, "my.env-name", "MY_ENV.NAME", "MyEnvName1")
_CONFIG_KEY_MESSAGE = regex_error(_CONFIG_KEY_RULE, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name")
_PERCENT_MESSAGE = regex_error(_PERCENT_RULE, _PERCENT, "1%", "93%")
_HTTP_HEADER_MESSAGE = regex_error(_HTTP_HEADER_RULE, _HTTP_HEADER, "X-Header-Name")


def check_dns1123_label(value: str) -> list[str]:
    message = "must not contain dots" if _SUBDOMAIN_RE.fullmatch(value) else _LABEL_MESSAGE
    return _check(value, _LABEL_RE, message, DNS1123_LABEL_LENGTH_MAX)


def check_dns1123_subdomain(value: str) -> list[str]:
    return _check(value, _SUBDOMAIN_RE, _SUBDOMAIN_MESSAGE, DNS1123_SUBDOMAIN_LENGTH_MAX)


def check_dns1123_subdomain_caseless(value: str) -> list[str]:
    return _check(
        value, _SUBDOMAIN_CASELESS_RE, _SUBDOMAIN_CASELESS_MESSAGE, DNS1123_SUBDOMAIN_LENGTH_MAX, unit="bytes"
    )


def check_dns1123_subdomain_with_underscore(value: str) -> list[str]:
    return _check(value, _SUBDOMAIN_UNDERSCORE_RE, _SUBDOMAIN_UNDERSCORE_MESSAGE, DNS1123_SUBDOMAIN_LENGTH_MAX)


def check_wildcard_dns1123_subdomain(value: str) -> list[str]:
    return _check(value, _WILDCARD_RE, _WILDCARD_MESSAGE, DNS1123_SUBDOMAIN_LENGTH_MAX)


def check_dns1035_label(value: str) -> list[str]:
    return _check(value, _DNS1035_RE, _DNS1035_MESSAGE, DNS1035_LABEL_LENGTH_MAX)


def check_qualified_name(value: str) -> list[str]:
    """A label key: a name with an optional DNS subdomain and a slash before it."""
    return [] if _is_qualified_name(value) else _problems_of_qualified_name(value)


@lru_cache(maxsize=4096)
def _is_qualified_name(value: str) -> bool:
    return not _problems_of_qualified_name(value)


def _problems_of_qualified_name(value: str) -> list[str]:
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_KEY_NAME_MESSAGE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    messages = []
    if slash and not prefix:
        messages.append(f"prefix part {EMPTY}")
    elif slash:
        found = _check(prefix, _SUBDOMAIN_RE, _SUBDOMAIN_MESSAGE, DNS1123_SUBDOMAIN_LENGTH_MAX, unit="bytes")
        messages.extend(f"prefix part {message}" for message in found)
    if not name:
        messages.append(f"name part {EMPTY}")
    found = _check(name, _KEY_NAME_RE, _KEY_NAME_MESSAGE, LABEL_KEY_NAME_LENGTH_MAX, unit="bytes")
    messages.extend(f"name part {message}" for message in found)
    return messages


def check_label_value(value: str) -> list[str]:
    return _check(value, _LABEL_VALUE_RE, _LABEL_VALUE_MESSAGE, LABEL_VALUE_LENGTH_MAX, unit="bytes")


def check_c_identifier(value: str) -> list[str]:
    return _check(value, _C_IDENTIFIER_RE, _C_IDENTIFIER_MESSAGE)


def check_decimal_integer(value: str) -> list[str]:
    return [] if _DECIMAL_RE.fullmatch(value) else [_DECIMAL_RULE if value else EMPTY]


def check_in_range(value: int, lowest: int, highest: int) -> list[str]:
    return [] if lowest <= value <= highest else [inclusive_range_error(lowest, highest)]


def check_port_number(port: int) -> list[str]:
    return check_in_range(port, 1, 65535)


def check_user_id(uid: int) -> list[str]:
    return check_in_range(uid, 0, 2**31 - 1)


def check_group_id(gid: int) -> list[str]:
    return check_in_range(gid, 0, 2**31 - 1)


def check_port_name(name: str) -> list[str]:
    messages = []
    if byte_length(name) > 15:
        messages.append(max_len_error(15))
    if not _PORT_NAME_RE.fullmatch(name):
        messages.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in name):
        messages.append("must contain at least one letter (a-z)")
    if "--" in name:
        messages.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        messages.append("must not begin or end with a hyphen")
    return messages


def check_percent(value: str) -> list[str]:
    return _check(value, _PERCENT_RE, _PERCENT_MESSAGE)


def check_http_header_name(value: str) -> list[str]:
    return _check(value, _HTTP_HEADER_RE, _HTTP_HEADER_MESSAGE)


def check_env_var_name(value: str) -> list[str]:
    return _check(value, _ENV_VAR_RE, _ENV_VAR_MESSAGE) + _check_parent_folder(value)


def check_relaxed_env_var_name(value: str) -> list[str]:
    if not value:
        return [f"environment variable name {EMPTY}"]
    printable = all(" " <= char <= "~" and char != "=" for char in value)
    return [] if printable else [_RELAXED_ENV_VAR_RULE]


def check_config_map_key(value: str) -> list[str]:
    found = _check(value, _CONFIG_KEY_RE, _CONFIG_KEY_MESSAGE, DNS1123_SUBDOMAIN_LENGTH_MAX)
    return found + _check_parent_folder(value)


def _check_parent_folder(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def check_path_segment_name(name: str) -> list[str]:
    """A name that can stand in a URL path; neither emptiness nor length is checked."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return check_path_segment_prefix(name)


def check_path_segment_prefix(prefix: str) -> list[str]:
    return [f"may not contain '{illegal}'" for illegal in ("/", "%") if illegal in prefix]


def check_fully_qualified_name(path: FieldLike, name: str) -> ErrorList:
    """A subdomain of at least three segments."""
    if not name:
        return [field.required(path)]
    if messages := check_dns1123_subdomain(name):
        return [field.invalid(path, name, ",".join(messages))]
    if name.count(".") < 2:
        return [field.invalid(path, name, "should be a domain with at least three segments separated by dots")]
    return []


def check_fully_qualified_domain_name(path: FieldLike, name: str) -> ErrorList:
    """A subdomain of at least two segments; it may end with a dot."""
    if not name:
        return [field.required(path)]
    name = name.removesuffix(".")
    if messages := check_dns1123_subdomain(name):
        return [field.invalid(path, name, ",".join(messages))]
    segments = name.split(".")
    if len(segments) < 2:
        return [field.invalid(path, name, "should be a domain with at least two segments separated by dots")]
    for segment in segments:
        if messages := check_dns1123_label(segment):
            return [field.invalid(path, segment, ",".join(messages))]
    return []


def check_domain_prefixed_path(path: FieldLike, value: str) -> ErrorList:
    """A subdomain, a slash and an HTTP path: `acme.io/foo`."""
    if not value:
        return [field.required(path)]
    host, _, rest = value.partition("/")
    if not host or not rest:
        return [field.invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [field.invalid(path, host, message) for message in check_dns1123_subdomain(host)]
    if not _HTTP_PATH_RE.fullmatch(rest):
        errors.append(field.invalid(path, rest, regex_error("Invalid path", _HTTP_PATH)))
    return errors


def check_domain_prefixed_key(path: FieldLike, key: str) -> ErrorList:
    """A label key that must have a prefix."""
    if not key:
        return [field.required(path)]
    errors = [field.invalid(path, key, message) for message in check_qualified_name(key)]
    if not errors and "/" not in key:
        errors.append(field.invalid(path, key, 'must be a domain-prefixed key (such as "acme.io/foo")'))
    return errors


def _without_trailing_dash(name: str) -> str:
    # The dash of a generateName prefix never ends the name; upstream drops one more character with it.
    return f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name


def name_is_dns_subdomain(name: str, *, prefix: bool = False) -> list[str]:
    """Check an object's name, or a prefix to which characters will be added."""
    return check_dns1123_subdomain(_without_trailing_dash(name) if prefix else name)


def name_is_dns_label(name: str, *, prefix: bool = False) -> list[str]:
    return check_dns1123_label(_without_trailing_dash(name) if prefix else name)


def name_is_dns1035_label(name: str, *, prefix: bool = False) -> list[str]:
    return check_dns1035_label(_without_trailing_dash(name) if prefix else name)


def name_is_path_segment(name: str, *, prefix: bool = False) -> list[str]:
    return check_path_segment_prefix(name) if prefix else check_path_segment_name(name)


def validate_label_name(key: str, path: FieldLike) -> ErrorList:
    origin = "format=k8s-label-key"
    return [field.invalid(path, key, message, origin) for message in check_qualified_name(key)]


@lru_cache(maxsize=4096)
def _is_label(key: str, value: str) -> bool:
    return _is_qualified_name(key) and not check_label_value(value)


def validate_labels(labels: Mapping[str, str] | None, path: FieldLike) -> ErrorList:
    errors: ErrorList = []
    for key, value in (labels or {}).items():
        if _is_label(key, value):
            continue
        errors.extend(validate_label_name(key, path))
        messages = check_label_value(value)
        errors.extend(field.invalid(path, value, message, "format=k8s-label-value") for message in messages)
    return errors


def validate_nonnegative(value: int, path: Path) -> ErrorList:
    return [field.invalid(path, value, NEGATIVE, "minimum")] if value < 0 else []

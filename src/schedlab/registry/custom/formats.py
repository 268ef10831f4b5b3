"""Formats of strings that values of custom resources are checked for.

Mirrors: k8s.io/kube-openapi/pkg/validation/strfmt, staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/validation
/formats.go (v1.36)
Differs: numbers of credit cards, books and social security are not looked at.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from schedlab.apimachinery import ip, names
from schedlab.apimachinery.time import TimeError, parse_duration

_UUID: Final = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}$"
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_DATE_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:?\d\d)")
_MAC: Final = re.compile(r"(?i)[0-9a-f]{2}([:-][0-9a-f]{2}){5,7}|[0-9a-f]{4}(\.[0-9a-f]{4}){2,3}")
_EMAIL: Final = re.compile(r"[^@\s<>]+@[^@\s<>.]+(\.[^@\s<>.]+)*")
_HOSTNAME: Final = re.compile(r"(?i)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9]([a-z0-9-]{0,62}))*\.?")
_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DURATION_WORDS: Final = re.compile(r"(\d+)\s*(ns|us|µs|ms|s|m|h|d|w|[a-z]+)")


def matches(form: str, text: str) -> bool:
    """Say whether a text has a format; one that is not known has every text."""
    check = _CHECKS.get(form.replace("-", ""))
    return True if check is None else check(text)


def _fits(pattern: re.Pattern[str] | str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = (int(part) for part in match.groups())
    leap = month == 2 and (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
    return 1 <= month <= 12 and 1 <= day <= _MONTH_DAYS[month - 1] + leap


def _is_date_time(text: str) -> bool:
    match = _DATE_TIME.fullmatch(text)
    if match is None or not _is_date(match[1]):
        return False
    return int(match[2]) < 24 and int(match[3]) < 60 and int(match[4]) < 60


def _is_duration(text: str) -> bool:
    try:
        parse_duration(text)
    except TimeError:
        return _DURATION_WORDS.fullmatch(text.strip()) is not None
    return True


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(text)


def _is_uri(text: str) -> bool:
    try:
        found = urlsplit(text)
    except ValueError:
        return False
    return bool(found.scheme) or text.startswith("/")


def _is_ip(*, v6: bool) -> Callable[[str], bool]:
    return lambda text: ip.parse_ip(text) is not None and ip.is_ipv6(text) is v6


_CHECKS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _fits(r"[0-9a-fA-F]{24}"),
    "byte": _is_base64,
    "cidr": lambda text: ip.parse_cidr(text) is not None,
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": _fits(_EMAIL),
    "hexcolor": _fits(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": lambda text: len(text) <= 255 and _HOSTNAME.fullmatch(text) is not None,
    "ipv4": _is_ip(v6=False),
    "ipv6": _is_ip(v6=True),
    "k8slongname": lambda text: not names.check_dns1123_subdomain(text),
    "k8sshortname": lambda text: not names.check_dns1123_label(text),
    "mac": _fits(_MAC),
    "uri": _is_uri,
    "uuid": _fits(_UUID % ("[0-9a-f]", "[0-9a-f]")),
    "uuid3": _fits(_UUID % ("3", "[0-9a-f]")),
    "uuid4": _fits(_UUID % ("4", "[89ab]")),
    "uuid5": _fits(_UUID % ("5", "[89ab]")),
}

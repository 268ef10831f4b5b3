"""Small checks that many kinds share.

Mirrors: pkg/apis/core/validation/validation.go, staging/src/k8s.io/apimachinery/pkg/api/validation (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

FILE_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"


def messages(path: Path, value: object, found: Iterable[str]) -> ErrorList:
    """One Invalid error per message."""
    return [field.invalid(path, value, message) for message in found]


def required(holder: Mapping[str, Any], path: Path, *keys: str) -> ErrorList:
    """Fields that must not be empty."""
    return [field.required(path.child(key)) for key in keys if not holder.get(key)]


def one_of(value: str, supported: Collection[str], path: Path) -> ErrorList:
    """A value of an enumeration; the message lists the values in the order given."""
    return [] if value in supported else [field.not_supported(path, value, supported)]


def nonnegative(holder: Mapping[str, Any], path: Path, *keys: str) -> ErrorList:
    """Numbers that must not be below zero."""
    errors: ErrorList = []
    for key in keys:
        value = holder.get(key)
        if value is not None and value < 0:
            errors.append(field.invalid(path.child(key), value, names.NEGATIVE, "minimum"))
    return errors


def positive(value: int, path: Path) -> ErrorList:
    return [] if value > 0 else [field.invalid(path, value, "must be greater than zero", "minimum")]


def name(value: str, check: Callable[[str], list[str]], path: Path) -> ErrorList:
    """A name that a check has messages about."""
    return messages(path, value, check(value))


def dns_label(value: str, path: Path) -> ErrorList:
    return messages(path, value, names.check_dns1123_label(value))


def dns_subdomain(value: str, path: Path) -> ErrorList:
    return messages(path, value, names.check_dns1123_subdomain(value))


def file_mode(holder: Mapping[str, Any], path: Path, key: str) -> ErrorList:
    mode = holder.get(key)
    if mode is not None and not 0 <= mode <= 0o777:
        return [field.invalid(path.child(key), mode, FILE_MODE)]
    return []

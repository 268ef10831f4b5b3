"""Checks of values that are a number or a percentage.

Mirrors: pkg/apis/apps/validation/validation.go (ValidatePositiveIntOrPercent and around) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import TypeAlias

from schedlab.api.validation.common import messages
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

IntOrPercent: TypeAlias = int | str


def validate_int_or_percent(value: IntOrPercent, path: Path) -> ErrorList:
    """A number that is not negative, or digits with a percent sign."""
    if isinstance(value, str):
        return messages(path, value, names.check_percent(value))
    return [field.invalid(path, value, names.NEGATIVE, "minimum")] if value < 0 else []


def validate_at_most_whole(value: IntOrPercent, path: Path) -> ErrorList:
    """Not more than all of it."""
    percent = percent_of(value)
    if percent is None or percent <= 100:
        return []
    return [field.invalid(path, value, "must not be greater than 100%")]


def percent_of(value: IntOrPercent) -> int | None:
    """Return the number before the percent sign, None for a plain number or a malformed text."""
    if not isinstance(value, str) or names.check_percent(value):
        return None
    return int(value[:-1])

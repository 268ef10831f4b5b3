"""Checks of how much of a device's capacity one claim can ask for.

Mirrors: pkg/apis/resource/validation/validation.go (validateRequestPolicy and around) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery import field
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.quantity import Quantity, parse_cached

_OPTIONS_MAX: Final = 10
_ONE_POLICY: Final = (
    'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
)


def validate_request_policy(capacity: Quantity, policy: Mapping[str, Any], path: Path) -> ErrorList:
    """Check a policy against the capacity that there is."""
    values, valid_range = policy.get("validValues") or (), policy.get("validRange")
    if values and valid_range is not None:
        return [field.forbidden(path, _ONE_POLICY)]
    used = "validValues" if values else "validRange"
    if not values and valid_range is None:
        return []
    if policy.get("default") is None:
        return [field.required(path.child("default"), f"required when {used} is defined")]
    default = parse_cached(policy["default"])
    if values:
        return _validate_values(default, capacity, [parse_cached(text) for text in values], path.child(used))
    assert valid_range is not None
    amounts = {
        key: parse_cached(valid_range[key]) for key in ("min", "max", "step") if valid_range.get(key) is not None
    }
    return _validate_range(default, capacity, amounts, path.child(used))


def _validate_values(default: Quantity, capacity: Quantity, values: Sequence[Quantity], path: Path) -> ErrorList:
    errors: ErrorList = []
    for i in range(1, len(values)):
        if values[i - 1] > values[i]:
            errors.append(field.invalid(path.index(i), str(values[i]), "values must be sorted in ascending order"))
    if len(values) > _OPTIONS_MAX:
        errors.append(field.too_many(path, len(values), _OPTIONS_MAX))
    else:
        errors += _validate_options(capacity, values, path)
    if len(values) > _OPTIONS_MAX or default not in values:
        errors.append(field.invalid(path, str(default), "default value is not valid according to the requestPolicy"))
    return errors


def _validate_options(capacity: Quantity, values: Sequence[Quantity], path: Path) -> ErrorList:
    errors: ErrorList = []
    seen: list[int] = []
    for i, value in enumerate(values):
        if value > capacity:
            detail = f"option is larger than capacity value: {capacity}"
            errors.append(field.invalid(path.index(i), str(value), detail))
        if value.value() in seen:
            errors.append(field.duplicate(path.index(i), str(value.value())))
        seen.append(value.value())
    return errors


def _validate_range(default: Quantity, capacity: Quantity, amounts: Mapping[str, Quantity], path: Path) -> ErrorList:
    lowest, highest, step = (amounts.get(key) for key in ("min", "max", "step"))
    own = path.child("min")
    if lowest is None:
        return [field.required(own, "required when validRange is defined")]
    errors: ErrorList = []
    if lowest > capacity:
        errors.append(field.invalid(own, str(lowest), f"min is larger than capacity value: {capacity}"))
    if default < lowest:
        errors.append(field.invalid(own, str(default), f"default is less than min: {lowest}"))
    if highest is not None:
        errors += _validate_highest(default, capacity, lowest, highest, path.child("max"))
    if step is not None:
        own = path.child("step")
        if lowest + step > capacity:
            detail = f"one step {lowest + step} is larger than capacity value: {capacity}"
            errors.append(field.invalid(own, str(step), detail))
        for value in (default, highest):
            errors += [] if value is None else _validate_step(value, lowest, step, own)
    return errors


def _validate_highest(
    default: Quantity, capacity: Quantity, lowest: Quantity, highest: Quantity, path: Path
) -> ErrorList:
    errors: ErrorList = []
    if lowest > highest:
        errors.append(field.invalid(path, str(lowest), f"min is larger than max: {highest}"))
    if highest > capacity:
        errors.append(field.invalid(path, str(highest), f"max is larger than capacity value: {capacity}"))
    if default > highest:
        errors.append(field.invalid(path, str(default), f"default is more than max: {highest}"))
    return errors


def _validate_step(value: Quantity, lowest: Quantity, step: Quantity, path: Path) -> ErrorList:
    # Upstream divides by a step of zero; that no amount is a multiple of it is a better answer.
    if step.value() and (value.value() - lowest.value()) % step.value() == 0:
        return []
    return [field.invalid(path, str(value), f"value is not a multiple of a given step ({step}) from ({lowest})")]

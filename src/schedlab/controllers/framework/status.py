"""Conditions and amounts as the statuses of controllers hold them.

Mirrors: SetDeploymentCondition and its like of pkg/controller/*, GetScaledValueFromIntOrPercent of
staging/src/k8s.io/apimachinery/pkg/util/intstr (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from schedlab.api.object import Object, StoredObject
from schedlab.client.protocol import Write

Condition: TypeAlias = Mapping[str, Any]


def find_condition(conditions: Sequence[Condition], kind: str) -> Condition | None:
    """Return the condition of a type."""
    return next((each for each in conditions if each["type"] == kind), None)


def without_condition(conditions: Sequence[Condition], kind: str) -> list[Condition]:
    """Return the conditions of other types."""
    return [each for each in conditions if each["type"] != kind]


def scaled_value(value: int | str | None, total: int, *, round_up: bool) -> int:
    """Return a number, or a percentage of a total; what is neither counts as none."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not digits.isascii() or not digits.isdigit():
        return 0
    parts = int(digits) * total
    return -(-parts // 100) if round_up else parts // 100


def new_status(stored: StoredObject, status: Mapping[str, Any]) -> Write:
    """Return the write of a whole status, refused when the object has changed meanwhile."""
    body: Object = dict(stored.raw)
    body["status"] = status
    return Write("update", stored.resource, stored.namespace, stored.name, body, subresource="status")

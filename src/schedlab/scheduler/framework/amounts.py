"""Amounts of resources as the scheduler counts them.

Mirrors: Resource in pkg/scheduler/framework/types.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from schedlab.api.rules.resource_names import is_scalar_resource
from schedlab.apimachinery.quantity import parse_milli, parse_value

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"


class Resource(msgspec.Struct):
    """Amounts: cpu in milli, all else in units (bytes, counts); `scalar` holds extended and other resources."""

    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    allowed_pod_number: int = 0
    scalar: dict[str, int] = {}

    @classmethod
    def of(cls, amounts: Mapping[str, int]) -> Resource:
        """Return amounts by name (cpu in milli) as a Resource; names the scheduler does not count are left out."""
        rest = {name: amount for name, amount in amounts.items() if is_scalar_resource(name)}
        return cls(
            amounts.get(CPU, 0),
            amounts.get(MEMORY, 0),
            amounts.get(EPHEMERAL_STORAGE, 0),
            amounts.get(PODS, 0),
            rest,
        )

    @classmethod
    def of_list(cls, quantities: Mapping[str, str]) -> Resource:
        """Return a wire resource list as a Resource."""
        return cls.of({k: parse_milli(v) if k == CPU else parse_value(v) for k, v in quantities.items()})

    def add(self, other: Resource, sign: int = 1) -> None:
        """Add (or with sign -1 take away) the amounts of a pod; the pod number is left alone."""
        self.milli_cpu += sign * other.milli_cpu
        self.memory += sign * other.memory
        self.ephemeral_storage += sign * other.ephemeral_storage
        for name, amount in other.scalar.items():
            self.scalar[name] = self.scalar.get(name, 0) + sign * amount

    def copy(self) -> Resource:
        """Return an independent copy."""
        return Resource(self.milli_cpu, self.memory, self.ephemeral_storage, self.allowed_pod_number, dict(self.scalar))

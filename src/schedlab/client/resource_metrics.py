"""What pods and nodes use, as whoever autoscales or shows it is told.

Mirrors: k8s.io/metrics/pkg/apis/metrics (v1.36). Differs: amounts are whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from schedlab.api.object import StoredObject


@dataclass(frozen=True, slots=True)
class Usage:
    """What is used on an average of the time before a measurement."""

    cpu_nano: int
    memory_bytes: int

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.cpu_nano + other.cpu_nano, self.memory_bytes + other.memory_bytes)

    def milli(self, resource: str) -> int | None:
        """Return the amount of a resource in thousandths, rounded up; None for one that is not measured."""
        if resource == "cpu":
            return -(-self.cpu_nano // 1_000_000)
        return self.memory_bytes * 1000 if resource == "memory" else None


@dataclass(frozen=True, slots=True)
class Measured:
    """When something was measured, and over which time before."""

    measured_ns: int
    window_ns: int


@dataclass(frozen=True, slots=True)
class PodMetrics(Measured):
    """What the containers of a pod use, by their names."""

    pod: StoredObject
    containers: dict[str, Usage]


@dataclass(frozen=True, slots=True)
class NodeMetrics(Measured):
    """What everything on a node uses together."""

    node: StoredObject
    usage: Usage


class ResourceMetrics(Protocol):
    """Knows what pods and nodes used when they were last measured; who was not measured yet is left out."""

    def pods(self, namespace: str | None = None) -> Sequence[PodMetrics]:
        """Return the metrics of all pods (of one namespace)."""

    def pod(self, name: str, namespace: str) -> PodMetrics | None:
        """Return the metrics of one pod."""

    def nodes(self) -> Sequence[NodeMetrics]:
        """Return the metrics of all nodes."""

    def node(self, name: str) -> NodeMetrics | None:
        """Return the metrics of one node."""

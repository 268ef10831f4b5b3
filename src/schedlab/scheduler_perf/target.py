"""What a run acts on: a cluster in this process on a virtual clock, or one that is served in another process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler_perf.objects import Body


@dataclass(slots=True)
class ChurnPlan:
    """Objects that come (and go) at intervals: `next_objects(round)` are those of one interval."""

    recreate: bool
    number: int
    interval_ns: int
    namespace: str
    next_objects: Callable[[int], Sequence[Body]]
    rounds: int = 0
    #: What the last rounds created, as (resource, namespace, name).
    created: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Selection:
    """Pods by namespace (none are all) and labels."""

    namespaces: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measured:
    """Raw figures of a stretch that was measured.

    bound_s: for each pod when it was bound, in seconds since the first was asked for, in that order. cpu_s: processor
    time that the cluster took. cycles_s: how long each scheduling cycle took, with its record and whatever its binding
    did at once. stages_s: processor time by stage, when it was asked for. client_cpu_s: that of clients in a process of
    their own.
    """

    pods: int
    bound_s: Sequence[float]
    cpu_s: float
    cycles_s: Sequence[float] = ()
    stages_s: Mapping[str, float] = field(default_factory=dict)
    client_cpu_s: float = 0.0


class Target(Protocol):
    """A cluster that operations act on."""

    def create(self, bodies: Iterable[Body], namespace: str = "") -> Sequence[tuple[str, str, str]]:
        """Create objects and return (resource, namespace, name) of each; raises SchedlabError when one is refused."""

    def update(self, bodies: Iterable[Body], namespace: str, subresources: Sequence[str], per_second: int) -> None:
        """Merge what is given into objects that are there."""

    def create_pods(self, bodies: Iterable[Body], namespace: str, *, wait: bool) -> None:
        """Create pods; with `wait` return when all are scheduled. Objects of churns come in between."""

    def delete_pods(self, selection: Selection, per_second: int, *, wait: bool) -> None:
        """Delete pods, so many per second (0: all at once)."""

    def keep_steady(self, bodies: Iterable[Body], namespace: str, count: int, duration_ns: int) -> None:
        """For a while delete pods that are scheduled and create others."""

    def wait_for(self, selection: Selection, *, attempted: bool) -> None:
        """Return when the pods are scheduled, or have been tried."""

    def churn(self, plan: ChurnPlan) -> None:
        """Begin to create and delete objects at intervals."""

    def sleep(self, duration_ns: int) -> None:
        """Let time pass."""

    def start_measuring(self, selection: Selection) -> None:
        """Begin to measure the pods that are created from now on."""

    def stop_measuring(self) -> Measured:
        """End it and return the figures."""

    def facts(self) -> dict[str, Any]:
        """Return what else is to be told of the run: memory, sizes of records."""

    def close(self) -> None:
        """Stop what runs."""


#: A run that makes no progress for so long has failed.
STALLED_NS = 120 * SECOND_NS

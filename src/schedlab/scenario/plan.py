"""A scenario read whole: files opened, times in nanoseconds, references resolved; what a run needs, and nothing to fail.

Compiling finds every mistake that can be found before anything runs, and tells them all at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.apimachinery.distribution import Distribution
from schedlab.apimachinery.selectors import Selector
from schedlab.cluster.cluster import ClusterSettings
from schedlab.scenario.model import Assertion, Scenario
from schedlab.scenario.templates import Template


@dataclass(frozen=True, slots=True)
class NodeSet:
    """Nodes by name or by labels; both empty: all nodes."""

    name: str = ""
    selector: Selector | None = None

    def holds(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node belongs to it."""
        if self.selector is not None:
            return self.selector.matches(labels)
        return self.name in ("", name)


@dataclass(frozen=True, slots=True)
class PodPlan:
    """A template of pods, how they are called and how long they run."""

    template: Template
    name: str
    run_time: Distribution | None = None
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Arrival:
    """A pod of a trace: when it comes, how long it runs and values for its template."""

    at_ns: int
    run_time: Distribution | None
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """A load: gaps between its pods are drawn, or its arrivals are known. `number`: its place in the file."""

    name: str
    pods: Sequence[PodPlan]
    from_ns: int
    until_ns: int | None
    count: int | None
    gaps: Distribution | None
    trace: Sequence[Arrival]
    starts_itself: bool


@dataclass(frozen=True, slots=True)
class Deed:
    """Something done at a time. `what`: manifests to create, a Change, a NodeSet, bodies of nodes, a configuration with
    its place, or the name of a load. `place`: where it stands in the file.
    """

    at_ns: int
    kind: str
    what: Any
    place: str


@dataclass(frozen=True, slots=True)
class PricePlan:
    """What nodes cost per hour."""

    nodes: NodeSet
    per_hour: float


@dataclass(frozen=True, slots=True)
class Check:
    """An assertion with what its texts mean; at_ns None: at the end."""

    assertion: Assertion
    at_ns: int | None
    text: str
    place: str
    selector: Selector | None = None
    on: NodeSet | None = None
    not_on: NodeSet | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run needs. objects: manifests in the order in which they are made. files: those that the scenario names."""

    scenario: Scenario
    location: str
    name: str
    settings: ClusterSettings
    snapshot: Mapping[str, Any] | None
    objects: Sequence[dict[str, Any]]
    loads: Sequence[LoadPlan]
    deeds: Sequence[Deed]
    checks: Sequence[Check]
    prices: Sequence[PricePlan]
    every_ns: int
    stop_ns: int
    pending_ns: int | None
    warnings: Sequence[str]
    files: Sequence[str]

"""The pods on nodes at a moment that is over, as numbers: how many of each kind, how many with each affinity term.

A table of the past (NodeTable.past) has them in place of indexes over its pods: few questions are asked there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.pod_facts import KnownTerm, PodKind

G = TypeVar("G", bound=Hashable)

#: Of so many groups numbers are made at once.
_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class Steps:
    """How many more pods (fewer if negative) of a group came to a node: group, node, number: int32[E]."""

    group: NDArray[np.int32]
    node: NDArray[np.int32]
    number: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class PastGroups(Generic[G]):
    """How many pods of each group each node had.

    groups: all that are known by now, in the order of their numbers; of these `count` were known then. steps: what to add up. columns: int64[N] is the number of each node of
    the table among `nodes` that are known, `nodes` itself that of one which never had a pod.
    """

    groups: Mapping[G, int]
    count: int
    steps: Steps
    columns: NDArray[np.int64]
    nodes: int

    def known(self) -> Iterator[tuple[G, int]]:
        """Yield the groups that were known then, with their numbers."""
        return islice(self.groups.items(), self.count)

    def totals(self) -> NDArray[np.int64]:
        """Return how many pods each group had on all nodes, those that were not in the table included: int64[groups]."""
        return np.bincount(self.steps.group, self.steps.number, self.count).astype(np.int64)

    def per_node(self, groups: Sequence[int]) -> NDArray[np.int32]:
        """Return how many pods of these groups together each node of the table had, int32[N]."""
        wanted = np.zeros(self.count, np.bool_)
        wanted[np.array(groups, np.int64)] = True
        some = wanted[self.steps.group]
        counts = np.bincount(self.steps.node[some], self.steps.number[some], self.nodes + 1)
        return counts[self.columns].astype(np.int32)

    def per_node_each(self, groups: Sequence[int]) -> list[NDArray[np.int32]]:
        """Return the same for each of these groups alone."""
        out: list[NDArray[np.int32]] = []
        size = self.nodes + 1
        for begin in range(0, len(groups), _AT_ONCE):
            part = groups[begin : begin + _AT_ONCE]
            place = np.full(self.count, -1, np.int64)
            place[np.array(part, np.int64)] = np.arange(len(part))
            places = place[self.steps.group]
            some = places >= 0
            at = places[some] * size + self.steps.node[some]
            counts = np.bincount(at, self.steps.number[some], len(part) * size).reshape(len(part), size)
            out += list(counts[:, self.columns].astype(np.int32))
        return out


@dataclass(frozen=True, slots=True)
class PastPods:
    """The pods on nodes at a moment, by what queries and affinity ask for."""

    kinds: PastGroups[PodKind]
    terms: PastGroups[KnownTerm]

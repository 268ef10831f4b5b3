"""The pods on nodes at a moment that is over, as numbers: how many of each kind, how many with each affinity term.

A table of the past (NodeTable.past) has them in place of indexes over its pods: few questions are asked there.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from schedlab.scheduler.framework.pod_facts import TermKind
from schedlab.scheduler.framework.pod_index import LabelBuckets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.pod_facts import KnownTerm, PodKind

G = TypeVar("G", bound=Hashable)

#: Of so many groups numbers are made at once.
_AT_ONCE: Final = 64
_PLACES: Final = {kind: place for place, kind in enumerate(TermKind)}


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

    def per_value_each(self, groups: Sequence[int], ids: NDArray[np.int32], values: int) -> Iterator[NDArray[np.int64]]:
        """Yield for each of these groups how many pods of it were on the nodes of each value, int64[values + 1].

        ids: int32[N], the value of each node of the table, -1 where it has none; the last number is always 0.
        """
        of_node = np.full(self.nodes + 1, -1, np.int64)
        of_node[self.columns] = ids
        # The node that never had a pod stands for any number of them.
        of_node[self.nodes] = -1
        of_step = of_node[self.steps.node]
        for begin in range(0, len(groups), _AT_ONCE):
            part = groups[begin : begin + _AT_ONCE]
            place = np.full(self.count, -1, np.int64)
            place[np.array(part, np.int64)] = np.arange(len(part))
            places = place[self.steps.group]
            some = (places >= 0) & (of_step >= 0)
            at = places[some] * (values + 1) + of_step[some]
            counts = np.bincount(at, self.steps.number[some], len(part) * (values + 1))
            yield from counts.astype(np.int64).reshape(len(part), values + 1)


class KnownTerms:
    """The terms of a journal's pods, in the order of their numbers, so kept that a pod finds those that may speak of it."""

    def __init__(self, numbers: Mapping[KnownTerm, int]) -> None:
        self._numbers = numbers
        #: By number the place of its kind in TermKind.
        self._kinds = array("b")
        self._by_kind: dict[TermKind, LabelBuckets[KnownTerm]] = {kind: LabelBuckets() for kind in TermKind}

    def refresh(self) -> None:
        """Take up the terms that have come since."""
        for known in islice(self._numbers, len(self._kinds), None):
            self._kinds.append(_PLACES[known.kind])
            self._by_kind[known.kind].add(known.term.selector, known)

    def kinds(self, there: NDArray[np.bool_]) -> frozenset[TermKind]:
        """Return the kinds of the terms that are `there`, bool[T] by number."""
        places = np.array(self._kinds[: len(there)])[there]
        return frozenset(kind for kind, place in _PLACES.items() if (places == place).any())

    def candidates(self, kind: TermKind, labels: Mapping[str, str]) -> list[tuple[int, KnownTerm]]:
        """Return the terms of a kind that may speak of pods with these labels, in the order of their numbers."""
        return sorted((self._numbers[known], known) for known in self._by_kind[kind].candidates(labels))


@dataclass(frozen=True, slots=True)
class PastPods:
    """The pods on nodes at a moment, by what queries and affinity ask for; known_terms: those of `terms` and later ones."""

    kinds: PastGroups[PodKind]
    terms: PastGroups[KnownTerm]
    known_terms: KnownTerms

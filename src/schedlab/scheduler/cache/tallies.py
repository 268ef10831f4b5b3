"""How many pods of a kind, and how many with an affinity term, each node had at any moment of a journal, in numbers.

A pod that comes to a node or leaves one is an entry for every group it is in. The numbers of a moment are those of the
first one that is kept and the entries since then, added up as arrays: no pod is looked at, however long ago it was.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from schedlab.scheduler.framework.past_pods import KnownTerms, PastGroups, PastPods, Steps

if TYPE_CHECKING:
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.pod_facts import KnownTerm, PodKind
    from schedlab.scheduler.framework.types import PodInfo

G = TypeVar("G", bound=Hashable)


class _Entries(Generic[G]):
    """Entries in the order of their positions, after those of the first moment, which are known once it was asked for."""

    def __init__(self) -> None:
        self.groups: dict[G, int] = {}
        self.first: Steps | None = None
        self._position, self._group, self._node, self._number = array("q"), array("i"), array("i"), array("i")

    def note(self, position: int, node: int, groups: Iterable[G], number: int) -> None:
        """Take down that so many more pods are on a node."""
        for group in groups:
            self._position.append(position)
            self._group.append(self.groups.setdefault(group, len(self.groups)))
            self._node.append(node)
            self._number.append(number)

    def begin_at(self, position: int) -> None:
        """Let the first moment be a later one."""
        if self.first is not None:
            self.first = _sum(self.until(position))
        count = self._count(position)
        for column in (self._position, self._group, self._node, self._number):
            del column[:count]

    def summed(self) -> Steps:
        """Return all entries, added up."""
        return _sum(Steps(*(np.array(column) for column in (self._group, self._node, self._number))))

    def until(self, position: int) -> Steps:
        """Return what to add up for a moment."""
        count = self._count(position)
        group, node, number = (np.array(column[:count]) for column in (self._group, self._node, self._number))
        if self.first is None:
            return Steps(group, node, number)
        first = self.first
        return Steps(
            np.concatenate([first.group, group]),
            np.concatenate([first.node, node]),
            np.concatenate([first.number, number]),
        )

    def known_until(self, position: int) -> tuple[Mapping[G, int], int, Steps]:
        """Return the groups, how many of them are known now, and what to add up for a moment."""
        return self.groups, len(self.groups), self.until(position)

    def _count(self, position: int) -> int:
        return int(np.searchsorted(np.array(self._position), position))


def _sum(steps: Steps) -> Steps:
    """Add up what is of the same group and node."""
    size = int(steps.node.max(initial=0)) + 1
    keys, places = np.unique(steps.group.astype(np.int64) * size + steps.node, return_inverse=True)
    numbers = np.bincount(places, steps.number, len(keys)).astype(np.int32)
    keys, numbers = keys[numbers != 0], numbers[numbers != 0]
    return Steps((keys // size).astype(np.int32), (keys % size).astype(np.int32), numbers)


class Tallies:
    """The entries of one journal."""

    def __init__(self) -> None:
        self._nodes: dict[str, int] = {}
        self._kinds: _Entries[PodKind] = _Entries()
        self._terms: _Entries[KnownTerm] = _Entries()
        self._known_terms = KnownTerms(self._terms.groups)

    def note(self, position: int, pod: PodInfo, number: int) -> None:
        """Take down that a pod came to its node (1) or left it (-1) by the operation of that position."""
        node = self._nodes.setdefault(pod.pod.spec.node_name, len(self._nodes))
        self._kinds.note(position, node, (pod.kind,), number)
        if pod.known_terms:
            self._terms.note(position, node, pod.known_terms, number)

    def begin_at(self, position: int) -> None:
        """Let the first moment that is kept be a later one."""
        self._kinds.begin_at(position)
        self._terms.begin_at(position)

    def know_first(self, pods: Iterable[PodInfo]) -> None:
        """Be told who was there at the first moment, unless it is known."""
        if self._kinds.first is not None:
            return
        first = Tallies()
        first._nodes, first._kinds.groups, first._terms.groups = self._nodes, self._kinds.groups, self._terms.groups
        for pod in pods:
            first.note(0, pod, 1)
        self._kinds.first, self._terms.first = first._kinds.summed(), first._terms.summed()

    def at(self, position: int) -> Callable[[NodeTable], PastPods]:
        """Return what tells the pods on the nodes of a table after that many operations, whatever is forgotten since."""
        kinds, terms = self._kinds.known_until(position), self._terms.known_until(position)
        nodes, count, known_terms = self._nodes, len(self._nodes), self._known_terms
        known_terms.refresh()

        def over(table: NodeTable) -> PastPods:
            columns = np.minimum([nodes.get(name, count) for name in table.names], count).astype(np.int64)
            return PastPods(PastGroups(*kinds, columns, count), PastGroups(*terms, columns, count), known_terms)

        return over

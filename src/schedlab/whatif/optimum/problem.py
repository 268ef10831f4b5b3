"""The question of which pods fit where, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: The fewest nodes for the pods that are placed, or the most pods that can be.
Goal = Literal["nodes", "pods"]


@dataclass(frozen=True, slots=True)
class Group:
    """Pods that ask for the same. requests: by resource, in the order of Problem.resources, the last one of pods.

    allowed: bool[N] where they may be. now: rows of nodes with the number of them there. waiting: how many have no node.
    """

    pods: Sequence[str]
    requests: Sequence[int]
    allowed: NDArray[np.bool_]
    now: Mapping[int, int]
    waiting: int

    @property
    def placed(self) -> int:
        """How many have a node."""
        return len(self.pods) - self.waiting

    @property
    def weight(self) -> int:
        """By what nodes are ordered: what one asks of the first resource, 1 if that is nothing."""
        return self.requests[0] or 1


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Pods of two groups that are never in one domain; of a group with itself: at most one. domains: int[N], -1 for none."""

    one: int
    other: int
    domains: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Spread:
    """Groups whose pods differ by at most `skew` between domains: int[N], -1 for nodes that do not count.

    from_zero: the smallest domain is taken to be empty, because there are too few.
    """

    groups: Sequence[int]
    domains: NDArray[np.int64]
    skew: int
    from_zero: bool


@dataclass(frozen=True)
class Problem:
    """Groups of pods and N nodes. capacity: int64[R, N], what pods that may move can have of each resource, the last
    row of pods. held: bool[N] nodes that pods use which do not move. still: pods that do not move.

    left_out: demands of these pods that are not in here.
    """

    nodes: Sequence[str]
    resources: Sequence[str]
    capacity: NDArray[np.int64]
    held: NDArray[np.bool_]
    still: int
    groups: Sequence[Group]
    exclusions: Sequence[Exclusion]
    spreads: Sequence[Spread]
    left_out: Sequence[str]

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Return bool[N]: the nodes that are used now."""
        used = self.held.copy()
        for group in self.groups:
            used[list(group.now)] = True
        return used

    def now(self) -> list[dict[int, int]]:
        """Return how many pods of each group are on each node, row by row."""
        found: list[dict[int, int]] = [{} for _ in self.nodes]
        for number, group in enumerate(self.groups):
            for row, count in group.now.items():
                found[row][number] = count
        return found

    def classes(self) -> list[list[int]]:
        """Return the rows of nodes that are equal in all that counts, class by class."""
        allowed = np.array([group.allowed for group in self.groups], np.bool_).reshape(
            len(self.groups), len(self.nodes)
        )
        columns = [allowed.astype(np.int64), self.capacity, self.held[np.newaxis].astype(np.int64)]
        columns += [shared_domains(one.domains)[np.newaxis] for one in self.exclusions]
        columns += [shared_domains(one.domains)[np.newaxis] for one in self.spreads]
        table = np.concatenate(columns).T.copy()
        found: dict[bytes, list[int]] = {}
        for row, key in enumerate(table):
            found.setdefault(key.tobytes(), []).append(row)
        return list(found.values())


#: In place of a domain: the node is one of its own.
ALONE = -2


def shared_domains(domains: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return domains with ALONE in place of those of one node."""
    ids, place, sizes = np.unique(domains, return_inverse=True, return_counts=True)
    alone: NDArray[np.bool_] = (sizes[place] == 1) & (ids[place] >= 0)
    return np.where(alone, ALONE, domains)

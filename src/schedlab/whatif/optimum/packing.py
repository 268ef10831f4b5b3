"""A placement on few nodes, found by putting one pod after the other where it leaves the least room: large pods first.

It need not be the best one, but it is found for any number of nodes, and it meets all that is modelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.whatif.optimum.problem import Problem


def packed(problem: Problem, wanted: Sequence[int]) -> list[dict[int, int]] | None:
    """Return how many pods of each group are on each node, row by row; None when some pod finds no place.

    `wanted`: rows that are opened first, in this order.
    """
    return _Packing(problem, wanted).run()


class _Packing:
    def __init__(self, problem: Problem, wanted: Sequence[int]) -> None:
        self._problem = problem
        self._left = problem.capacity.copy()
        whole = np.maximum(problem.capacity.max(axis=1), 1)
        #: float64[R, 1]: what makes amounts of different resources alike.
        self._scale = 1.0 / whole[:, np.newaxis]
        self._used = problem.held.copy()
        size = (problem.capacity * self._scale).sum(axis=0)
        order = [*dict.fromkeys((*wanted, *np.argsort(-size, kind="stable").tolist()))]
        #: int64[N]: which nodes are opened first.
        self._rank = np.argsort(np.array(order, np.int64))
        self._counts: list[dict[int, int]] = [{} for _ in problem.nodes]
        self._taken = [[np.zeros(_top(one.domains), np.bool_) for _ in range(2)] for one in problem.exclusions]
        self._spread = [np.zeros(_top(one.domains), np.int64) for one in problem.spreads]

    def run(self) -> list[dict[int, int]] | None:
        groups = self._problem.groups
        shares = [max(np.array(group.requests) * self._scale[:, 0], default=0.0) for group in groups]
        scarce = [int(group.allowed.sum()) < len(self._problem.nodes) for group in groups]
        for number in sorted(range(len(groups)), key=lambda one: (not scarce[one], -shares[one])):
            for _ in range(groups[number].placed):
                row = self._choose(number)
                if row is None:
                    return None
                self._put(number, row)
        return self._counts

    def _choose(self, number: int) -> int | None:
        asked = np.array(self._problem.groups[number].requests, np.int64)[:, np.newaxis]
        fits = self._problem.groups[number].allowed & (self._left >= asked).all(axis=0) & self._free(number)
        opened = np.flatnonzero(fits & self._used)
        if len(opened):
            room = ((self._left[:, opened] - asked) * self._scale).sum(axis=0)
            return int(opened[np.argmin(room)])
        closed = np.flatnonzero(fits)
        return int(closed[np.argmin(self._rank[closed])]) if len(closed) else None

    def _free(self, number: int) -> NDArray[np.bool_]:
        """Return bool[N]: nodes that exclusions and spreading leave to a group."""
        free = np.ones(len(self._problem.nodes), np.bool_)
        for exclusion, taken in zip(self._problem.exclusions, self._taken, strict=True):
            for mine, theirs in ((exclusion.one, 1), (exclusion.other, 0)):
                if mine == number:
                    free &= ~(taken[theirs][exclusion.domains] & (exclusion.domains >= 0))
        for spread, counts in zip(self._problem.spreads, self._spread, strict=True):
            if number in spread.groups:
                known = np.unique(spread.domains[spread.domains >= 0])
                least = 0 if spread.from_zero else int(counts[known].min())
                free &= (spread.domains < 0) | (counts[spread.domains] + 1 - least <= spread.skew)
        return free

    def _put(self, number: int, row: int) -> None:
        self._left[:, row] -= np.array(self._problem.groups[number].requests, np.int64)
        self._used[row] = True
        self._counts[row][number] = self._counts[row].get(number, 0) + 1
        for exclusion, taken in zip(self._problem.exclusions, self._taken, strict=True):
            for side, mine in enumerate((exclusion.one, exclusion.other)):
                if mine == number:
                    taken[side][exclusion.domains[row]] = exclusion.domains[row] >= 0
        for spread, counts in zip(self._problem.spreads, self._spread, strict=True):
            if number in spread.groups and spread.domains[row] >= 0:
                counts[spread.domains[row]] += 1


def _top(domains: NDArray[np.int64]) -> int:
    """Return the length of an array that has a place for every domain, and a last one for none."""
    return int(domains.max(initial=-1)) + 2

"""The search for a bound and for a placement: equal nodes together, then pods packed one by one, then every node by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from schedlab.whatif.optimum.bound import Bound
from schedlab.whatif.optimum.model import Model, Solved, equal_nodes
from schedlab.whatif.optimum.packing import packed
from schedlab.whatif.optimum.problem import Goal, Problem
from schedlab.whatif.optimum.reading import MODELLED

#: Problems with more numbers to find are bounded, not solved.
_EXACT_MAX: Final = 30_000
#: The part of the time that equal nodes together get.
_TOGETHER: Final = 0.3


class Search:
    """One search."""

    def __init__(self, problem: Problem, goal: Goal) -> None:
        self._problem, self._goal = problem, goal
        self._classes = problem.classes()
        placed = sum(group.placed for group in problem.groups)
        waiting = sum(group.waiting for group in problem.groups)
        self._pods = problem.still + placed + (waiting if goal == "pods" else 0)
        self._achieved = int(problem.used.sum()) if goal == "nodes" else problem.still + placed
        #: What the model counts does not count these.
        self._beside = problem.still if goal == "pods" else 0
        self._best = self._achieved
        self._proven = 0 if goal == "nodes" else self._pods
        self._placement: Mapping[str, str] = {}
        self._exact = False
        self._repeatable = True

    def run(self, seconds: float) -> Bound:
        """Search for about so long."""
        # When all pods that there are have a node, no scheduler can do better.
        if self._goal == "nodes" or self._best < self._pods:
            start = self._problem.now()
            together = self._solved(Model(self._problem, self._classes, self._goal), start, seconds * _TOGETHER)
            if self._goal == "nodes" and not self._is_proven:
                start = self._pack(together) or start
            # The fullest of equal nodes comes first, as the model wants it.
            rows = [row for one in self._classes for row in sorted(one, key=lambda row: -self._load(start[row]))]
            each = Model(self._problem, [[row] for row in rows], self._goal)
            if not self._is_proven and each.size <= _EXACT_MAX:
                each.order([*equal_nodes(self._classes)])
                self._exact = True
                found = self._solved(each, start, seconds * (1 - _TOGETHER))
                self._take(dict(zip(rows, found.counts, strict=True)), found.best)
        return self._answer()

    def _load(self, counts: Mapping[int, int]) -> int:
        return sum(count * self._problem.groups[number].weight for number, count in counts.items())

    @property
    def _is_proven(self) -> bool:
        return self._best == self._proven

    def _solved(self, model: Model, start: Sequence[Mapping[int, int]], seconds: float) -> Solved:
        model.start_from(self._proven - self._beside, start)
        found = model.solve(seconds)
        self._proven = found.bound + self._beside
        self._repeatable &= found.is_repeatable
        return found

    def _pack(self, together: Solved) -> list[dict[int, int]] | None:
        """Look for a placement on the nodes that the bound is made of, and on as few others as possible."""
        wanted = [row for rows, used in zip(self._classes, together.used, strict=True) for row in rows[:used]]
        found = packed(self._problem, wanted)
        if found is not None:
            used = sum(bool(counts) or held for counts, held in zip(found, self._problem.held.tolist(), strict=True))
            self._take(dict(enumerate(found)), used)
        return found

    def _take(self, counts: Mapping[int, Mapping[int, int]], value: int | None) -> None:
        """Keep a placement, counts of groups by row, if it is better than what is known."""
        if value is None or not self._is_better(value + self._beside):
            return
        self._best = value + self._beside
        left = [iter(group.pods) for group in self._problem.groups]
        self._placement = {
            next(left[number]): self._problem.nodes[row]
            for row, groups in counts.items()
            for number, count in groups.items()
            for _ in range(count)
        }

    def _is_better(self, value: int) -> bool:
        return value < self._best if self._goal == "nodes" else value > self._best

    def _answer(self) -> Bound:
        return Bound(
            self._goal,
            self._pods,
            len(self._problem.nodes),
            len(self._problem.groups),
            len(self._classes),
            self._achieved,
            self._proven,
            self._best,
            self._is_proven,
            self._exact or self._is_proven,
            self._repeatable,
            MODELLED,
            self._problem.left_out,
            self._placement,
        )

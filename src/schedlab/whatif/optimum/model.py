"""A problem as a model of CP-SAT.

Nodes of one class are one: how many pods of each group they hold together, and how many of them are used. With classes of
several nodes that is a relaxation, whose bound holds; with classes of one node it is the problem itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.kernel.errors import SchedlabError
from schedlab.whatif.optimum.problem import ALONE, Exclusion, Goal, Problem, Spread, shared_domains

try:
    from ortools.sat.python import cp_model
except ImportError as missing:
    raise SchedlabError(
        "proving bounds needs OR-tools", location="bound", hint="install it: pip install 'schedlab[optimum]'"
    ) from missing

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Cuts count pods that ask for more than a half, a third … of a node.
_CUTS: Final = range(1, 7)
#: A safeguard: time as the solver counts it does not depend on the machine, but is about as long on none.
_WALL: Final = 5


@dataclass(frozen=True, slots=True)
class Solved:
    """What the solver came to. bound: proven; best: found, None without a solution. counts: of each class, by group.

    used: nodes of each class that are. is_repeatable: whether the solver itself ended, not the clock or the user.
    """

    bound: int
    best: int | None
    counts: Sequence[dict[int, int]]
    used: Sequence[int]
    is_repeatable: bool


class Model:
    """One model. y: number of pods by (group, class). u: number of used nodes of a class."""

    def __init__(self, problem: Problem, classes: Sequence[Sequence[int]], goal: Goal) -> None:
        self._problem, self._classes, self._goal = problem, classes, goal
        self._model = cp_model.CpModel()
        self._first = [rows[0] for rows in classes]
        self._scaled()
        self._y: dict[tuple[int, int], Any] = {}
        self._u = [self._used(place) for place in range(len(classes))]
        self._most: dict[tuple[int, int], int] = {}
        for group in range(len(problem.groups)):
            self._place(group)
        for place in range(len(classes)):
            self._fill(place)
        for exclusion in problem.exclusions:
            self._exclude(exclusion)
        for spread in problem.spreads:
            self._spread(spread)
        self._aim()

    def _scaled(self) -> None:
        """Divide amounts by what all requests have in common: int64[G, R] requests, int64[R, C] capacity of a node."""
        problem = self._problem
        self._requests = np.array([group.requests for group in problem.groups], np.int64)
        self._requests = self._requests.reshape(len(problem.groups), len(problem.resources))
        self._capacity = problem.capacity[:, self._first].copy()
        for resource in range(len(problem.resources)):
            shared = gcd(*self._requests[:, resource].tolist()) or 1
            self._requests[:, resource] //= shared
            self._capacity[resource] //= shared

    def _size(self, place: int) -> int:
        return len(self._classes[place])

    def _used(self, place: int) -> Any:
        size = self._size(place)
        if self._goal == "pods" or self._problem.held[self._first[place]]:
            return size
        return self._model.new_int_var(0, size, f"used {place}")

    def _place(self, number: int) -> None:
        """Let pods of a group be where they may be, and as many on a node as fit there alone."""
        group = self._problem.groups[number]
        count = group.placed if self._goal == "nodes" else len(group.pods)
        asked = self._requests[number]
        lone = [shared_domains(one.domains) for one in self._problem.exclusions if one.one == one.other == number]
        for place, row in enumerate(self._first):
            if not group.allowed[row] or not count:
                continue
            fitting = [int(self._capacity[at, place]) // int(asked[at]) for at in np.flatnonzero(asked).tolist()]
            most = min([*fitting, count, *([1] if any(domains[row] == ALONE for domains in lone) else [])])
            if most <= 0:
                continue
            self._most[number, place] = most
            y = self._model.new_int_var(0, min(count, most * self._size(place)), f"pods {number} on {place}")
            self._y[number, place] = y
            self._model.add(y <= most * self._u[place])
        all_of_them = sum(self._y[number, place] for place in range(len(self._classes)) if (number, place) in self._y)
        if self._goal == "nodes":
            self._model.add(all_of_them == count)
        else:
            self._model.add(all_of_them <= count)

    def _fill(self, place: int) -> None:
        """Let no more be on the nodes of a class than they have; and of large pods no more than fit side by side."""
        here = [number for number in range(len(self._problem.groups)) if (number, place) in self._y]
        for resource in range(len(self._problem.resources)):
            capacity = int(self._capacity[resource, place])
            asked = [(number, int(self._requests[number, resource])) for number in here]
            asked = [(number, amount) for number, amount in asked if amount]
            if not asked:
                continue
            self._model.add(self._sum(place, asked) <= capacity * self._u[place])
            for cut in _CUTS if self._size(place) > 1 else ():
                shares = [(number, -(-(cut + 1) * amount // capacity) - 1) for number, amount in asked]
                shares = [(number, share) for number, share in shares if share]
                if shares:
                    self._model.add(self._sum(place, shares) <= cut * self._u[place])

    def _sum(self, place: int, weighted: Sequence[tuple[int, int]]) -> Any:
        return sum(weight * self._y[number, place] for number, weight in weighted)

    # --- Domains -----------------------------------------------------------------------------------------------------

    def _by_domain(self, domains: NDArray[np.int64]) -> tuple[list[int], dict[int, list[int]]]:
        """Return the classes whose nodes are domains of their own, and those of each domain of several nodes."""
        shared = shared_domains(domains)
        alone: list[int] = []
        several: dict[int, list[int]] = {}
        for place, row in enumerate(self._first):
            domain = int(shared[row])
            if domain == ALONE:
                alone.append(place)
            elif domain >= 0:
                several.setdefault(domain, []).append(place)
        return alone, several

    def _total(self, groups: Sequence[int], places: Sequence[int]) -> Any:
        return sum(self._y[pair] for place in places for group in groups if (pair := (group, place)) in self._y)

    def _exclude(self, exclusion: Exclusion) -> None:
        alone, several = self._by_domain(exclusion.domains)
        one, other = exclusion.one, exclusion.other
        for places in several.values():
            if one == other:
                self._model.add(self._total([one], places) <= 1)
            else:
                self._either(one, other, places)
        for place in alone if one != other else ():
            if (one, place) not in self._y or (other, place) not in self._y:
                continue
            if self._size(place) == 1:
                self._either(one, other, [place])
            else:
                # Nodes with the one kind are others than those with the other kind.
                most = self._most[one, place], self._most[other, place]
                self._model.add(
                    most[1] * self._y[one, place] + most[0] * self._y[other, place]
                    <= most[0] * most[1] * self._u[place]
                )

    def _either(self, one: int, other: int, places: Sequence[int]) -> None:
        chosen = self._model.new_bool_var("")
        for group, there in ((one, chosen), (other, 1 - chosen)):
            for place in places:
                if (group, place) in self._y:
                    self._model.add(self._y[group, place] <= self._most[group, place] * self._size(place) * there)

    def _spread(self, spread: Spread) -> None:
        alone, several = self._by_domain(spread.domains)
        count = sum(len(self._problem.groups[group].pods) for group in spread.groups)
        least = 0 if spread.from_zero else self._model.new_int_var(0, count, "")
        for places in several.values():
            total = self._total(spread.groups, places)
            self._model.add(total >= least)
            self._model.add(total <= least + spread.skew)
        for place in alone:
            total, size = self._total(spread.groups, [place]), self._size(place)
            self._model.add(total >= size * least)
            self._model.add(total <= size * least + spread.skew * self._u[place])

    # --- The goal ----------------------------------------------------------------------------------------------------

    def _aim(self) -> None:
        if self._goal == "nodes":
            self._objective = sum(self._u)
            self._model.minimize(self._objective)
        else:
            self._objective = sum(self._y.values())
            self._model.maximize(self._objective)

    @property
    def size(self) -> int:
        """How many numbers are to be found."""
        return len(self._y)

    def start_from(self, bound: int, placement: Sequence[Mapping[int, int]]) -> None:
        """Take over what is proven already, and a placement: how many pods of each group are on each row."""
        for (number, place), y in self._y.items():
            self._model.add_hint(y, sum(placement[row].get(number, 0) for row in self._classes[place]))
        if self._goal == "nodes":
            self._model.add(self._objective >= bound)
        else:
            self._model.add(self._objective <= bound)

    def order(self, equal: Sequence[Sequence[int]]) -> None:
        """Let the first of equal classes be the fullest: they can change places."""
        for places in equal:
            for fuller, emptier in pairwise(places):
                self._model.add(self._load(fuller) >= self._load(emptier))

    def _load(self, place: int) -> Any:
        groups = enumerate(self._problem.groups)
        return self._sum(place, [(number, group.weight) for number, group in groups if (number, place) in self._y])

    def solve(self, seconds: float) -> Solved:
        """Solve it for about so long; the same model and time give the same answer."""
        solver = cp_model.CpSolver()
        solver.parameters.random_seed = 1
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = seconds
        solver.parameters.max_time_in_seconds = _WALL * seconds
        status = solver.solve(self._model)
        assert status not in (cp_model.INFEASIBLE, cp_model.MODEL_INVALID), (
            "the cluster as it is meets what is modelled"
        )
        found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        value = solver.best_objective_bound
        bound = int(np.ceil(value - 1e-6)) if self._goal == "nodes" else int(np.floor(value + 1e-6))
        counts: list[dict[int, int]] = [{} for _ in self._classes]
        if found:
            for (number, place), y in self._y.items():
                if solver.value(y):
                    counts[place][number] = solver.value(y)
        best = round(solver.objective_value) if found else None
        used = [solver.value(one) if found else 0 for one in self._u]
        ended = status == cp_model.OPTIMAL or solver.response_proto.deterministic_time >= seconds
        return Solved(bound, best, counts, used, ended)


def equal_nodes(classes: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the classes with several nodes, as places of their nodes when every node is a class of its own."""
    place = 0
    for rows in classes:
        if len(rows) > 1:
            yield [*range(place, place + len(rows))]
        place += len(rows)

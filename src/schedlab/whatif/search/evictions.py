"""The fewest placed pods that would have to go; disruption budgets are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from heapq import nsmallest
from itertools import accumulate, combinations, combinations_with_replacement, islice
from math import comb
from typing import TYPE_CHECKING, Final

import numpy as np

from schedlab.api.object import Object
from schedlab.scheduler.framework.preemption.budgets import Budget, Budgets
from schedlab.whatif.search.edits import Edit, Suggestion
from schedlab.whatif.search.requests import shortages
from schedlab.whatif.search.victims import Victims, fates
from schedlab.whatif.trial import changed, pod_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.whatif.search.case import Case

_BUDGETS: Final = "poddisruptionbudgets.policy"
_COST: Final = 70
_COST_OF_POD: Final = 10
_HIGHEST: Final = 2**31 - 1
_TRIES_MAX: Final = 8
_FEWER_TRIES_MAX: Final = 100
#: So many sets of pods are looked at; where numbers tell, the large pods are taken first beyond that, none of them needless.
_SETS_MAX: Final = 100_000


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield the smallest set of placed pods without which the pod fits, of those that there are tries for.

    Of several it is one whose pods run elsewhere afterwards; then the one of the lowest priority.
    """
    budgets = Budgets(Budget.of(budget) for budget in case.trial.listers.lister(_BUDGETS).list())
    guesses = sorted(_guesses(case, budgets), key=_badness)
    best = _cheapest(case, guesses[:_TRIES_MAX])
    if best is not None:
        yield _fewer(case, budgets, guesses, len(best.edits[0].evicted)) or best


def _fewer(case: Case, budgets: Budgets, guesses: Sequence[Sequence[PodInfo]], size: int) -> Suggestion | None:
    """Return the eviction of fewer than `size` pods of one of the guesses' nodes, if it helps.

    Preemption gives back pods of high priority first, so that many small ones may go where a large one would do. Nodes
    where nothing but resources is short are left out: numbers have told of all smaller sets there, or of as many as
    can be looked at.
    """
    exact = set(case.only("NodeResourcesFit").tolist())
    names = dict.fromkeys(pods[0].pod.spec.node_name for pods in guesses)
    rows = [row for row in (case.table.row_of[name] for name in names) if row not in exact]
    nodes = [[pod for pod in case.table.infos[row].pods if may_go(pod)] for row in rows]
    tries = _FEWER_TRIES_MAX
    for count in range(1, size):
        sets = (some for pods in nodes for some in combinations(pods, count))
        tried = nsmallest(tries, islice(sets, _SETS_MAX), key=_badness)
        found = _cheapest(case, [some for some in tried if not budgets.split(some)[0]])
        if found is not None:
            return found
        tries -= len(tried)
    return None


def _cheapest(case: Case, sets: Sequence[Sequence[PodInfo]]) -> Suggestion | None:
    """Return the cheapest eviction that helps of the smallest sets that do; the least bad set comes first."""
    best: Suggestion | None = None
    for pods in sets:
        if best is not None and (len(pods) > len(best.edits[0].evicted) or best.cost == removal(pods).cost):
            break
        found = _evicting(case, pods)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
    return best


def _evicting(case: Case, pods: Sequence[PodInfo]) -> Suggestion | None:
    """Return the eviction of as few of these pods as are needed, if it helps."""
    if not case.land([removal(pods)]):
        return None
    fewest = _without_needless(case, pods)
    edit = removal(fewest)
    node = case.land([edit])
    return Suggestion((evict(edit, fates(case, [edit], node, fewest)),), node)


def _badness(pods: Sequence[PodInfo]) -> tuple[int, int, int]:
    return len(pods), max(pod.priority for pod in pods), sum(pod.request.milli_cpu for pod in pods)


def _without_needless(case: Case, pods: Sequence[PodInfo]) -> Sequence[PodInfo]:
    for pod in pods:
        rest = [other for other in pods if other is not pod]
        if rest and case.land([removal(rest)]):
            return _without_needless(case, rest)
    return pods


def _guesses(case: Case, budgets: Budgets) -> Iterator[Sequence[PodInfo]]:
    yield from _of_resources(case, budgets)
    yield from _of_dry_run(case, budgets)


def _of_dry_run(case: Case, budgets: Budgets) -> Iterator[Sequence[PodInfo]]:
    """Guess what preemption would take if the pod were above all others; that knows every reason to turn a pod down."""
    record = case.trial.attempt(pod_of(changed(case.stored, _above_all)), makes_room=True)
    for candidate in () if record.preemption is None else record.preemption.candidates:
        info = case.trial.scheduler.cache.node_info(candidate.node)
        assert info is not None
        pods = [pod for pod in info.pods if pod.key in candidate.victims]
        if all(map(may_go, pods)) and not budgets.split(pods)[0]:
            yield pods


def _above_all(pod: Object) -> None:
    pod["spec"]["priority"] = _HIGHEST
    pod["spec"]["preemptionPolicy"] = "PreemptLowerPriority"


def _of_resources(case: Case, budgets: Budgets) -> Sequence[Sequence[PodInfo]]:
    """Guess by numbers where nothing but resources is short: all sets of one pod, of two and so on, of every node."""
    needs, short = shortages(case, case.only("NodeResourcesFit"))
    nodes: list[_Node] = []
    for row, free in short.items():
        lacks = {name: needs[name] - amount for name, amount in free.items()}
        if any(lack > _taken(case, row, name) for name, lack in lacks.items()):
            continue
        node = _Node(case.table.infos[row].pods, lacks, budgets)
        if lacks and node.least:
            nodes.append(node)
    sets = 0
    for size in range(
        min((node.least for node in nodes), default=1), max((node.pods for node in nodes), default=0) + 1
    ):
        sets += sum(node.sets(size) for node in nodes)
        if sets > _SETS_MAX:
            break
        found = [some for node in nodes if (some := node.set_of(size))]
        if found:
            return found
    return [some for node in nodes if (some := node.largest_first())]


def _taken(case: Case, row: int, name: str) -> int:
    """Return how much of a resource all pods of a node have."""
    index = case.table.resource_index(name)
    return 0 if index < 0 else int(case.table.requested[index, row])


class _Node:
    """A node where resources are short, and who on it may go: pods that are alike are as good as each other."""

    def __init__(self, pods: Sequence[PodInfo], lacks: Mapping[str, int], budgets: Budgets) -> None:
        self._lacks, self._budgets = lacks, budgets
        kinds: dict[tuple[tuple[int, ...], tuple[int, ...]], list[PodInfo]] = {}
        for pod in sorted(pods, key=lambda each: (each.priority, each.request.milli_cpu)):
            frees = tuple(pod.requests.get(name, 0) for name in lacks)
            if any(frees) and may_go(pod):
                kinds.setdefault((frees, budgets.covering(pod)), []).append(pod)
        self._kinds = list(kinds.values())
        self.pods = sum(map(len, self._kinds))
        #: No smaller set is enough, looking at each resource alone; 0 when not even all pods are.
        self.least = max((self._least(name, lack) or self.pods + 1 for name, lack in lacks.items()), default=0)
        if self.least > self.pods:
            self.least = 0

    def _least(self, name: str, lack: int) -> int:
        amounts = sorted((pod.requests.get(name, 0) for kind in self._kinds for pod in kind), reverse=True)
        return next((size for size, freed in enumerate(accumulate(amounts), 1) if freed >= lack), 0)

    def sets(self, size: int) -> int:
        """Return how many sets of so many pods there are to look at, and none where no such set can be enough."""
        return comb(len(self._kinds) + size - 1, size) if self.least and size >= self.least else 0

    def set_of(self, size: int) -> Sequence[PodInfo]:
        """Return a set of so many pods that frees enough and breaks no budget, of low priority if there is a choice."""
        if not self.sets(size):
            return ()
        for chosen in self._enough(size):
            pods = [self._kinds[kind][turn] for kind, turn in chosen]
            if not self._budgets.split(pods)[0]:
                return pods
        return ()

    def _enough(self, size: int) -> Iterator[Iterator[tuple[int, int]]]:
        """Yield the sets that free enough, the least bad first: which pod of which kind, budgets left aside."""
        kinds, turns = _sets_of(len(self._kinds), size)
        there = np.array([len(kind) for kind in self._kinds], np.int64)
        frees = np.array([[kind[0].requests.get(name, 0) for name in self._lacks] for kind in self._kinds], np.int64)
        enough = (frees[kinds].sum(axis=1) >= np.array(list(self._lacks.values()), np.int64)).all(axis=1)
        places = np.flatnonzero(enough & (turns < there[kinds]).all(axis=1))
        kinds, turns = kinds[places], turns[places]
        firsts = [[kind[min(turn, len(kind) - 1)] for turn in range(size)] for kind in self._kinds]
        priority = np.array([[pod.priority for pod in kind] for kind in firsts], np.int64)[kinds, turns].max(axis=1)
        cpu = np.array([[pod.request.milli_cpu for pod in kind] for kind in firsts], np.int64)[kinds, turns].sum(axis=1)
        for place in np.lexsort((cpu, priority)).tolist():
            yield zip(kinds[place].tolist(), turns[place].tolist(), strict=True)

    def largest_first(self) -> Sequence[PodInfo]:
        """Return pods that free enough, taken greedily: what is left when there are too many sets to look at."""
        taken: list[PodInfo] = []
        everybody = [pod for kind in self._kinds for pod in kind]
        for pod in sorted(everybody, key=lambda each: -max(self._shares(each))):
            if not self._budgets.split([*taken, pod])[0]:
                taken.append(pod)
            if self._is_enough(taken):
                return taken
        return ()

    def _shares(self, pod: PodInfo) -> list[float]:
        return [pod.requests.get(name, 0) / lack for name, lack in self._lacks.items()]

    def _is_enough(self, pods: Sequence[PodInfo]) -> bool:
        frees = all(sum(pod.requests.get(name, 0) for pod in pods) >= lack for name, lack in self._lacks.items())
        return frees and not self._budgets.split(pods)[0]


@lru_cache(maxsize=64)
def _sets_of(kinds: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all S sets of `size` pods of some kinds: int64[S, size] the kind of each, and its place among those of the kind."""
    chosen = np.array(list(combinations_with_replacement(range(kinds), size)), np.int64)
    turns = np.zeros_like(chosen)
    for place in range(1, size):
        turns[:, place] = (turns[:, place - 1] + 1) * (chosen[:, place] == chosen[:, place - 1])
    return chosen, turns


def may_go(pod: PodInfo) -> bool:
    """Whether it makes sense to evict a pod: those of the node itself come back to it at once."""
    owner = pod.pod.metadata.controller()
    return owner is None or owner.kind not in ("DaemonSet", "Node")


def removal(pods: Sequence[PodInfo]) -> Edit:
    """Return the edit that takes placed pods away, whatever becomes of them."""
    changes = tuple({"delete": f"pod/{pod.name}", "namespace": pod.namespace} for pod in pods)
    return Edit("evict", "", _COST + _COST_OF_POD * len(pods), evicted=tuple(pods), changes=changes)


def evict(edit: Edit, victims: Victims) -> Edit:
    """Return a removal with what it costs the victims, and says of them."""
    return replace(
        edit,
        summary=f"evict {victims.text}",
        cost=edit.cost + victims.cost,
        details={"pods": list(victims.keys), **victims.details},
    )

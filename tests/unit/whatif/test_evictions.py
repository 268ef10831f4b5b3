"""The sets of pods that the search for evictions looks at: the fewest, of the lowest priority, within their budgets."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from schedlab.apimachinery.selectors import from_map
from schedlab.scheduler.framework.preemption.budgets import Budget, Budgets
from schedlab.scheduler.framework.types import PodInfo
from schedlab.whatif.search.evictions import _badness, _Node
from tests.unit.scheduler.plugins.little_cluster import make_pod


def frees(pods: tuple[PodInfo, ...], lacks: dict[str, int]) -> bool:
    return all(sum(pod.requests.get(name, 0) for pod in pods) >= lack for name, lack in lacks.items())


@pytest.mark.parametrize("seed", range(60))
def test_no_set_of_pods_is_less_bad(seed: int) -> None:
    """Looking at every set of pods finds no smaller one, and of that size none of lower priority or less cpu."""
    dice = Random(seed)
    pods = [
        make_pod(
            f"p{number}",
            {"app": dice.choice("ab")},
            requests={"cpu": f"{dice.randrange(1, 5) * 100}m", "memory": f"{dice.randrange(3)}Gi"},
            priority=dice.randrange(3),
        )
        for number in range(6)
    ]
    lacks = {"cpu": dice.randrange(1, 10) * 100} | ({"memory": 1 << 30} if dice.random() < 0.5 else {})
    budgets = Budgets(Budget("default", from_map({"app": app}), dice.randrange(4), {}) for app in "ab")
    enough = [
        some
        for size in range(1, 7)
        for some in combinations(pods, size)
        if frees(some, lacks) and not budgets.split(some)[0]
    ]
    expected = min(map(_badness, enough), default=None)

    node = _Node(pods, lacks, budgets)
    found = next((some for size in range(1, node.pods + 1) if (some := node.set_of(size))), None)

    assert (None if found is None else _badness(found)) == expected

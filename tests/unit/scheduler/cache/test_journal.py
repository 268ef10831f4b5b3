"""The cache of a scheduler can be made again as it was after any operation that is kept."""

from __future__ import annotations

import pytest

from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.cache.cache import SchedulerCache
from schedlab.scheduler.cache.journal import CacheJournal, PastLostError
from schedlab.scheduler.framework.types import PodInfo
from schedlab.testing.builders import make_node, make_pod

Shape = tuple[list[str], list[list[str]], list[str]]


def shape(cache: SchedulerCache) -> Shape:
    """Return all that can be seen of a cache: the order of nodes, the order of their pods, who is assumed."""
    table = cache.table
    pods = [[pod.key for pod in info.pods] for info in table.infos]
    return list(table.names), pods, [pod.key for pod in cache.assumed_pods()]


def live(cache: SchedulerCache, journal: CacheJournal, steps: int) -> dict[int, Shape]:
    """Change the cache at random; return what it was at each position."""
    dice = SeededRandom(7)
    nodes: list[str] = []
    pods: list[PodInfo] = []
    seen = {}
    for step in range(steps):
        choice = dice.below(6)
        if choice == 0 or not nodes:
            nodes.append(f"n{step}")
            cache.set_node(make_node(nodes[-1]).label("topology.kubernetes.io/zone", "abc"[dice.below(3)]).view())
        elif choice == 1 and pods:
            pod = pods.pop(dice.below(len(pods)))
            if cache.is_assumed(pod.uid):
                cache.forget_pod(pod)
            else:
                cache.remove_pod(pod)
        elif choice == 2 and pods:
            pod = pods[dice.below(len(pods))]
            if cache.is_assumed(pod.uid):
                cache.add_pod(pod)
            else:
                cache.update_pod(pod)
        else:
            made = make_pod(f"p{step}").uid(f"p{step}").obj()
            pods.append(cache.assume_pod(made, nodes[dice.below(len(nodes))]))
        cache.refresh()
        seen[journal.position] = shape(cache)
    return seen


def journal_of(cache: SchedulerCache, *, oldest: int = 0, stride: int = 10, copies_max: int = 32) -> CacheJournal:
    clock = [0]

    def newest() -> int:
        clock[0] += 1
        return clock[0]

    journal = CacheJournal(newest, lambda: oldest, stride=stride, copies_max=copies_max)
    journal.begin(cache, 0)
    return journal


def test_every_moment_can_be_made_again() -> None:
    cache = SchedulerCache()
    journal = journal_of(cache)
    seen = live(cache, journal, 200)

    for position, expected in seen.items():
        assert shape(journal.cache_at(position)) == expected


def test_making_the_past_again_changes_nothing_of_the_present() -> None:
    cache = SchedulerCache()
    journal = journal_of(cache)
    seen = live(cache, journal, 100)
    past = journal.cache_at(min(seen))
    past.set_node(make_node("other").view())
    past.refresh()

    assert shape(cache) == seen[journal.position]


def test_what_is_older_than_the_kept_revision_is_lost() -> None:
    cache = SchedulerCache()
    journal = journal_of(cache, oldest=10)
    live(cache, journal, 200)

    with pytest.raises(PastLostError):
        journal.cache_at(5)
    assert shape(journal.cache_at(journal.position)) == shape(cache)


def test_copies_are_few_and_nothing_between_them_is_lost() -> None:
    cache = SchedulerCache()
    journal = journal_of(cache, stride=5, copies_max=4)
    seen = live(cache, journal, 200)

    for position, expected in seen.items():
        assert shape(journal.cache_at(position)) == expected
    assert journal.copies <= 4


def test_the_future_is_not_known() -> None:
    cache = SchedulerCache()
    journal = journal_of(cache)

    with pytest.raises(PastLostError):
        journal.cache_at(1)

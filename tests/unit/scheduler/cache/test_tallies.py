"""Pods of a moment that is over, in numbers: the same as counting the pods of that moment, whatever came since."""

from __future__ import annotations

import pytest

from schedlab.apimachinery.selectors import Selector
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.cache.cache import SchedulerCache
from schedlab.scheduler.cache.journal import CacheJournal
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.pod_facts import TermKind
from schedlab.scheduler.framework.pod_index import PodIndex, PodQuery, PodTerm
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.plugins.inter_pod_affinity.terms import TermIndex
from schedlab.testing.builders import make_node, make_pod

EVERYBODY = Selector()
APPS = ("web", "db", "cache")


def pod(step: int, app: str, node: str = "") -> PodInfo:
    """A pod that keeps away from its like."""
    made = make_pod(f"p{step}").uid(f"p{step}").label("app", app)
    made = made.pod_anti_affinity("kubernetes.io/hostname", {"app": app}) if step % 2 else made
    return (made.node(node) if node else made).obj()


def live(cache: SchedulerCache, steps: int) -> None:
    """Let pods come, change their labels and go."""
    dice = SeededRandom(3)
    known: dict[int, PodInfo] = {}
    for step in range(steps):
        if dice.below(3) and known:
            number = list(known)[dice.below(len(known))]
            if dice.below(2):
                cache.remove_pod(known.pop(number))
            else:
                node = known[number].pod.spec.node_name
                known[number] = pod(number, APPS[dice.below(3)], node)
                cache.update_pod(known[number])
        else:
            known[step] = pod(step, APPS[dice.below(3)], f"n{dice.below(4)}")
            cache.add_pod(known[step])
        cache.refresh()


def counts(table: NodeTable) -> dict[str, list[int]]:
    """Return pods per node by what is asked for."""
    index, terms = PodIndex.of(table), TermIndex.of(table)
    found = {"all": index.per_node(PodQuery((PodTerm(None, EVERYBODY),))).tolist()}
    for app in APPS:
        asked = pod(1, app)
        [term] = asked.required_anti_affinity_terms
        found[app] = index.per_node(PodQuery((PodTerm(("default",), term.selector),))).tolist()
        placed = list(terms.matching(TermKind.REQUIRED_ANTI, asked, None))
        found[f"{app} terms"] = [terms.per_node(each).tolist() for each in placed]
        assert terms.has(TermKind.REQUIRED_ANTI) or not placed
    return found


def check_every_moment(journal: CacheJournal) -> None:
    for position in range(journal.oldest, journal.position + 1):
        cache = journal.cache_at(position)
        cache.refresh()
        counted = counts(cache.table.copy(with_columns=False))
        cache.table.past = journal.pods_at(position)(cache.table)
        assert counts(cache.table) == counted


def cluster(**limits: int) -> tuple[SchedulerCache, CacheJournal]:
    """Four nodes with some pods, before anything is noted."""
    cache = SchedulerCache()
    for number in range(4):
        cache.set_node(make_node(f"n{number}").view())
    for number in range(1000, 1010):
        cache.add_pod(pod(number, "web", f"n{number % 4}"))
    cache.refresh()
    journal = CacheJournal(lambda: 0, lambda: 0, stride=10, **limits)
    journal.begin(cache, 0)
    return cache, journal


@pytest.mark.parametrize("limits", [{}, {"operations_max": 30}, {"copies_max": 3}])
def test_every_moment_has_its_numbers(limits: dict[str, int]) -> None:
    cache, journal = cluster(**limits)
    live(cache, 100)

    check_every_moment(journal)


def test_numbers_go_on_when_they_were_asked_for_and_old_moments_go() -> None:
    cache, journal = cluster(operations_max=30)
    live(cache, 40)
    check_every_moment(journal)
    for number in range(2000, 2060):
        cache.add_pod(pod(number, "db", "n1"))
        cache.refresh()

    assert journal.oldest > 0
    check_every_moment(journal)


def test_a_moment_that_is_kept_knows_nothing_of_what_came_later() -> None:
    cache, journal = cluster()
    live(cache, 20)
    position = journal.position
    past = journal.cache_at(position)
    past.refresh()
    expected = counts(past.table.copy(with_columns=False))
    past.table.past = journal.pods_at(position)(past.table)
    PodIndex.of(past.table), TermIndex.of(past.table)

    cache.set_node(make_node("later").view())
    cache.add_pod(pod(3001, "unheard-of", "later"))
    cache.refresh()

    assert counts(past.table) == expected
    index, asked = PodIndex.of(past.table), pod(3003, "unheard-of")
    [term] = asked.required_anti_affinity_terms
    assert index.per_node(PodQuery((PodTerm(None, term.selector),))).tolist() == [0, 0, 0, 0]
    assert list(TermIndex.of(past.table).matching(TermKind.REQUIRED_ANTI, asked, None)) == []


def test_numbers_go_on_with_the_cache_of_another_scheduler() -> None:
    cache, journal = cluster()
    live(cache, 20)
    other = SchedulerCache()
    for number in range(3):
        other.set_node(make_node(f"n{number}").view())
    other.add_pod(pod(3000, "cache", "n2"))
    other.refresh()

    journal.go_on(other, lambda: 0)
    other.add_pod(pod(3001, "web", "n0"))
    other.refresh()

    check_every_moment(journal)

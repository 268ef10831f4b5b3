"""The cache of a scheduler can be made again as it was after any operation that is kept."""

from __future__ import annotations

from unittest import mock

from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.cache.cache import SchedulerCache
from schedlab.scheduler.cache.journal import CacheJournal
from schedlab.scheduler.framework.record import CycleRecord
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


def journal_of(cache: SchedulerCache, *, oldest: int = 0, stride: int = 10, **limits: int) -> CacheJournal:
    clock = [0]

    def newest() -> int:
        clock[0] += 1
        return clock[0]

    journal = CacheJournal(newest, lambda: oldest, stride=stride, **limits)
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


def test_moments_older_than_the_kept_revisions_have_the_same_pods_on_the_same_nodes() -> None:
    cache = SchedulerCache()
    journal = journal_of(cache, oldest=10)
    seen = live(cache, journal, 200)

    assert 0 < journal.whole_since < journal.position
    for position, (names, pods, assumed) in seen.items():
        found = shape(journal.cache_at(position))
        assert found[0] == names
        assert [sorted(each) for each in found[1]] == [sorted(each) for each in pods]
        assert found == (names, pods, assumed) or position < journal.whole_since


def test_a_state_that_says_nothing_new_is_forgotten_with_its_revision() -> None:
    cache = SchedulerCache()
    cache.set_node(make_node("a").view())
    cache.refresh()
    journal = journal_of(cache, oldest=1_000, stride=3)
    assumed = cache.assume_pod(make_pod("p").uid("p").obj(), "a")
    cache.add_pod(make_pod("p").uid("p").node("a").obj())
    relabelled = make_pod("p").uid("p").node("a").label("app", "x").obj()
    cache.update_pod(relabelled)

    [kept] = journal.cache_at(2).table.infos[0].pods
    assert kept.pod == assumed.pod
    assert journal.cache_at(3).pod("p") is relabelled


def test_copies_are_few_and_nothing_between_them_is_lost() -> None:
    cache = SchedulerCache()
    journal = journal_of(cache, stride=5, copies_max=4)
    seen = live(cache, journal, 200)

    for position, expected in seen.items():
        assert shape(journal.cache_at(position)) == expected
    assert journal.copies <= 4


def test_what_is_dear_to_do_again_is_never_done_again_when_copies_become_few() -> None:
    cache = SchedulerCache()
    journal = journal_of(cache, stride=5, copies_max=4)
    for number in range(501):
        cache.set_node(make_node(f"n{number}").view())
    cache.refresh()
    position = journal.position
    live(cache, journal, 200)

    with mock.patch.object(SchedulerCache, "set_node") as done_again:
        assert len(journal.cache_at(position).table) == 501
    done_again.assert_not_called()


def test_the_oldest_operations_go_when_there_are_too_many() -> None:
    cache = SchedulerCache()
    journal = journal_of(cache, stride=5, operations_max=40)
    seen = live(cache, journal, 200)

    assert journal.position - journal.oldest <= 45
    for position, expected in seen.items():
        if position >= journal.oldest:
            assert shape(journal.cache_at(position)) == expected


def test_it_says_which_attempts_it_can_make_again() -> None:
    cache = SchedulerCache()
    journal = journal_of(cache, stride=5, operations_max=40)
    live(cache, journal, 200)
    pod = make_pod("p").obj()

    def keeps(position: int, started_ns: int = 0) -> bool:
        record = CycleRecord(
            pod=pod, profile="", attempt=1, started_ns=started_ns, revision=1, node_names=(), position=position
        )
        return journal.keeps(record)

    assert keeps(journal.oldest)
    assert keeps(journal.position)
    assert not keeps(journal.oldest - 1)
    assert not keeps(journal.position + 1)
    assert not keeps(-1)
    assert not keeps(journal.position, started_ns=-1), "of a journal before this one"

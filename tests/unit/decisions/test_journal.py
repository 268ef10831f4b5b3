"""The journal of the node table: what can be had again, and for how long."""

from __future__ import annotations

from schedlab.decisions.journal import TableJournal
from schedlab.scheduler.cache.cache import SchedulerCache
from schedlab.testing.builders import make_node, make_pod


def _cache() -> SchedulerCache:
    cache = SchedulerCache()
    cache.set_node(make_node("a").capacity(cpu="4", memory="8Gi", pods="10").view())
    cache.refresh()
    return cache


def test_two_pods_with_one_port_free_it_with_the_first_as_the_scheduler_sees_it() -> None:
    cache = _cache()
    journal = TableJournal.of(cache.table)
    one, two = make_pod("one").host_port(80).node("a").obj(), make_pod("two").host_port(80).node("a").obj()
    cache.add_pod(one)
    cache.add_pod(two)
    cache.remove_pod(one)
    after_one_went = journal.now
    cache.remove_pod(two)

    table = journal.table_at(after_one_went)

    assert table is not None
    [info] = table.infos
    assert [pod.name for pod in info.pods] == ["two"]
    assert list(info.used_ports.used()) == []
    both = journal.table_at(after_one_went - 1)
    assert both is not None
    assert list(both.infos[0].used_ports.used()) == [("0.0.0.0", "TCP", 80)]


def test_the_moment_before_the_changes_of_one_pod() -> None:
    cache = _cache()
    journal = TableJournal.of(cache.table)
    cache.add_pod(make_pod("first").node("a").obj())
    before = journal.now
    assumed = cache.assume_pod(make_pod("mine").obj(), "a")

    assert journal.before(assumed.uid) == before
    cache.forget_pod(assumed)
    assert journal.before(assumed.uid) == before
    assert journal.before("nobody") == journal.now


def test_the_oldest_changes_are_forgotten() -> None:
    cache = _cache()
    journal = TableJournal(cache.table, entries_max=8)
    cache.table.column("another journal", lambda: journal)
    start = journal.now
    for number in range(20):
        cache.add_pod(make_pod(f"p{number}").node("a").obj())

    assert journal.now == start + 20
    assert journal.oldest > start
    assert journal.table_at(start) is None
    table = journal.table_at(journal.oldest)
    assert table is not None
    assert len(table.infos[0].pods) == journal.oldest - start


def test_pods_that_went_are_kept_up_to_their_own_limit() -> None:
    cache = _cache()
    journal = TableJournal(cache.table, removals_max=4)
    cache.table.column("another journal", lambda: journal)
    for number in range(10):
        pod = make_pod(f"p{number}").node("a").obj()
        cache.add_pod(pod)
        cache.remove_pod(pod)

    assert journal.oldest > 0

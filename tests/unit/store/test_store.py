"""The store: revisions, concurrency, lists, watches, durability, forks."""

from __future__ import annotations

import pickle

import pytest

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.store import (
    Compacted,
    DurabilityListener,
    KeyExists,
    KeyMissing,
    Snapshot,
    StaleRevision,
    Store,
    StoreWatch,
)


class GroupCommit:
    """A back end that keeps changes waiting until it is told to flush or to fail."""

    def load(self) -> None:
        """Begin with nothing."""

    def compact(self, floor: int) -> None:
        """Nothing is kept."""

    def attach(self, listener: DurabilityListener) -> None:
        self.listener = listener
        self.newest = 0

    def append(self, event: WatchEvent) -> None:
        self.newest = event.revision

    def flush(self) -> None:
        self.listener.durable(self.newest)

    def fail(self) -> None:
        self.listener.failed(OSError("disk full"))


def obj(store: Store, name: str, namespace: str = "d", resource: str = "pods", value: str = "") -> StoredObject:
    body = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "value": value,
    }
    return StoredObject.encode(resource, body, store.next_revision)


def create(store: Store, name: str, namespace: str = "d", resource: str = "pods") -> StoredObject:
    made = obj(store, name, namespace, resource)
    store.create(made)
    return made


def names(items: object) -> list[str]:
    return [item.key for item in items]  # type: ignore[attr-defined]


def test_every_write_gets_the_next_revision() -> None:
    """One counter numbers the changes of all resources."""
    store = Store()
    first = create(store, "a")
    second = create(store, "b", resource="nodes")
    gone = store.delete("pods", "d/a", expected=first.revision)

    assert [first.revision, second.revision, gone.revision, store.revision] == [2, 3, 4, 4]


def test_writes_check_what_they_expect() -> None:
    """A taken key, a missing key and a stale revision are refused, and nothing changes."""
    store = Store()
    made = create(store, "a")
    with pytest.raises(KeyExists):
        store.create(obj(store, "a"))
    with pytest.raises(StaleRevision):
        store.update(obj(store, "a"), expected=made.revision - 1)
    with pytest.raises(KeyMissing):
        store.update(obj(store, "b"), expected=1)
    with pytest.raises(StaleRevision):
        store.delete("pods", "d/a", expected=99)
    with pytest.raises(KeyMissing):
        store.delete("nodes", "a", expected=1)

    assert store.revision == made.revision
    assert store.list("pods") == [made]


def test_a_touched_object_has_a_new_revision_and_nothing_else() -> None:
    store = Store()
    made = create(store, "a")
    store.touch("pods", made.key)
    store.touch("pods", "d/gone")

    touched = store.get("pods", made.key)
    assert touched is not None
    assert touched.same_content(made)
    assert touched.revision == store.revision == made.revision + 1


def test_lists_are_in_key_order() -> None:
    """Keys are ordered as bytes of namespace/name, as in etcd, and a prefix selects a namespace."""
    store = Store()
    for namespace, name in (("b", "z"), ("a", "y"), ("a-b", "x"), ("a", "b"), ("a", "a.b")):
        create(store, name, namespace)

    assert names(store.list("pods")) == ["a-b/x", "a/a.b", "a/b", "a/y", "b/z"]
    assert names(store.list("pods", "a/")) == ["a/a.b", "a/b", "a/y"]
    assert store.count("pods", "a/") == 3
    assert store.list("nodes") == []


def test_pages_follow_one_revision() -> None:
    """Pages of one list show the state at its revision, whatever is written in between."""
    store = Store()
    for number in range(5):
        create(store, f"p{number}")
    page = store.page("pods", "d/", limit=2)
    gone = store.get("pods", "d/p3")
    assert gone is not None
    store.delete("pods", "d/p3", expected=gone.revision)
    create(store, "p22")
    store.update(obj(store, "p4", value="new"), expected=6)
    rest = store.page("pods", "d/", after="d/p1", limit=2, revision=page.revision)
    last = store.page("pods", "d/", after="d/p3", revision=page.revision)

    assert (names(page.items), page.remaining) == (["d/p0", "d/p1"], 3)
    assert (names(rest.items), rest.remaining) == (["d/p2", "d/p3"], 1)
    assert (names(last.items), last.remaining) == (["d/p4"], 0)
    assert last.items[0].raw["value"] == ""
    assert names(store.page("pods").items) == ["d/p0", "d/p1", "d/p2", "d/p22", "d/p4"]


def test_watch_replays_and_goes_on() -> None:
    """A watch hands over what happened after its revision and then what happens, of its resource and prefix."""
    store = Store()
    since = create(store, "a").revision
    create(store, "b")
    create(store, "n", "", "nodes")
    create(store, "c", "other")
    seen: list[WatchEvent] = []
    watch = store.watch("pods", since, seen.append, "d/")
    store.update(obj(store, "b"), expected=3)
    store.delete("pods", "d/a", expected=2)
    watch.stop()
    create(store, "late")

    assert [(event.type, event.object.name, event.revision) for event in seen] == [
        ("ADDED", "b", 3),
        ("MODIFIED", "b", 6),
        ("DELETED", "a", 7),
    ]
    assert [event.previous.revision if event.previous else None for event in seen] == [None, 3, 2]


def test_handlers_may_write_and_watch() -> None:
    """What a handler writes reaches every watcher after the change it was called for, in order."""
    store = Store()
    seen: dict[str, list[int]] = {"first": [], "second": [], "inner": []}

    def first(event: WatchEvent) -> None:
        seen["first"].append(event.revision)
        if event.revision == 2:
            create(store, "from-handler")
            store.watch("pods", 1, lambda event: seen["inner"].append(event.revision))

    store.watch("pods", 1, first)
    store.watch("pods", 1, lambda event: seen["second"].append(event.revision))
    create(store, "a")
    create(store, "b")

    assert seen == {"first": [2, 3, 4], "second": [2, 3, 4], "inner": [2, 3, 4]}


def test_handler_may_stop_during_replay() -> None:
    """A watch that is stopped by its own handler hears nothing more."""
    store = Store()
    create(store, "a")
    create(store, "b")
    seen: list[int] = []
    watches: list[StoreWatch] = []

    def handler(event: WatchEvent) -> None:
        seen.append(event.revision)
        if watches:
            watches[0].stop()

    watches.append(store.watch("pods", store.revision, handler))
    create(store, "c")
    create(store, "d")

    assert seen == [4]


def test_watch_of_a_future_revision_waits() -> None:
    """A watch that starts in the future hears only what comes after its revision."""
    store = Store()
    seen: list[int] = []
    store.watch("pods", 3, lambda event: seen.append(event.revision))
    for name in "abc":
        create(store, name)

    assert seen == [4]


def test_compacted_revisions_are_refused() -> None:
    """Lists and watches that start before the compacted revision are refused; history is a setting of its own."""
    store = Store(history=100)
    for name in "abcd":
        create(store, name)
    store.compact(4)
    with pytest.raises(Compacted):
        store.watch("pods", 3, lambda event: None)
    with pytest.raises(Compacted):
        store.page("pods", revision=3)
    store.watch("pods", 4, lambda event: None)

    assert names(store.fork(2).list("pods")) == ["d/a"]
    assert names(store.page("pods", revision=4).items) == ["d/a", "d/b", "d/c"]


def test_window_moves_with_the_newest_revision() -> None:
    """Only the newest revisions can be watched from, and older changes are dropped in the end."""
    store = Store(watch_window=3)
    for number in range(2000):
        create(store, f"p{number}")

    assert store.compacted_revision == store.revision - 3
    with pytest.raises(Compacted):
        store.fork(store.revision - 1500)


def test_nobody_hears_of_a_change_before_it_is_durable() -> None:
    """Watchers and waiters are told when the back end has flushed; the next write builds on the last."""
    backend = GroupCommit()
    store = Store(backend)
    told: list[object] = []
    store.watch("pods", 1, lambda event: told.append(event.revision))
    made = create(store, "a")
    store.update(obj(store, "a", value="2"), expected=made.revision)
    store.when_durable(3, told.append)
    assert told == []
    backend.flush()

    assert told == [2, 3, None]
    store.when_durable(2, lambda error: told.append("at once"))
    assert told[-1] == "at once"


def test_what_cannot_be_kept_is_taken_back() -> None:
    """When the back end fails, the state returns to the durable revision and waiters get the error."""
    backend = GroupCommit()
    store = Store(backend)
    kept = create(store, "kept")
    backend.flush()
    store.update(obj(store, "kept", value="lost"), expected=kept.revision)
    create(store, "lost")
    told: list[object] = []
    store.when_durable(store.revision, told.append)
    backend.fail()

    assert store.list("pods") == [kept]
    assert store.revision == kept.revision
    assert [str(error) for error in told] == ["disk full"]
    assert create(store, "again").revision == kept.revision + 1


def test_watch_that_began_behind_a_lost_change_hears_of_its_undoing() -> None:
    """Who listed the state and watches from there is brought back to what is left, then hears of new changes."""
    backend = GroupCommit()
    store = Store(backend)
    first, second = create(store, "changed"), create(store, "deleted")
    backend.flush()
    store.update(obj(store, "changed", value="lost"), expected=first.revision)
    store.delete("pods", "d/deleted", expected=second.revision)
    create(store, "lost")
    seen: list[tuple[str, str]] = []
    store.watch("pods", store.revision, lambda event: seen.append((event.type, event.object.key)))
    store.watch("pods", store.revision, lambda event: seen.append((event.type, event.object.key)), "other/")
    backend.fail()
    assert seen == [("DELETED", "d/lost"), ("ADDED", "d/deleted"), ("MODIFIED", "d/changed")]
    create(store, "new")
    backend.flush()

    assert seen[3:] == [("ADDED", "d/new")]


def test_forks_do_not_disturb_each_other() -> None:
    """A fork sees what was there; afterwards each store changes alone."""
    store = Store()
    made = create(store, "a")
    fork = store.fork()
    create(store, "in-store")
    create(fork, "in-fork")
    fork.delete("pods", "d/a", expected=made.revision)

    assert names(store.list("pods")) == ["d/a", "d/in-store"]
    assert names(fork.list("pods")) == ["d/in-fork"]
    assert (store.revision, fork.revision) == (3, 4)


def test_forks_of_the_past() -> None:
    """A fork at a kept revision holds the objects of that revision and counts on from there."""
    store = Store()
    made = create(store, "a")
    store.update(obj(store, "a", value="2"), expected=made.revision)
    create(store, "b")
    store.delete("pods", "d/a", expected=3)
    fork = store.fork(made.revision)

    assert fork.list("pods") == [made]
    assert fork.next_revision == made.revision + 1


def test_snapshots_come_back() -> None:
    """A store that starts from a snapshot, pickled on the way, holds the same objects at the same revision."""
    store = Store()
    create(store, "a")
    create(store, "n", "", "nodes")
    snapshot: Snapshot = pickle.loads(pickle.dumps(store.snapshot()))
    restored = Store(initial=snapshot)

    assert restored.revision == store.revision
    assert restored.resources() == ["nodes", "pods"]
    assert [item.json() for item in restored.list("pods")] == [item.json() for item in store.list("pods")]
    with pytest.raises(Compacted):
        restored.watch("pods", 1, lambda event: None)


class Kept(GroupCommit):
    """A back end that holds a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.floors: list[int] = []

    def load(self) -> Snapshot:  # type: ignore[override]
        return self.snapshot

    def compact(self, floor: int) -> None:
        self.floors.append(floor)


def test_store_starts_with_what_its_back_end_has_kept() -> None:
    """Objects, the counter and the changes come back: watches may begin before the restart."""
    before = Store()
    made = create(before, "a")
    changed = obj(before, "a", value="2")
    before.update(changed, expected=made.revision)
    changes = [WatchEvent("MODIFIED", changed, made)]
    store = Store(Kept(Snapshot(3, (changed,), changes)))
    seen: list[int] = []
    store.watch("pods", 2, lambda event: seen.append(event.revision))

    assert (store.revision, store.durable_revision, store.compacted_revision) == (3, 3, 2)
    assert seen == [3]
    assert [item.json() for item in store.page("pods", revision=2).items] == [made.json()]


def test_back_end_is_told_what_it_may_drop() -> None:
    """A compaction says from where on changes are still asked for, history included."""
    backend = Kept(Snapshot(1, ()))
    store = Store(backend, history=3)
    for number in range(6):
        create(store, f"p{number}")
    backend.flush()
    store.compact(6)

    assert backend.floors == [4]


def test_pages_of_the_past_are_of_one_moment_whatever_happens_between_them() -> None:
    """Objects that change, go and come between two pages are as they were."""
    store = Store()
    made = [create(store, name) for name in "acegi"]
    then = store.revision
    store.update(obj(store, "c", value="changed"), made[1].revision)
    store.delete("pods", made[3].key, made[3].revision)
    create(store, "b")
    first = store.page("pods", limit=2, revision=then)
    store.delete("pods", made[4].key, made[4].revision)
    create(store, "f")
    store.update(obj(store, "e", value="changed"), made[2].revision)
    second = store.page("pods", after=first.items[-1].key, limit=2, revision=then)
    third = store.page("pods", after=second.items[-1].key, limit=2, revision=then)

    assert [*first.items, *second.items, *third.items] == made
    assert [page.remaining for page in (first, second, third)] == [3, 1, 0]


def test_history_can_be_listed_where_lists_are_compacted() -> None:
    store = Store(history=100)
    create(store, "a")
    then = store.revision
    create(store, "b")
    store.compact(store.revision)

    assert [one.name for one in store.page("pods", revision=then, from_history=True).items] == ["a"]
    with pytest.raises(Compacted):
        store.page("pods", revision=then)
    with pytest.raises(Compacted):
        Store(history=100).page("pods", revision=0, from_history=True)

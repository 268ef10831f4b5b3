"""The store: one revision counter over all resources, optimistic concurrency, watches, kept history, forks.

    create, update, delete ──► head state, log ──► back end ──► durable ──► watchers, then those who wait

There is one writer and no thread. A write changes the head state at once, so that the next write builds on it; who
must not see what a crash could take back (watchers, answers to clients) is told when the back end reports the
revision durable. With the memory back end that is before the write returns.

Mirrors: etcd's revision and watch semantics, staging/src/k8s.io/apiserver/pkg/storage/etcd3 (v1.36)
Differs: every change has a revision of its own; revisions that watches may start from and history that the past can
be rebuilt from are separate settings.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.store.backend import Backend, MemoryBackend, Snapshot
from schedlab.store.errors import Compacted, KeyExists, KeyMissing, StaleRevision
from schedlab.store.log import EventLog
from schedlab.store.table import Table

Handler: TypeAlias = Callable[[WatchEvent], None]
Waiter: TypeAlias = Callable[[Exception | None], None]

#: The revision of a store without a change, as etcd counts.
FIRST_REVISION: Final = 1
WATCH_WINDOW: Final = 50_000
#: So many changes that nobody needs are dropped together.
_TRIM_STRIDE: Final = 1024


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list: `remaining` keys follow, `revision` is what the whole list shows."""

    items: Sequence[StoredObject]
    revision: int
    remaining: int = 0


@dataclass(slots=True)
class _Replaced:
    """What changes of a resource after `revision` up to another have replaced first, by key."""

    resource: str
    revision: int
    upto: int
    objects: dict[str, StoredObject | None]


class StoreWatch:
    """A running watch: the changes of one resource under a key prefix, each once, in revision order."""

    __slots__ = ("_handler", "_prefix", "_store", "position", "resource")

    def __init__(self, store: Store, resource: str, prefix: str, since: int, handler: Handler) -> None:
        self._store = store
        self._prefix = prefix
        self._handler: Handler | None = handler
        self.resource = resource
        #: The revision up to which changes have been handed over.
        self.position = since

    def offer(self, event: WatchEvent) -> None:
        """Hand the change over unless that has happened or it is none of ours."""
        revision = event.object.revision
        if self._handler is None or revision <= self.position:
            return
        self.position = revision
        if not self._prefix or event.object.key.startswith(self._prefix):
            self._handler(event)

    def take_back(self, taken: Sequence[WatchEvent], revision: int) -> None:
        """Undo changes, newest first, that the watch began behind and that are lost; nothing after `revision` is left."""
        for event in taken:
            if self._handler is None or event.revision > self.position:
                continue
            if self._prefix and not event.object.key.startswith(self._prefix):
                continue
            if event.type == "ADDED":
                self._handler(WatchEvent("DELETED", event.object, event.object))
            elif event.previous is not None:
                self._handler(
                    WatchEvent("ADDED" if event.type == "DELETED" else "MODIFIED", event.previous, event.object)
                )
        self.position = min(self.position, revision)

    @property
    def running(self) -> bool:
        return self._handler is not None

    def stop(self) -> None:
        """Deliver nothing more."""
        if self._handler is not None:
            self._handler = None
            self._store.forget_watch(self)


class Store:
    """Objects of all resources by key, and their changes by revision."""

    def __init__(
        self,
        backend: Backend | None = None,
        *,
        watch_window: int | None = WATCH_WINDOW,
        history: int | None = 0,
        initial: Snapshot | None = None,
    ) -> None:
        """Start with a snapshot, or with what the back end has kept.

        `watch_window` newest revisions can be watched and listed from, `history` can be rebuilt; None keeps all.
        """
        self._backend: Backend = MemoryBackend() if backend is None else backend
        if initial is None:
            initial = self._backend.load() or Snapshot(FIRST_REVISION, ())
        start = initial.revision
        self._watch_window = watch_window
        self._history = history
        self._log = EventLog(start - len(initial.changes))
        for event in initial.changes:
            self._log.append(event)
        self._tables: dict[str, Table] = {}
        #: Resources whose table a fork reads too: copied before the next change.
        self._shared: dict[str, None] = {}
        self._compacted = self._log.floor
        self._durable = start
        self._delivered = start
        self._dispatching = False
        self._watches: dict[str, tuple[StoreWatch, ...]] = {}
        self._waiters: list[tuple[int, Waiter]] = []
        self._stamps: dict[str, int] = {}
        #: What the last list of the past was made of.
        self._replaced: _Replaced | None = None
        #: Is told what is read, resource and key or prefix, while somebody wants to know what an outcome depends on.
        self.on_read: Callable[[str, str], None] | None = None
        for obj in initial.objects:
            self._tables.setdefault(obj.resource, Table()).put(obj.key, obj)
        self._backend.attach(self)

    # --- Reading -----------------------------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """The newest revision."""
        return self._log.revision

    @property
    def next_revision(self) -> int:
        """The revision that the next written object must carry."""
        return self._log.revision + 1

    @property
    def durable_revision(self) -> int:
        """The newest revision that a crash cannot take back."""
        return self._durable

    @property
    def compacted_revision(self) -> int:
        """The oldest revision that lists and watches can start from."""
        if self._watch_window is None:
            return self._compacted
        return max(self._compacted, self._log.revision - self._watch_window)

    def oldest_revision(self) -> int:
        """Return the oldest revision of which the past can be rebuilt."""
        return self._log.floor

    def resources(self) -> list[str]:
        """Return the resources that have objects, by name."""
        return sorted(resource for resource, table in self._tables.items() if len(table))

    def stamp(self, resource: str) -> int:
        """Return a number that is another one after every change of the resource."""
        return self._stamps.get(resource, 0)

    def is_at(self, states: Iterable[tuple[str, int]]) -> bool:
        """Say whether nothing of these resources has changed since `stamp` told these numbers."""
        stamps = self._stamps
        for resource, seen in states:  # noqa: SIM110 - asked about every like write, and a generator takes longer
            if stamps.get(resource, 0) != seen:
                return False
        return True

    def get(self, resource: str, key: str) -> StoredObject | None:
        if self.on_read is not None:
            self.on_read(resource, key)
        table = self._tables.get(resource)
        return None if table is None else table.get(key)

    def peek(self, resource: str, key: str) -> StoredObject | None:
        """Do as `get` does, for whoever is about to write the object: `on_read` is not told."""
        table = self._tables.get(resource)
        return None if table is None else table.get(key)

    def count(self, resource: str, prefix: str = "") -> int:
        if self.on_read is not None:
            self.on_read(resource, prefix)
        table = self._tables.get(resource)
        return 0 if table is None else table.count(prefix)

    def list(self, resource: str, prefix: str = "") -> list[StoredObject]:
        """Return the newest objects under a key prefix, in key order."""
        if self.on_read is not None:
            self.on_read(resource, prefix)
        table = self._tables.get(resource)
        if table is None:
            return []
        if not prefix:
            return table.all()
        return [obj for key in table.walk(prefix) if (obj := table.get(key)) is not None]

    def page(
        self,
        resource: str,
        prefix: str = "",
        *,
        after: str = "",
        limit: int = 0,
        revision: int | None = None,
        from_history: bool = False,
    ) -> Page:
        """Return at most `limit` objects behind the key `after`, as they are now or were at a revision.

        Raises Compacted, `from_history` only for a revision that history does not keep either.
        """
        if self.on_read is not None:
            self.on_read(resource, prefix)
        shown = self.revision if revision is None else revision
        table = self._tables.get(resource) or Table()
        if shown == self.revision:
            keys = table.walk(prefix, after)
            items = [obj for _, key in zip(range(limit or len(table)), keys, strict=False) if (obj := table.get(key))]
            remaining = table.count(prefix, items[-1].key) if limit and items else 0
            return Page(items, shown, remaining)
        oldest = self._log.floor if from_history else self.compacted_revision
        if shown < oldest:
            raise Compacted(shown, oldest)
        return self._past(resource, table, prefix, after, shown, limit)

    def _past(self, resource: str, table: Table, prefix: str, after: str, revision: int, limit: int) -> Page:
        """List objects as they were: what has not changed since, and what the changes replaced."""
        replaced = {
            key: obj
            for key, obj in self._replaced_since(resource, revision).items()
            if key.startswith(prefix) and key > after
        }
        gone = [key for key in replaced if table.get(key) is None]
        items: list[StoredObject] = []
        for key in heapq.merge(table.walk(prefix, after), sorted(gone)):
            obj = replaced[key] if key in replaced else table.get(key)
            if obj is not None:
                items.append(obj)
                if len(items) == limit:
                    break
        last = items[-1].key if items else after
        came_back = sum(key > last and replaced[key] is not None for key in gone)
        not_yet = sum(key > last and obj is None and table.get(key) is not None for key, obj in replaced.items())
        return Page(items, revision, table.count(prefix, last) + came_back - not_yet)

    def _replaced_since(self, resource: str, revision: int) -> Mapping[str, StoredObject | None]:
        """Return what changes have replaced since a revision, by key: None where there was nothing.

        Pages of one list follow each other: what is known of the last one is gone on from.
        """
        known = self._replaced
        if known is None or (known.resource, known.revision) != (resource, revision):
            known = self._replaced = _Replaced(resource, revision, revision, {})
        for event in self._log.after(known.upto):
            if event.object.resource == resource:
                known.objects.setdefault(event.object.key, event.previous)
        known.upto = self._log.revision
        return known.objects

    def _require(self, revision: int) -> None:
        if revision < self.compacted_revision:
            raise Compacted(revision, self.compacted_revision)

    def changes(self, since: int, upto: int) -> Sequence[WatchEvent]:
        """Return all changes after one revision up to another, oldest first; raises Compacted when they are not kept."""
        if since < self._log.floor:
            raise Compacted(since, self._log.floor)
        return tuple(self._log.after(since, upto))

    def changes_of(self, resource: str, key: str) -> Iterator[WatchEvent]:
        """Walk over the changes of one object that are kept, oldest first."""
        for event in self._log.after(self._log.floor):
            if event.object.resource == resource and event.object.key == key:
                yield event

    # --- Writing -----------------------------------------------------------------------------------------------------

    def create(self, obj: StoredObject) -> None:
        """Add an object that carries `next_revision`; raises KeyExists."""
        key, table = obj.key, self._tables.get(obj.resource)
        if table is not None and table.get(key) is not None:
            raise KeyExists(key)
        self._commit(key, WatchEvent("ADDED", obj))

    def update(self, obj: StoredObject, expected: int) -> None:
        """Replace the object that is at the revision `expected`; raises KeyMissing, StaleRevision."""
        key = obj.key
        self._commit(key, WatchEvent("MODIFIED", obj, self._current(obj.resource, key, expected)))

    def touch(self, resource: str, key: str) -> None:
        """Give an object a new revision and nothing else; nothing happens when it is gone."""
        current = self.peek(resource, key)
        if current is not None:
            self._commit(key, WatchEvent("MODIFIED", current.with_revision(self.next_revision), current))

    def delete(self, resource: str, key: str, expected: int, last: StoredObject | None = None) -> StoredObject:
        """Remove the object that is at the revision `expected`; raises KeyMissing, StaleRevision.

        Returns its last state, which is the stored one or `last`, at the revision of the deletion.
        """
        current = self._current(resource, key, expected)
        gone = (current if last is None else last).with_revision(self.next_revision)
        self._commit(key, WatchEvent("DELETED", gone, current))
        return gone

    def _current(self, resource: str, key: str, expected: int) -> StoredObject:
        current = self.peek(resource, key)
        if current is None:
            raise KeyMissing(key)
        if current.revision != expected:
            raise StaleRevision(key)
        return current

    def _commit(self, key: str, event: WatchEvent) -> None:
        obj = event.object
        self._apply(obj.resource, key, None if event.type == "DELETED" else obj)
        self._log.append(event)
        self._backend.append(event)

    def _apply(self, resource: str, key: str, obj: StoredObject | None) -> None:
        self._stamps[resource] = self._stamps.get(resource, 0) + 1
        table = self._tables.get(resource)
        if table is None:
            table = self._tables[resource] = Table()
        elif resource in self._shared:
            table = self._tables[resource] = table.copy()
            del self._shared[resource]
        if obj is None:
            table.drop(key)
        else:
            table.put(key, obj)

    # --- Durability --------------------------------------------------------------------------------------------------

    def when_durable(self, revision: int, waiter: Waiter) -> None:
        """Call `waiter` with None once the revision is durable, or with the error that took it back."""
        if revision <= self._durable:
            waiter(None)
        else:
            self._waiters.append((revision, waiter))

    def durable(self, revision: int) -> None:
        """Take the back end's word that changes up to `revision` are safe; tell watchers, then those who wait."""
        self._durable = max(self._durable, revision)
        if self._dispatching:
            return  # a handler has written: the loop below goes on with its change when the handler returns
        log, watches = self._log, self._watches
        self._dispatching = True
        try:
            while self._delivered < self._durable:
                self._delivered += 1
                event = log.at(self._delivered)
                for watch in watches.get(event.object.resource, ()):
                    watch.offer(event)
        finally:
            self._dispatching = False
        if self._history is not None:
            window, beyond = self._watch_window, log.floor + _TRIM_STRIDE
            if (window is not None and log.revision - window > beyond) or self._compacted > beyond:
                self._trim(_TRIM_STRIDE)
        if self._waiters:
            released = [waiter for awaited, waiter in self._waiters if awaited <= self._durable]
            self._waiters = [(awaited, waiter) for awaited, waiter in self._waiters if awaited > self._durable]
            for waiter in released:
                waiter(None)

    def failed(self, error: Exception) -> None:
        """Take back every change that is not durable and tell those who wait for one."""
        taken = self._rewind(self._durable)
        for resource in dict.fromkeys(event.object.resource for event in taken):
            own = [event for event in taken if event.object.resource == resource]
            for watch in self._watches.get(resource, ()):
                watch.take_back(own, self._durable)
        waiting, self._waiters = self._waiters, []
        for _, waiter in waiting:
            waiter(error)

    def _rewind(self, revision: int) -> Sequence[WatchEvent]:
        """Undo the changes after a revision and return them, newest first."""
        taken = self._log.cut(revision)
        self._replaced = None
        for event in taken:
            self._apply(event.object.resource, event.object.key, event.previous)
        return taken

    # --- Watching ----------------------------------------------------------------------------------------------------

    def watch(self, resource: str, since: int, handler: Handler, prefix: str = "") -> StoreWatch:
        """Hand every change of a resource after revision `since` to `handler`; raises Compacted.

        Changes that have happened are handed over before this returns. A handler may write, watch and stop; it must
        not raise.
        """
        self._require(since)
        watch = StoreWatch(self, resource, prefix, since, handler)
        while watch.position < self._delivered:
            upto = self._delivered
            for event in tuple(self._log.after(watch.position, upto)):
                if event.object.resource == resource:
                    watch.offer(event)
            watch.position = max(watch.position, upto)
        if watch.running:
            self._watches[resource] = (*self._watches.get(resource, ()), watch)
        return watch

    def forget_watch(self, watch: StoreWatch) -> None:
        """Drop a watch that was stopped."""
        running = self._watches.get(watch.resource, ())
        self._watches[watch.resource] = tuple(one for one in running if one is not watch)

    # --- Keeping and copying -----------------------------------------------------------------------------------------

    def compact(self, revision: int) -> None:
        """Let no list or watch start before `revision`; what history does not keep is dropped."""
        self._compacted = max(self._compacted, min(revision, self._delivered))
        self._trim(stride=0)
        self._backend.compact(self._log.floor)

    def _trim(self, stride: int) -> None:
        """Drop changes that neither watches nor history need, once there are more than `stride` of them."""
        if self._history is not None:
            floor = min(self.compacted_revision, self._log.revision - self._history, self._delivered)
            if floor > self._log.floor + stride:
                self._log.trim(floor)
                if self._replaced is not None and self._replaced.revision < floor:
                    self._replaced = None

    def fork(self, revision: int | None = None) -> Store:
        """Return an independent store with the objects of now or of a kept revision; raises Compacted.

        The two share all that neither changes. The fork has no watchers and keeps everything in memory.
        """
        if revision is None:
            # What is not durable may still be taken back here; a fork must not believe in it.
            revision = self._durable
        if revision < self._log.floor:
            raise Compacted(revision, self._log.floor)
        made = Store(watch_window=self._watch_window, history=self._history)
        made._log = self._log.copy()
        made._tables = dict(self._tables)
        made._shared = dict.fromkeys(self._tables)
        self._shared = dict.fromkeys(self._tables)
        made._rewind(revision)
        made._durable = made._delivered = made.revision
        made._compacted = min(self.compacted_revision, made.revision)
        return made

    def snapshot(self) -> Snapshot:
        """Return all objects as they are now, resource by resource."""
        objects: Iterable[StoredObject] = (obj for resource in self.resources() for obj in self.list(resource))
        return Snapshot(self.revision, tuple(objects))

"""For any writes, flushes, failures, compactions and watches: a list and the watch from its revision give the state.

    list at revision r, then every event of a watch from r, applied in order  =  the list now

The events of a watch have rising revisions, each names the state it replaces, and none comes before it is durable.
"""

from __future__ import annotations

import contextlib

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.store import Compacted, DurabilityListener, KeyExists, KeyMissing, Store

RESOURCES = ("pods", "nodes")
PREFIXES = ("", "a/", "a-b/")
KEYS = ("a/x", "a/y", "a-b/x", "b/x")


class Delayed:
    """A back end that flushes when it is told to."""

    def load(self) -> None:
        """Begin with nothing."""

    def compact(self, floor: int) -> None:
        """Nothing is kept."""

    def attach(self, listener: DurabilityListener) -> None:
        self.listener = listener
        self.newest = 0

    def append(self, event: WatchEvent) -> None:
        self.newest = event.revision


class Mirror:
    """What a client that listed and watches believes."""

    def __init__(self, store: Store, resource: str, prefix: str) -> None:
        self.store, self.resource, self.prefix = store, resource, prefix
        page = store.page(resource, prefix, revision=store.durable_revision)
        self.objects = {item.key: item for item in page.items}
        self.revision = page.revision
        self.watch = store.watch(resource, page.revision, self.take, prefix)

    def take(self, event: WatchEvent) -> None:
        assert self.revision < event.revision <= self.store.durable_revision
        assert self.objects.get(event.object.key) is event.previous
        self.revision = event.revision
        if event.type == "DELETED":
            del self.objects[event.object.key]
        else:
            self.objects[event.object.key] = event.object


class StoreMachine(RuleBasedStateMachine):
    """Random writers, a back end that flushes late and fails, clients that come and go."""

    mirrors = Bundle("mirrors")

    def __init__(self) -> None:
        super().__init__()
        self.backend = Delayed()
        self.store = Store(self.backend, history=None)
        self.running: list[Mirror] = []
        #: Every durable state by revision, as a plain dict per resource.
        self.states = {self.store.revision: self.state(self.store)}

    @staticmethod
    def state(store: Store) -> dict[str, list[StoredObject]]:
        return {resource: list(store.list(resource)) for resource in RESOURCES}

    def encode(self, resource: str, key: str) -> StoredObject:
        namespace, name = key.split("/")
        body = {"kind": "K", "apiVersion": "v1", "metadata": {"namespace": namespace, "name": name}}
        return StoredObject.encode(resource, body, self.store.next_revision)

    def note(self) -> None:
        self.states[self.store.revision] = self.state(self.store)

    @rule(resource=st.sampled_from(RESOURCES), key=st.sampled_from(KEYS))
    def create(self, resource: str, key: str) -> None:
        with contextlib.suppress(KeyExists):
            self.store.create(self.encode(resource, key))
            self.note()

    @rule(resource=st.sampled_from(RESOURCES), key=st.sampled_from(KEYS), gone=st.booleans())
    def change(self, resource: str, key: str, *, gone: bool) -> None:
        current = self.store.get(resource, key)
        with contextlib.suppress(KeyMissing):
            expected = current.revision if current else 0
            if gone:
                self.store.delete(resource, key, expected)
            else:
                self.store.update(self.encode(resource, key), expected)
            self.note()

    @rule()
    def flush(self) -> None:
        self.backend.listener.durable(self.backend.newest)

    @rule()
    def fail(self) -> None:
        self.backend.listener.failed(OSError("disk full"))
        self.backend.newest = self.store.revision

    @rule(back=st.integers(0, 3))
    def compact(self, back: int) -> None:
        self.store.compact(self.store.revision - back)

    @rule(target=mirrors, resource=st.sampled_from(RESOURCES), prefix=st.sampled_from(PREFIXES))
    def watch(self, resource: str, prefix: str) -> Mirror:
        mirror = Mirror(self.store, resource, prefix)
        self.running.append(mirror)
        return mirror

    @rule(mirror=consumes(mirrors))
    def stop(self, mirror: Mirror) -> None:
        mirror.watch.stop()
        self.running.remove(mirror)

    @rule(back=st.integers(0, 5))
    def look_back(self, back: int) -> None:
        revision = max(1, self.store.revision - back)
        assert self.state(self.store.fork(revision)) == self.states[revision]
        with contextlib.suppress(Compacted):
            for resource in RESOURCES:
                assert list(self.store.page(resource, revision=revision).items) == self.states[revision][resource]

    @invariant()
    def clients_know_the_durable_state(self) -> None:
        state = self.states[self.store.durable_revision]
        for mirror in self.running:
            expected = [item for item in state[mirror.resource] if item.key.startswith(mirror.prefix)]
            assert sorted(mirror.objects.values(), key=lambda item: item.key) == expected


StoreMachine.TestCase.settings = settings(stateful_step_count=40)
TestStoreMachine = StoreMachine.TestCase

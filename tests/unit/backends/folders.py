"""Stores over data folders, for tests: the test says when the store's thread takes its turn."""

from __future__ import annotations

import queue
from collections.abc import Callable
from pathlib import Path

from schedlab.api.object import StoredObject
from schedlab.backends import SQLiteBackend
from schedlab.store import Store


class Mailbox:
    """The store's thread: runs what was posted when the test lets it."""

    def __init__(self) -> None:
        self._posted: queue.Queue[Callable[[], None]] = queue.Queue()

    def post(self, news: Callable[[], None]) -> None:
        self._posted.put(news)

    def run(self) -> None:
        """Wait for one piece of news and take it in."""
        self._posted.get(timeout=10)()


class Opened:
    """A store over a data folder."""

    def __init__(self, folder: Path) -> None:
        self.mailbox = Mailbox()
        self.broken: list[Exception] = []
        self.backend = SQLiteBackend(folder, post=self.mailbox.post, on_broken=self.broken.append)
        self.store = Store(self.backend)

    def settle(self) -> None:
        """Wait until everything that was written is safe."""
        while self.store.durable_revision < self.store.revision:
            self.mailbox.run()

    def close(self) -> None:
        self.backend.close()

    def put(self, name: str, value: str = "", resource: str = "pods") -> StoredObject:
        """Create or change an object."""
        body = {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "d", "uid": f"u-{name}"},
            "value": value,
        }
        made = StoredObject.encode(resource, body, self.store.next_revision)
        current = self.store.get(resource, made.key)
        if current is None:
            self.store.create(made)
        else:
            self.store.update(made, current.revision)
        return made

    def drop(self, name: str, resource: str = "pods") -> None:
        current = self.store.get(resource, f"d/{name}")
        assert current is not None
        self.store.delete(resource, current.key, current.revision)

    def state(self) -> dict[str, bytes]:
        """Every object as it is encoded, with its revision."""
        return {f"{obj.resource} {obj.key}": obj.json() for obj in self.store.snapshot().objects}

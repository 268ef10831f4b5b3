"""Stores over data folders or etcd, for tests: the test says when the store's thread takes its turn."""

from __future__ import annotations

import queue
from collections.abc import Callable
from pathlib import Path
from typing import Any

from schedlab.api.object import StoredObject
from schedlab.backends import EtcdBackend, EtcdPlace, SQLiteBackend
from schedlab.kernel.errors import SchedlabError
from schedlab.store import Store


class Mailbox:
    """The store's thread: runs what was posted when the test lets it."""

    def __init__(self) -> None:
        self._posted: queue.Queue[Callable[[], None]] = queue.Queue()

    def post(self, news: Callable[[], None]) -> None:
        self._posted.put(news)

    def run(self) -> None:
        """Wait for one piece of news and take it in."""
        self._posted.get(timeout=20)()


class Opened:
    """A store over a data folder or an etcd."""

    def __init__(self, place: Path | EtcdPlace) -> None:
        self.mailbox = Mailbox()
        self.broken: list[Exception] = []
        self.backend: Any
        if isinstance(place, EtcdPlace):
            self.backend = EtcdBackend(place, post=self.mailbox.post, on_broken=self.broken.append)
        else:
            self.backend = SQLiteBackend(place, post=self.mailbox.post, on_broken=self.broken.append)
        try:
            self.store = Store(self.backend)
        except SchedlabError:
            self.backend.close()
            raise

    def told(self, name: str) -> Exception | None:
        """Create an object; return what its writer is told in the end."""
        answers: list[Exception | None] = []
        self.put(name)
        self.store.when_durable(self.store.revision, answers.append)
        while not answers:
            self.mailbox.run()
        return answers[0]

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

"""The objects of one resource: found by key, walked in key order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from schedlab.api.object import StoredObject
from schedlab.store.keys import OrderedKeys

#: The character after every one that a key can have.
_END = "\U0010ffff"


class Table:
    """A mapping of keys to objects that knows the order of its keys."""

    __slots__ = ("_keys", "_objects", "get")

    def __init__(self, objects: dict[str, StoredObject] | None = None, keys: OrderedKeys | None = None) -> None:
        self._objects: dict[str, StoredObject] = {} if objects is None else objects
        self._keys = OrderedKeys() if keys is None else keys
        #: Returns the object of a key, or None; the mapping's own method, since every write asks several times.
        self.get: Callable[[str], StoredObject | None] = self._objects.get

    def __len__(self) -> int:
        return len(self._objects)

    def put(self, key: str, obj: StoredObject) -> None:
        if key not in self._objects:
            self._keys.add(key)
        self._objects[key] = obj

    def drop(self, key: str) -> None:
        del self._objects[key]
        self._keys.remove(key)

    def walk(self, prefix: str, after: str = "") -> Iterator[str]:
        """Walk over the keys with a prefix, from the first one behind `after`."""
        start = max(prefix, f"{after}\0" if after else "")
        for key in self._keys.walk(start):
            if not key.startswith(prefix):
                return
            yield key

    def count(self, prefix: str, after: str = "") -> int:
        """Count what `walk` would give."""
        start = max(prefix, f"{after}\0" if after else "")
        end = self._keys.count_below(prefix + _END) if prefix else len(self._keys)
        return max(0, end - self._keys.count_below(start))

    def all(self) -> list[StoredObject]:
        objects = self._objects
        return [objects[key] for key in self._keys]

    def copy(self) -> Table:
        return Table(self._objects.copy(), self._keys.copy())

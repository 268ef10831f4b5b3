"""Keys of one resource in byte order, cheap to insert into and to walk from any point.

A list of sorted chunks: insertion and removal move a few hundred pointers at most, whatever the number of keys. New keys
wait until somebody asks for the order: thousands are sorted in together at a fraction of the price.

Mirrors: the key order of etcd's B-tree.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import chain
from typing import Final

_CHUNK_MAX: Final = 1024
#: When every so many-th key is new, all are sorted anew.
_MANY: Final = 16


class OrderedKeys:
    """A sorted set of texts."""

    __slots__ = ("_chunks", "_count", "_lasts", "_new")

    def __init__(self) -> None:
        self._chunks: list[list[str]] = []
        #: The last key of each chunk.
        self._lasts: list[str] = []
        self._count = 0
        #: Keys that came since somebody asked for the order.
        self._new: list[str] = []

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        self._settle()
        return chain.from_iterable(self._chunks)

    def add(self, key: str) -> None:
        """Insert a key that is not there yet."""
        self._count += 1
        self._new.append(key)

    def _settle(self) -> None:
        """Put new keys in their places."""
        new = self._new
        if not new:
            return
        self._new = []
        if len(new) * _MANY < self._count:
            for key in new:
                self._insert(key)
            return
        keys = sorted([*chain.from_iterable(self._chunks), *new])
        # Half full, so that there is room to grow.
        self._chunks = [keys[start : start + _CHUNK_MAX // 2] for start in range(0, len(keys), _CHUNK_MAX // 2)]
        self._lasts = [chunk[-1] for chunk in self._chunks]

    def _insert(self, key: str) -> None:
        if not self._chunks:
            self._chunks.append([key])
            self._lasts.append(key)
            return
        at = min(bisect_left(self._lasts, key), len(self._chunks) - 1)
        chunk = self._chunks[at]
        if key > chunk[-1]:
            chunk.append(key)
            self._lasts[at] = key
        else:
            insort(chunk, key)
        if len(chunk) > _CHUNK_MAX:
            self._split(at)

    def _split(self, at: int) -> None:
        chunk = self._chunks[at]
        # A chunk that grows at its end stays nearly full, so that loading in order packs well.
        middle = len(chunk) - 1 if at == len(self._chunks) - 1 else len(chunk) // 2
        self._chunks[at : at + 1] = [chunk[:middle], chunk[middle:]]
        self._lasts[at : at + 1] = [chunk[middle - 1], chunk[-1]]

    def remove(self, key: str) -> None:
        """Take out a key that is there."""
        self._settle()
        at = bisect_left(self._lasts, key)
        chunk = self._chunks[at]
        position = bisect_left(chunk, key)
        assert chunk[position] == key, f"{key} is not among the keys"
        self._count -= 1
        del chunk[position]
        if chunk:
            self._lasts[at] = chunk[-1]
        else:
            del self._chunks[at], self._lasts[at]

    def walk(self, start: str) -> Iterator[str]:
        """Walk over the keys that are not below `start`, in order."""
        self._settle()
        at = bisect_left(self._lasts, start)
        if at == len(self._chunks):
            return iter(())
        chunk = self._chunks[at]
        return chain(chunk[bisect_left(chunk, start) :], chain.from_iterable(self._chunks[at + 1 :]))

    def count_below(self, start: str) -> int:
        """Count the keys that are below `start`."""
        self._settle()
        at = bisect_left(self._lasts, start)
        before = sum(map(len, self._chunks[:at]))
        return before if at == len(self._chunks) else before + bisect_left(self._chunks[at], start)

    def copy(self) -> OrderedKeys:
        self._settle()
        made = OrderedKeys()
        made._chunks = [chunk[:] for chunk in self._chunks]
        made._lasts = self._lasts[:]
        made._count = self._count
        return made

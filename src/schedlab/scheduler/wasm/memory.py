"""The memory of a guest as host functions see it.

Mirrors: scheduler/plugin/{mem,cstring}.go of kube-scheduler-wasm-extension.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from wasmtime import Caller, Memory, Store

_MASK: Final = 0xFFFF_FFFF


class GuestError(Exception):
    """A guest that broke the ABI, or ended."""


class GuestMemory:
    """Reads and writes with bounds; addresses and sizes come from the guest and may be anything."""

    __slots__ = ("_memory", "_store")

    def __init__(self, store: Caller | Store, memory: Memory) -> None:
        self._store = store
        self._memory = memory

    def read(self, start: int, size: int, what: str) -> bytes:
        """Return some bytes; raises GuestError, in which `what` says what was to be read."""
        start, size = start & _MASK, size & _MASK
        if start + size > self._memory.data_len(self._store):
            raise GuestError(f"out of memory reading {what}")
        return bytes(self._memory.read(self._store, start, start + size))

    def text(self, start: int, size: int, what: str) -> str:
        """Return some bytes as a text."""
        return self.read(start, size, what).decode(errors="replace")

    def write(self, data: bytes, start: int) -> None:
        """Write bytes."""
        start &= _MASK
        if start + len(data) > self._memory.data_len(self._store):
            raise GuestError("out of memory")
        self._memory.write(self._store, data, start)

    def answer(self, data: bytes, start: int, limit: int) -> int:
        """Write an answer if the guest's buffer has room for it; return its size, so that the guest can ask again."""
        if data and len(data) <= limit & _MASK:
            self.write(data, start)
        return len(data)


def texts(data: bytes) -> list[str]:
    """Return the texts of a sequence in which each ends with a zero byte; empty ones count for nothing."""
    return [part.decode(errors="replace") for part in data.split(b"\0")[:-1] if part]

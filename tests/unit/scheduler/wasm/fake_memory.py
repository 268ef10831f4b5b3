"""A guest's memory without a guest."""

from __future__ import annotations

from typing import Any

from schedlab.scheduler.wasm.memory import GuestMemory


class _Bytes:
    """What wasmtime's Memory does."""

    def __init__(self, size: int) -> None:
        self.data = bytearray(size)

    def data_len(self, _store: object) -> int:
        return len(self.data)

    def read(self, _store: object, start: int, stop: int) -> bytearray:
        return self.data[start:stop]

    def write(self, _store: object, data: bytes, start: int) -> None:
        self.data[start : start + len(data)] = data


def memory(content: bytes = b"", size: int = 4096) -> GuestMemory:
    """Return a memory that begins with the content."""
    store: Any = None
    inner: Any = _Bytes(size)
    made = GuestMemory(store, inner)
    made.write(content, 0)
    return made

"""The few functions of WASI that compiled guests need, cut off from the machine.

Output is captured, the clock is the scheduler's, random bytes come from the scheduler's random source, arguments are
those of the configuration. There are no files, no environment and no network: everything else answers "not supported".

Mirrors: wasi_snapshot_preview1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.scheduler.wasm.memory import GuestError, GuestMemory

if TYPE_CHECKING:
    from schedlab.kernel.clock import Clock
    from schedlab.kernel.randomness import RandomSource

MODULE: Final = "wasi_snapshot_preview1"
_SUCCESS: Final = 0
_BAD_FILE: Final = 8
_NOT_SUPPORTED: Final = 52
_OUTPUTS: Final = (1, 2)
_OUTPUT_KEPT: Final = 8192


class GuestExit(GuestError):
    """A guest that called exit."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit status {code}")
        self.code = code


class Wasi:
    """The functions by name; `output` is what the guest printed since it was cleared."""

    def __init__(self, clock: Clock, random: RandomSource, arguments: Sequence[str]) -> None:
        self._clock = clock
        self._random = random
        self._arguments = [argument.encode() + b"\0" for argument in arguments]
        self.output = bytearray()

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function that takes the guest's memory and its parameters."""
        found: Callable[..., Any] | None = getattr(self, f"_{name}", None)
        return found if found is not None else lambda *_: _NOT_SUPPORTED

    def _args_sizes_get(self, memory: GuestMemory, count_at: int, size_at: int) -> int:
        memory.write(_u32(len(self._arguments)), count_at)
        memory.write(_u32(sum(map(len, self._arguments))), size_at)
        return _SUCCESS

    def _args_get(self, memory: GuestMemory, pointers_at: int, texts_at: int) -> int:
        for number, argument in enumerate(self._arguments):
            memory.write(_u32(texts_at), pointers_at + 4 * number)
            memory.write(argument, texts_at)
            texts_at += len(argument)
        return _SUCCESS

    def _environ_sizes_get(self, memory: GuestMemory, count_at: int, size_at: int) -> int:
        memory.write(_u32(0), count_at)
        memory.write(_u32(0), size_at)
        return _SUCCESS

    def _environ_get(self, *_: object) -> int:
        return _SUCCESS

    def _clock_time_get(self, memory: GuestMemory, _clock: int, _precision: int, at: int) -> int:
        memory.write(self._clock.now_ns().to_bytes(8, "little"), at)
        return _SUCCESS

    def _random_get(self, memory: GuestMemory, at: int, size: int) -> int:
        memory.write(bytes(self._random.below(256) for _ in range(size)), at)
        return _SUCCESS

    def _sched_yield(self, _memory: GuestMemory) -> int:
        return _SUCCESS

    def _fd_write(self, memory: GuestMemory, file: int, parts_at: int, count: int, written_at: int) -> int:
        if file not in _OUTPUTS:
            return _BAD_FILE
        written = 0
        for number in range(count):
            part = memory.read(parts_at + 8 * number, 8, "output")
            start, size = int.from_bytes(part[:4], "little"), int.from_bytes(part[4:], "little")
            self.output += memory.read(start, size, "output")
            written += size
        del self.output[:-_OUTPUT_KEPT]
        memory.write(_u32(written), written_at)
        return _SUCCESS

    def _fd_close(self, *_: object) -> int:
        return _BAD_FILE

    _fd_seek = _fd_fdstat_get = _fd_prestat_get = _fd_prestat_dir_name = _fd_read = _fd_close

    def _proc_exit(self, _memory: GuestMemory, code: int) -> None:
        raise GuestExit(code)


def _u32(number: int) -> bytes:
    return (number & 0xFFFF_FFFF).to_bytes(4, "little")

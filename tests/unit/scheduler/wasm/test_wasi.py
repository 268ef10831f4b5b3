"""What compiled guests see of a system: nothing of the machine."""

from __future__ import annotations

import pytest

from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.wasm.wasi import GuestExit, Wasi
from tests.unit.scheduler.wasm.fake_memory import memory


def wasi(*arguments: str) -> Wasi:
    return Wasi(VirtualClock(), SeededRandom(7), arguments)


def number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def test_output_is_captured() -> None:
    system = wasi()
    inside = memory(b"\x10\0\0\0\x03\0\0\0\x13\0\0\0\x02\0\0\0abcde")

    assert system.function("fd_write")(inside, 2, 0, 2, 100) == 0
    assert bytes(system.output) == b"abcde"
    assert number(inside.read(100, 4, "written")) == 5


def test_other_files_are_not_there() -> None:
    assert wasi().function("fd_write")(memory(), 3, 0, 1, 100) == 8
    assert wasi().function("fd_read")(memory(), 0, 0, 1, 100) == 8


def test_only_the_end_of_long_output_is_kept() -> None:
    system = wasi()
    inside = memory(b"\x08\0\0\0\x00\x10\0\0", size=8192)

    for _ in range(5):
        system.function("fd_write")(inside, 1, 0, 1, 0x1800)

    assert len(system.output) == 8192


def test_arguments_are_those_of_the_configuration() -> None:
    system, inside = wasi("guest", "-v"), memory()

    assert system.function("args_sizes_get")(inside, 0, 4) == 0
    assert (number(inside.read(0, 4, "count")), number(inside.read(4, 4, "size"))) == (2, 9)
    assert system.function("args_get")(inside, 8, 100) == 0
    assert [number(inside.read(8 + 4 * at, 4, "pointer")) for at in range(2)] == [100, 106]
    assert inside.read(100, 9, "texts") == b"guest\0-v\0"


def test_there_is_no_environment() -> None:
    inside = memory(b"\xff" * 8)

    assert wasi().function("environ_sizes_get")(inside, 0, 4) == 0
    assert inside.read(0, 8, "sizes") == bytes(8)
    assert wasi().function("environ_get")(inside, 0, 0) == 0


def test_time_is_the_schedulers() -> None:
    clock, inside = VirtualClock(), memory()
    clock.advance_to(clock.now_ns() + 42)

    Wasi(clock, SeededRandom(7), ()).function("clock_time_get")(inside, 0, 1, 16)

    assert number(inside.read(16, 8, "time")) == clock.now_ns()


def test_chance_is_the_schedulers() -> None:
    first, second = memory(), memory()

    wasi().function("random_get")(first, 0, 32)
    wasi().function("random_get")(second, 0, 32)

    assert first.read(0, 32, "bytes") == second.read(0, 32, "bytes") != bytes(32)


def test_exit_ends_the_guest() -> None:
    with pytest.raises(GuestExit, match="exit status 3"):
        wasi().function("proc_exit")(memory(), 3)


def test_everything_else_is_not_supported() -> None:
    assert wasi().function("sock_accept")(memory(), 1, 2, 3) == 52
    assert wasi().function("sched_yield")(memory()) == 0

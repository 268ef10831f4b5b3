"""Addresses and sizes of guests may be anything; what lies outside is never read or written."""

from __future__ import annotations

import pytest

from schedlab.scheduler.wasm.memory import GuestError, texts
from tests.unit.scheduler.wasm.fake_memory import memory


def test_answer_is_written_when_it_fits() -> None:
    inside = memory(size=16)

    assert inside.answer(b"node", 4, 4) == 4
    assert inside.read(4, 4, "it") == b"node"


def test_answer_that_does_not_fit_is_only_measured() -> None:
    inside = memory(size=16)

    assert inside.answer(b"node", 4, 3) == 4
    assert inside.read(0, 16, "it") == bytes(16)


def test_empty_answer_writes_nothing() -> None:
    assert memory(size=0).answer(b"", 99, 0) == 0


@pytest.mark.parametrize(("start", "size"), [(0, 17), (16, 1), (-1, 1), (2**32 - 1, 2)])
def test_reading_outside_is_an_error_that_says_what(start: int, size: int) -> None:
    with pytest.raises(GuestError, match="out of memory reading nodeName"):
        memory(size=16).read(start, size, "nodeName")


@pytest.mark.parametrize("start", [13, -1])
def test_writing_outside_is_an_error(start: int) -> None:
    with pytest.raises(GuestError, match="out of memory"):
        memory(size=16).write(b"node", start)


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", []), (b"a\0", ["a"]), (b"a\0bc\0", ["a", "bc"]), (b"\0a\0\0", ["a"]), (b"a\0rest", ["a"])],
)
def test_texts_end_with_a_zero(data: bytes, expected: list[str]) -> None:
    assert texts(data) == expected

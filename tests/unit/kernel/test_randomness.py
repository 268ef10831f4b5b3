"""Chance from one seed: the same stream everywhere, parts that do not disturb each other."""

from __future__ import annotations

import re

import pytest

from schedlab.kernel.randomness import SeededRandom


def test_stream_is_splitmix64() -> None:
    source = SeededRandom(1234567)

    # The first values published with the algorithm for this seed.
    assert [source.below(1 << 64) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 1000])
def test_below_stays_below(bound: int) -> None:
    source = SeededRandom(7)

    drawn = [source.below(bound) for _ in range(200)]

    assert min(drawn) >= 0
    assert max(drawn) < bound


def test_below_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="positive bound, got 0"):
        SeededRandom(1).below(0)


def test_fraction_lies_in_unit_interval() -> None:
    source = SeededRandom(3)

    assert all(0 <= source.fraction() < 1 for _ in range(200))


def test_uid_is_a_version_4_uuid() -> None:
    pattern = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    source = SeededRandom(5)

    assert all(re.fullmatch(pattern, source.uid()) for _ in range(50))


def test_suffix_uses_the_name_alphabet() -> None:
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{5}", SeededRandom(5).suffix())


def test_split_depends_on_seed_and_label_only() -> None:
    first, again = SeededRandom(9), SeededRandom(9)
    label_streams = [first.split(label).below(1 << 64) for label in ("a", "b")]

    assert label_streams == [again.split(label).below(1 << 64) for label in ("a", "b")]
    assert label_streams[0] != label_streams[1]
    assert first.below(1 << 64) == again.below(1 << 64)


@pytest.mark.parametrize("drawn", [0, 1, 15, 16, 17, 271, 272, 273, 600])
def test_a_source_goes_on_from_its_state_however_many_were_drawn(drawn: int) -> None:
    """Numbers that are worked out together are those that are drawn one by one."""
    source = SeededRandom(2**64 - 1)
    for _ in range(drawn):
        source.below(1 << 64)

    assert source.state == (2**64 - 1 + drawn * 0x9E3779B97F4A7C15) % 2**64
    assert [SeededRandom(source.state).uid() for _ in range(2)] == [source.uid()] * 2

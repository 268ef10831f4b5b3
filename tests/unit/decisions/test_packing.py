"""A packed attempt comes back whole."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from schedlab.decisions import packing
from schedlab.decisions.packing import PackedCycle, pack, pack_array, unpack, unpack_array
from schedlab.scheduler.framework.record import CycleRecord, FilterRecord
from tests.unit.decisions import records


def _plain(value: Any) -> Any:
    """The record as comparable data."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.tolist())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


@pytest.mark.parametrize("record", [records.scheduled(), records.failed()], ids=["scheduled", "failed"])
def test_unpacking_gives_the_record_back(record: CycleRecord) -> None:
    before = _plain(record)

    assert _plain(unpack(pack(record))) == before
    assert _plain(record) == before, "packing must leave the record alone"


@pytest.mark.parametrize(
    ("values", "way", "stored_bytes"),
    [
        ([0, 1], "numbers", 2),
        ([-129, 0], "numbers", 4),
        ([70_000, 1], "numbers", 8),
        ([1 << 40, 0], "numbers", 16),
        ([70_000], "constant", 0),
        ([7, 7, 7], "constant", 0),
        ([], "constant", 0),
    ],
)
def test_array_takes_as_little_as_it_can(values: list[int], way: str, stored_bytes: int) -> None:
    array = np.array(values, np.int64)

    packed = pack_array(array)

    assert (packed.way, len(packed.data)) == (way, stored_bytes)
    assert unpack_array(packed, {}).dtype == np.int64
    assert unpack_array(packed, {}).tolist() == values


@pytest.mark.parametrize("visited", [[0, 1, 2], [2, 3, 0], [3, 1, 2], [1], [0, 1, 2, 3], [3, 0, 1, 2], []])
@pytest.mark.parametrize("feasible", [[0, 2], []])
def test_rows_come_back_in_their_order(visited: list[int], feasible: list[int]) -> None:
    size = len(visited)
    record = records.scheduled(
        passed_filters=np.array(visited, np.int32),
        feasible=np.array(feasible, np.int32),
        filter=FilterRecord(
            ("A",),
            np.array(visited, np.int32),
            np.full(size, -1, np.int8),
            np.zeros(size, np.uint8),
            np.zeros(size, np.int32),
            second_pass=np.ones(size, np.bool_),
            full_code=np.zeros((1, 4), np.uint8),
            full_reason=np.arange(4, dtype=np.int32).reshape(1, 4) % 2,
        ),
    )

    assert _plain(unpack(pack(record))) == _plain(record)


def test_rows_that_follow_each_other_and_verdicts_that_are_all_the_same_take_no_room() -> None:
    few, many = (len(pack(records.many_nodes(1, size)).blob) for size in (110, 5000))

    assert many < few + 600


def test_equal_parts_are_shared_with_the_attempt_before() -> None:
    first = pack(records.scheduled(1))
    second = pack(records.scheduled(2), first.head)

    assert second.head.pre_filter is first.head.pre_filter
    assert second.head.filter is first.head.filter
    assert second.head.score is first.head.score
    assert second.head.attempt == 2
    assert _plain(unpack(second)) == _plain(records.scheduled(2, pod=second.head.pod))


def test_reasons_of_another_process_are_renamed() -> None:
    packed = pack(records.scheduled())
    blob = packing._decode(packing._DECOMPRESSOR.decompress(packed.blob))
    other = max(blob.reasons) + 1000
    moved = np.array([0, other, 0], np.int32)
    blob.arrays["filter.reason"] = pack_array(moved)
    blob.reasons = {other: (records.NO_CPU,)}
    foreign = PackedCycle(packed.head, packing._COMPRESSOR.compress(packing._encode(blob)))

    assert _plain(unpack(foreign)) == _plain(records.scheduled(pod=packed.head.pod))

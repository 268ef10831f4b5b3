"""A packed attempt comes back whole."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from schedlab.decisions.packing import pack, pack_array, unpack, unpack_array
from schedlab.scheduler.framework.record import CycleRecord
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
    ("values", "stored_bytes"),
    [([0, 1], 1), ([-129, 0], 2), ([70_000], 4), ([1 << 40], 8), ([], 1)],
)
def test_array_takes_the_smallest_type(values: list[int], stored_bytes: int) -> None:
    array = np.array(values, np.int64)

    packed = pack_array(array)

    assert len(packed.data) == stored_bytes * len(values)
    assert unpack_array(packed).dtype == np.int64
    assert unpack_array(packed).tolist() == values

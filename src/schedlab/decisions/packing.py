"""Keeps one attempt in few bytes and gives it back whole.

Arrays are narrowed to the smallest integer type that holds them and compressed together; names of nodes are shared
between the attempts made on the same table. Reason ids are rendered to text, because ids mean nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import numpy as np
import zstandard

from schedlab.scheduler.framework.record import CycleRecord, FilterRecord, ScoreRecord
from schedlab.scheduler.framework.status import REASONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COMPRESSION_LEVEL: Final = 3
_INTEGER_TYPES: Final = (np.int8, np.int16, np.int32, np.int64)
_FILTER_ARRAYS: Final = ("visited", "failed_plugin", "code", "reason", "second_pass", "full_code", "full_reason")
_SCORE_ARRAYS: Final = ("rows", "raw", "final", "total")
_NODE_ARRAYS: Final = ("passed_filters", "feasible")

Part = TypeVar("Part", FilterRecord, ScoreRecord)


class PackedArray(msgspec.Struct, frozen=True, array_like=True):
    """An integer array: dtype name, narrowed dtype name, shape and bytes."""

    dtype: str
    stored: str
    shape: tuple[int, ...]
    data: bytes


def pack_array(values: NDArray[Any]) -> PackedArray:
    """Narrow an integer or boolean array to the smallest signed type that holds it."""
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    stored = next(t for t in _INTEGER_TYPES if np.iinfo(t).min <= low and high <= np.iinfo(t).max)
    return PackedArray(values.dtype.str, np.dtype(stored).str, values.shape, values.astype(stored).tobytes())


def unpack_array(packed: PackedArray) -> NDArray[Any]:
    """Return the array as it was."""
    return np.frombuffer(packed.data, packed.stored).reshape(packed.shape).astype(packed.dtype)


class _Blob(msgspec.Struct, array_like=True):
    arrays: dict[str, PackedArray]
    reasons: dict[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class PackedCycle:
    """A CycleRecord without its arrays, and the arrays as one compressed blob."""

    head: CycleRecord
    blob: bytes

    @property
    def size_bytes(self) -> int:
        """Bytes of the compressed arrays."""
        return len(self.blob)


def pack(record: CycleRecord) -> PackedCycle:
    """Pack a record; the record itself is left alone."""
    arrays: dict[str, PackedArray] = {}
    head = replace(record)
    for name in _NODE_ARRAYS:
        _take(arrays, name, getattr(record, name))
        setattr(head, name, None)
    if record.filter is not None:
        _take_all(arrays, "filter", record.filter, _FILTER_ARRAYS)
        head.filter = _without_arrays(record.filter, _FILTER_ARRAYS)
    if record.score is not None:
        _take_all(arrays, "score", record.score, _SCORE_ARRAYS)
        head.score = _without_arrays(record.score, _SCORE_ARRAYS)
    blob = msgspec.msgpack.encode(_Blob(arrays, _reason_texts(record.filter)))
    return PackedCycle(head, zstandard.compress(blob, _COMPRESSION_LEVEL))


def unpack(packed: PackedCycle) -> CycleRecord:
    """Return the record as it was, arrays and all."""
    blob = msgspec.msgpack.decode(zstandard.decompress(packed.blob), type=_Blob)
    record = replace(packed.head)
    for name in _NODE_ARRAYS:
        setattr(record, name, _give(blob, name))
    if record.filter is not None:
        record.filter = _with_arrays(record.filter, blob, "filter", _FILTER_ARRAYS)
        _restore_reasons(record.filter, blob.reasons)
    if record.score is not None:
        record.score = _with_arrays(record.score, blob, "score", _SCORE_ARRAYS)
    return record


def _take(arrays: dict[str, PackedArray], name: str, values: NDArray[Any] | None) -> None:
    if values is not None:
        arrays[name] = pack_array(values)


def _take_all(arrays: dict[str, PackedArray], prefix: str, part: object, names: Sequence[str]) -> None:
    for name in names:
        _take(arrays, f"{prefix}.{name}", getattr(part, name))


def _without_arrays(part: Part, names: Sequence[str]) -> Part:
    out = replace(part)
    for name in names:
        setattr(out, name, None)
    return out


def _with_arrays(part: Part, blob: _Blob, prefix: str, names: Sequence[str]) -> Part:
    out = replace(part)
    for name in names:
        setattr(out, name, _give(blob, f"{prefix}.{name}"))
    return out


def _give(blob: _Blob, name: str) -> NDArray[Any] | None:
    packed = blob.arrays.get(name)
    return None if packed is None else unpack_array(packed)


def _reason_texts(record: FilterRecord | None) -> dict[int, tuple[str, ...]]:
    if record is None:
        return {}
    ids = record.reason if record.full_reason is None else np.concatenate([record.reason, record.full_reason.ravel()])
    return {int(reason): REASONS.texts(int(reason)) for reason in np.unique(ids)}


def _restore_reasons(record: FilterRecord, texts: dict[int, tuple[str, ...]]) -> None:
    """Turn stored reason ids into this process's ids; within one process they are the same."""
    for stored, words in texts.items():
        if REASONS.id_of(words) != stored:
            renamed = {old: REASONS.id_of(words) for old, words in texts.items()}
            record.reason = _rename(record.reason, renamed)
            if record.full_reason is not None:
                record.full_reason = _rename(record.full_reason, renamed)
            return


def _rename(ids: NDArray[Any], renamed: dict[int, int]) -> NDArray[Any]:
    known = np.array(sorted(renamed), ids.dtype)
    new = np.array([renamed[int(old)] for old in known], ids.dtype)
    return new[np.searchsorted(known, ids)]

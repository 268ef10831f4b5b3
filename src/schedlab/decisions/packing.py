"""Keeps one attempt in few bytes and gives it back whole.

Most arrays of a record say little: all nodes passed, the nodes visited follow each other, the nodes scored are those
that passed. So each array becomes the first of these that it is:

    same      equal to an array packed before it
    range     rows that follow each other, round the end of the table
    constant  one value everywhere
    numbers   the smallest integer type that holds it

What remains is compressed together. Names of nodes and equal parts of records are shared between attempts. Reason ids
are kept with their texts, because ids mean nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

import msgspec
import numpy as np
import zstandard

from schedlab.scheduler.framework.record import CycleRecord, FilterRecord, ScoreRecord
from schedlab.scheduler.framework.status import REASONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COMPRESSOR: Final = zstandard.ZstdCompressor(level=1)
_DECOMPRESSOR: Final = zstandard.ZstdDecompressor()
_INTEGER_TYPES: Final = tuple(
    (name, int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in ("|i1", "<i2", "<i4", "<i8")
)
_FILTER_ARRAYS: Final = ("visited", "failed_plugin", "code", "reason", "second_pass", "full_code", "full_reason")
_SCORE_ARRAYS: Final = ("rows", "raw", "final", "total")
_NODE_ARRAYS: Final = ("passed_filters", "feasible")
#: Arrays of rows of the table: they may be ranges, and equal to each other.
_ROWS: Final = ("filter.visited", "passed_filters", "feasible", "score.rows")

Array: TypeAlias = "NDArray[Any]"


class PackedArray(msgspec.Struct, frozen=True, array_like=True):
    """One array: how it is kept, its dtype and shape, and what that way needs.

    same: `other` is the name of the equal array. range: `numbers` are first row and size of the table. constant:
    `numbers` is the value. numbers: `data` in the type `other`.
    """

    way: Literal["same", "range", "constant", "numbers"]
    dtype: str
    shape: tuple[int, ...]
    other: str = ""
    numbers: tuple[int, ...] = ()
    data: bytes = b""


def pack_array(values: Array) -> PackedArray:
    """Pack an integer or boolean array by itself."""
    dtype, shape = values.dtype.str, values.shape
    if not values.size:
        return PackedArray("constant", dtype, shape, numbers=(0,))
    low, high = int(values.min()), int(values.max())
    if low == high:
        return PackedArray("constant", dtype, shape, numbers=(low,))
    stored = next(name for name, least, greatest in _INTEGER_TYPES if least <= low and high <= greatest)
    return PackedArray("numbers", dtype, shape, stored, data=values.astype(stored).tobytes())


def _pack_range(rows: Array, nodes: int) -> PackedArray | None:
    """Pack rows that follow each other; None when they do not."""
    size = len(rows)
    if not 1 < size <= nodes:
        return None
    first = int(rows[0])
    if int(rows[-1]) != (first + size - 1) % nodes or not np.array_equal(rows, _rows(first, size, nodes)):
        return None
    return PackedArray("range", rows.dtype.str, rows.shape, numbers=(first, nodes))


def _rows(first: int, size: int, nodes: int) -> Array:
    if first + size <= nodes:
        return np.arange(first, first + size)
    return np.concatenate([np.arange(first, nodes), np.arange(first + size - nodes)])


def unpack_array(packed: PackedArray, others: Mapping[str, Array]) -> Array:
    """Return the array as it was; `others` are those unpacked before it."""
    if packed.way == "same":
        return others[packed.other].astype(packed.dtype)
    if packed.way == "range":
        first, nodes = packed.numbers
        return _rows(first, packed.shape[0], nodes).astype(packed.dtype)
    if packed.way == "constant":
        return np.full(packed.shape, packed.numbers[0], packed.dtype)
    return np.frombuffer(packed.data, packed.other).reshape(packed.shape).astype(packed.dtype)


class _Blob(msgspec.Struct, array_like=True):
    arrays: dict[str, PackedArray]
    reasons: dict[int, tuple[str, ...]]


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_Blob).decode


@dataclass(frozen=True, slots=True)
class PackedCycle:
    """A CycleRecord without its arrays, and the arrays as one compressed blob."""

    head: CycleRecord
    blob: bytes

    @property
    def size_bytes(self) -> int:
        """Bytes of the compressed arrays."""
        return len(self.blob)


def pack(record: CycleRecord, earlier: CycleRecord | None = None) -> PackedCycle:
    """Pack a record; the record itself is left alone. Equal parts are shared with the head of an earlier one."""
    head = _copy_cycle(record)
    arrays = _arrays_of(record)
    if head.filter is not None:
        head.filter = _without(_copy_filter(head.filter), _FILTER_ARRAYS)
    if head.score is not None:
        head.score = _without(_copy_score(head.score), _SCORE_ARRAYS)
    _without(head, _NODE_ARRAYS)
    if earlier is not None:
        _share(head, earlier)
    blob = _Blob(_pack_all(arrays, len(record.node_names)), _reason_texts(record.filter))
    return PackedCycle(head, _COMPRESSOR.compress(_encode(blob)))


def unpack(packed: PackedCycle) -> CycleRecord:
    """Return the record as it was, arrays and all."""
    blob = _decode(_DECOMPRESSOR.decompress(packed.blob))
    arrays: dict[str, Array] = {}
    for name, kept in blob.arrays.items():
        arrays[name] = unpack_array(kept, arrays)
    record = _copy_cycle(packed.head)
    _with(record, arrays, "", _NODE_ARRAYS)
    if record.filter is not None:
        record.filter = _copy_filter(record.filter)
        _with(record.filter, arrays, "filter.", _FILTER_ARRAYS)
        _restore_reasons(record.filter, blob.reasons)
    if record.score is not None:
        record.score = _copy_score(record.score)
        _with(record.score, arrays, "score.", _SCORE_ARRAYS)
    return record


# --- Arrays of a record ----------------------------------------------------------------------------------------------


def _arrays_of(record: CycleRecord) -> dict[str, Array]:
    """Return the arrays that are there, by name, in the order in which they are packed: `same` looks back."""
    found: dict[str, Array | None] = {}
    if record.filter is not None:
        found.update(zip(_FILTER_NAMES, _filter_arrays(record.filter), strict=True))
    if record.passed_filters is not None:
        found["passed_filters"] = record.passed_filters
    if record.feasible is not None:
        found["feasible"] = record.feasible
    if record.score is not None:
        found.update(zip(_SCORE_NAMES, _score_arrays(record.score), strict=True))
    return {name: values for name, values in found.items() if values is not None}


_filter_arrays: Final = attrgetter(*_FILTER_ARRAYS)
_score_arrays: Final = attrgetter(*_SCORE_ARRAYS)
_FILTER_NAMES: Final = tuple(f"filter.{name}" for name in _FILTER_ARRAYS)
_SCORE_NAMES: Final = tuple(f"score.{name}" for name in _SCORE_ARRAYS)


def _pack_all(arrays: Mapping[str, Array], nodes: int) -> dict[str, PackedArray]:
    packed: dict[str, PackedArray] = {}
    rows: list[tuple[str, Array]] = []
    for name, values in arrays.items():
        if name in _ROWS:
            same = next((other for other, known in rows if known is values or np.array_equal(known, values)), "")
            if same:
                packed[name] = PackedArray("same", values.dtype.str, values.shape, same)
                continue
            rows.append((name, values))
            packed[name] = _pack_range(values, nodes) or pack_array(values)
        else:
            packed[name] = pack_array(values)
    return packed


def _without(part: Part, names: Sequence[str]) -> Part:
    for name in names:
        setattr(part, name, None)
    return part


def _with(part: object, arrays: Mapping[str, Array], prefix: str, names: Sequence[str]) -> None:
    for name in names:
        setattr(part, name, arrays.get(prefix + name))


# --- Heads -----------------------------------------------------------------------------------------------------------

Part = TypeVar("Part", CycleRecord, FilterRecord, ScoreRecord)


def _copier(kind: Callable[..., Part], names: Sequence[str]) -> Callable[[Part], Part]:
    values = attrgetter(*names)

    def copy(part: Part) -> Part:
        return kind(*values(part))

    return copy


_copy_cycle: Final = _copier(CycleRecord, [field.name for field in fields(CycleRecord)])
_copy_filter: Final = _copier(FilterRecord, [field.name for field in fields(FilterRecord)])
_copy_score: Final = _copier(ScoreRecord, [field.name for field in fields(ScoreRecord)])

#: Parts of records that are often equal from one attempt to the next.
_SHARED: Final = (
    "pre_filter",
    "pre_filter_nodes",
    "extender_failed",
    "pre_score",
    "reserve",
    "permit",
    "post_filter",
    "extender_calls",
    "custom",
)


def _share(head: CycleRecord, earlier: CycleRecord) -> None:
    for name in _SHARED:
        theirs = getattr(earlier, name)
        if getattr(head, name) == theirs:
            setattr(head, name, theirs)
    if head.filter is not None and earlier.filter is not None and head.filter == earlier.filter:
        head.filter = earlier.filter
    if head.score is not None and earlier.score is not None and head.score == earlier.score:
        head.score = earlier.score


# --- Reasons ---------------------------------------------------------------------------------------------------------


def _reason_texts(record: FilterRecord | None) -> dict[int, tuple[str, ...]]:
    if record is None:
        return {}
    found: dict[int, tuple[str, ...]] = {}
    for ids in (record.reason, record.full_reason):
        if ids is not None and ids.any():
            found.update((int(reason), REASONS.texts(int(reason))) for reason in np.unique(ids))
    return found


def _restore_reasons(record: FilterRecord, texts: dict[int, tuple[str, ...]]) -> None:
    """Turn stored reason ids into this process's ids; within one process they are the same."""
    for stored, words in texts.items():
        if REASONS.id_of(words) != stored:
            renamed = {0: 0, **{old: REASONS.id_of(words) for old, words in texts.items()}}
            record.reason = _rename(record.reason, renamed)
            if record.full_reason is not None:
                record.full_reason = _rename(record.full_reason, renamed)
            return


def _rename(ids: Array, renamed: dict[int, int]) -> Array:
    known = np.array(sorted(renamed), ids.dtype)
    new = np.array([renamed[int(old)] for old in known], ids.dtype)
    return new[np.searchsorted(known, ids)]

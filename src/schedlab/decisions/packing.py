"""Keeps attempts in few bytes and gives each back whole.

Most arrays of a record say little: all nodes passed, the nodes visited follow each other, the nodes scored are those
that passed. So each array becomes the first of these that it is:

    same      equal to an array of the same attempt before it
    range     rows that follow each other, round the end of the table
    constant  one value everywhere
    numbers   a piece of its block's numbers of that name, in the smallest integer type that holds them all

Scores that follow from the raw ones are not kept at all.

Attempts that follow each other are alike, and a call costs more than the bytes it is for: so the arrays of some dozens
of them wait as they are, and are then encoded and compressed together, as a block. Names of nodes and equal parts of
records are shared between attempts. Reason ids are kept with their texts, because ids mean nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

import msgspec
import numpy as np
import zstandard

from schedlab.scheduler.framework.record import CycleRecord, FilterRecord, ScoreRecord
from schedlab.scheduler.framework.rows import equal_rows, ring, ring_start
from schedlab.scheduler.framework.status import REASONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: How many attempts are compressed together, and at how many bytes of arrays that wait it is done earlier.
BLOCK_ATTEMPTS: Final = 64
BLOCK_BYTES: Final = 8 * 1024 * 1024
#: What the arrays of an attempt are taken to need before a block has told.
_EXPECTED_BYTES: Final = 512

_COMPRESSOR: Final = zstandard.ZstdCompressor(level=1)
_DECOMPRESSOR: Final = zstandard.ZstdDecompressor()
_INTEGER_TYPES: Final = tuple(
    (name, int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in ("|i1", "<i2", "<i4", "<i8")
)
_FILTER_ARRAYS: Final = (
    "visited",
    "failed_plugin",
    "code",
    "reason",
    "second_pass",
    "full_code",
    "full_reason",
    "changed_rows",
    "changed_code",
    "changed_reason",
)
_SCORE_ARRAYS: Final = ("rows", "raw", "final", "total")
_NODE_ARRAYS: Final = ("passed_filters", "feasible")
#: Arrays of rows of the table: they may be ranges, and equal to each other.
_ROWS: Final = frozenset(("filter.visited", "passed_filters", "feasible", "score.rows"))
_REASONS: Final = ("filter.reason", "filter.full_reason", "filter.changed_reason")

Array: TypeAlias = "NDArray[Any]"
Arrays: TypeAlias = dict[str, Array]


class PackedArray(msgspec.Struct, frozen=True, array_like=True):
    """One array: how it is kept, its dtype and shape, and what that way needs.

    same: `other` is the name of the equal array. range: `numbers` are first row and size of the table. constant:
    `numbers` is the value. numbers: `numbers` is where it begins in the block's numbers of its name.
    """

    way: Literal["same", "range", "constant", "numbers"]
    dtype: str
    shape: tuple[int, ...]
    other: str = ""
    numbers: tuple[int, ...] = ()


class PackedNumbers(msgspec.Struct, frozen=True, array_like=True):
    """All numbers of one name in a block, one array's after the other's, as integers of type `stored`."""

    stored: str
    data: bytes


class _Blob(msgspec.Struct, array_like=True):
    attempts: list[dict[str, PackedArray]]
    numbers: dict[str, PackedNumbers]
    reasons: dict[int, tuple[str, ...]]


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(_Blob).decode


# --- Blocks ----------------------------------------------------------------------------------------------------------


class Block:
    """The arrays of attempts that follow each other: as they are while it is open, compressed once it is closed."""

    __slots__ = ("_blob", "_bytes", "_open")

    def __init__(self) -> None:
        self._open: list[tuple[Arrays, int]] = []
        self._bytes = 0
        self._blob = b""

    @classmethod
    def of(cls, blob: bytes) -> Block:
        """Return a closed block again of its bytes."""
        block = cls()
        block._blob = blob
        return block

    @property
    def blob(self) -> bytes:
        """What a closed block is; empty while it is open."""
        return self._blob

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether it is time to close it."""
        return len(self._open) >= BLOCK_ATTEMPTS or self._bytes >= BLOCK_BYTES

    @property
    def size_bytes(self) -> int:
        """Bytes of the arrays, compressed or not."""
        return len(self._blob) or self._bytes

    def add(self, arrays: Arrays, nodes: int) -> int:
        """Take over the arrays of an attempt among so many nodes; return its place."""
        before = self._open[-1][0] if self._open else {}
        for name, values in arrays.items():
            if values.strides and values.strides[-1] and values is not before.get(name):
                self._bytes += values.nbytes
        self._open.append((arrays, nodes))
        return len(self._open) - 1

    def close(self) -> None:
        """Compress the arrays; no attempt can be added any more."""
        numbers = _Numbers()
        known: dict[tuple[str, int], PackedArray] = {}
        attempts = [_pack_all(arrays, nodes, numbers, known) for arrays, nodes in self._open]
        blob = _Blob(attempts, numbers.packed(), _reason_texts(arrays for arrays, _ in self._open))
        # A copy: what the compressor returns holds on to the room that it might have needed.
        self._blob = bytes(memoryview(_COMPRESSOR.compress(_encode(blob))))
        self._open = []

    def arrays(self, place: int) -> tuple[Arrays, Mapping[int, tuple[str, ...]]]:
        """Return the arrays of an attempt, and the texts of the reasons in them."""
        if not self._blob:
            return dict(self._open[place][0]), {}
        blob = _decode(_DECOMPRESSOR.decompress(self._blob))
        found: Arrays = {}
        for name, packed in blob.attempts[place].items():
            found[name] = unpack_array(packed, found, blob.numbers.get(name))
        return found, blob.reasons


class _Numbers:
    """Collects arrays by name; one that was collected already, the object itself, takes no more room."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Array]] = {}
        self._sizes: dict[str, int] = {}
        self._known: dict[tuple[str, int], int] = {}

    def add(self, name: str, values: Array) -> int:
        """Return where the array begins among those of its name."""
        start = self._known.get((name, id(values)))
        if start is None:
            start = self._known[name, id(values)] = self._sizes.get(name, 0)
            self._parts.setdefault(name, []).append(values.reshape(-1))
            self._sizes[name] = start + values.size
        return start

    def packed(self) -> dict[str, PackedNumbers]:
        return {name: _pack_numbers(parts) for name, parts in self._parts.items()}


def _pack_numbers(parts: Sequence[Array]) -> PackedNumbers:
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    low, high = int(values.min()), int(values.max())
    stored = next(name for name, least, greatest in _INTEGER_TYPES if least <= low and high <= greatest)
    return PackedNumbers(stored, values.astype(stored).tobytes())


def _pack_all(
    arrays: Mapping[str, Array], nodes: int, numbers: _Numbers, known: dict[tuple[str, int], PackedArray]
) -> dict[str, PackedArray]:
    """Pack the arrays of an attempt. `known` has what other attempts of the block share with it, the array itself."""
    packed: dict[str, PackedArray] = {}
    rows: list[tuple[str, Array]] = []
    for name, values in arrays.items():
        if name in _ROWS:
            same = next((other for other, known in rows if equal_rows(known, values, nodes)), "")
            if same:
                packed[name] = PackedArray("same", values.dtype.str, values.shape, same)
                continue
            rows.append((name, values))
            packed[name] = _pack_range(values, nodes) or _pack_array(name, values, numbers)
        else:
            key = name, id(values)
            found = known.get(key)
            if found is None:
                found = known[key] = _pack_array(name, values, numbers)
            packed[name] = found
    return packed


def _pack_array(name: str, values: Array, numbers: _Numbers) -> PackedArray:
    constant = _constant(values)
    if constant is not None:
        return PackedArray("constant", values.dtype.str, values.shape, numbers=(constant,))
    return PackedArray("numbers", values.dtype.str, values.shape, numbers=(numbers.add(name, values),))


def _constant(values: Array) -> int | None:
    """Return the one value of an array; None when there are several."""
    if not values.size:
        return 0
    first = values.flat[0]
    if any(values.strides) and (values.flat[-1] != first or (values != first).any()):
        return None
    return int(first)


def _pack_range(rows: Array, nodes: int) -> PackedArray | None:
    """Pack rows that follow each other; None when they do not."""
    first = ring_start(rows, nodes)
    return None if first is None else PackedArray("range", rows.dtype.str, rows.shape, numbers=(first, nodes))


def unpack_array(packed: PackedArray, others: Mapping[str, Array], numbers: PackedNumbers | None) -> Array:
    """Return the array as it was; `others` are those of its attempt unpacked before it, `numbers` those of its name."""
    if packed.way == "same":
        return others[packed.other].astype(packed.dtype)
    if packed.way == "range":
        first, nodes = packed.numbers
        return ring(first, packed.shape[0], nodes).astype(packed.dtype)
    if packed.way == "constant":
        return np.full(packed.shape, packed.numbers[0], packed.dtype)
    assert numbers is not None
    values = np.frombuffer(numbers.data, numbers.stored)
    start, size = packed.numbers[0], int(np.prod(packed.shape))
    return values[start : start + size].reshape(packed.shape).astype(packed.dtype)


# --- Attempts --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PackedCycle:
    """A CycleRecord without its arrays, and where they are."""

    head: CycleRecord
    block: Block
    place: int


class Packer:
    """Packs records one after the other."""

    def __init__(self) -> None:
        self._block = Block()
        self._last: CycleRecord | None = None
        #: What the arrays of an attempt took in the block before, compressed.
        self.expected_bytes = _EXPECTED_BYTES

    def pack(self, record: CycleRecord) -> PackedCycle:
        """Pack a record, which is taken over. Parts equal to those of the record before are shared with it."""
        arrays = _take_arrays(record)
        if self._last is not None:
            _SHARER.share(record, self._last)
        self._last = record
        block = self._block
        packed = PackedCycle(record, block, block.add(arrays, len(record.node_names)))
        if block.is_full:
            self.close_block()
        return packed

    def close_block(self) -> None:
        """Compress what waits."""
        count = len(self._block)
        if count:
            self._block.close()
            self.expected_bytes = self._block.size_bytes // count
            self._block = Block()


def unpack(packed: PackedCycle, *, is_outline: bool = False) -> CycleRecord:
    """Return the record as it was, arrays and all; an outline lacks the scores that follow from the raw ones."""
    arrays, reasons = packed.block.arrays(packed.place)
    record = _copy_cycle(packed.head)
    _with(record, arrays, "", _NODE_ARRAYS)
    if record.filter is not None:
        record.filter = _copy_filter(record.filter)
        _with(record.filter, arrays, "filter.", _FILTER_ARRAYS)
        _restore_reasons(record.filter, reasons)
    if record.score is not None:
        record.score = _copy_score(record.score)
        _with(record.score, arrays, "score.", _SCORE_ARRAYS)
        if not is_outline:
            _work_out(record.score)
    return record


def _take_arrays(record: CycleRecord) -> Arrays:
    """Take the arrays out of a record, in the order in which they are packed: `same` looks back."""
    taken: Arrays = {}
    if record.filter is not None:
        _take(record.filter, taken, _FILTER_ARRAYS, _FILTER_NAMES)
    _take(record, taken, _NODE_ARRAYS, _NODE_ARRAYS)
    if record.score is not None:
        _take(record.score, taken, _SCORE_ARRAYS, _SCORE_NAMES)
        if record.score.offsets is not None:
            _drop_what_follows(record.score.offsets, taken)
    return taken


def _drop_what_follows(offsets: tuple[int | None, ...], taken: Arrays) -> None:
    """Keep of scores with offsets the raw ones alone; of plugins without an offset keep both, raw above final."""
    raw, final = taken.pop("score.raw"), taken.pop("score.final")
    del taken["score.total"]
    others = _without_offset(offsets)
    if others:
        taken["score.final"] = np.concatenate((raw[others], final[others]))
        raw = raw[[place for place, offset in enumerate(offsets) if offset is not None]]
    taken["score.raw"] = raw.astype(np.int8)


def _without_offset(offsets: tuple[int | None, ...]) -> list[int]:
    return [place for place, offset in enumerate(offsets) if offset is None]


def _take(part: object, taken: Arrays, attributes: Sequence[str], names: Sequence[str]) -> None:
    for attribute, name in zip(attributes, names, strict=True):
        values = getattr(part, attribute)
        if values is not None:
            taken[name] = values
            setattr(part, attribute, None)


def _work_out(score: ScoreRecord) -> None:
    """Make what follows from the raw scores: see _drop_what_follows."""
    if score.offsets is None:
        return
    others = _without_offset(score.offsets)
    kept, count = score.final, len(others)
    score.raw = score.raw.astype(np.int64)
    if others:
        score.raw = np.insert(score.raw, [place - at for at, place in enumerate(others)], kept[:count], axis=0)
    weights, offsets = np.array((score.weights, [offset or 0 for offset in score.offsets]), np.int64)
    score.final = score.raw * weights.reshape(-1, 1) + offsets.reshape(-1, 1)
    if others:
        score.final[others] = kept[count:]
    score.total = score.final.sum(axis=0)


_FILTER_NAMES: Final = tuple(f"filter.{name}" for name in _FILTER_ARRAYS)
_SCORE_NAMES: Final = tuple(f"score.{name}" for name in _SCORE_ARRAYS)


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
    "filter",
    "score",
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


class Sharer:
    """Lets records have the values of earlier ones where they are equal."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._values = names, attrgetter(*names)

    def share(self, record: object, earlier: object) -> None:
        """Take the values of an earlier record that are equal."""
        for name, mine, theirs in zip(self._names, self._values(record), self._values(earlier), strict=True):
            if mine is not theirs and mine == theirs:
                setattr(record, name, theirs)


_SHARER: Final = Sharer(_SHARED)


# --- Reasons ---------------------------------------------------------------------------------------------------------


def _reason_texts(attempts: Iterable[Arrays]) -> dict[int, tuple[str, ...]]:
    # Attempts that follow each other often share the array itself.
    different = {
        id(ids): ids for arrays in attempts for name in _REASONS if (ids := arrays.get(name)) is not None and ids.size
    }
    found: set[int] = set()
    for ids in different.values():
        if any(ids.strides):
            for row in ids.reshape(-1, ids.shape[-1]):
                if row.any():
                    found.update(np.unique(row[row != 0]).tolist())
        else:
            found.add(int(ids.flat[0]))
    return {reason: REASONS.texts(reason) for reason in sorted(found) if reason}


def _restore_reasons(record: FilterRecord, texts: Mapping[int, tuple[str, ...]]) -> None:
    """Turn stored reason ids into this process's ids; within one process they are the same."""
    for stored, words in texts.items():
        if REASONS.id_of(words) != stored:
            renamed = {0: 0, **{old: REASONS.id_of(words) for old, words in texts.items()}}
            record.reason = _rename(record.reason, renamed)
            if record.full_reason is not None:
                record.full_reason = _rename(record.full_reason, renamed)
            if record.changed_reason is not None:
                record.changed_reason = _rename(record.changed_reason, renamed)
            return


def _rename(ids: Array, renamed: dict[int, int]) -> Array:
    known = np.array(sorted(renamed), ids.dtype)
    new = np.array([renamed[int(old)] for old in known], ids.dtype)
    return new[np.searchsorted(known, ids)]

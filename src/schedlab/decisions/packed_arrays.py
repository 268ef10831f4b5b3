"""The arrays of attempts that follow each other, in few bytes.

Most arrays of a record say little: all nodes passed, the nodes visited follow each other, the nodes scored are those
that passed. So each array becomes the first of these that it is:

    same      equal to an array of the same attempt before it
    passed    the first nodes visited that nobody objects to, where that follows from the verdicts on all nodes
    range     rows that follow each other, round the end of the table
    constant  one value everywhere
    numbers   a piece of all attempts' numbers of that name, in the smallest integer type that holds them all

What comes of all attempts is compressed together. Reason ids are kept with their texts, because ids mean nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import is_
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
import numpy as np
import zstandard

from schedlab.scheduler.framework.rows import equal_rows, ring, ring_start
from schedlab.scheduler.framework.status import REASONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

_INTEGER_TYPES: Final = tuple(
    (name, int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in ("|i1", "<i2", "<i4", "<i8")
)
#: Arrays of rows of the table: they may be ranges, and equal to each other.
_ROWS: Final = frozenset(("filter.visited", "passed_filters", "feasible", "score.rows"))
_PASSED: Final = "passed_filters"
_REASONS: Final = ("filter.reason", "filter.full_reason", "filter.changed_reason")
_NO_IDS: Final = np.zeros(0, np.int32)
#: So many values of an array are looked at before all of them are.
_PROBED: Final = 8

Array: TypeAlias = "NDArray[Any]"
#: By name, in the order in which they are packed: `same` looks back.
Arrays: TypeAlias = dict[str, Array]


class PackedArray(msgspec.Struct, frozen=True, array_like=True):
    """One array: how it is kept, its dtype and shape, and what that way needs.

    same: `other` is the name of the equal array. passed: the shape says how many there are. range: `numbers` are first row and size of the table. constant:
    `numbers` is the value. numbers: `numbers` is where it begins in the block's numbers of its name.
    """

    way: Literal["same", "passed", "range", "constant", "numbers"]
    dtype: str
    shape: tuple[int, ...]
    other: str = ""
    numbers: tuple[int, ...] = ()


class PackedNumbers(msgspec.Struct, frozen=True, array_like=True):
    """All numbers of one name in a block, one array's after the other's, as integers of type `stored`."""

    stored: str
    data: bytes


class Blob(msgspec.Struct, array_like=True):
    """What is compressed: the arrays of each attempt by name, their numbers, and the texts of the reasons in them."""

    attempts: list[dict[str, PackedArray]]
    numbers: dict[str, PackedNumbers]
    reasons: dict[int, tuple[str, ...]]


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Blob).decode


def pack(attempts: Sequence[tuple[Arrays, int]]) -> bytes:
    """Return the arrays of attempts, each with how many nodes it was made on."""
    made: list[dict[str, PackedArray]] = [{} for _ in attempts]
    numbers: dict[str, PackedNumbers] = {}
    rows = _Rows([nodes for _, nodes in attempts], [_follows(arrays) for arrays, _ in attempts])
    # What filters say first, also where the first attempts lack some of it: the nodes that passed follow from it.
    names = sorted(dict.fromkeys(name for arrays, _ in attempts for name in arrays), key=_is_no_verdict)
    for name in names:
        column = [arrays.get(name) for arrays, _ in attempts]
        collected = _Numbers()
        found = rows.pack_column(name, column, collected) if name in _ROWS else collected.pack_column(column)
        for one, packed in zip(made, found, strict=True):
            if packed is not None:
                one[name] = packed
        if collected.parts:
            numbers[name] = pack_numbers(collected.parts)
    return compressed(Blob(made, numbers, _reason_texts(arrays for arrays, _ in attempts)))


def compressed(blob: Blob) -> bytes:
    """Return a blob as bytes."""
    # One for each call: the thread of an archive compresses, too. A copy: what it returns holds on to the room that it
    # might have needed.
    return bytes(memoryview(zstandard.ZstdCompressor(level=1).compress(_encode(blob))))


def decompressed(data: bytes) -> Blob:
    """Return the blob again; raises ZstdError, MsgspecError when it is damaged."""
    return _decode(zstandard.ZstdDecompressor().decompress(data))


def unpack(data: bytes, place: int) -> tuple[Arrays, Mapping[int, tuple[str, ...]]]:
    """Return the arrays of one of the attempts, and the texts of the reasons in them."""
    blob = decompressed(data)
    found: Arrays = {}
    for name, packed in blob.attempts[place].items():
        found[name] = _unpack_array(packed, found, blob.numbers.get(name))
    return found, blob.reasons


class _Numbers:
    """Packs arrays of one name; one that was packed already, the object itself, takes no more room."""

    def __init__(self) -> None:
        self.parts: list[Array] = []
        self._size = 0
        self._known: dict[int, PackedArray] = {}

    def pack_column(self, column: Sequence[Array | None]) -> list[PackedArray | None]:
        first = column[0]
        if first is not None and all(map(is_, column, repeat(first))):
            return [self.pack(first)] * len(column)
        return [None if values is None else self.pack(values) for values in column]

    def pack(self, values: Array) -> PackedArray:
        found = self._known.get(id(values))
        if found is None:
            found = self._known[id(values)] = self._pack(values)
        return found

    def _pack(self, values: Array) -> PackedArray:
        constant = _constant(values)
        if constant is not None:
            return PackedArray("constant", values.dtype.str, values.shape, numbers=(constant,))
        start = self._size
        self.parts.append(values.reshape(-1))
        self._size += values.size
        return PackedArray("numbers", values.dtype.str, values.shape, numbers=(start,))


def pack_numbers(parts: Sequence[Array]) -> PackedNumbers:
    """Return arrays one after the other, in the smallest type that holds them all."""
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if values.dtype == np.int8:
        return PackedNumbers("|i1", values.tobytes())
    low, high = int(values.min()), int(values.max())
    stored = next(name for name, least, greatest in _INTEGER_TYPES if least <= low and high <= greatest)
    return PackedNumbers(stored, values.astype(stored, copy=False).tobytes())


class _Rows:
    """Packs arrays of rows: a column has one of each attempt, which was made on so many nodes."""

    def __init__(self, nodes: Sequence[int], follows: Sequence[bool]) -> None:
        self._nodes, self._follows = nodes, follows
        self._columns: dict[str, Sequence[Array | None]] = {}

    def pack_column(self, name: str, column: Sequence[Array | None], numbers: _Numbers) -> list[PackedArray | None]:
        twin = next((other for other, theirs in self._columns.items() if all(map(is_, column, theirs))), "")
        if twin:
            return [None if values is None else _same(values.dtype, values.shape, twin) for values in column]
        found = [
            None
            if values is None
            else _passed(values.dtype, values.shape)
            if name == _PASSED and self._follows[at]
            else self._pack(at, values, numbers)
            for at, values in enumerate(column)
        ]
        self._columns[name] = column
        return found

    def _pack(self, at: int, values: Array, numbers: _Numbers) -> PackedArray:
        nodes = self._nodes[at]
        for other, theirs in self._columns.items():
            known = theirs[at]
            if known is not None and equal_rows(known, values, nodes):
                return _same(values.dtype, values.shape, other)
        return _pack_range(values, nodes) or numbers.pack(values)


@lru_cache(maxsize=256)
def _same(dtype: np.dtype[Any], shape: tuple[int, ...], other: str) -> PackedArray:
    return PackedArray("same", dtype.str, shape, other)


@lru_cache(maxsize=256)
def _passed(dtype: np.dtype[Any], shape: tuple[int, ...]) -> PackedArray:
    return PackedArray("passed", dtype.str, shape)


def _is_no_verdict(name: str) -> bool:
    return not name.startswith("filter.")


def _follows(arrays: Arrays) -> bool:
    """Whether what filters say of the nodes visited follows from what they say of all nodes: then it is left out."""
    return "filter.full_code" in arrays and "filter.code" not in arrays


def _constant(values: Array) -> int | None:
    """Return the one value of an array; None when there are several."""
    if not values.size:
        return 0
    first = values.item(0)
    if not any(values.strides):
        return int(first)
    # Most arrays with several values show that at a few places.
    flat = values.reshape(-1)
    probe = flat[:: -(-len(flat) // _PROBED)].tolist()
    if probe.count(first) != len(probe) or (len(flat) > len(probe) and (flat != first).any()):
        return None
    return int(first)


def _pack_range(rows: Array, nodes: int) -> PackedArray | None:
    """Pack rows that follow each other; None when they do not."""
    first = ring_start(rows, nodes)
    return None if first is None else PackedArray("range", rows.dtype.str, rows.shape, numbers=(first, nodes))


def _unpack_array(packed: PackedArray, others: Mapping[str, Array], numbers: PackedNumbers | None) -> Array:
    """Return the array as it was; `others` are those of its attempt unpacked before it, `numbers` those of its name."""
    if packed.way == "same":
        return others[packed.other].astype(packed.dtype)
    if packed.way == "passed":
        return _unpack_passed(others)[: packed.shape[0]].astype(packed.dtype)
    if packed.way == "range":
        first, nodes = packed.numbers
        return ring(first, packed.shape[0], nodes).astype(packed.dtype)
    if packed.way == "constant":
        return np.full(packed.shape, packed.numbers[0], packed.dtype)
    assert numbers is not None
    values = np.frombuffer(numbers.data, numbers.stored)
    start, size = packed.numbers[0], int(np.prod(packed.shape))
    return values[start : start + size].reshape(packed.shape).astype(packed.dtype)


def _unpack_passed(arrays: Mapping[str, Array]) -> Array:
    """Return the nodes visited that nobody objects to."""
    objects: NDArray[np.bool_] = np.any(arrays["filter.full_code"], axis=0)
    if "filter.changed_rows" in arrays:
        objects[arrays["filter.changed_rows"]] = np.any(arrays["filter.changed_code"], axis=0)
    visited = arrays["filter.visited"]
    return visited[~objects[visited]]


# --- Reasons ---------------------------------------------------------------------------------------------------------


def _reason_texts(attempts: Iterable[Arrays]) -> dict[int, tuple[str, ...]]:
    # Attempts that follow each other often share the array itself.
    different = {
        id(ids): ids for arrays in attempts for name in _REASONS if (ids := arrays.get(name)) is not None and ids.size
    }
    # Nearly all of them are 0, which says nothing.
    given = [ids[ids != 0] if any(ids.strides) else ids.reshape(-1)[:1] for ids in different.values()]
    ids = np.concatenate(given) if given else _NO_IDS
    return {reason: REASONS.texts(reason) for reason in np.unique(ids[ids != 0]).tolist()}


def with_own_reasons(ids: Array, texts: Mapping[int, tuple[str, ...]]) -> Array:
    """Return stored reason ids as this process's ids; mostly they are the same. Texts are of other attempts, too."""
    stored = np.unique(ids[ids != 0])
    new = [REASONS.id_of(texts[old]) for old in stored.tolist()]
    if new == stored.tolist():
        return ids
    return np.array([0, *new], ids.dtype)[np.searchsorted(stored, ids, "right")]

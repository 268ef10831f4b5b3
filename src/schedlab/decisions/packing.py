"""Keeps attempts in few bytes and gives each back whole.

Attempts that follow each other are alike, and a call costs more than the bytes it is for: so the records of some dozens
of them wait as they are, and then become a block:

    arrays     packed and compressed together (`packed_arrays`); scores that follow from the raw ones are not kept, nor
               verdicts on nodes visited that follow from those on all nodes
    the rest   by field: the one value that all have, or a column of numbers or of values, equal ones shared

Names of nodes are shared between attempts, as long as they are the same. Pods are not kept: a block stays as long as one of
its attempts does, and would hold those of all others.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from operator import attrgetter, eq, is_
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from msgspec.structs import replace

from schedlab.decisions import packed_arrays
from schedlab.decisions.packed_arrays import with_own_reasons
from schedlab.scheduler.framework.record import NOTHING, CycleRecord, FilterRecord, PreemptionRecord, ScoreRecord
from schedlab.scheduler.framework.status import REASONS

if TYPE_CHECKING:
    from schedlab.decisions.packed_arrays import Array, Arrays

#: How many attempts become a block, and at how many bytes of arrays that wait it is done earlier.
BLOCK_ATTEMPTS: Final = 64
BLOCK_BYTES: Final = 8 * 1024 * 1024
#: What the arrays of an attempt are taken to need before a block has told.
_EXPECTED_BYTES: Final = 512

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
#: Those of reasons.
_REASON_ARRAYS: Final = ("reason", "full_reason", "changed_reason")
_SCORE_ARRAYS: Final = ("rows", "raw", "final", "total")
_NODE_ARRAYS: Final = ("passed_filters", "feasible")
#: Attributes of a part of a record, by the names that their arrays have among all of a record.
_FILTER_NAMES: Final = tuple((name, f"filter.{name}") for name in _FILTER_ARRAYS)
_SCORE_NAMES: Final = tuple((name, f"score.{name}") for name in _SCORE_ARRAYS)
_NODE_NAMES: Final = tuple((name, name) for name in _NODE_ARRAYS)
_FIELDS: Final = CycleRecord.__struct_fields__

Part = TypeVar("Part", CycleRecord, FilterRecord, ScoreRecord)


def _copier(kind: Callable[..., Part], names: Sequence[str]) -> Callable[[Part], Part]:
    values = attrgetter(*names)

    def copy(part: Part) -> Part:
        return kind(*values(part))

    return copy


_copy_cycle: Final = _copier(CycleRecord, _FIELDS)
_copy_filter: Final = _copier(FilterRecord, FilterRecord.__struct_fields__)
_copy_score: Final = _copier(ScoreRecord, ScoreRecord.__struct_fields__)


# --- Blocks ----------------------------------------------------------------------------------------------------------


class Kept(Protocol):
    """What keeps attempts, each at its place."""

    @property
    def blob(self) -> bytes:
        """The packed arrays of all of them; empty while others can be added."""

    def value(self, place: int, name: str) -> Any:
        """Return one field of an attempt's CycleRecord that is no array and has none in it."""

    def head(self, place: int) -> CycleRecord:
        """Return the record of an attempt, not to be changed; its arrays and its pod must not be asked for."""

    def waiting(self, place: int) -> CycleRecord | None:
        """Return the record of an attempt that is not packed yet, not to be changed; once it is there is a blob."""

    def cycle(self, place: int, *, is_outline: bool = False) -> CycleRecord:
        """Return the record of an attempt without its pod; an outline lacks the scores that follow from the raw ones."""

    def disown(self, place: int) -> None:
        """Let an attempt be one of another cluster, without a position in a journal of this one."""


class Block:
    """Attempts that follow each other: their records as they are while it is open, packed once it is closed.

    Another thread may read meanwhile: what an open block has stays what it is when that is packed.
    """

    __slots__ = ("_blob", "_bytes", "_heads", "_open")

    def __init__(self) -> None:
        self._open: list[CycleRecord] = []
        self._bytes = 0
        self._heads: _Heads | None = None
        self._blob = b""

    @property
    def blob(self) -> bytes:
        """See Kept."""
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

    def add(self, record: CycleRecord) -> int:
        """Take over the record of an attempt; return its place."""
        self._bytes += _new_bytes(record, self._open[-1] if self._open else None)
        self._open.append(record)
        return len(self._open) - 1

    def close(self) -> None:
        """Pack the records; no attempt can be added any more."""
        records = self._open
        self._heads = _Heads(records)
        self._blob = pack(records)
        self._open = []

    def value(self, place: int, name: str) -> Any:
        """See Kept."""
        records = self._open
        return getattr(records[place], name) if records else self._closed_heads().value(place, name)

    def head(self, place: int) -> CycleRecord:
        """See Kept."""
        records = self._open
        return records[place] if records else self._closed_heads().at(place)

    def waiting(self, place: int) -> CycleRecord | None:
        """See Kept."""
        records = self._open
        return records[place] if records else None

    def cycle(self, place: int, *, is_outline: bool = False) -> CycleRecord:
        """See Kept."""
        records = self._open
        if records:
            return _whole(_own(records[place]), is_outline=is_outline)
        head = _own(self._closed_heads().at(place))
        return _whole(_filled(head, *packed_arrays.unpack(self._blob, place)), is_outline=is_outline)

    def disown(self, place: int) -> None:
        """See Kept."""
        if self._open:
            self._open[place].position = -1
        else:
            self._closed_heads().put(place, "position", -1)

    def _closed_heads(self) -> _Heads:
        assert self._heads is not None, "the block is empty"
        return self._heads


class Restored:
    """One attempt of an archive: its record without arrays, and the arrays of a block, as bytes."""

    __slots__ = ("_blob", "_record")

    def __init__(self, record: CycleRecord, blob: bytes) -> None:
        self._record, self._blob = record, blob

    @property
    def blob(self) -> bytes:
        """See Kept."""
        return self._blob

    def value(self, place: int, name: str) -> Any:  # noqa: ARG002 - see Kept
        """See Kept."""
        return getattr(self._record, name)

    def head(self, place: int) -> CycleRecord:  # noqa: ARG002 - see Kept
        """See Kept."""
        return self._record

    def waiting(self, place: int) -> None:
        """See Kept."""

    def cycle(self, place: int, *, is_outline: bool = False) -> CycleRecord:
        """See Kept."""
        filled = _filled(_own(self._record), *packed_arrays.unpack(self._blob, place))
        return _whole(filled, is_outline=is_outline)

    def disown(self, place: int) -> None:  # noqa: ARG002 - see Kept
        """See Kept."""
        self._record.position = -1


class Packer:
    """Packs records one after the other."""

    def __init__(self) -> None:
        self._block = Block()
        #: What the arrays of an attempt took in the block before, compressed.
        self.expected_bytes = _EXPECTED_BYTES

    def pack(self, record: CycleRecord) -> tuple[Block, int]:
        """Pack a record, which is taken over; return where it is."""
        if record.score is not None:
            record.score.drop_what_follows()
        if record.filter is not None:
            record.filter.drop_what_follows()
        block = self._block
        place = block.add(record)
        if block.is_full:
            self.close_block()
        return block, place

    def close_block(self) -> None:
        """Pack what waits."""
        count = len(self._block)
        if count:
            self._block.close()
            self.expected_bytes = self._block.size_bytes // count
            self._block = Block()


def pack(records: Sequence[CycleRecord]) -> bytes:
    """Return the arrays of records."""
    return packed_arrays.pack([(_arrays_of(record), len(record.node_names)) for record in records])


# --- Arrays ----------------------------------------------------------------------------------------------------------


def _new_bytes(record: CycleRecord, before: CycleRecord | None) -> int:
    """Return how many bytes of arrays a record has that it does not share with the one before or with the table."""
    size = 0
    verdicts, known = record.filter, None if before is None else before.filter
    if verdicts is not None and (known is None or verdicts.code is not known.code):
        size += _size(verdicts.failed_plugin) + _size(verdicts.code) + _size(verdicts.reason)
    if verdicts is not None and (known is None or verdicts.full_code is not known.full_code):
        size += _size(verdicts.full_code) + _size(verdicts.full_reason)
    score = record.score
    return size if score is None else size + _size(score.raw) + _size(score.final) + _size(score.total)


def _size(values: Array | None) -> int:
    return values.nbytes if values is not None and any(values.strides) else 0


def _arrays_of(record: CycleRecord) -> Arrays:
    """Return the arrays of a record, in the order in which they are packed."""
    found: Arrays = {}
    for part, names in ((record.filter, _FILTER_NAMES), (record, _NODE_NAMES), (record.score, _SCORE_NAMES)):
        if part is not None:
            for attribute, name in names:
                values = getattr(part, attribute)
                if values is not None:
                    found[name] = values
    return found


def _filled(record: CycleRecord, arrays: Arrays, reasons: Mapping[int, tuple[str, ...]]) -> CycleRecord:
    """Put arrays into a record that is nobody else's, with its parts."""
    for name in _NODE_ARRAYS:
        setattr(record, name, arrays.get(name))
    if record.filter is not None:
        if REASONS.is_full:
            REASONS.turn()
        for attribute, name in _FILTER_NAMES:
            setattr(record.filter, attribute, arrays.get(name))
        for attribute in _REASON_ARRAYS:
            ids = getattr(record.filter, attribute)
            if ids is not None:
                setattr(record.filter, attribute, with_own_reasons(ids, reasons))
        record.filter.texts = REASONS.pages
    if record.score is not None:
        for attribute, name in _SCORE_NAMES:
            setattr(record.score, attribute, arrays.get(name))
    return record


def _own(record: CycleRecord) -> CycleRecord:
    """Return a record of its own, with parts of its own."""
    made = _copy_cycle(record)
    made.filter = made.filter and _copy_filter(made.filter)
    made.score = made.score and _copy_score(made.score)
    return made


def _whole(record: CycleRecord, *, is_outline: bool) -> CycleRecord:
    """Make what follows in a record that is nobody else's."""
    if record.filter is not None:
        record.filter.work_out()
    if record.score is not None and not is_outline:
        record.score.work_out()
    return record


# --- What is no array ------------------------------------------------------------------------------------------------


class _Heads:
    """The records of a block without their arrays and pods, by field.

    common: a record with the values that all of them have. columns: the other fields, each with one value per attempt.
    """

    __slots__ = ("_columns", "_common", "_size")

    def __init__(self, records: Sequence[CycleRecord]) -> None:
        self._size = len(records)
        self._common = replace(records[0], pod=NOTHING, passed_filters=None, feasible=None)
        self._columns: dict[str, Sequence[Any]] = {}
        self._take("filter", _bare([record.filter for record in records], _FILTER_KEY, _bare_filter))
        self._take("score", _bare([record.score for record in records], _SCORE_KEY, _bare_score))
        for name, values_of in _VALUES:
            self._take(name, list(map(values_of, records)))

    def _take(self, name: str, values: list[Any]) -> None:
        first = values[0]
        setattr(self._common, name, first)
        if _are_same(values, first):
            self._columns.pop(name, None)
        else:
            self._columns[name] = _column(values)

    def value(self, place: int, name: str) -> Any:
        column = self._columns.get(name)
        return getattr(self._common, name) if column is None else column[place]

    def put(self, place: int, name: str, value: Any) -> None:
        values = [self.value(each, name) for each in range(self._size)]
        values[place] = value
        self._take(name, values)

    def at(self, place: int) -> CycleRecord:
        record = _copy_cycle(self._common)
        for name, column in self._columns.items():
            setattr(record, name, column[place])
        return record


_NO_VALUES: Final = ("pod", "filter", "score", *_NODE_ARRAYS)
_VALUES: Final = tuple((name, attrgetter(name)) for name in _FIELDS if name not in _NO_VALUES)


def _column(values: list[Any]) -> Sequence[Any]:
    """Return values of which not all are equal: numbers as numbers, of others those that are equal as one."""
    if all(type(value) is int for value in values):
        for form in "qQ":
            try:
                return array(form, values)
            except OverflowError:
                continue
    for at in range(1, len(values)):
        if _is_same(values[at], values[at - 1]):
            values[at] = values[at - 1]
    return tuple(values)


def _are_same(values: list[Any], first: Any) -> bool:
    """Whether the first of values can stand for all of them; mostly they are the object itself, or as empty as it."""
    if all(map(is_, values, repeat(first))):
        return True
    if type(first) is dict:
        return values.count(first) == len(values) and all(map(eq, map(tuple, values), repeat(tuple(first))))
    if type(first) is list and not first:
        return values.count(first) == len(values)
    return all(_is_same(value, first) for value in values)


def _is_same(one: Any, other: Any) -> bool:
    """Whether one of two values can stand for both: equal, mappings in their order as well."""
    if one is other:
        return True
    if type(one) is not type(other) or isinstance(one, PreemptionRecord) or one != other:
        return False
    if isinstance(one, dict):
        return list(one) == list(other)
    return not (isinstance(one, list) and one)


_FILTER_KEY: Final = attrgetter("plugins", "nominated_first")
_SCORE_KEY: Final = attrgetter("plugins", "weights", "complete", "offsets")


def _bare(
    parts: Sequence[Part | None], key_of: Callable[[Part], tuple[Any, ...]], make: Callable[..., Part]
) -> list[Part | None]:
    """Return parts of records without their arrays; those that are equal then are one. The key is all that is left."""
    keys = [None if part is None else key_of(part) for part in parts]
    made = {key: None if key is None else make(*key) for key in dict.fromkeys(keys)}
    return [made[key] for key in keys]


def _bare_filter(plugins: tuple[str, ...], nominated_first: int) -> FilterRecord:
    return FilterRecord(plugins, NOTHING, NOTHING, NOTHING, NOTHING, nominated_first)


def _bare_score(plugins: tuple[str, ...], weights: tuple[int, ...], *others: Any) -> ScoreRecord:
    return ScoreRecord(plugins, weights, NOTHING, NOTHING, NOTHING, NOTHING, *others)

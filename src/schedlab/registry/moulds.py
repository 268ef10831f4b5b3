"""Creations that are known in whole: what differs is found in the text of a like one and put into what is stored.

    text of the object  ──one expression──►  values  ──one format per segment──►  what is stored

A mould is made of a creation whose outcome is remembered (registry.repeats). It takes no text that would not come to the
same there: each value stands in its place and looks as it must, and values are equal where they were equal and differ
where they differed. What it does not take is described the long way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Final, TypeAlias

from schedlab.api.object import Segments
from schedlab.api.rules.likeness import NAME, NAME_BYTES_MAX, Filling, Likeness, pattern_of, told_name

#: The values of a text in the order in which they stand there, and the time of the request.
Values: TypeAlias = tuple[bytes, ...]

UID: Final = b"\0U\0"
#: What stands for the time of a request where it is a value like others, and where it is none.
_TIME: Final = b"\0%d\0" % 0
_NO_TIME: Final = b""
_NO_METADATA: Final = b'"metadata":null'
_SOME_NAME: Final = b'"name":true'
_ESCAPED_QUOTE: Final = b'\\"'


def suffix_tokens(count: int) -> tuple[bytes, ...]:
    """Return what stands for the random endings that were drawn."""
    return tuple(b"\0S%d\0" % number for number in range(count))


class _Cast:
    """A segment of what is stored; the values that it needs stand at fixed places of a row."""

    __slots__ = ("_last", "_made", "_pick", "_template")

    def __init__(self, filling: Filling, order: Sequence[bytes]) -> None:
        self._template = filling.template
        self._pick = _picker(order.index(token) for token in filling.tokens)
        self._last: Values | None = None
        self._made = b""

    def fill(self, row: Values) -> bytes:
        """Put in what differs; what is filled with the same as last time is the same bytes, kept once."""
        picked = self._pick(row)
        if picked != self._last:
            self._last, self._made = picked, self._template % picked
        return self._made


class Mould:
    """Finds the values of like texts, and fills the segments that come of them."""

    __slots__ = ("_casts", "_differing", "_equal", "_header", "_last", "_name", "_number", "_pattern", "_told")

    def __init__(
        self, pattern: bytes, row: Values, told: int, header: bytes, fillings: Iterable[Filling], suffixes: int
    ) -> None:
        """`row` are the tokens of the groups and of the time; `told` is how often an annotation has the name in it, -1
        where none can.
        """
        self._pattern = re.compile(pattern)
        first = [row.index(token) for token in row]
        self._equal = tuple((at, other) for at, other in enumerate(first) if at != other)
        differing = [at for at in dict.fromkeys(first) if row[at] not in (NAME, _NO_TIME)]
        self._differing, self._number = _picker(differing), len(differing)
        self._name, self._told = (row.index(NAME) if NAME in row else -1), told
        order = (*row, UID, NAME, *suffix_tokens(suffixes))
        self._header, self._casts = header, tuple(_Cast(filling, order) for filling in fillings)
        #: A text and a time with the values in them: those whose name is generated are often the same.
        self._last: tuple[bytes, bytes, Values | None] = (b"", b"", None)

    @classmethod
    def of(
        cls, own: bytes, rest: bytes, likeness: Likeness, header: bytes, fillings: Sequence[Filling], suffixes: int
    ) -> Mould | None:
        """Make the mould of an object that was blanked: its metadata, in which a name is true, and the rest.

        None where the two cannot be put together again, or a value cannot be told.
        """
        if rest.count(_NO_METADATA) != 1 or own.count(_SOME_NAME) > 1:
            return None
        named = own.replace(_SOME_NAME, b'"name":"%b"' % NAME)
        before, behind = rest.split(_NO_METADATA)
        name = likeness.name.pattern
        pieces = (
            pattern_of(before + b'"metadata":', likeness.places, name),
            pattern_of(named, likeness.metadata_places, name),
            pattern_of(behind, likeness.places, name),
        )
        pattern, tokens = b"", Values()
        for piece in pieces:
            if piece is None:
                return None
            pattern, tokens = pattern + piece[0], tokens + piece[1]
        told = own.count(told_name(NAME)) if _ESCAPED_QUOTE in own else -1
        row = (*tokens, _TIME if likeness.tells_times else _NO_TIME)
        return cls(pattern, row, told, header, fillings, suffixes)

    def read(self, text: bytes, now: bytes) -> Values | None:
        """Return the values of a text of a request of that time; None when it is none of these."""
        if self._last[:2] != (text, now):
            self._last = text, now, self._read(text, now)
        return self._last[2]

    def _read(self, text: bytes, now: bytes) -> Values | None:
        found = self._pattern.fullmatch(text)
        if found is None:
            return None
        row = (*found.groups(), now)
        for at, other in self._equal:
            if row[at] != row[other]:
                return None
        if len({*self._differing(row)}) < self._number:
            return None
        return row if self._name < 0 or self._is_name(row[self._name], text) else None

    def _is_name(self, name: bytes, text: bytes) -> bool:
        return len(name) <= NAME_BYTES_MAX and (self._told < 0 or text.count(told_name(name)) == self._told)

    def fill(self, values: Values, suffixes: Iterable[str], name: str, uid: str) -> Segments:
        """Return what is stored of a text with these values."""
        row = (*values, uid.encode(), name.encode(), *[suffix.encode() for suffix in suffixes])
        metadata, managed, body = self._casts
        return self._header, metadata.fill(row), managed.fill(row), body.fill(row)


def _picker(places: Iterable[int]) -> Callable[[Values], Values]:
    """Return what takes the values at some places of a row."""
    chosen = tuple(places)
    if len(chosen) > 1:
        return itemgetter(*chosen)
    if not chosen:
        return lambda _: ()
    at = chosen[0]
    return lambda row: (row[at],)

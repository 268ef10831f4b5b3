"""What objects of a kind may differ in and still be treated alike.

Thousands of pods of one template differ in names, addresses and what the dice gave them. A kind says in which places
such values stand and what they must look like, so that no rule tells one of them from another:

    "nodeName":"node-7"   ──►   "nodeName":"␀0␀"        equal values get equal numbers

Two texts that are equal after that stand for objects of the same fate. A value that does not look as it must, or stands
somewhere else, stays as it is, so that such texts are merely not found to be alike.

Mirrors: nothing: what is done with this must not be told from doing everything anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

#: Numbers of values, as they stand for them in a text. JSON has no such bytes.
Blanks: TypeAlias = dict[bytes, bytes]

_OCTET: Final = rb"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#: An IPv4 address as Go writes it.
ADDRESS: Final = rb"%b(?:\.%b){3}" % (_OCTET, _OCTET)
NETWORK: Final = rb"%b/(?:3[0-2]|[12]?[0-9])" % ADDRESS
#: What can name any object and be the value of any label.
LABEL: Final = rb"[0-9a-z](?:[-0-9a-z]{0,61}[0-9a-z])?"
SUBDOMAIN: Final = rb"%b(?:\.%b)*" % (LABEL, LABEL)
UID: Final = rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
#: Most of the whole seconds that there are.
SECOND: Final = rb"20[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
#: A duration as Go writes it.
DURATION: Final = rb"(?:[0-9]{1,5}h)?(?:[0-9]{1,2}m)?[0-9]{1,2}(?:\.[0-9]{1,9})?s"
#: What stands for the object's own name, which may be that of others, too.
NAME: Final = b"\0N\0"
_TOKEN: Final = re.compile(rb"(\0[^\0]+\0)")
NAME_BYTES_MAX: Final = 253


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: behind `before` (which is all that is looked for) and in front of `after`."""

    before: bytes
    value: bytes
    after: bytes = b'"'
    _pattern: re.Pattern[bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pattern", re.compile(rb"%b(?=%b)" % (self.value, re.escape(self.after))))

    def blank(self, text: bytes, at: int, blanks: Blanks, *, known_only: bool = False) -> bytes:
        """Replace the values that stand here, from the first `before` on, which is at `at`, by their numbers.

        With `known_only` only those that have a number already.
        """
        parts: list[bytes] = []
        start = 0
        while at >= 0:
            begin = at + len(self.before)
            found = self._pattern.match(text, begin)
            if found is not None:
                token = _known(found[0], blanks) if known_only else _number(found[0], blanks)
                parts += (text[start:begin], token)
                start = found.end()
            at = text.find(self.before, begin)
        parts.append(text[start:])
        return b"".join(parts)


Places: TypeAlias = tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Likeness:
    """What may differ between objects of one kind."""

    #: What the object's own name must look like.
    name: re.Pattern[bytes]
    #: Places in the object beside its metadata, and in patches of it.
    places: Places = ()
    #: Places in metadata, managedFields apart.
    metadata_places: Places = ()
    #: Places in managedFields.
    managed_places: Places = ()
    #: Texts of what makes an object's fate depend on more.
    unlike: tuple[bytes, ...] = ()
    #: Whether times stand in these places, all of them, so that the second of a request is a value like the others; no
    #: rule may tell one time from another but by whether they are equal, and managers of fields by which is the latest.
    tells_times: bool = False

    def takes_name(self, name: str) -> bool:
        """Say whether a name is one of those that no rule tells apart."""
        return len(name) <= NAME_BYTES_MAX and name.isascii() and self.name.fullmatch(name.encode()) is not None

    def is_alike(self, text: bytes) -> bool:
        """Say whether objects with this in them can be like others."""
        for mark in self.unlike:  # noqa: SIM110 - asked about every write, and a generator takes three times as long
            if mark in text:
                return False
        return True


def blank(text: bytes, places: Places, blanks: Blanks, *, known_only: bool = False) -> bytes:
    """Replace the values that stand in some places of a text by their numbers."""
    for place in places:
        at = text.find(place.before)
        if at >= 0:
            text = place.blank(text, at, blanks, known_only=known_only)
    return text


class Filling:
    """A text with blanks, made to be filled."""

    __slots__ = ("_parts", "_tokens")

    def __init__(self, text: bytes) -> None:
        parts = _TOKEN.split(text)
        self._parts = parts
        #: Where in `parts` a token stands.
        self._tokens = tuple((at, parts[at]) for at in range(1, len(parts), 2))

    @property
    def tokens(self) -> tuple[bytes, ...]:
        """The tokens, in the order in which they stand."""
        return tuple(token for _, token in self._tokens)

    @property
    def template(self) -> bytes:
        """The text as a format that takes the values of `tokens`."""
        return b"%b".join(part.replace(b"%", b"%%") for part in self._parts[::2])

    def fill(self, values: Mapping[bytes, bytes]) -> bytes:
        """Put the values where their tokens stand."""
        if not self._tokens:
            return self._parts[0]
        parts = self._parts[:]
        for at, token in self._tokens:
            parts[at] = values[token]
        return b"".join(parts)


def told_name(name: bytes) -> bytes:
    """Return how an annotation that holds JSON has a name (kubectl's of what it applied)."""
    return b'\\"%b\\"' % name


def pattern_of(blanked: bytes, places: Places, name: bytes) -> tuple[bytes, tuple[bytes, ...]] | None:
    """Return an expression whose groups are the values of texts that differ from one in its blanks alone, and its tokens.

    `name` is what the object's own name looks like. None where it cannot be told what a value looks like.
    """
    parts = _TOKEN.split(blanked)
    pattern, tokens = re.escape(parts[0]), tuple(parts[1::2])
    for before, token, after in zip(parts[::2], tokens, parts[2::2], strict=False):
        value = name if token == NAME else _value_between(before, after, places)
        if value is None:
            return None
        pattern += b"(%b)%b" % (value, re.escape(after))
    return pattern, tokens


def _value_between(before: bytes, after: bytes, places: Places) -> bytes | None:
    """Return what the value looks like that stands between two texts; None when several places fit."""
    found = [place.value for place in places if before.endswith(place.before) and after.startswith(place.after)]
    return found[0] if len(found) == 1 else None


def _number(value: bytes, blanks: Blanks) -> bytes:
    token = blanks.get(value)
    if token is None:
        token = blanks[value] = b"\0%d\0" % len(blanks)
    return token


def _known(value: bytes, blanks: Blanks) -> bytes:
    return blanks.get(value, value)

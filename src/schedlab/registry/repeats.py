"""Writes that are like an earlier one: its outcome, with the values put in that differ.

    request ──► its text, with blanks (api.rules.likeness) ──► known? ──► fill the blanks, store
                                                               new?   ──► the long way ──► remember what came out

Thousands of pods of one template, their events and the reports of their kubelets differ in nothing that a rule looks
at. The long way is the rule: what is remembered is what it made of the first such request, and it is used again only
when all that it depended on is the same:

- the request and the stored object, but for their blanks, who asks, and the second in which they ask, unless that may be
  a blank, too: then which times are equal counts, not which they are;
- what was read from the store meanwhile: as long as no object of those resources has changed;
- the dice: as many draws, in the same order.

A request that was refused, that wrote something else besides, in whose course a second ended, or that admission asked the
outside world about is not remembered.

Mirrors: nothing; it must not be told from the long way (tests/property/test_repeats.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec
import orjson

from schedlab.api.object import Segments, StoredObject
from schedlab.api.rules.likeness import NAME, Blanks, Filling, Likeness, Places, blank, told_name
from schedlab.apimachinery.patch.request import PatchBody, PatchType
from schedlab.apimachinery.user import User
from schedlab.registry.core import Core, Notes
from schedlab.registry.moulds import UID, Mould, Values, suffix_tokens
from schedlab.registry.request import WriteOptions
from schedlab.registry.resource import Resource

#: Whether an object is canonical, will be made so, or is a body of a request that will be checked, too.
Form: TypeAlias = Literal["canonical", "lenient", "checked"]
#: The kind of a patch, and the patch.
Patch: TypeAlias = tuple[PatchType, PatchBody]
_Key: TypeAlias = tuple[Any, ...]
#: A resource and what is done to it.
_Sort: TypeAlias = tuple[str, str]

_ENTRIES_MAX: Final = 1024
#: After so many requests of a sort that were like no other, one of so many is tried.
_PATIENCE: Final = 64
_SAMPLE: Final = 8
_BYTES_MAX: Final = 16 * 1024
_BARE_MAX: Final = 256
_MOULDS_MAX: Final = 4
#: Shorter values are looked for with their quotes: they may be a part of anything.
_TELLING_BYTES_MIN: Final = 8


class Request(msgspec.Struct, frozen=True):
    """A request that may be like others."""

    key: _Key
    sort: _Sort
    likeness: Likeness
    #: The time of the request as the wire has it.
    now: str
    blanks: Blanks
    #: What else the key has in it than the text of a creation, and that text, blanked: its metadata, and the rest.
    how: _Key = ()
    texts: tuple[bytes, bytes] = (b"", b"")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of a request, with blanks."""

    header: bytes
    metadata: Filling
    managed: Filling
    body: Filling
    warnings: tuple[str, ...]
    #: The resources that were looked at and the state in which they were.
    reads: tuple[tuple[str, int], ...]
    #: How many random name endings were drawn.
    suffixes: int

    def fill(self, blanks: Blanks, name: str, uid: str) -> Segments:
        """Put in what differs."""
        values = {token: value for value, token in blanks.items()}
        values[NAME], values[UID] = name.encode(), uid.encode()
        return self.header, self.metadata.fill(values), self.managed.fill(values), self.body.fill(values)


class Repeats:
    """What became of requests, by what they asked."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._known: dict[_Key, Outcome] = {}
        #: The admission plugins that were asked.
        self._asked = core.admission.plugins
        #: Requests that came once.
        self._seen: dict[_Key, None] = {}
        #: Texts that have no value in these places, seen lately: what pods of one template have in common is one.
        self._bare: dict[bytes, Places] = {}
        #: Outcomes of creations by what else is known of these, the newest first.
        self._moulds: dict[_Key, tuple[tuple[Mould, Outcome], ...]] = {}
        #: How many requests of a sort have come in a row that were like no other.
        self._lonely: dict[_Sort, int] = {}

    # --- requests ----------------------------------------------------------------------------------------------------

    def mould(
        self, resource: Resource, obj: Mapping[str, Any], namespace: str, options: WriteOptions, now: str, form: Form
    ) -> tuple[Mould, Values, Outcome] | None:
        """Return what comes of a creation and the values in it, if all of it is known; else it has to be described."""
        likeness = resource.strategy.likeness
        if likeness is None:
            return None
        moulds = self._moulds.get(_how(resource, namespace, options, form, now, likeness))
        if (
            moulds is None
            or options.dry_run
            or options.user.extra
            or self._asked is not self._core.admission.plugins
            or self._lonely[resource.name, "create"] > _PATIENCE
        ):
            return None
        text, second = _encode(obj), now.encode()
        for mould, outcome in moulds:
            values = mould.read(text, second)
            if values is not None:
                return (mould, values, outcome) if self._core.store.is_at(outcome.reads) else None
        return None

    def creation(
        self, resource: Resource, obj: Mapping[str, Any], namespace: str, options: WriteOptions, now: str, form: Form
    ) -> Request | None:
        """Describe a creation; None when it is like no other."""
        sort = (resource.name, "create")
        likeness = self._likeness(resource, "", sort, options)
        metadata = obj.get("metadata")
        if likeness is None or not isinstance(metadata, dict):
            return None
        name = metadata.get("name")
        if name:
            if not isinstance(name, str) or not likeness.takes_name(name):
                return None
            # What no request names an object: null would make one with a name of one that has none.
            metadata = {**metadata, "name": True}
        own, rest = _encode(metadata), _encode({**obj, "metadata": None})
        _, blanks = _second(now, likeness)
        asked = self._blank(own, likeness, likeness.metadata_places, blanks)
        also = self._blank(rest, likeness, likeness.places, blanks)
        if asked is None or also is None:
            return None
        if name:
            asked = asked.replace(told_name(name.encode()), told_name(NAME))
        how = _how(resource, namespace, options, form, now, likeness)
        return Request((how, asked, also), sort, likeness, now, blanks, how, (asked, also))

    def _blank(self, text: bytes, likeness: Likeness, places: Places, blanks: Blanks) -> bytes | None:
        """Blank a text; None when it can be like no other."""
        if self._bare.get(text) is places:
            return text
        if not _is_plain(text, likeness):
            return None
        blanked = blank(text, places, blanks)
        if blanked == text:
            if len(self._bare) >= _BARE_MAX:
                self._bare.clear()
            self._bare[text] = places
        return blanked

    def patch(
        self,
        resource: Resource,
        subresource: str,
        kind: PatchType,
        patch: PatchBody,
        current: StoredObject,
        options: WriteOptions,
        now: str,
    ) -> Request | None:
        """Describe a patch of a stored object; None when it is like no other."""
        sort = (resource.name, f"patch {subresource}")
        likeness = self._likeness(resource, subresource, sort, options)
        if likeness is None or not likeness.takes_name(current.name):
            return None
        text = patch if isinstance(patch, bytes) else _encode(patch)
        header, metadata, managed, body = current.segments
        if not (_is_plain(text, likeness) and _is_plain(metadata, likeness) and _is_plain(body, likeness)):
            return None
        uid = _member(b"uid", current.uid)
        text = text.replace(uid, UID)
        metadata = metadata.replace(uid, UID, 1).replace(_member(b"name", current.name), NAME, 1)
        metadata = metadata.replace(told_name(current.name.encode()), told_name(NAME))
        second, blanks = _second(now, likeness)
        asked = (
            blank(blank(text, likeness.places, blanks), likeness.metadata_places, blanks),
            blank(metadata, likeness.metadata_places, blanks),
            blank(managed, likeness.managed_places, blanks),
            blank(body, likeness.places, blanks),
        )
        how = (*sort, kind, options.field_validation, options.force, header)
        return Request((*how, _who(options.user), options.manager, second, *asked), sort, likeness, now, blanks)

    def _likeness(self, resource: Resource, subresource: str, sort: _Sort, options: WriteOptions) -> Likeness | None:
        likeness = resource.strategy.likeness
        if likeness is None or options.dry_run or options.user.extra:
            return None
        if self._asked is not self._core.admission.plugins:
            self._asked = self._core.admission.plugins
            self._known.clear()
            self._moulds.clear()
        # Where nothing has been alike for long, only some requests are tried, since to describe one costs, too.
        lonely = self._lonely[sort] = self._lonely.get(sort, 0) + 1
        if lonely > _PATIENCE and lonely % _SAMPLE:
            return None
        return likeness if self._core.admission.repeats(resource.name, subresource) else None

    # --- outcomes ----------------------------------------------------------------------------------------------------

    def find(self, request: Request) -> Outcome | None:
        """Return what came out of such a request, None when that is not known or no longer holds."""
        outcome = self._known.get(request.key)
        if outcome is None:
            return None
        if not self._core.store.is_at(outcome.reads):
            del self._known[request.key]
            self._moulds.pop(request.how, None)
            return None
        self._lonely[request.sort] = 0
        return outcome

    def is_second(self, request: Request) -> bool:
        """Say whether such a request has been seen before: many come once, and remembering costs more than it saves."""
        if request.key in self._seen:
            return True
        if len(self._seen) >= _ENTRIES_MAX:
            self._seen.clear()
        self._seen[request.key] = None
        return False

    def remember(self, request: Request, notes: Notes, made: StoredObject, warnings: Sequence[str]) -> None:
        """Keep what the long way has made of a request, if it can be told what it depended on."""
        if (
            # In what it has made stands another second than the one that is blank.
            self._core.now() != request.now
            or notes.wrote
            or notes.other_draws
            or len(notes.suffixes) > 1
            or _names_blank(notes, request.blanks, made.name)
        ):
            return
        blanks = {**request.blanks, **_tokens(notes.suffixes)}
        segments = _blanked(made, request.likeness, blanks)
        header, metadata, managed, body = segments
        fillings = Filling(metadata), Filling(managed), Filling(body)
        outcome = Outcome(header, *fillings, tuple(warnings), notes.states, len(notes.suffixes))
        if _shows(segments, blanks, made) or outcome.fill(blanks, made.name, made.uid) != made.segments:
            return  # a value has come to stand elsewhere than in its places
        if len(self._known) >= _ENTRIES_MAX:
            self._known.clear()
        self._known[request.key] = outcome
        if request.how:
            self._keep_mould(request, outcome)

    def _keep_mould(self, request: Request, outcome: Outcome) -> None:
        fillings = (outcome.metadata, outcome.managed, outcome.body)
        mould = Mould.of(*request.texts, request.likeness, outcome.header, fillings, outcome.suffixes)
        if mould is not None:
            if len(self._moulds) >= _ENTRIES_MAX:
                self._moulds.clear()
            known = self._moulds.get(request.how, ())
            self._moulds[request.how] = ((mould, outcome), *known)[:_MOULDS_MAX]

    def fill(self, request: Request, outcome: Outcome, suffixes: Sequence[str], name: str, uid: str) -> Segments:
        """Put in what differs."""
        blanks = {**request.blanks, **_tokens(suffixes)} if suffixes else request.blanks
        return outcome.fill(blanks, name, uid)


def _second(now: str, likeness: Likeness) -> tuple[str, Blanks]:
    """Return what of the time of a request counts, and the values that are known from the start."""
    return ("", {now.encode(): b"\0%d\0" % 0}) if likeness.tells_times else (now, {})


def _how(resource: Resource, namespace: str, options: WriteOptions, form: Form, now: str, likeness: Likeness) -> _Key:
    """Return what else counts of a creation than its object."""
    user, second = options.user, "" if likeness.tells_times else now
    who = user.name, user.groups, user.uid
    return resource.name, namespace, form, options.field_validation, options.manager, who, second


def _who(user: User) -> tuple[Any, ...]:
    return user.name, user.groups, user.uid


def _encode(value: Any) -> bytes:
    """Encode what is like nothing else as a text that is like nothing either."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return b"\0"


def _is_plain(text: bytes, likeness: Likeness) -> bool:
    return len(text) <= _BYTES_MAX and b"\0" not in text and likeness.is_alike(text)


def _member(key: bytes, value: str) -> bytes:
    return b'"%b":"%b"' % (key, value.encode())


def _tokens(suffixes: Sequence[str]) -> Blanks:
    return dict(zip((suffix.encode() for suffix in suffixes), suffix_tokens(len(suffixes)), strict=True))


def _names_blank(notes: Notes, blanks: Blanks, name: str) -> bool:
    """Whether something was looked up by a value that differs from request to request."""
    values = (name, *(value.decode() for value in blanks))
    return any(value in key for _, key in notes.reads for value in values)


def _blanked(made: StoredObject, likeness: Likeness, blanks: Blanks) -> Segments:
    """Blank an object."""
    header, metadata, managed, body = made.segments
    metadata = metadata.replace(_member(b"uid", made.uid), _member(b"uid", "\0U\0"), 1)
    metadata = metadata.replace(_member(b"name", made.name), _member(b"name", "\0N\0"), 1)
    metadata = metadata.replace(told_name(made.name.encode()), told_name(NAME))
    return (
        header,
        blank(metadata, likeness.metadata_places, blanks, known_only=True),
        blank(managed, likeness.managed_places, blanks, known_only=True),
        blank(body, likeness.places, blanks, known_only=True),
    )


def _shows(segments: Segments, blanks: Blanks, made: StoredObject) -> bool:
    """Whether a value that should be blank still stands somewhere."""
    for value in (*blanks, made.name.encode(), made.uid.encode()):
        long = len(value) >= _TELLING_BYTES_MIN
        shapes = (value,) if long else (b'"%b"' % value, b'\\"%b\\"' % value)
        if any(shape in segment for shape in shapes for segment in segments):
            return True
    return False

"""Moulds: which texts are taken for like ones, and what is filled with their values."""

from __future__ import annotations

import re

import pytest

from schedlab.api.rules.likeness import ADDRESS, LABEL, SECOND, Filling, Likeness, Place, blank, told_name
from schedlab.registry.moulds import Mould

_NOW = b"2026-01-01T00:00:00Z"
_LIKENESS = Likeness(
    name=re.compile(LABEL),
    places=(Place(b'"podIP":"', ADDRESS), Place(b'"hostIP":"', ADDRESS), Place(b'"at":"', SECOND)),
    metadata_places=(Place(b'"job":"', LABEL),),
    tells_times=True,
)


def _mould(own: bytes, rest: bytes, likeness: Likeness = _LIKENESS) -> Mould | None:
    """The mould of an object with this metadata and this beside it, of which the values are stored in their order."""
    blanks = {_NOW: b"\0000\0"}
    texts = blank(own, likeness.metadata_places, blanks), blank(rest, likeness.places, blanks)
    if b"true" in own:
        texts = texts[0].replace(told_name(b"web"), told_name(b"\0N\0")), texts[1]
    tokens = b"|".join(dict.fromkeys(re.findall(rb"\0[0-9]+\0", b"".join(texts))))
    fillings = Filling(b"\0N\0 100% \0U\0 \0S0\0"), Filling(b"\0000\0"), Filling(tokens)
    return Mould.of(*texts, likeness, b"header", fillings, 1)


def _filled(mould: Mould | None, text: bytes, now: bytes = _NOW, name: str = "web-1") -> tuple[bytes, ...] | None:
    assert mould is not None
    values = mould.read(text, now)
    return None if values is None else mould.fill(values, ["abcde"], name, "u-1")


def test_values_are_taken_from_the_text_and_put_into_what_is_stored() -> None:
    mould = _mould(b'{"name":true,"job":"a"}', b'{"metadata":null,"podIP":"10.0.0.1","hostIP":"10.0.0.2"}')
    text = b'{"metadata":{"name":"web-1","job":"b"},"podIP":"10.0.0.7","hostIP":"10.0.0.10"}'

    assert _filled(mould, text, b"2026-01-01T00:00:09Z") == (
        b"header",
        b"web-1 100% u-1 abcde",
        b"2026-01-01T00:00:09Z",
        b"b|10.0.0.7|10.0.0.10",
    )


@pytest.mark.parametrize(
    "text",
    [
        b'{"metadata":{"name":"web-1","job":"b"},"podIP":"10.0.0.7","hostIP":"10.0.0.8","phase":"x"}',
        b'{"metadata":{"name":"web-1","job":"b"},"podIP":"10.0.0.7","hostIP":"10.0.0.7"}',
        b'{"metadata":{"name":"web-1","job":"b"},"podIP":"10.0.0.300","hostIP":"10.0.0.7"}',
        b'{"metadata":{"name":"web-1","job":"-"},"podIP":"10.0.0.7","hostIP":"10.0.0.8"}',
        b'{"metadata":{"name":"Web","job":"b"},"podIP":"10.0.0.7","hostIP":"10.0.0.8"}',
        b'{"metadata":{"name":null,"job":"b"},"podIP":"10.0.0.7","hostIP":"10.0.0.8"}',
        b'{"metadata":{"name":"web-1"},"podIP":"10.0.0.7","hostIP":"10.0.0.8"}',
        b"\0",
    ],
    ids=["more", "equal values", "no address", "no label", "another sort of name", "no name", "less", "no text"],
)
def test_other_texts_are_not_taken(text: bytes) -> None:
    mould = _mould(b'{"name":true,"job":"a"}', b'{"metadata":null,"podIP":"10.0.0.1","hostIP":"10.0.0.2"}')

    assert _filled(mould, text) is None


def test_values_that_were_equal_are_equal_again() -> None:
    mould = _mould(b"{}", b'{"metadata":null,"podIP":"10.0.0.1","hostIP":"10.0.0.1"}')

    assert _filled(mould, b'{"metadata":{},"podIP":"10.0.0.9","hostIP":"10.0.0.9"}') is not None
    assert _filled(mould, b'{"metadata":{},"podIP":"10.0.0.8","hostIP":"10.0.0.9"}') is None


def test_a_time_that_was_that_of_the_request_is_so_again() -> None:
    mould = _mould(b"{}", b'{"metadata":null,"at":"%b"}' % _NOW)
    later = b"2026-01-01T00:00:07Z"

    assert _filled(mould, b'{"metadata":{},"at":"%b"}' % later, later) is not None
    assert _filled(mould, b'{"metadata":{},"at":"%b"}' % later, _NOW) is None


def test_a_time_that_was_another_one_is_so_again() -> None:
    mould = _mould(b"{}", b'{"metadata":null,"at":"2026-01-01T00:00:07Z"}')
    later = b"2026-01-01T00:00:08Z"

    assert _filled(mould, b'{"metadata":{},"at":"%b"}' % later) is not None
    assert _filled(mould, b'{"metadata":{},"at":"%b"}' % later, later) is None


def test_a_name_may_be_a_value_elsewhere() -> None:
    mould = _mould(b'{"name":true,"job":"web"}', b'{"metadata":null}')

    assert _filled(mould, b'{"metadata":{"name":"web-1","job":"web-1"}}') is not None
    assert _filled(mould, b'{"metadata":{"name":"web-1","job":"other"}}') is not None


def test_an_annotation_tells_the_name_where_it_did() -> None:
    mould = _mould(rb'{"name":true,"told":"\"web\",\"x\""}', b'{"metadata":null}')

    assert _filled(mould, rb'{"metadata":{"name":"web-1","told":"\"web-1\",\"x\""}}') is not None
    assert _filled(mould, rb'{"metadata":{"name":"web-1","told":"\"web-2\",\"x\""}}') is None
    assert _filled(mould, rb'{"metadata":{"name":"x","told":"\"x\",\"x\""}}') is None


def test_a_name_is_as_long_as_the_api_lets_it() -> None:
    mould = _mould(b'{"name":true}', b'{"metadata":null}', Likeness(re.compile(b"a+"), tells_times=True))

    assert _filled(mould, b'{"metadata":{"name":"%b"}}' % (b"a" * 253)) is not None
    assert _filled(mould, b'{"metadata":{"name":"%b"}}' % (b"a" * 254)) is None


def test_an_object_that_tells_no_time_has_its_values_from_the_first_number_on() -> None:
    likeness = Likeness(re.compile(LABEL), places=(Place(b'"podIP":"', ADDRESS),))
    own, rest = b'{"name":true}', blank(b'{"metadata":null,"podIP":"10.0.0.1"}', likeness.places, {})
    mould = Mould.of(own, rest, likeness, b"", (Filling(b"\0N\0"), Filling(b""), Filling(b"\0000\0")), 0)

    text = b'{"metadata":{"name":"web-1"},"podIP":"10.0.0.7"}'
    assert _filled(mould, text) == (b"", b"web-1", b"", b"10.0.0.7")


def test_a_value_that_may_stand_in_two_places_has_no_mould() -> None:
    likeness = Likeness(re.compile(LABEL), (Place(b'podIP":"', ADDRESS), Place(b'"podIP":"', LABEL)))

    assert _mould(b"{}", b'{"metadata":null,"podIP":"10.0.0.1"}', likeness) is None


def test_an_object_with_several_members_that_could_be_its_metadata_has_no_mould() -> None:
    assert _mould(b"{}", b'{"metadata":null,"template":{"metadata":null}}') is None


def test_what_is_filled_with_the_same_is_kept_once() -> None:
    mould = _mould(b'{"name":true}', b'{"metadata":null}')
    first, second = (_filled(mould, b'{"metadata":{"name":"web-%d"}}' % n, name=f"web-{n}") for n in range(2))

    assert first is not None
    assert second is not None
    assert first[1] != second[1]
    assert first[2] is second[2]

"""Blanks: which values of a text may differ, and how they come back."""

import re

import pytest

from schedlab.api.rules.likeness import (
    ADDRESS,
    LABEL,
    NETWORK,
    SUBDOMAIN,
    Blanks,
    Filling,
    Likeness,
    Place,
    blank,
)

PLACES = (Place(b'"podIP":"', ADDRESS), Place(b'"hostIP":"', ADDRESS), Place(b'[{"ip":"', ADDRESS, b'"}]'))


def test_equal_values_get_equal_numbers_wherever_they_stand() -> None:
    blanks: Blanks = {}
    text = b'{"hostIP":"10.0.0.1","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}],"name":"10.0.0.1"}'

    assert blank(text, PLACES, blanks) == (
        b'{"hostIP":"\0000\0","podIP":"\0000\0","podIPs":[{"ip":"\0000\0"}],"name":"10.0.0.1"}'
    )
    assert blanks == {b"10.0.0.1": b"\0000\0"}


def test_numbers_go_on_through_several_texts() -> None:
    blanks: Blanks = {}
    blank(b'{"podIP":"10.0.0.1"}', PLACES, blanks)

    assert blank(b'{"podIP":"10.0.0.2","hostIP":"10.0.0.1"}', PLACES, blanks) == (
        b'{"podIP":"\0001\0","hostIP":"\0000\0"}'
    )


def test_only_known_values_are_blanked_in_an_outcome() -> None:
    known: Blanks = {b"10.0.0.1": b"\0000\0"}
    text = b'{"podIP":"10.0.0.1","hostIP":"10.0.0.2"}'

    assert blank(text, PLACES, known, known_only=True) == b'{"podIP":"\0000\0","hostIP":"10.0.0.2"}'
    assert known == {b"10.0.0.1": b"\0000\0"}


@pytest.mark.parametrize("text", [b'"podIP":"300.1.1.1"', b'"podIP":"010.0.0.1"', b'"podIP":"10.0.0.1', b'"podIP":""'])
def test_values_that_do_not_look_as_they_must_stay(text: bytes) -> None:
    assert blank(text, PLACES, {}) == text


def test_an_address_that_is_not_alone_in_its_list_stays() -> None:
    """Of two the order counts, and that depends on what they are."""
    text = b'"podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}]'

    assert blank(text, PLACES, {}) == text


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (ADDRESS, ("0.0.0.0", "10.20.30.40", "255.255.255.255"), ("1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1")),
        (NETWORK, ("10.0.0.0/8", "1.2.3.4/32"), ("10.0.0.0", "10.0.0.0/33", "10.0.0.0/08")),
        (LABEL, ("a", "web-1", "1" * 63), ("", "-a", "a-", "A", "a.b", "a" * 64)),
        (SUBDOMAIN, ("a", "a.b-c.d"), ("", "a..b", ".a", "a.", "a_b")),
    ],
)
def test_patterns_take_whole_values(pattern: bytes, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    assert all(re.fullmatch(pattern, text.encode()) for text in good)
    assert not any(re.fullmatch(pattern, text.encode()) for text in bad)


def test_names_are_as_long_as_the_api_lets_them() -> None:
    likeness = Likeness(re.compile(SUBDOMAIN))

    assert likeness.takes_name(".".join(["a" * 49] * 5))
    assert not likeness.takes_name(".".join(["a" * 50] * 5))
    assert not likeness.takes_name("ä")


def test_a_filling_puts_values_where_their_tokens_stand() -> None:
    filling = Filling(b'{"a":"\0000\0","b":"\000S1\0","c":"\0000\0"}')

    assert filling.fill({b"\0000\0": b"x", b"\0S1\0": b"y"}) == b'{"a":"x","b":"y","c":"x"}'
    assert Filling(b"{}").fill({}) == b"{}"

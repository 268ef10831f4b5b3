"""Semantic versions: what is one, and which is greater."""

from __future__ import annotations

from itertools import pairwise

import pytest

from schedlab.apimachinery.semver import SemverError, parse, parse_normalized

IN_ORDER = (
    "0.0.1",
    "0.2.0",
    "1.0.0-1",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0",
    "1.0.1",
    "1.2.0",
    "1.10.0",
    "2.0.0",
)


def test_order() -> None:
    """Numbers before words, a pre-release before its release, numbers by their value."""
    versions = [parse(text) for text in IN_ORDER]

    backwards = versions[::-1]
    assert sorted(backwards) == versions
    assert all(a < b and b > a and a != b for a, b in pairwise(versions))


def test_build_metadata_does_not_count() -> None:
    """It has to be valid, and is forgotten."""
    assert parse("1.2.3+a.b-c") == parse("1.2.3")
    assert hash(parse("1.2.3+a")) == hash(parse("1.2.3"))
    assert str(parse("1.2.3-a.1+b")) == "1.2.3-a.1"
    assert parse("1.2.3") != "1.2.3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("a.2.3", 'Invalid character(s) found in major number "a"'),
        ("1.-2.3", 'Invalid character(s) found in minor number "-2"'),
        ("1.2.x", 'Invalid character(s) found in patch number "x"'),
        ("01.2.3", 'Major number must not contain leading zeroes "01"'),
        ("1.02.3", 'Minor number must not contain leading zeroes "02"'),
        ("1.2.03", 'Patch number must not contain leading zeroes "03"'),
        ("1..3", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("1.2.18446744073709551616", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
        ("1.2.3-", "Prerelease is empty"),
        ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.2.3-a_b", 'Invalid character(s) found in prerelease "a_b"'),
        ("1.2.3+", "Build meta data is empty"),
        ("1.2.3+a_b", 'Invalid character(s) found in build meta data "a_b"'),
    ],
)
def test_what_is_no_version(text: str, expected: str) -> None:
    """The texts are upstream's."""
    with pytest.raises(SemverError) as failure:
        parse(text)
    assert str(failure.value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("v1.0.0", "1.0.0"), ("1.0", "1.0.0"), ("1", "1.0.0"), ("01.01.01", "1.1.1"), ("v0.00.1-a", "0.0.1-a")],
)
def test_normalised(text: str, expected: str) -> None:
    """A leading v and leading zeros go, what is missing is zero."""
    assert parse_normalized(text) == parse(expected)


def test_short_versions_have_no_metadata() -> None:
    """Where they would begin cannot be said."""
    with pytest.raises(SemverError, match="short version cannot contain PreRelease/Build meta data"):
        parse_normalized("1.0-a")

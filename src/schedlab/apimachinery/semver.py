"""Semantic versions: parsing, order, and the forms that are brought into shape first.

Mirrors: github.com/blang/semver/v4 and normalizeAndParse in staging/src/k8s.io/apiserver/pkg/cel/library/semverlib.go
(v1.36)
Differs: build metadata is checked and then forgotten, since it has no say in order or equality.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, total_ordering
from typing import Final

from schedlab.apimachinery.gojson import quote

_NUMBER: Final = re.compile(r"[0-9]*")
_WORD: Final = re.compile(r"[0-9A-Za-z-]*")
_UINT64_MAX: Final = 2**64 - 1


class SemverError(ValueError):
    """A text that is no semantic version."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """`major.minor.patch-prerelease`; numbers of a pre-release sort before words, a pre-release before its release."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[int | str, ...] = ()

    def __str__(self) -> str:
        suffix = ".".join(str(part) for part in self.prerelease)
        return f"{self.major}.{self.minor}.{self.patch}{'-' if suffix else ''}{suffix}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._order() == other._order()

    def __lt__(self, other: Semver) -> bool:
        return self._order() < other._order()

    def __hash__(self) -> int:
        return hash(self._order())

    def _order(self) -> tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]:
        parts = tuple((False, part, "") if isinstance(part, int) else (True, 0, part) for part in self.prerelease)
        return self.major, self.minor, self.patch, not parts, parts


@lru_cache(maxsize=4096)
def parse(text: str) -> Semver:
    """Parse a version; SemverError, in upstream's words, when it is none."""
    if not text:
        raise SemverError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise SemverError("No Major.Minor.Patch elements found")
    major, minor = _number("major", parts[0]), _number("minor", parts[1])
    rest, has_build, build = parts[2].partition("+")
    patch, has_prerelease, prerelease = rest.partition("-")
    version = Semver(
        major,
        minor,
        _number("patch", patch),
        tuple(_prerelease(part) for part in prerelease.split(".")) if has_prerelease else (),
    )
    if has_build:
        _check_build(build)
    return version


def parse_normalized(text: str) -> Semver:
    """Parse a version after dropping a leading `v` and leading zeros and adding the parts that are missing."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise SemverError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse(".".join(parts))


def _without_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped and stripped[0] in "0123456789" else f"0{stripped}"


def _number(name: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise SemverError(f"Invalid character(s) found in {name} number {quote(text)}")
    if _has_leading_zeros(text):
        raise SemverError(f"{name.capitalize()} number must not contain leading zeroes {quote(text)}")
    return _uint64(text)


def _uint64(text: str) -> int:
    if not text:
        raise SemverError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > _UINT64_MAX:
        raise SemverError(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return int(text)


def _has_leading_zeros(text: str) -> bool:
    return len(text) > 1 and text[0] == "0"


def _prerelease(text: str) -> int | str:
    if not text:
        raise SemverError("Prerelease is empty")
    if _NUMBER.fullmatch(text):
        if _has_leading_zeros(text):
            raise SemverError(f"Numeric PreRelease version must not contain leading zeroes {quote(text)}")
        return _uint64(text)
    if not _WORD.fullmatch(text):
        raise SemverError(f"Invalid character(s) found in prerelease {quote(text)}")
    return text


def _check_build(build: str) -> None:
    for part in build.split("."):
        if not part:
            raise SemverError("Build meta data is empty")
        if not _WORD.fullmatch(part):
            raise SemverError(f"Invalid character(s) found in build meta data {quote(part)}")

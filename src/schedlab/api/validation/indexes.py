"""Lists of indexes as jobs write them: `1,3-5,7`.

Mirrors: pkg/apis/batch/validation/validation.go (validateIndexesFormat and around) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
from typing import Final

from schedlab.apimachinery.gojson import quote

_INTEGER: Final = re.compile("[+-]?[0-9]+")


class IndexesError(ValueError):
    """A malformed list of indexes."""


def count_indexes(text: str, completions: int) -> int:
    """Return how many indexes a list has; raises IndexesError."""
    last: int | None = None
    total = 0
    for part in text.split(",") if text else ():
        first, end = parse_interval(part, completions)
        if last is not None and last >= first:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def parse_interval(text: str, completions: int) -> tuple[int, int]:
    """Return first and last index of an interval; raises IndexesError."""
    limits = text.split("-")
    if len(limits) > 2:
        rule = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise IndexesError(f"the fragment {quote(text)} {rule}")
    numbers = [_parse_index(limit, completions) for limit in limits]
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        raise IndexesError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _parse_index(text: str, completions: int) -> int:
    if not _INTEGER.fullmatch(text):
        raise IndexesError(f"cannot convert string to integer for index: {quote(text)}")
    if int(text) >= completions:
        raise IndexesError(f"too large index: {quote(text)}")
    return int(text)


def find_overlap(left: str, right: str, completions: int) -> int | None:
    """Return the first index that is in both lists; malformed intervals are passed over."""
    mine, theirs = _intervals(left, completions), _intervals(right, completions)
    i = j = 0
    while i < len(mine) and j < len(theirs):
        (a, b), (c, d) = mine[i], theirs[j]
        if a <= d and c <= b:
            return max(a, c)
        if a <= c:
            i += 1
        else:
            j += 1
    return None


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        try:
            found.append(parse_interval(part, completions))
        except IndexesError:
            continue
    return found

"""Sets of completion indexes as a Job's status writes them."""

from __future__ import annotations

import pytest

from schedlab.controllers.job.indexes import Indexes


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((), ""), ((3,), "3"), ((1, 2), "1,2"), ((5, 3, 4), "3-5"), ((0, 2, 3, 4, 9), "0,2-4,9")],
)
def test_text_and_back(numbers: tuple[int, ...], text: str) -> None:
    """Runs of three and more have a dash."""
    assert str(Indexes.of(numbers)) == text
    assert Indexes.parse(text, 100) == Indexes.of(numbers)


@pytest.mark.parametrize(("text", "kept"), [("0-9", "0-4"), ("3,7", "3"), ("x,1", "1"), ("1-y,2", "2"), ("7-9", "")])
def test_parsing_keeps_what_is_below_the_completions(text: str, kept: str) -> None:
    """Of five completions; malformed parts are passed over."""
    assert str(Indexes.parse(text, 5)) == kept


def test_union_membership_and_gaps() -> None:
    """What is in either, what is in it, what is not."""
    both = Indexes.of((1, 2)) | Indexes.of((3, 7))

    assert (str(both), len(both)) == ("1-3,7", 4)
    assert [number for number in range(9) if number in both] == [1, 2, 3, 7]
    assert list(both.missing(9)) == [0, 4, 5, 6, 8]
    assert both.overlap(Indexes.of((0, 2, 7))) == 2

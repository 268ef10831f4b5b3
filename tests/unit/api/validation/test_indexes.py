"""Lists of indexes: how many they have, what is wrong with them, and where two of them meet."""

import pytest

from schedlab.api.validation.indexes import IndexesError, count_indexes, find_overlap


@pytest.mark.parametrize(("text", "count"), [("", 0), ("0", 1), ("0-3", 4), ("0,2-4,9", 5)])
def test_indexes_are_counted(text: str, count: int) -> None:
    assert count_indexes(text, 10) == count


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1,0", "non-increasing order, previous: 1, current: 0"),
        ("1,1", "non-increasing order, previous: 1, current: 1"),
        ("10", 'too large index: "10"'),
        (
            "1-2-3",
            (
                'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated '
                "by '-'"
            ),
        ),
    ],
)
def test_other_lists_are_refused(text: str, problem: str) -> None:
    with pytest.raises(IndexesError) as caught:
        count_indexes(text, 10)
    assert str(caught.value) == problem


def test_what_is_no_number_is_no_index() -> None:
    with pytest.raises(IndexesError, match="cannot convert string to integer for index"):
        count_indexes("a", 10)


@pytest.mark.parametrize(("left", "right", "index"), [("0,2", "1,3", None), ("0-4", "3", 3), ("", "1", None)])
def test_the_first_index_that_two_lists_share(left: str, right: str, index: int | None) -> None:
    assert find_overlap(left, right, 10) == index

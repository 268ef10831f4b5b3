"""Division as Go divides, and the normalisation that most scores share."""

import numpy as np
import pytest

from schedlab.scheduler.framework.helpers.normalize import default_normalize_score, divide, divide_each


@pytest.mark.parametrize(
    ("number", "divisor", "quotient"), [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (0, 5, 0), (-1, 2, 0)]
)
def test_division_goes_towards_zero(number: int, divisor: int, quotient: int) -> None:
    assert divide(number, divisor) == quotient
    assert divide_each(np.array([number]), divisor).tolist() == [quotient]


@pytest.mark.parametrize(
    ("scores", "reverse", "expected"),
    [
        ([1, 2, 4], False, [25, 50, 100]),
        ([1, 2, 3], False, [33, 66, 100]),
        ([1, 2, 3], True, [67, 34, 0]),
        ([0, 0], False, [0, 0]),
        ([0, 0], True, [100, 100]),
        ([0, 5], True, [100, 0]),
        ([], False, []),
    ],
)
def test_scores_are_stretched_to_the_range(scores: list[int], *, reverse: bool, expected: list[int]) -> None:
    """The highest becomes 100, or 0 in reverse; without any score above 0 all are alike."""
    array = np.array(scores, np.int64)

    default_normalize_score(100, array, reverse=reverse)

    assert array.tolist() == expected

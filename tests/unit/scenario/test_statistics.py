"""Paired differences have the interval that Student's t gives them."""

from __future__ import annotations

import pytest

from schedlab.scenario.statistics import paired_difference, t_quantile


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [
        (1, 12.7062),
        (4, 2.7764),
        (10, 2.2281),
        (11, 2.2010),
        (19, 2.0930),
        (30, 2.0423),
        (100, 1.9840),
        (10_000, 1.9602),
    ],
)
def test_quantiles_are_those_of_the_tables(freedom: int, expected: float) -> None:
    assert t_quantile(freedom) == pytest.approx(expected, abs=2e-4)


def test_interval_of_paired_differences() -> None:
    """Differences 1, 2, 3, 4, 5: mean 3, deviation 1.5811, t 2.7764, so 3 ± 1.9632."""
    found = paired_difference([10, 10, 10, 10, 10], [11, 12, 13, 14, 15])

    assert found.mean == 3
    assert found.low == pytest.approx(1.0368, abs=1e-3)
    assert found.high == pytest.approx(4.9632, abs=1e-3)
    assert found.is_clear


def test_interval_that_holds_zero_and_one_pair_are_not_clear() -> None:
    assert not paired_difference([1, 2, 3], [2, 1, 3]).is_clear
    alone = paired_difference([1], [2])
    assert (alone.mean, alone.low, alone.is_clear) == (1, None, False)

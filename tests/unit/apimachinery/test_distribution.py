"""Durations come from distributions that are named in annotations, the same ones for the same seed."""

from __future__ import annotations

from statistics import mean, median

import pytest

from schedlab.apimachinery.distribution import NEVER_NS, DistributionError, parse_distribution
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.randomness import SeededRandom


def drawn(text: str, count: int = 2000, seed: int = 5) -> list[float]:
    distribution, random = parse_distribution(text), SeededRandom(seed)
    return [distribution.draw_ns(random) / SECOND_NS for _ in range(count)]


def test_constants_are_what_they_say() -> None:
    assert set(drawn("90s", 5)) == set(drawn("constant(1m30s)", 5)) == {90.0}
    assert parse_distribution("never").draw_ns(SeededRandom(1)) == NEVER_NS


def test_draws_have_the_shape_of_their_distribution() -> None:
    uniform = drawn("uniform(5s, 10s)")
    assert min(uniform) >= 5
    assert max(uniform) <= 10
    assert mean(uniform) == pytest.approx(7.5, rel=0.02)
    assert mean(drawn("exponential(30s)")) == pytest.approx(30, rel=0.06)
    assert median(drawn("exponential(30s)")) == pytest.approx(30 * 0.6931, rel=0.08)
    normal = drawn("normal(30s, 5s)")
    assert mean(normal) == pytest.approx(30, rel=0.02)
    assert sum(25 < each < 35 for each in normal) / len(normal) == pytest.approx(0.683, abs=0.03)
    lognormal = drawn("lognormal(30s, 0.5)")
    assert median(lognormal) == pytest.approx(30, rel=0.06)
    assert mean(lognormal) == pytest.approx(30 * 1.1331, rel=0.08)


def test_same_seed_draws_the_same_nanoseconds() -> None:
    """Stated as numbers: they are the same on every machine."""
    random = SeededRandom(1)
    found = [
        parse_distribution(text).draw_ns(random)
        for text in ("exponential(30s)", "lognormal(30s, 0.5)", "normal(30s, 5s)")
    ]

    assert found == [34_361_123_000, 13_704_303_317, 28_118_254_933]
    assert drawn("exponential(1s)", 3) == drawn("exponential(1s)", 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soon", "'soon' is no duration like 90s or 1h30m"),
        ("-1s", "'-1s' is negative"),
        ("poisson(1s)", "'poisson' is not one of constant, uniform, exponential, normal, lognormal, empirical"),
        ("uniform(1s)", "uniform takes 2 arguments, not 1"),
        ("uniform(2s, 1s)", "'uniform(2s, 1s)' ends before it begins"),
        ("lognormal(1s, x)", "'x' is no number"),
        ("lognormal(1s, 11)", "a deviation of 11 is not between 0 and 10"),
        ("lognormal(1s, nan)", "a deviation of nan is not between 0 and 10"),
        ("lognormal(1s, inf)", "a deviation of inf is not between 0 and 10"),
        ("exponential(x)", "'x' is no duration like 90s or 1h30m"),
    ],
)
def test_text_that_names_no_distribution_is_refused(text: str, message: str) -> None:
    with pytest.raises(DistributionError) as caught:
        parse_distribution(text)

    assert str(caught.value) == message

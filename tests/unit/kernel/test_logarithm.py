"""Logarithms of counts are the nearest doubles, whatever the machine's C library says."""

import math

import pytest

from schedlab.kernel.logarithm import natural_logarithm

# Counts with the bits of the nearest double, summed as atanh series in 300-bit integers.
KNOWN = {
    1: "0x0.0p+0",
    2: "0x1.62e42fefa39efp-1",
    3: "0x1.193ea7aad030bp+0",
    4: "0x1.62e42fefa39efp+0",
    5: "0x1.9c041f7ed8d33p+0",
    10: "0x1.26bb1bbb55516p+1",
    102: "0x1.27ff8df87c7bdp+2",
    5002: "0x1.10901f6dc84b9p+3",
    1_000_000: "0x1.ba18a998fffa0p+3",
}


@pytest.mark.parametrize(("count", "bits"), KNOWN.items())
def test_known_values(count: int, bits: str) -> None:
    """The result is the known double, bit for bit."""
    assert natural_logarithm(count).hex() == bits


def test_never_far_from_the_c_library() -> None:
    """Every C library is within an ulp of the right answer, so more than that would be a mistake of ours."""
    for count in range(2, 6000):
        assert abs(natural_logarithm(count) - math.log(count)) <= math.ulp(math.log(count))


@pytest.mark.parametrize("count", [0, -1])
def test_only_positive_counts_have_one(count: int) -> None:
    """There is no logarithm of nothing."""
    with pytest.raises(ValueError, match=f"positive count, got {count}"):
        natural_logarithm(count)

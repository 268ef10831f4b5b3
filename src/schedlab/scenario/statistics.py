"""Differences between two ways to run the same seeds, with how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Final

#: Quantiles of Student's t at 97.5 %, by degrees of freedom from 1 on.
_T: Final = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)
_Z: Final = 1.959964


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean of paired differences with its 95 % interval (Student's t); None for both ends with fewer than two pairs.

    is_clear: whether zero lies outside of the interval.
    """

    mean: float
    low: float | None
    high: float | None

    @property
    def is_clear(self) -> bool:
        """Whether it is hardly due to chance."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def paired_difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """Return after less before, over pairs of which there must be one."""
    found = [late - early for early, late in zip(before, after, strict=True)]
    count = len(found)
    mean = fsum(found) / count
    if count < 2:
        return Difference(mean, None, None)
    deviation = sqrt(fsum((one - mean) ** 2 for one in found) / (count - 1))
    reach = t_quantile(count - 1) * deviation / sqrt(count)
    return Difference(mean, mean - reach, mean + reach)


def t_quantile(freedom: int) -> float:
    """Return the quantile at 97.5 %; beyond the table by the first terms of its expansion (Cornish and Fisher)."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    first = (_Z**3 + _Z) / (4 * freedom)
    second = (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * freedom**2)
    third = (3 * _Z**7 + 19 * _Z**5 + 17 * _Z**3 - 15 * _Z) / (384 * freedom**3)
    return _Z + first + second + third

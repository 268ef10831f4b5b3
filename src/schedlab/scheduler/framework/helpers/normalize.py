"""Division as Go divides integers, and the normalisation that most scores share.

Mirrors: pkg/scheduler/framework/plugins/helper/normalize_score.go (v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from schedlab.scheduler.framework.explanations import Formula
from schedlab.scheduler.framework.types import MAX_NODE_SCORE

if TYPE_CHECKING:
    from numpy.typing import NDArray


def divide(number: int, divisor: int) -> int:
    """Divide towards zero, as Go does; Python rounds down."""
    quotient = abs(number) // abs(divisor)
    return quotient if (number < 0) == (divisor < 0) else -quotient


def divide_each(numbers: NDArray[np.int64], divisor: int) -> NDArray[np.int64]:
    """Return numbers: int64[F] divided towards zero."""
    quotients: NDArray[np.int64] = np.abs(numbers) // abs(divisor)
    return np.where((numbers < 0) == (divisor < 0), quotients, -quotients)


def default_normalize_score(score_max: int, scores: NDArray[np.int64], *, reverse: bool = False) -> None:
    """Bring scores: int64[F] in place from 0..their maximum to 0..score_max, or with `reverse` to score_max..0."""
    highest = int(scores.max(initial=0))
    if highest == 0:
        if reverse:
            scores[:] = score_max
        return
    scores[:] = divide_each(scores * score_max, highest)
    if reverse:
        np.subtract(score_max, scores, out=scores)


def explain_default_normalize(raw: NDArray[np.int64], at: int, *, reverse: bool = False) -> Formula:
    """Return how `default_normalize_score` turns raw[at] of raw: int64[F], with a maximum of 100, into what it does."""
    highest, score = int(raw.max(initial=0)), int(raw[at])
    inputs = {"raw": score, "highest": highest}
    if highest == 0:
        return Formula(str(MAX_NODE_SCORE if reverse else score), inputs)
    share = f"{MAX_NODE_SCORE} * {score} // {highest}"
    return Formula(f"{MAX_NODE_SCORE} - {share}" if reverse else share, inputs)

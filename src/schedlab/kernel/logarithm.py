"""Natural logarithms of counts, the same to the last bit on every machine.

C libraries differ from each other by an ulp, so a score must not come from `math.log` or numpy. The decimal module works
with integers only and is exact to the digits asked for; 40 of them round to the nearest double.
"""

from __future__ import annotations

from decimal import Context, Decimal
from functools import lru_cache
from typing import Final

_CONTEXT: Final = Context(prec=40)


@lru_cache(maxsize=16384)
def natural_logarithm(count: int) -> float:
    """Return the double nearest to ln(count); count must be positive."""
    if count <= 0:
        raise ValueError(f"natural_logarithm() needs a positive count, got {count}")
    return float(Decimal(count).ln(_CONTEXT))

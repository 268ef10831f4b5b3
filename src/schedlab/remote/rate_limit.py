"""How many requests a second a client allows itself.

Mirrors: staging/src/k8s.io/client-go/util/flowcontrol/throttle.go (v1.36): a bucket of `burst` tokens, filled at `qps`.
"""

from __future__ import annotations

import asyncio


class RateLimit:
    """A token bucket; waiters go in the order in which they came. qps: tokens a second, burst: the most it holds."""

    def __init__(self, qps: float, burst: int) -> None:
        self._interval_s = 1.0 / qps
        self._burst_s = burst / qps
        self._free_at_s = float("-inf")

    async def wait(self) -> None:
        """Take a token, waiting until there is one."""
        delay_s = self.take(asyncio.get_running_loop().time())
        if delay_s > 0:
            await asyncio.sleep(delay_s)

    def take(self, now_s: float) -> float:
        """Take a token at a time of a clock; return after how many seconds it may be used."""
        # When the bucket would be full again if nobody took more: a full bucket owes nothing.
        self._free_at_s = max(self._free_at_s, now_s) + self._interval_s
        return max(0.0, self._free_at_s - now_s - self._burst_s)

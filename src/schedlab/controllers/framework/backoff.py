"""Delays that grow while something keeps failing, and are forgotten when it does not.

Mirrors: staging/src/k8s.io/client-go/util/flowcontrol/backoff.go (v1.36), without jitter. Differs: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from schedlab.kernel.clock import Clock


@dataclass(slots=True)
class _Delay:
    delay_ns: int
    since_ns: int


class Backoff:
    """Delays by key, from a first one doubling up to a longest one."""

    def __init__(self, clock: Clock, first_ns: int, max_ns: int) -> None:
        self._clock = clock
        self._first_ns, self._max_ns = first_ns, max_ns
        self._delays: dict[str, _Delay] = {}

    def remaining_ns(self, key: str) -> int:
        """Return how long the key has to wait yet."""
        known = self._delays.get(key)
        if known is None or self._has_expired(known):
            return 0
        return max(0, known.since_ns + known.delay_ns - self._clock.now_ns())

    def failed(self, key: str) -> None:
        """Let the key wait, longer than the last time."""
        now_ns = self._clock.now_ns()
        known = self._delays.get(key)
        delay_ns = self._first_ns if known is None or self._has_expired(known) else known.delay_ns * 2
        self._delays[key] = _Delay(min(delay_ns, self._max_ns), now_ns)

    def _has_expired(self, known: _Delay) -> bool:
        return self._clock.now_ns() - known.since_ns > 2 * self._max_ns

"""The keys that a controller has to look at: each one once, in the order of their arrival, some of them later.

    add ──► waiting ──take──► being worked on ──done──► (added meanwhile? back to waiting)
    add_after, add_rate_limited ──timer──► add

Mirrors: staging/src/k8s.io/client-go/util/workqueue (v1.36): the queue, delays, the exponential rate limiter.
Differs: no limit over all keys together. After work on many objects a key rests for a while (`rest`), so that changes
gather: upstream's workers are busy for that long.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from schedlab.kernel.clock import MILLISECOND_NS, SECOND_NS, Clock, Timer

RETRY_BASE_NS: Final = 5 * MILLISECOND_NS
RETRY_MAX_NS: Final = 1000 * SECOND_NS
# A doubling count beyond which the delay is at its maximum.
_DOUBLINGS_MAX: Final = 40

_REST_PER_OBJECT_NS: Final = 50_000
_OBJECTS_WITHOUT_REST: Final = 100


class WorkQueue:
    """Keys in order; a key that is worked on is not handed out again until that is done."""

    def __init__(self, clock: Clock, *, retry_base_ns: int = RETRY_BASE_NS, retry_max_ns: int = RETRY_MAX_NS) -> None:
        self._clock = clock
        self._retry_base_ns, self._retry_max_ns = retry_base_ns, retry_max_ns
        self._waiting: dict[str, None] = {}
        self._working: dict[str, None] = {}
        self._again: dict[str, None] = {}
        self._later: dict[str, tuple[int, Timer]] = {}
        self._failures: dict[str, int] = {}
        self._rests: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: str) -> None:
        """Have the key looked at, after what is being done with it now."""
        if key in self._working:
            self._again[key] = None
        else:
            self._waiting.setdefault(key)

    def add_after(self, key: str, delay_ns: int) -> None:
        """Add the key after a delay; of several delays the one that ends first counts."""
        if delay_ns <= 0:
            self.add(key)
            return
        when_ns = self._clock.now_ns() + delay_ns
        known = self._later.get(key)
        if known is not None:
            if known[0] <= when_ns:
                return
            known[1].cancel()
        self._later[key] = when_ns, self._clock.at(when_ns, partial(self._due, key))

    def add_rate_limited(self, key: str) -> None:
        """Add the key after a delay that doubles with each failure."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.add_after(key, min(self._retry_base_ns << min(failures, _DOUBLINGS_MAX), self._retry_max_ns))

    def failures(self, key: str) -> int:
        """How many times the key was added with a rate limit since it was forgotten."""
        return self._failures.get(key, 0)

    def forget(self, key: str) -> None:
        """Start the delays of a key anew."""
        self._failures.pop(key, None)

    def take(self) -> str:
        """Take the key that has waited longest; it counts as worked on until `done`."""
        key = next(iter(self._waiting))
        del self._waiting[key]
        self._working[key] = None
        return key

    def rest(self, key: str, objects: int) -> None:
        """Say that the work on the key went over so many objects: it is not to be repeated at once."""
        if objects > _OBJECTS_WITHOUT_REST:
            self._rests[key] = objects * _REST_PER_OBJECT_NS

    def done(self, key: str) -> None:
        """End the work on a key."""
        rest_ns = self._rests.pop(key, 0)
        if rest_ns:
            self._clock.at(self._clock.now_ns() + rest_ns, partial(self._end, key))
        else:
            self._end(key)

    def _end(self, key: str) -> None:
        del self._working[key]
        if key in self._again:
            del self._again[key]
            self._waiting.setdefault(key)

    def _due(self, key: str) -> None:
        del self._later[key]
        self.add(key)

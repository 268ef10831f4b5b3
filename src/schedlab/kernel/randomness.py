"""Random numbers and generated names as the core sees them, from one seed.

The generator is SplitMix64: a few integer operations, the same stream on every machine and Python version. Its n-th
number follows from the seed and n alone, so whoever draws many gets them from arrays that are worked out at once.
`cluster` seeds it from the operating system for a live cluster.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np

# apimachinery's rand.String alphabet: no vowels, no digits that look like letters.
_NAME_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_NAME_LETTERS: Final = len(_NAME_ALPHABET)
_MASK: Final = (1 << 64) - 1
_STEP: Final = 0x9E3779B97F4A7C15
#: So many numbers are drawn one by one: often they are all. Then so many are drawn together.
_SINGLES: Final = 16
_TOGETHER: Final = 256
_STEPS: Final = np.arange(1, _TOGETHER + 1, dtype=np.uint64) * np.uint64(_STEP)
#: Above it the characters of a name would not be equally likely.
_NAME_LIMIT: Final = (1 << 64) - (1 << 64) % _NAME_LETTERS


class RandomSource(Protocol):
    """What the core may ask of chance."""

    @property
    def state(self) -> int:
        """The seed of a source that goes on as this one does."""

    def below(self, n: int) -> int:
        """Return a uniform integer in [0, n)."""

    def fraction(self) -> float:
        """Return a uniform float in [0, 1)."""

    def uid(self) -> str:
        """Return a version 4 UUID."""

    def suffix(self, length: int = 5) -> str:
        """Return the random end of a generated name."""

    def split(self, label: str) -> RandomSource:
        """Return an independent source for one part, so that parts do not disturb each other's streams."""


class SeededRandom:
    """SplitMix64 behind `RandomSource`."""

    def __init__(self, seed: int) -> None:
        #: The state behind the numbers that are ready.
        self._ahead = seed & _MASK
        #: Numbers that were worked out and not drawn, the next one last.
        self._ready: list[int] = []
        self._singles = _SINGLES

    @property
    def state(self) -> int:
        """The seed of a source that goes on as this one does."""
        return (self._ahead - len(self._ready) * _STEP) & _MASK

    def _next(self) -> int:
        if not self._ready:
            self._work_out()
        return self._ready.pop()

    def _draw(self, count: int) -> list[int]:
        """Draw several numbers."""
        while len(self._ready) < count:
            self._work_out()
        drawn = self._ready[: -count - 1 : -1]
        del self._ready[-count:]
        return drawn

    def _work_out(self) -> None:
        """Put more numbers behind those that are ready."""
        if self._singles:
            self._singles -= 1
            self._ahead = (self._ahead + _STEP) & _MASK
            self._ready.insert(0, _mixed(self._ahead))
        else:
            numbers = _mixed(_STEPS + np.uint64(self._ahead))
            self._ahead = (self._ahead + _TOGETHER * _STEP) & _MASK
            self._ready[:0] = numbers[::-1].tolist()

    def below(self, n: int) -> int:
        """Return a uniform integer in [0, n); n must be positive."""
        if n <= 0:
            raise ValueError(f"below() needs a positive bound, got {n}")
        limit = (1 << 64) - (1 << 64) % n
        while (value := self._next()) >= limit:
            pass
        return value % n

    def fraction(self) -> float:
        """Return a uniform float in [0, 1) with 53 random bits."""
        return (self._next() >> 11) / (1 << 53)

    def uid(self) -> str:
        """Return a version 4 UUID."""
        high, low = self._draw(2)
        start, middle, variant = high >> 32, high >> 16 & 0xFFFF, low >> 48 & 0x3FFF | 0x8000
        parts = start, middle, high & 0xFFF, variant, low & 0xFFFF_FFFF_FFFF
        return "%08x-%04x-4%03x-%04x-%012x" % parts  # noqa: UP031 - an f-string takes twice as long

    def suffix(self, length: int = 5) -> str:
        """Return `length` characters of apimachinery's name alphabet."""
        drawn: list[str] = []
        while left := length - len(drawn):  # `below`, as often as there are objects
            drawn += [_NAME_ALPHABET[value % _NAME_LETTERS] for value in self._draw(left) if value < _NAME_LIMIT]
        return "".join(drawn)

    def split(self, label: str) -> SeededRandom:
        """Return an independent source whose stream depends on this seed and the label only."""
        state = self.state
        for byte in label.encode():
            state = ((state ^ byte) * 0x100000001B3) & _MASK
        return SeededRandom(state)


def _mixed(z: Any) -> Any:
    """Return the number of a state, an int, or those of several, uint64[N]: what is beyond 64 bits is dropped."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)

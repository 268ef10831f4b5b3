"""Random numbers and generated names as the core sees them, from one seed.

The generator is SplitMix64: a few integer operations, the same stream on every machine and Python version.
`cluster` seeds it from the operating system for a live cluster.
"""

from __future__ import annotations

from typing import Final, Protocol

# apimachinery's rand.String alphabet: no vowels, no digits that look like letters.
_NAME_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_MASK: Final = (1 << 64) - 1
#: Above it the characters of a name would not be equally likely.
_NAME_LIMIT: Final = (1 << 64) - (1 << 64) % len(_NAME_ALPHABET)


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
        self._state = seed & _MASK

    @property
    def state(self) -> int:
        """The seed of a source that goes on as this one does."""
        return self._state

    def _next(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

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
        high, low = self._next(), self._next()
        digits = f"{(high & ~0xF000) | 0x4000:016x}{(low & ~(0xC << 60)) | (0x8 << 60):016x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def suffix(self, length: int = 5) -> str:
        """Return `length` characters of apimachinery's name alphabet."""
        drawn = ""
        while len(drawn) < length:  # `below`, as often as there are objects
            value = self._next()
            if value < _NAME_LIMIT:
                drawn += _NAME_ALPHABET[value % len(_NAME_ALPHABET)]
        return drawn

    def split(self, label: str) -> SeededRandom:
        """Return an independent source whose stream depends on this seed and the label only."""
        state = self._state
        for byte in label.encode():
            state = ((state ^ byte) * 0x100000001B3) & _MASK
        return SeededRandom(state)

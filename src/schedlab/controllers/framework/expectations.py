"""What a controller has asked for and not seen yet: while something is outstanding, its cache is behind.

Mirrors: ControllerExpectations and UIDTrackingControllerExpectations of pkg/controller/controller_utils.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from schedlab.kernel.clock import SECOND_NS, Clock

TIMEOUT_NS: Final = 300 * SECOND_NS


class _Expected:
    __slots__ = ("creations", "deletions", "set_ns")

    def __init__(self, creations: int, deletions: Iterable[str], set_ns: int) -> None:
        self.creations = creations
        self.deletions = dict.fromkeys(deletions)
        self.set_ns = set_ns


class Expectations:
    """Creations, as a number, and deletions, by the key of the object, that the owner under a key waits for."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._expected: dict[str, _Expected] = {}

    def expect_creations(self, key: str, count: int) -> None:
        """Wait for so many new objects and nothing else."""
        self._expected[key] = _Expected(count, (), self._clock.now_ns())

    def expect_deletions(self, key: str, objects: Iterable[str]) -> None:
        """Wait for these objects to go and nothing else."""
        self._expected[key] = _Expected(0, objects, self._clock.now_ns())

    def expect(self, key: str, creations: int, deletions: Iterable[str]) -> None:
        """Wait for both."""
        self._expected[key] = _Expected(creations, deletions, self._clock.now_ns())

    def creation_observed(self, key: str, count: int = 1) -> None:
        """A new object was seen, or will never be."""
        if (expected := self._expected.get(key)) is not None:
            expected.creations -= count

    def deletion_observed(self, key: str, obj: str) -> None:
        """An object was seen to go, or will not go."""
        if (expected := self._expected.get(key)) is not None:
            expected.deletions.pop(obj, None)

    def awaits_deletion(self, key: str, obj: str) -> bool:
        """Whether an object is known to go."""
        expected = self._expected.get(key)
        return expected is not None and obj in expected.deletions

    def satisfied(self, key: str) -> bool:
        """Whether nothing is outstanding, or has been for so long that it will not come."""
        expected = self._expected.get(key)
        if expected is None or (expected.creations <= 0 and not expected.deletions):
            return True
        return self._clock.now_ns() - expected.set_ns > TIMEOUT_NS

    def forget(self, key: str) -> None:
        """Wait for nothing."""
        self._expected.pop(key, None)

"""What was done to a scheduler's cache, so that it can be made again as it was at any moment that is still kept.

    operation   0   1   2   3   4   5   6   7   8   9          a copy is taken every `stride` operations;
                ^               ^               ^     ^        operations in between are done again on it
               copy            copy            copy  position

Copies cost next to nothing: they have no columns of plugins and share with the cache the nodes that neither changes.

Differs: nothing upstream does the like; it is what makes `state_at` exact, down to the order of nodes and of the pods on
them, which no list of objects tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from schedlab.scheduler.cache.cache import SchedulerCache

STRIDE: Final = 4096
COPIES_MAX: Final = 32


class PastLostError(LookupError):
    """The moment that was asked for is older than what is kept."""


@dataclass(frozen=True, slots=True)
class _Copy:
    position: int
    revision: int
    cache: SchedulerCache


class CacheJournal:
    """The operations on one cache since the oldest copy, and the copies.

    newest, oldest: the revision that was handled last, and the one from which on the past is kept. No more than
    `copies_max` copies are kept: from then on they lie twice as far apart, and making a moment again takes longer.
    """

    def __init__(
        self,
        newest: Callable[[], int],
        oldest: Callable[[], int],
        *,
        stride: int = STRIDE,
        copies_max: int = COPIES_MAX,
    ) -> None:
        self._newest, self._oldest = newest, oldest
        self._stride, self._copies_max = stride, copies_max
        self._copies: list[_Copy] = []
        # What was done from the position of the oldest copy on.
        self._operations: list[tuple[str, tuple[object, ...]]] = []
        #: When it began: positions that were noted before are those of another journal.
        self.began_ns = 0

    @property
    def position(self) -> int:
        """How many operations there were."""
        return (self._copies[0].position if self._copies else 0) + len(self._operations)

    @property
    def copies(self) -> int:
        """How many copies are kept."""
        return len(self._copies)

    def begin(self, cache: SchedulerCache, now_ns: int) -> None:
        """Take the first copy: of the cache as it is before anything is noted."""
        self.began_ns = now_ns
        self._copies = [_Copy(0, self._newest(), cache.copy(with_columns=False))]
        self._operations = []
        cache.journal = self

    def go_on(self, cache: SchedulerCache, newest: Callable[[], int]) -> None:
        """Go on with another cache, that of a scheduler which has taken over; moments before that stay what they were."""
        self._newest = newest
        # The last moment of the old cache and the first of the new one are two.
        self._operations.append(("refresh", ()))
        self._copies.append(_Copy(self.position, newest(), cache.copy(with_columns=False)))
        cache.journal = self

    def note(self, cache: SchedulerCache, operation: str, *arguments: object) -> None:
        """Take down what was done to the cache."""
        self._operations.append((operation, arguments))
        if self.position - self._copies[-1].position >= self._stride:
            self._copies.append(_Copy(self.position, self._newest(), cache.copy(with_columns=False)))
            self._forget()

    def _forget(self) -> None:
        oldest = self._oldest()
        first = max((at for at, copy in enumerate(self._copies) if copy.revision <= oldest), default=0)
        if first:
            del self._operations[: self._copies[first].position - self._copies[0].position]
            del self._copies[:first]
        if len(self._copies) > self._copies_max:
            del self._copies[1:-1:2]
            self._stride *= 2

    def cache_at(self, position: int) -> SchedulerCache:
        """Return the cache as it was after that many operations; raises PastLostError."""
        start = next((copy for copy in reversed(self._copies) if copy.position <= position), None)
        if start is None or position > self.position:
            raise PastLostError(f"operation {position} is not kept")
        cache = start.cache.copy(with_columns=False)
        first = self._copies[0].position
        for operation, arguments in self._operations[start.position - first : position - first]:
            getattr(cache, operation)(*arguments)
        return cache

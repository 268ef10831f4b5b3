"""What was done to a scheduler's cache, so that it can be made again as it was at any moment that is still kept.

    operation   0   1   2   3   4   5   6   7   8   9          a copy is taken every `stride` operations;
                ^               ^               ^     ^        operations in between are done again on it
               copy            copy            copy  position

Copies cost next to nothing: they have no columns of plugins and share with the cache the nodes that neither changes.

An operation keeps the states of pods alive that it speaks of. Older than the kept revisions, a pod's next state that asks
for the same and is labelled alike is forgotten: amounts and counts stay what they were, but for the order of the pods on a
node and who was only assumed there.

Differs: nothing upstream does the like; it is what makes `state_at` exact, down to the order of nodes and of the pods on
them, which no list of objects tells, and what numbers of earlier attempts are made of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from schedlab.kernel.steps import finish
from schedlab.scheduler.cache.tallies import Tallies

if TYPE_CHECKING:
    from schedlab.kernel.steps import Steps
    from schedlab.scheduler.cache.cache import SchedulerCache
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.past_pods import PastPods
    from schedlab.scheduler.framework.record import CycleRecord
    from schedlab.scheduler.framework.types import PodInfo

STRIDE: Final = 2048
COPIES_MAX: Final = 64
OPERATIONS_MAX: Final = 262_144
#: So many operations are done again in one step.
_STEP: Final = 256

_Operation = tuple[str, tuple[object, ...]]
_REFRESH: Final[_Operation] = ("refresh", ())
#: What is done to a pod, but for its assumption.
_OF_PODS: Final = frozenset({"forget_pod", "add_pod", "remove_pod", "replace_pod"})


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of the cache; one that is dear has been taken because what was done before it is dear to do again."""

    position: int
    revision: int
    cache: SchedulerCache
    is_dear: bool = False


class CacheJournal:
    """The operations on one cache since the oldest copy, and the copies.

    newest, oldest: the revision that was handled last, and the one from which on pods are kept in every state. No more
    than `copies_max` copies are kept: from then on they lie twice as far apart, and making a moment again takes longer;
    those behind what is dear stay, as long as they are few. No more than `operations_max` operations are: then the oldest ones go.
    """

    def __init__(
        self,
        newest: Callable[[], int],
        oldest: Callable[[], int],
        *,
        stride: int = STRIDE,
        copies_max: int = COPIES_MAX,
        operations_max: int = OPERATIONS_MAX,
    ) -> None:
        self._newest, self._oldest = newest, oldest
        self._stride, self._copies_max, self._operations_max = stride, copies_max, operations_max
        self._copies: list[_Copy] = []
        # What was done from the position of the oldest copy on; None was forgotten.
        self._operations: list[_Operation | None] = []
        self._tallies = Tallies()
        #: The cache whose operations are noted.
        self._cache: SchedulerCache | None = None
        #: When it began: positions that were noted before are those of another journal.
        self.began_ns = 0
        #: From this position on pods are known in every state.
        self.whole_since = 0
        #: How many operations there were.
        self.position = 0

    @property
    def oldest(self) -> int:
        """The first position that is kept."""
        return self._copies[0].position if self._copies else 0

    @property
    def copies(self) -> int:
        """How many copies are kept."""
        return len(self._copies)

    def begin(self, cache: SchedulerCache, now_ns: int) -> None:
        """Take the first copy: of the cache as it is before anything is noted."""
        self.began_ns = now_ns
        self._copies = [_Copy(0, self._newest(), cache.copy(with_columns=False))]
        self._operations, self._tallies, self.position = [], Tallies(), 0
        self._cache, cache.journal = cache, self

    def go_on(self, cache: SchedulerCache, newest: Callable[[], int]) -> None:
        """Go on with another cache, that of a scheduler which has taken over; moments before that stay what they were."""
        self._newest = newest
        # The last moment of the old cache and the first of the new one are two.
        for pods, number in ((() if self._cache is None else self._cache.pods(), -1), (cache.pods(), 1)):
            for pod in pods:
                self.count(pod, number)
        self._operations.append(_REFRESH)
        self.position += 1
        self._copies.append(_Copy(self.position, newest(), cache.copy(with_columns=False)))
        self._cache, cache.journal = cache, self

    def count(self, pod: PodInfo, number: int) -> None:
        """Take down that a pod came to its node (1) or left it (-1), by the operation that is noted next."""
        self._tallies.note(self.position, pod, number)

    def pods_at(self, position: int) -> Callable[[NodeTable], PastPods]:
        """Return what tells the pods on the nodes of a table in numbers, as they were after that many operations."""
        self._tallies.know_first(self._copies[0].cache.pods())
        return self._tallies.at(position)

    def note(self, cache: SchedulerCache, operation: str, *arguments: object, dear: bool = False) -> None:
        """Take down what was done to the cache; what is dear to do again need not be, because a copy is taken."""
        self._operations.append((operation, arguments) if arguments else _REFRESH)
        self.position += 1
        if dear or self.position - self._copies[-1].position >= self._stride:
            self._copies.append(_Copy(self.position, self._newest(), cache.copy(with_columns=False), dear))
            self._forget()

    def _forget(self) -> None:
        oldest = self._oldest()
        whole = max((copy.position for copy in self._copies if copy.revision <= oldest), default=0)
        for at in range(max(self.whole_since, self.oldest) - self.oldest, whole - self.oldest):
            operation = self._operations[at]
            if operation is not None and operation[0] == "renew_pod":
                self._operations[at] = None
        self.whole_since = max(self.whole_since, whole)
        while len(self._operations) > self._operations_max and len(self._copies) > 1:
            del self._operations[: self._copies[1].position - self._copies[0].position]
            del self._copies[0]
            self._tallies.begin_at(self.oldest)
        if len(self._copies) > self._copies_max:
            self._copies = _thinned(self._copies)
            self._stride *= 2

    def keeps(self, record: CycleRecord) -> bool:
        """Whether the moment of an attempt can be made again; after a restart operations are counted anew."""
        return record.started_ns >= self.began_ns and self.oldest <= record.position <= self.position

    def cache_at(self, position: int) -> SchedulerCache:
        """Return the cache as it was after that many operations, which must be kept."""
        return finish(self.making(position))

    def making(self, position: int, *, numbers_only: bool = False) -> Steps[SchedulerCache]:
        """Do the same step by step.

        `numbers_only`: amounts and counts are what they were, the order of the pods on a node and who was assumed there
        need not be; that is a third of the work.
        """
        assert self.oldest <= position <= self.position, f"operation {position} is not kept"
        start = next(copy for copy in reversed(self._copies) if copy.position <= position)
        cache = start.cache.copy(with_columns=False)
        operations = self._operations[start.position - self.oldest : position - self.oldest]
        if numbers_only:
            _skip_states_between(operations)
        for done, operation in enumerate(operations, 1):
            if operation is not None:
                getattr(cache, operation[0])(*operation[1])
            if done % _STEP == 0:
                yield
        return cache


def _thinned(copies: list[_Copy]) -> list[_Copy]:
    """Return copies without every second one, but for the first, the last, and those that are dear if these are few."""
    kept_anyway = sum(copy.is_dear for copy in copies) <= len(copies) // 4
    return [
        copy for at, copy in enumerate(copies) if at % 2 == 0 or at == len(copies) - 1 or (kept_anyway and copy.is_dear)
    ]


def _skip_states_between(operations: list[_Operation | None]) -> None:
    """Forget what numbers do not depend on: renewals, and that a pod was assumed on the node where it was then bound."""
    assumed: dict[str, tuple[int, str]] = {}
    for at, operation in enumerate(operations):
        if operation is None:
            continue
        name, arguments = operation
        if name == "renew_pod":
            operations[at] = None
        elif name == "assume_pod":
            pod, node = cast("tuple[PodInfo, str]", arguments)
            assumed[pod.uid] = at, node
        elif name in _OF_PODS:
            (pod,) = cast("tuple[PodInfo]", arguments)
            before, node = assumed.pop(pod.uid, (-1, ""))
            if name == "replace_pod" and before >= 0 and node == pod.pod.spec.node_name:
                operations[before], operations[at] = None, ("add_pod", arguments)

"""The decision log: every attempt of every pod, also of failed and deleted pods, off the objects.

It is the scheduler's observer. Attempts are kept by pod uid in the order they happened; the pods that nothing has been
heard of for the longest time leave memory when a limit of size or age is reached. With an archive (`archive`) they can still be had from there; without one they
are forgotten, and that is counted, never silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from schedlab.apimachinery.time import format_micro_time
from schedlab.decisions.packing import Kept, Packer, Restored
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, QueueMove

if TYPE_CHECKING:
    from schedlab.decisions.archive import Archive, Entry
    from schedlab.scheduler.framework.record import ExtenderCall
    from schedlab.scheduler.framework.status import Status
    from schedlab.scheduler.framework.types import PodInfo

DEFAULT_BYTES_MAX: Final = 512 * 1024 * 1024
# What one attempt costs beside its compressed arrays: statuses, the Python objects that hold them, its moves in the queue.
_ATTEMPT_OVERHEAD_BYTES: Final = 1024
# What a pod costs beside its attempts: its names.
_STORY_OVERHEAD_BYTES: Final = 256
_ENDING_OF: Final = attrgetter(
    "pre_bind", "bind", "extender_calls", "error", "failure_reason", "unschedulable_plugins", "custom"
)
#: So many moves of one pod are kept.
MOVES_MAX: Final = 64


class Ending(NamedTuple):
    """A binding cycle without what it has from its attempt, and when it ended: see BindingRecord."""

    pre_bind: dict[str, Status | None]
    bind: dict[str, Status | None]
    extender_calls: list[ExtenderCall]
    error: str
    failure_reason: str
    unschedulable_plugins: tuple[str, ...]
    custom: dict[str, str]

    @classmethod
    def of(cls, record: object) -> Ending:
        """Return how a binding cycle ended, of a record with these fields among others."""
        return cls(*_ENDING_OF(record))


# Nothing in it leads back to it, so the garbage collector need not look at it: every pod has some.
class Attempt(msgspec.Struct, gc=False):
    """One scheduling cycle, kept at a place among others, and, once it ended, its binding cycle."""

    kept: Kept
    place: int
    pod: PodInfo
    #: Numbers all attempts of the log in the order of their ends, from 1.
    sequence: int = 0
    #: Which of several schedulers has made it, as its recorder calls it; "" is the cluster's own.
    by: str = ""
    #: Versions of the pod from this revision on show the attempt; 0 while it is not complete.
    complete_since: int = 0
    #: How and when its binding cycle ended; what the cycles of several attempts have in common is one.
    ending: Ending | None = None
    finished_ns: int = 0

    @property
    def head(self) -> CycleRecord:
        """The record of the scheduling cycle, not to be changed; its arrays must not be asked for."""
        return self._with_pod(self.kept.head(self.place))

    @property
    def number(self) -> int:
        """The attempt's number, from 1."""
        return int(self.kept.value(self.place, "attempt"))

    @property
    def revision(self) -> int:
        """What the listers had been told when it began."""
        return int(self.kept.value(self.place, "revision"))

    @property
    def started_ns(self) -> int:
        """When it began."""
        return int(self.kept.value(self.place, "started_ns"))

    @property
    def is_restored(self) -> bool:
        """Whether it comes from the archive, which does not keep the pod itself."""
        return isinstance(self.kept, Restored)

    @property
    def is_own(self) -> bool:
        """Whether its revision is one of this cluster: it has not come with the log of another one."""
        return int(self.kept.value(self.place, "position")) >= 0

    @property
    def binding(self) -> BindingRecord | None:
        """The binding cycle, None while it has not ended."""
        if self.ending is None:
            return None
        head = self.head
        return BindingRecord(head.pod, head.attempt, head.selected, self.finished_ns, *self.ending)

    def cycle(self) -> CycleRecord:
        """Return the whole record of the scheduling cycle."""
        return self._with_pod(self.kept.cycle(self.place))

    def outline(self) -> CycleRecord:
        """Return the record without the scores that follow from the raw ones, which takes a fifth of the time."""
        return self._with_pod(self.kept.cycle(self.place, is_outline=True))

    def _with_pod(self, record: CycleRecord) -> CycleRecord:
        record.pod = self.pod
        return record


# Nothing in it leads back to it, so the garbage collector need not look at it: every pod has some.
class Move(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A pod's move in the queue: a QueueMove without the pod, which is the story's."""

    at_ns: int
    place: str
    reason: str
    hints: tuple[tuple[str, str, str, str], ...]
    gate: tuple[str, str] | None


class Preempted(NamedTuple):
    """For which pod's attempt another one had to go, where, and when that was decided."""

    by: str
    attempt: int
    node: str
    at_ns: int


# Nor does anything in this: every pod has one.
class PodStory(msgspec.Struct, gc=False):
    """Everything the log knows of one pod."""

    uid: str
    namespace: str
    name: str
    attempts: list[Attempt] = []
    #: Its moves in the queue, oldest first; the older half is dropped when there are too many.
    moves: tuple[Move, ...] = ()
    size_bytes: int = 0

    def complete_at(self, revision: int) -> Sequence[Attempt]:
        """Return the attempts that were complete before a revision was written."""
        return [attempt for attempt in self.attempts if 0 < attempt.complete_since <= revision]

    def until(self, revision: int | None) -> Sequence[Attempt]:
        """Return the attempts that had begun at a revision; None is now."""
        if revision is None:
            return self.attempts
        return [attempt for attempt in self.attempts if attempt.revision <= revision]

    @property
    def complete_since(self) -> int:
        """The first revision that shows all attempts that are complete."""
        newest = 0
        for attempt in self.attempts:  # most have one, and a generator takes longer
            newest = max(newest, attempt.complete_since)
        return newest


class Recorder:
    """The observer of one of several schedulers whose decisions are in one log: attempts carry its name."""

    def __init__(self, log: DecisionLog, by: str) -> None:
        self._log, self._by = log, by

    def cycle(self, record: CycleRecord) -> None:
        """Take a finished scheduling cycle (Observer)."""
        self._log.take(record, self._by)

    def binding(self, record: BindingRecord) -> None:
        """Take a finished binding cycle (Observer)."""
        self._log.binding(record, self._by)

    def queue_move(self, move: QueueMove) -> None:
        """Take a pod's move in the queue (Observer)."""
        self._log.queue_move(move)


class DecisionLog:
    """Observer of one or more schedulers, and the place to ask.

    `on_change(uid)` is called when an attempt of the pod is complete: after a failed cycle, or when its binding ended.
    `newest_revision()` says how far the API server has got.
    """

    def __init__(
        self,
        bytes_max: int = DEFAULT_BYTES_MAX,
        newest_revision: Callable[[], int] = lambda: 0,
        *,
        age_max_ns: int = 0,
        archive: Archive | None = None,
    ) -> None:
        """`age_max_ns` 0: however old."""
        self.bytes_max, self.age_max_ns = bytes_max, age_max_ns
        self.archive = archive
        self._next_sequence = 1 if archive is None else archive.next_sequence()
        self._in_order: dict[int, Attempt] = {}
        self._newest_revision = newest_revision
        self.size_bytes = 0
        self.forgotten_pods = 0
        self._stories: dict[str, PodStory] = {}
        # By namespace and name.
        self._latest_uid: dict[str, dict[str, str]] = {}
        self._preempted: dict[str, Preempted] = {}
        self._node_names: tuple[str, ...] = ()
        self._last_names: Sequence[str] = ()
        self._last_ending: Ending | None = None
        self._last_move: Move | None = None
        self._packer = Packer()
        self._listeners: list[Callable[[str], None]] = []

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Call `listener(uid)` whenever an attempt is complete."""
        self._listeners.append(listener)

    def recorder(self, by: str) -> Recorder:
        """Return the observer of one more scheduler, which is called `by`."""
        return Recorder(self, by)

    def cycle(self, record: CycleRecord) -> None:
        """Take a finished scheduling cycle (Observer)."""
        self.take(record, "")

    def take(self, record: CycleRecord, by: str) -> None:
        """Take a finished scheduling cycle of one of the schedulers."""
        self._share_node_names(record)
        story = self._story(record.pod)
        pod, started_ns, victims = record.pod, record.started_ns, record.victims
        is_scheduled = record.result == "scheduled"
        kept, place = self._packer.pack(record)
        attempt = Attempt(kept, place, pod, self._next_sequence, by)
        if story.attempts:
            story.attempts.append(attempt)
        else:
            # Mostly it stays alone, and a list that is made with it has no room for others.
            story.attempts = [attempt]
        self._in_order[attempt.sequence] = attempt
        self._next_sequence += 1
        if self.archive is not None:
            self.archive.keep(story, attempt)
        size = self._packer.expected_bytes + _ATTEMPT_OVERHEAD_BYTES + len(record.failure_message)
        story.size_bytes += size
        self.size_bytes += size
        self._forget_oldest(story.uid, started_ns)
        if not is_scheduled:
            self._complete(story.uid, attempt)
        if victims:
            self._preempted |= dict.fromkeys(victims, _preempted(story, attempt))

    def binding(self, record: BindingRecord, by: str = "") -> None:
        """Take a finished binding cycle (Observer)."""
        story = self._stories.get(record.pod.uid)
        if story is None:
            return
        for attempt in reversed(story.attempts):
            if attempt.number == record.attempt and attempt.by == by:
                attempt.ending, attempt.finished_ns = self._ending(record), record.finished_ns
                self._complete(story.uid, attempt)
                return

    def _ending(self, record: BindingRecord) -> Ending:
        """Return how a binding cycle ended; what is equal to the last one is that."""
        if self._last_ending is None or _ENDING_OF(record) != self._last_ending:
            self._last_ending = Ending.of(record)
        return self._last_ending

    def queue_move(self, move: QueueMove) -> None:
        """Take a pod's move in the queue (Observer)."""
        story = self._story(move.pod)
        made = Move(move.at_ns, move.place, move.reason, move.hints, move.gate)
        if made == self._last_move:
            made = self._last_move
        self._last_move = made
        dropped = MOVES_MAX // 2 if len(story.moves) >= MOVES_MAX else 0
        moves = story.moves = (*story.moves[dropped:], made)
        if self.archive is not None:
            self.archive.keep_move(story, made)
            if dropped:
                self.archive.drop_moves(story.uid, len(moves))

    def take_over(self, stories: Iterable[PodStory]) -> None:
        """Add what another log has kept of pods, but for those that are known here.

        Versions of the pods from now on show the attempts; how the cluster was then is not known here.
        """
        new = {story.uid: story for story in stories if self.story(story.uid) is None}
        entries = [(story, attempt) for story in new.values() for attempt in story.attempts]
        for story, attempt in sorted(entries, key=lambda entry: entry[1].sequence):
            attempt.kept.disown(attempt.place)
            attempt.sequence, self._next_sequence = self._next_sequence, self._next_sequence + 1
            self._stories[story.uid] = story
            self._latest_uid.setdefault(story.namespace, {})[story.name] = story.uid
            self._in_order[attempt.sequence] = attempt
            self._preempted |= dict.fromkeys(attempt.head.victims, _preempted(story, attempt))
            if self.archive is not None:
                self.archive.keep(story, attempt)
            if attempt.complete_since:
                self._complete(story.uid, attempt)
        for uid, story in new.items():
            story.size_bytes = _STORY_OVERHEAD_BYTES
            story.size_bytes += len(story.attempts) * (self._packer.expected_bytes + _ATTEMPT_OVERHEAD_BYTES)
            self.size_bytes += story.size_bytes
            if self.archive is not None:
                for move in story.moves:
                    self.archive.keep_move(story, move)
            self._forget_oldest(uid, 0)

    def story(self, uid: str) -> PodStory | None:
        """Return what is known of the pod with that uid."""
        story = self._stories.get(uid)
        return self.archive.story(uid) if story is None and self.archive is not None else story

    def find(self, namespace: str, name: str) -> PodStory | None:
        """Return what is known of the newest pod of that name."""
        uid = self._latest_uid.get(namespace, {}).get(name)
        if uid is None and self.archive is not None:
            uid = self.archive.latest_uid(namespace, name)
        return None if uid is None else self.story(uid)

    def preempted_by(self, namespace: str, name: str) -> Preempted | None:
        """Return who made a pod of that name go last, if anybody did."""
        key = f"{namespace}/{name}"
        found = self._preempted.get(key)
        if found is None and self.archive is not None:
            kept = self.archive.preemptor(key)
            return None if kept is None else _preempted(kept[1], kept[2])
        return found

    def stories(self) -> Sequence[PodStory]:
        """Return what memory holds of every pod; those come last that something was heard of last."""
        return tuple(self._stories.values())

    def every_story(self) -> Iterator[PodStory]:
        """Yield what is known of every pod, archived ones first; of these the moves alone."""
        if self.archive is not None:
            yield from (story for story in self.archive.stories() if story.uid not in self._stories)
        yield from self.stories()

    def newest_first(self, before: int | None = None) -> Iterator[Entry]:
        """Yield (sequence number, story, attempt) of all attempts, or those with lower numbers; archived ones, too."""
        oldest = self._oldest_sequence()
        sequence = upper = min(before or self._next_sequence, self._next_sequence)
        while sequence > oldest:
            sequence -= 1
            found = self._in_order.get(sequence)
            if found is not None:
                if self.archive is not None and upper > sequence + 1:
                    yield from self.archive.newest_first(upper, sequence)
                upper = sequence
                yield sequence, self._named(found), found
        if self.archive is not None:
            yield from self.archive.newest_first(upper)

    def begun_at(self, revision: int) -> int:
        """Return the number behind that of the last attempt in memory that had begun at a revision of this cluster.

        Attempts end in the order in which they begin, but for those of several schedulers, which differ by a moment.
        """
        low, high = self._oldest_sequence(), self._next_sequence
        while low < high:
            middle = (low + high) // 2
            probe = middle
            while probe >= low and not self._is_own(probe):
                probe -= 1
            if probe >= low and self._in_order[probe].revision > revision:
                high = probe
            else:
                low = middle + 1
        return low

    def _is_own(self, sequence: int) -> bool:
        found = self._in_order.get(sequence)
        return found is not None and found.is_own

    def from_number(self, sequence: int) -> Iterator[Entry]:
        """Yield the attempts in memory from a number on, oldest first."""
        for number in range(sequence, self._next_sequence):
            found = self._in_order.get(number)
            if found is not None:
                yield number, self._named(found), found

    def oldest_first(self) -> Iterator[Entry]:
        """Yield the same from the first attempt on."""
        last = 0
        for sequence, attempt in tuple(self._in_order.items()):
            if self.archive is not None and sequence > last + 1:
                yield from self.archive.oldest_first(sequence, last)
            last = sequence
            yield sequence, self._named(attempt), attempt
        if self.archive is not None:
            yield from self.archive.oldest_first(self._next_sequence, last)

    def _named(self, attempt: Attempt) -> PodStory:
        """Return the story of an attempt in memory; nothing but the pod's name where it was forgotten in this moment."""
        pod = attempt.pod
        story = self._stories.get(pod.uid)
        return PodStory(pod.uid, pod.namespace, pod.name) if story is None else story

    def _oldest_sequence(self) -> int:
        return next(iter(self._in_order), self._next_sequence)

    def status(self) -> dict[str, Any]:
        """Tell what is held, how much may be, and what was forgotten."""
        first = next(iter(self._in_order.values()), None)
        out = {
            "attempts": len(self._in_order),
            "pods": sum(bool(story.attempts) for story in self._stories.values()),
            "bytes": self.size_bytes,
            "bytesMax": self.bytes_max,
            "ageMaxSeconds": self.age_max_ns // SECOND_NS,
            "forgottenPods": self.forgotten_pods,
            "oldest": "" if first is None else format_micro_time(first.started_ns),
        }
        return out if self.archive is None else {**out, "archive": self.archive.status()}

    def __len__(self) -> int:
        return len(self._stories)

    def _story(self, pod: PodInfo) -> PodStory:
        """Return the story of a pod that something is heard of, which makes it the last to be forgotten."""
        story = self._stories.pop(pod.uid, None)
        if story is None:
            return self._begin(pod)
        self._stories[pod.uid] = story
        return story

    def _begin(self, pod: PodInfo) -> PodStory:
        story = PodStory(pod.uid, pod.namespace, pod.name, size_bytes=_STORY_OVERHEAD_BYTES)
        earlier = None if self.archive is None else self.archive.story(pod.uid)
        if earlier is not None:
            story.attempts, story.moves = earlier.attempts, earlier.moves
        self._stories[pod.uid] = story
        self._latest_uid.setdefault(pod.namespace, {})[pod.name] = pod.uid
        self.size_bytes += _STORY_OVERHEAD_BYTES
        self._forget_oldest(pod.uid, 0)
        return story

    def _share_node_names(self, record: CycleRecord) -> None:
        """Keep one list of node names for all attempts made on the same nodes."""
        if record.node_names is not self._last_names:
            names = tuple(record.node_names)
            if names != self._node_names:
                self._node_names = names
            self._last_names = record.node_names
        record.node_names = self._node_names

    def _forget_oldest(self, keep_uid: str, now_ns: int) -> None:
        """Let the oldest pods leave memory, but for one, while there is too much or it is too old."""
        while len(self._stories) > 1 and (self.size_bytes > self.bytes_max or self.age_max_ns):
            uid, story = next(iter(self._stories.items()))
            if uid == keep_uid or not (self.size_bytes > self.bytes_max or self._is_too_old(story, now_ns)):
                return
            del self._stories[uid]
            self.size_bytes -= story.size_bytes
            for attempt in story.attempts:
                self._in_order.pop(attempt.sequence, None)
            self.forgotten_pods += self.archive is None
            names = self._latest_uid.get(story.namespace, {})
            if names.get(story.name) == uid:
                del names[story.name]
                if not names:
                    del self._latest_uid[story.namespace]

    def _is_too_old(self, story: PodStory, now_ns: int) -> bool:
        if not self.age_max_ns:
            return False
        heard_of = [attempt.started_ns for attempt in story.attempts[-1:]]
        heard_of += [move.at_ns for move in story.moves[-1:]]
        return max(heard_of, default=now_ns) < now_ns - self.age_max_ns

    def _complete(self, uid: str, attempt: Attempt) -> None:
        attempt.complete_since = self._newest_revision() + 1
        if self.archive is not None:
            self.archive.keep_end(attempt)
        for listener in self._listeners:
            listener(uid)


def _preempted(story: PodStory, attempt: Attempt) -> Preempted:
    head = attempt.head
    node = next((node for _, node, _ in head.post_filter.values() if node), "")
    return Preempted(f"{story.namespace}/{story.name}", head.attempt, node or "", head.started_ns)

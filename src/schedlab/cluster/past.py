"""The past of a cluster, so far as its history is kept: which revisions, when they were, what was otherwise.

Objects of a revision are shared with the cluster until either side changes one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from schedlab.kernel.errors import SchedlabError
from schedlab.store import FIRST_REVISION
from schedlab.store.errors import Compacted

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.kernel.clock import Clock
    from schedlab.kernel.steps import Steps
    from schedlab.store import Store

#: By resource and key how objects are elsewhere in time; None where there is none.
Difference: TypeAlias = "Mapping[str, Mapping[str, StoredObject | None]]"

KEEP_MORE: Final = "keep more of it: start with a higher --history (ClusterSettings.history)"
#: Revisions closer to each other than this are of one time.
_STAMP_NS: Final = 100_000_000
_TRIM_EVERY: Final = 4096
#: So many changes are looked at in one step.
_STEP: Final = 2048


def fork_store(store: Store, revision: int | None = None) -> Store:
    """Return an independent store; raises SchedlabError for a revision that is not kept or has not happened."""
    if revision is not None and revision > store.durable_revision:
        raise not_yet(revision, store.durable_revision)
    try:
        return store.fork(revision)
    except Compacted as error:
        raise past_lost(revision or store.durable_revision) from error


def not_yet(revision: int, newest: int) -> SchedlabError:
    """Return the error for a moment that is still to come."""
    return SchedlabError(
        f"revision {revision} has not happened yet; the newest one is {newest}", hint="name a revision of the past"
    )


def past_lost(revision: int) -> SchedlabError:
    """Return the error for a moment that can no longer be made again."""
    return SchedlabError(f"the past of revision {revision} is no longer kept", hint=KEEP_MORE)


class Past:
    """What is kept of the past of a cluster: revisions `oldest` to `newest`; none are when `history` is 0.

    `note` has to hear of new revisions; it keeps the time of every tenth of a second in which there were some.
    """

    def __init__(self, store: Store, clock: Clock, history: int) -> None:
        self._store, self._clock, self.history = store, clock, history
        # What a store has brought along is of times that are not known.
        began = FIRST_REVISION if store.oldest_revision() == FIRST_REVISION else store.revision
        self._revisions, self._times = [began], [clock.now_ns()]

    @property
    def newest(self) -> int:
        """The newest revision that nothing can take back."""
        return self._store.durable_revision

    @property
    def oldest(self) -> int:
        """The oldest revision of which the past can be rebuilt."""
        return self._store.oldest_revision() if self.history else self.newest

    @property
    def is_whole(self) -> bool:
        """Whether nothing has been forgotten."""
        return self.oldest == FIRST_REVISION

    def note(self, revision: int) -> None:
        """Take note of a revision that has just come about."""
        if revision <= self._revisions[-1] or (now_ns := self._clock.now_ns()) < self._times[-1] + _STAMP_NS:
            return
        self._revisions.append(revision)
        self._times.append(now_ns)
        if len(self._revisions) > _TRIM_EVERY and self._revisions[1] < self.oldest:
            first = bisect_right(self._revisions, self.oldest) - 1
            del self._revisions[:first], self._times[:first]

    def time_of(self, revision: int) -> int | None:
        """Return when a revision came about, to a tenth of a second, in nanoseconds; None when that is not known."""
        place = bisect_right(self._revisions, revision) - 1
        return self._times[place] if place >= 0 else None

    def revision_at(self, time_ns: int) -> int:
        """Return the newest revision of a time."""
        place = bisect_right(self._times, time_ns)
        return self.newest if place == len(self._times) else self._revisions[place] - 1

    def require(self, revision: int) -> None:
        """Raise SchedlabError for a revision that is not kept or has not happened."""
        if revision > self.newest:
            raise not_yet(revision, self.newest)
        if revision < self.oldest:
            raise past_lost(revision)

    def objects(self, revision: int, resource: str) -> Sequence[StoredObject]:
        """Return the objects of a resource as they were, in key order; raises SchedlabError when that is not kept."""
        self.require(revision)
        return self._store.page(resource, revision=revision, from_history=True).items

    def difference(self, before: int, after: int, resources: Sequence[str]) -> Steps[Difference]:
        """Return, step by step, what objects are at one revision that were otherwise, or not there, at another.

        Either may be the older one; raises SchedlabError when one is not kept.
        """
        self.require(before)
        self.require(after)
        found: dict[str, dict[str, StoredObject | None]] = {resource: {} for resource in resources}
        for place, event in enumerate(self._store.changes(min(before, after), max(before, after)), 1):
            changed = found.get(event.object.resource)
            if changed is not None:
                key = event.object.key
                if before < after:
                    changed[key] = None if event.type == "DELETED" else event.object
                else:
                    changed.setdefault(key, event.previous)
            if place % _STEP == 0:
                yield
        return found

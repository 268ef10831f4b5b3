"""What the scheduler saw at an attempt, so far as numbers are made of it: nodes and the pods on them.

A Moment is the profile's plugins over the nodes as they were when the attempt began, or, where that is no longer known
(after a restart, with another configuration, or too long ago), as they are now. Volumes, claims and devices are always
those of now.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from schedlab.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from schedlab.decisions.log import Attempt
    from schedlab.kernel.steps import Steps
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.record import CycleRecord
    from schedlab.scheduler.runtime.framework import Framework
    from schedlab.scheduler.scheduler import Scheduler

_KEPT_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class Moment:
    """A profile's plugins over `table`; `exact` when nodes are as the attempt saw them, not as they are now."""

    table: NodeTable
    framework: Framework
    exact: bool

    def plugin(self, name: str) -> Any | None:
        """Return a plugin of the profile."""
        return self.framework.plugin(name)


class Moments(Protocol):
    """Gives the moment of an attempt; None when its scheduler is not here."""

    def of(self, attempt: Attempt, cycle: CycleRecord) -> Steps[Moment | None]:
        """Return what the scheduler saw."""


class NoMoments:
    """Where no scheduler is: nothing but the record is known of an attempt."""

    def of(self, attempt: Attempt, cycle: CycleRecord) -> Steps[Moment | None]:  # noqa: ARG002 - see Moments
        """See Moments."""
        yield from ()
        return None


class JournalMoments:
    """Moments of one scheduler, from the journal of its cache, begun now unless it has one; the last few are kept."""

    def __init__(self, scheduler: Scheduler) -> None:
        if scheduler.journal is None:
            scheduler.keep_past()
        assert scheduler.journal is not None
        self._scheduler, self._journal = scheduler, scheduler.journal
        self._kept: OrderedDict[int, tuple[NodeTable, Mapping[str, Framework]]] = OrderedDict()

    def of(self, attempt: Attempt, cycle: CycleRecord) -> Steps[Moment | None]:
        """See Moments."""
        if cycle.profile not in self._scheduler.profiles or (attempt.is_restored and not self._give_pod(cycle)):
            return None
        exact = cycle.configuration == self._scheduler.configuration_digest and self._journal.keeps(cycle)
        table, profiles = yield from self._at(cycle.position if exact else self._journal.position)
        return Moment(table, profiles[cycle.profile], exact)

    def _give_pod(self, cycle: CycleRecord) -> bool:
        """Give a record that lost its pod the one that is there now, unbound; False when it is gone."""
        stored = self._scheduler.pods.stored(cycle.pod.name, cycle.pod.namespace)
        if stored is None or stored.uid != cycle.pod.uid:
            return False
        cycle.pod = PodInfo(stored.view, stored).on_node("")
        return True

    def _at(self, position: int) -> Steps[tuple[NodeTable, Mapping[str, Framework]]]:
        found = self._kept.get(position)
        if found is None:
            pods = self._journal.pods_at(position)
            cache = yield from self._journal.making(position, numbers_only=True)
            yield
            cache.refresh()
            yield
            cache.table.take_labels(self._scheduler.cache.table)
            cache.table.past = pods(cache.table)
            found = self._kept[position] = cache.table, self._scheduler.profiles_over(cache.table)
            if len(self._kept) > _KEPT_MAX:
                self._kept.popitem(last=False)
        self._kept.move_to_end(position)
        return found

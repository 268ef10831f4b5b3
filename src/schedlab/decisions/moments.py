"""What the scheduler saw at an attempt, so far as numbers are made of it: nodes and the pods on them.

A Moment is the profile's plugins over a node table as it was when the attempt began, or, where that is no longer known
(after a restart, or too long ago), as it is now. Volumes, claims and devices are always those of now.

Most plugins look at one node at a time: for them single nodes are made again, which costs the same however long ago it
was. Only for those that count pods all over the cluster the whole table is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from schedlab.scheduler.framework.status import Code, code_of
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.plugins.registry import IN_TREE
from schedlab.scheduler.runtime.hooks import HookedPlugin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schedlab.decisions.journal import TableJournal
    from schedlab.decisions.log import Attempt
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.record import CycleRecord
    from schedlab.scheduler.framework.types import NodeInfo
    from schedlab.scheduler.runtime.framework import Framework
    from schedlab.scheduler.scheduler import Scheduler

_KEPT_MAX: Final = 4
#: Plugins that look beyond the node they are asked about.
_LOOK_AROUND: Final = ("PodTopologySpread", "InterPodAffinity", "VolumeRestrictions")


@dataclass(frozen=True, slots=True)
class Moment:
    """A profile's plugins over `table`; `exact` when nodes are as the attempt saw them, not as they are now.

    `node` gives a node by name as it was; plugins may have to be asked about it with what they find in `table`.
    """

    table: NodeTable
    framework: Framework
    node: Callable[[str], NodeInfo]
    exact: bool

    def plugin(self, name: str) -> Any | None:
        """Return a plugin of the profile."""
        return self.framework.plugin(name)


class Moments(Protocol):
    """Gives the moment of an attempt; None when its scheduler is not here."""

    def of(self, attempt: Attempt, cycle: CycleRecord) -> Moment | None:
        """Return what the scheduler saw."""


class NoMoments:
    """Where no scheduler is: nothing but the record is known of an attempt."""

    def of(self, attempt: Attempt, cycle: CycleRecord) -> Moment | None:  # noqa: ARG002 - see Moments
        """See Moments."""
        return None


class JournalMoments:
    """Moments of one scheduler, from the journal of its node table; the last few whole tables are kept."""

    def __init__(self, scheduler: Scheduler, journal: TableJournal) -> None:
        self._scheduler = scheduler
        self._journal = journal
        self._kept: OrderedDict[int, tuple[NodeTable, Mapping[str, Framework]]] = OrderedDict()

    def of(self, attempt: Attempt, cycle: CycleRecord) -> Moment | None:
        """See Moments."""
        framework = self._scheduler.profiles.get(cycle.profile)
        if framework is None or (attempt.is_restored and not self._give_pod(cycle)):
            return None
        journal = self._journal
        exact = journal.oldest <= attempt.moment <= journal.now
        moment = attempt.moment if exact else journal.now
        if journal.nodes_are_those_of(moment) and not _looks_around(framework, cycle):
            table = self._scheduler.cache.table
            return Moment(table, framework, lambda name: journal.node_at(name, moment), exact)
        table, profiles = self._table_at(moment)
        return Moment(table, profiles[cycle.profile], lambda name: table.infos[table.row_of[name]], exact)

    def _give_pod(self, cycle: CycleRecord) -> bool:
        """Give a record that lost its pod the one that is there now, unbound; False when it is gone."""
        stored = self._scheduler.pods.stored(cycle.pod.name, cycle.pod.namespace)
        if stored is None or stored.uid != cycle.pod.uid:
            return False
        cycle.pod = PodInfo(stored.view, stored).on_node("")
        return True

    def _table_at(self, moment: int) -> tuple[NodeTable, Mapping[str, Framework]]:
        found = self._kept.get(moment)
        if found is None:
            table = self._journal.table_at(moment)
            assert table is not None, f"moment {moment} was there a moment ago"
            found = self._kept[moment] = table, self._scheduler.profiles_over(table)
            if len(self._kept) > _KEPT_MAX:
                self._kept.popitem(last=False)
        self._kept.move_to_end(moment)
        return found


def _looks_around(framework: Framework, cycle: CycleRecord) -> bool:
    """Whether a plugin that was concerned by the pod looks beyond single nodes, or may do so, or has hooks."""
    concerned = [name for name, status in (*cycle.pre_filter.items(), *cycle.pre_score.items()) if _took_part(status)]
    if any(name in _LOOK_AROUND for name in concerned):
        return True
    asked = (*(cycle.filter.plugins if cycle.filter else ()), *(cycle.score.plugins if cycle.score else ()))
    plugins = [framework.plugin(name) for name in (*concerned, *asked)]
    return any(isinstance(plugin, HookedPlugin) or _is_foreign(plugin) for plugin in plugins)


def _took_part(status: Any) -> bool:
    return code_of(status) != Code.SKIP


def _is_foreign(plugin: Any) -> bool:
    explains = hasattr(plugin, "explain_filter") or hasattr(plugin, "explain_score")
    return plugin is not None and plugin.name not in IN_TREE and explains

"""Dry runs: which pods would have to go so that the pod fits on a node, without touching anything.

On a copy of the node all pods of lower priority are removed. If the pod fits then, as many as possible are put back,
the more important first, and of all those that would break a disruption budget first. Who does not fit again is a victim.

Mirrors: DryRunPreemption of pkg/scheduler/framework/preemption/preemption.go and SelectVictimsOnNode of
pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (v1.36).
Differs: nodes are tried in one fixed order; where only sums matter, many at once (`dry_run_nodes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from schedlab.scheduler.framework.interface import Victims
from schedlab.scheduler.framework.preemption.importance import most_important_first
from schedlab.scheduler.framework.status import Code, Status, error, is_success, unresolvable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.preemption.budgets import Budgets
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

NO_VICTIMS: Final = unresolvable("No preemption victims found for incoming pod")

#: At least so many nodes are tried at a time.
_PORTION_MIN: Final = 16

#: What the dry run of one node comes to.
Result = Victims | Status


@dataclass(frozen=True, slots=True)
class Preemptor:
    """The pod that needs room, the state its pre-filters left, and what is known of budgets and the time."""

    pod: PodInfo
    state: CycleState
    budgets: Budgets
    now_ns: int


class _ChangeFailedError(Exception):
    """A plugin could not follow a change of the node."""


@dataclass(slots=True)
class _NodeCopy:
    """A copy of a node, with a copy of the state that is told of every change."""

    handle: Handle
    pod: PodInfo
    state: CycleState
    node: NodeInfo

    def remove(self, pod: PodInfo) -> None:
        self.node.remove_pod(pod)
        self._check(self.handle.run_pre_filter_remove_pod(self.state, self.pod, pod, self.node))

    def add(self, pod: PodInfo) -> None:
        self.node.add_pod(pod)
        self._check(self.handle.run_pre_filter_add_pod(self.state, self.pod, pod, self.node))

    def filter(self) -> Status | None:
        return self.handle.run_filters_with_nominated_pods(self.state, self.pod, self.node)

    def _check(self, status: Status | None) -> None:
        if not is_success(status):
            assert status is not None
            raise _ChangeFailedError(status.message)


def select_victims(handle: Handle, preemptor: Preemptor, node: NodeInfo) -> Result:
    """Return the victims that let the pod fit on the node, or why it cannot."""
    copy = _NodeCopy(handle, preemptor.pod, preemptor.state.copy(), node.copy())
    try:
        return _select_victims(copy, preemptor)
    except _ChangeFailedError as failure:
        return error(str(failure))


def _select_victims(copy: _NodeCopy, preemptor: Preemptor) -> Result:
    potential = [pod for pod in copy.node.pods if pod.priority < preemptor.pod.priority]
    for pod in potential:
        copy.remove(pod)
    if not potential:
        return NO_VICTIMS
    status = copy.filter()
    if not is_success(status):
        assert status is not None
        return status
    ranked = most_important_first(potential, preemptor.now_ns)
    breaking, others = preemptor.budgets.split(ranked)

    def must_go(pod: PodInfo) -> bool:
        copy.add(pod)
        if is_success(copy.filter()):
            return False
        copy.remove(pod)
        return True

    broken = [pod for pod in breaking if must_go(pod)]
    victims = broken + [pod for pod in others if must_go(pod)]
    return in_order(victims, len(broken), mixed=bool(breaking and others), preemptor=preemptor)


def in_order(victims: list[PodInfo], broken: int, *, mixed: bool, preemptor: Preemptor) -> Result:
    """Return the victims, the most important first; `mixed` when some may break budgets and others may not."""
    if not victims:
        return Victims(())
    return Victims(tuple(most_important_first(victims, preemptor.now_ns) if mixed else victims), broken)


@dataclass(slots=True)
class DryRun:
    """Candidates by node name, those that break no budget first; statuses of the nodes that were tried in vain."""

    candidates: dict[str, Victims] = field(default_factory=dict)
    statuses: dict[str, Status] = field(default_factory=dict)

    def errors(self) -> tuple[str, ...]:
        """Return the texts of all errors, each once."""
        texts = (status.message for status in self.statuses.values() if status.code == Code.ERROR)
        return tuple(dict.fromkeys(texts))


def collect(
    rows: NDArray[np.int64], wanted: int, try_rows: Callable[[NDArray[np.int64]], Iterable[tuple[str, Result]]]
) -> DryRun:
    """Try nodes in the order of rows: int64[M] until there are enough candidates, at least one that breaks no budget.

    `try_rows` gets some of the rows at a time and gives their names and results; those after the last one that counts are
    not asked for.
    """
    sound: dict[str, Victims] = {}
    breaking: dict[str, Victims] = {}
    statuses: dict[str, Status] = {}
    first = 0
    while first < len(rows):
        some = rows[first : first + max(wanted - len(sound) - len(breaking), _PORTION_MIN)]
        first += len(some)
        for name, result in try_rows(some):
            if isinstance(result, Status):
                statuses[name] = result
                continue
            if not result.pods:
                statuses[name] = error(f'expected at least one victim pod on node "{name}"')
                continue
            kind = breaking if result.pdb_violations else sound
            if len(kind) < wanted:
                kind[name] = result
            if sound and len(sound) + len(breaking) >= wanted:
                return DryRun(sound | breaking, statuses)
    return DryRun(sound | breaking, statuses)

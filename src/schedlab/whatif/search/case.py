"""One pod that is not scheduled: what its attempt says now, and what would come of changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from schedlab.apimachinery.features import FeatureGates
from schedlab.whatif.search.edits import Edit, ObjectChange, Suggestion
from schedlab.whatif.trial import Trial, changed, pod_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.object import StoredObject
    from schedlab.scheduler.cache.tryout import Tryout
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.record import CycleRecord
    from schedlab.scheduler.framework.types import PodInfo

_NODES: Final = "nodes"


class Case:
    """A pod on a trial. `record` is its attempt as things are, `blocked: bool[P, N]` which plugin of `plugins` turns it
    down on which node, looked at one by one; both are empty when no node was looked at.
    """

    def __init__(self, trial: Trial, stored: StoredObject) -> None:
        self.trial = trial
        self.stored = stored
        self.pod: PodInfo = pod_of(stored)
        trial.scheduler.full = True
        self.record: CycleRecord = trial.attempt(self.pod)
        # From here on only the outcome counts, not what every filter says of every node.
        trial.scheduler.full = False
        found = self.record.filter
        self.plugins: tuple[str, ...] = () if found is None else found.plugins
        self.blocked: NDArray[np.bool_] = np.zeros((0, 0), np.bool_)
        every = None if found is None else found.every_verdict()
        if every is not None:
            self.blocked = every[0] != 0

    @property
    def table(self) -> NodeTable:
        """All nodes as columns; rows are those of `blocked` between tries."""
        return self.trial.scheduler.cache.table

    @property
    def features(self) -> FeatureGates:
        """The gates of the cluster."""
        return self.trial.scheduler.features

    @cached_property
    def fits(self) -> bool:
        """Whether the pod would be scheduled as things are."""
        return bool(self.record.selected)

    def only(self, *plugins: str) -> NDArray[np.int64]:
        """Return the rows where nobody but these plugins turns the pod down; they all but one may agree with it."""
        if not self.blocked.size:
            return np.zeros(0, np.int64)
        mine = np.array([name in plugins for name in self.plugins], np.bool_)
        some, others = self.blocked[mine].any(axis=0), self.blocked[~mine].any(axis=0)
        return np.flatnonzero(some & ~others)

    def blockers(self, row: int) -> tuple[str, ...]:
        """Return the plugins that turn the pod down on a node."""
        return tuple(name for name, bad in zip(self.plugins, self.blocked[:, row].tolist(), strict=True) if bad)

    # --- Trying ---

    def try_pod(self, change: ObjectChange) -> str:
        """Return the node that the pod would go to if it were changed, or nothing."""
        return self.trial.attempt(pod_of(changed(self.stored, change))).selected

    def land(self, edits: Sequence[Edit]) -> str:
        """Return the node that the pod would go to after the changes, or nothing."""
        with self.made(edits) as (_, pod):
            return self.trial.attempt(pod).selected

    @contextmanager
    def made(self, edits: Sequence[Edit]) -> Iterator[tuple[Tryout, PodInfo]]:
        """Have changes made for a while; yields what takes more of them back at the end, and the pod as it is then."""
        stored = self.stored
        for edit in edits:
            if edit.pod is not None:
                stored = changed(stored, edit.pod)
        with ExitStack() as stack:
            stack.enter_context(self.trial.stored(*(obj for edit in edits for obj in edit.stored)))
            tryout = stack.enter_context(self.trial.tryout())
            for name, changes in _by_node(edits).items():
                node = self._node(name)
                for change in changes:
                    node = changed(node, change)
                tryout.set_node(node.view)
                stack.enter_context(self.trial.stored(node))
            for edit in edits:
                if edit.new_node is not None:
                    tryout.set_node(edit.new_node.view)
                    stack.enter_context(self.trial.stored(edit.new_node))
                for pod in edit.evicted:
                    tryout.remove_pod(pod)
            yield tryout, pod_of(stored)

    def _node(self, name: str) -> StoredObject:
        stored = self.trial.listers.lister(_NODES).stored(name)
        assert stored is not None, f"node {name} is in the table and not listed"
        return stored

    def first(self, guesses: Iterable[Sequence[Edit]], tries_max: int) -> Suggestion | None:
        """Return the first of the guesses that works, among so many."""
        for edits, _ in zip(guesses, range(tries_max), strict=False):
            node = self.land(edits)
            if node:
                return Suggestion(tuple(edits), node)
        return None


def _by_node(edits: Sequence[Edit]) -> dict[str, list[ObjectChange]]:
    found: dict[str, list[ObjectChange]] = {}
    for edit in edits:
        if edit.node_change is not None:
            found.setdefault(edit.node, []).append(edit.node_change)
    return found

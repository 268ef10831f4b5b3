"""Which pods of a DaemonSet give way to a new revision, and on which nodes new ones start beside the old.

Pure functions over the pods of each node.

Mirrors: pkg/controller/daemon/update.go (rollingUpdate) (v1.36).
Differs: nodes are gone through in the order of the node cache; upstream's order is that of a map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from schedlab.api.object import StoredObject
from schedlab.api.views.workloads import DaemonSetSpec, RollingUpdate
from schedlab.controllers.framework import ownership
from schedlab.controllers.framework.status import scaled_value

#: The pods of each node, oldest first.
NodePods = Mapping[str, Sequence[StoredObject]]


class Bounds(NamedTuple):
    """How many pods may be added and be missing, of how many that are wanted."""

    surge: int
    unavailable: int
    desired: int


@dataclass(slots=True)
class Moves:
    """Pods to be deleted and nodes to get one."""

    delete: list[StoredObject] = field(default_factory=list)
    create: list[str] = field(default_factory=list)


def surge_count(spec: DaemonSetSpec, desired: int) -> int:
    """Return how many nodes may have two pods at a time."""
    rolling = _rolling(spec)
    return 0 if rolling is None else scaled_value(rolling.max_surge, desired, round_up=True)


def bounds(spec: DaemonSetSpec, desired: int) -> Bounds:
    """Return the bounds of a rolling update."""
    rolling = _rolling(spec)
    unavailable = 0 if rolling is None else scaled_value(rolling.max_unavailable, desired, round_up=True)
    surge = surge_count(spec, desired)
    if desired > 0 and not unavailable and not surge:
        unavailable = 1
    return Bounds(surge, unavailable, desired)


def _rolling(spec: DaemonSetSpec) -> RollingUpdate | None:
    return spec.update_strategy.rolling_update if spec.update_strategy.type == "RollingUpdate" else None


class Rollout:
    """One look at a rolling update."""

    def __init__(
        self,
        pods: NodePods,
        is_new: Callable[[StoredObject], bool],
        is_available: Callable[[StoredObject], bool],
        should_run: Callable[[str], bool],
    ) -> None:
        self._pods = pods
        self._is_new, self._is_available, self._should_run = is_new, is_available, should_run

    def moves(self, limits: Bounds) -> Moves:
        """Return what is to be done now."""
        return self._with_surge(limits) if limits.surge else self._without_surge(limits)

    def _without_surge(self, limits: Bounds) -> Moves:
        unavailable = 0
        free: list[StoredObject] = []
        candidates: list[StoredObject] = []
        for pods in self._pods.values():
            pair = self._pair(pods)
            new, old = pair or (None, None)
            if pair is None or (new is None) == (old is None):
                unavailable += 1
            elif new is not None:
                unavailable += not self._is_available(new)
            elif old is not None and not self._is_available(old):
                # Nothing is lost by replacing what does not work.
                free.append(old)
                unavailable += 1
            elif old is not None and unavailable < limits.unavailable:
                candidates.append(old)
        room = max(0, limits.unavailable - unavailable)
        return Moves(delete=[*free, *candidates[:room]])

    def _with_surge(self, limits: Bounds) -> Moves:
        surge = available = 0
        moves = Moves()
        strays: list[StoredObject] = []
        candidates: list[str] = []
        for name, pods in self._pods.items():
            pair = self._pair(pods)
            if pair is None:
                surge += 1
                continue
            new, old = pair
            shown = old if old is not None else new
            available += shown is not None and self._is_available(shown)
            if old is None:
                continue
            if new is not None:
                if self._is_available(new):
                    moves.delete.append(old)
                else:
                    surge += 1
            elif not self._is_available(old):
                if self._should_run(name):
                    moves.create.append(name)
                else:
                    moves.delete.append(old)
            elif not self._should_run(name):
                strays.append(old)
            elif surge < limits.surge:
                candidates.append(name)
        moves.delete += strays[: max(0, available - limits.desired)]
        moves.create += candidates[: max(0, limits.surge - surge)]
        return moves

    def _pair(self, pods: Sequence[StoredObject]) -> tuple[StoredObject | None, StoredObject | None] | None:
        """Return the new and the old pod of a node; None when there are two of a sort."""
        alive = [pod for pod in pods if not ownership.is_deleted(pod)]
        new = [pod for pod in alive if self._is_new(pod)]
        old = [pod for pod in alive if not self._is_new(pod)]
        if len(new) > 1 or len(old) > 1:
            return None
        return next(iter(new), None), next(iter(old), None)

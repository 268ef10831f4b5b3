"""The pods of a StatefulSet as one sync sees them: those that are wanted, made or not, and those that are too many.

Mirrors: updateStatefulSet and computeReplicaStatus of pkg/controller/statefulset/stateful_set_control.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.api.object import Object, StoredObject
from schedlab.api.views.workloads import RollingUpdate, StatefulSet
from schedlab.controllers.framework import ownership, pods
from schedlab.controllers.statefulset import identity


@dataclass(slots=True)
class Replica:
    """One pod: the stored one, or the one to be made."""

    name: str
    stored: StoredObject | None
    body: Object | None = None

    @property
    def phase(self) -> str:
        return "" if self.stored is None else str(self.stored.view.status.phase)

    @property
    def is_terminating(self) -> bool:
        return self.stored is not None and ownership.is_deleted(self.stored)

    @property
    def revision(self) -> str:
        return "" if self.stored is None else identity.revision_of(self.stored)

    @property
    def is_ready(self) -> bool:
        return self.stored is not None and self.phase == "Running" and pods.is_ready(self.stored.view)

    def is_available(self, min_ready_s: int, now_ns: int) -> bool:
        return self.stored is not None and pods.is_available(self.stored.view, min_ready_s, now_ns)


@dataclass(frozen=True, slots=True)
class Revision:
    """The name of a revision and the template it stands for."""

    name: str
    template: Object


class Replicas:
    """All pods of a set: `wanted` by ordinal, `condemned` from the highest ordinal down."""

    def __init__(
        self, found: StoredObject, claimed: Sequence[StoredObject], current: Revision, update: Revision, now_ns: int
    ) -> None:
        self._set = found
        self._view: StatefulSet = found.view
        self._current, self._update = current, update
        self._now_ns = now_ns
        self._min_ready_s = self._view.spec.min_ready_seconds
        by_name = {pod.name: pod for pod in claimed}
        first = identity.first_ordinal(self._view)
        self.wanted = [self._wanted(first + index, by_name) for index in range(self._view.spec.replicas)]
        surplus = [pod for pod in claimed if not identity.is_in_range(self._view, pod.name)]
        surplus = [pod for pod in surplus if identity.ordinal_of(pod.name) >= 0]
        surplus.sort(key=lambda pod: -identity.ordinal_of(pod.name))
        self.condemned = [Replica(pod.name, pod) for pod in surplus]
        self.first_unavailable = next(filter(self.is_unavailable, [*self.wanted, *reversed(self.condemned)]), None)

    def _wanted(self, ordinal: int, by_name: dict[str, StoredObject]) -> Replica:
        name = f"{self._set.name}-{ordinal}"
        stored = by_name.get(name)
        if stored is not None:
            return Replica(name, stored)
        revision = self._current if self._stays_current(ordinal) else self._update
        return Replica(name, None, identity.new_pod(self._set, revision.template, revision.name, ordinal))

    def _stays_current(self, ordinal: int) -> bool:
        """Whether a pod that is made now is of the current revision although there is a newer one."""
        strategy = self._view.spec.update_strategy
        first = identity.first_ordinal(self._view)
        if strategy.rolling_update is not None:
            return ordinal < first + (strategy.rolling_update.partition or 0)
        return strategy.type == "RollingUpdate" and ordinal < first + self._view.status.current_replicas

    def is_available(self, replica: Replica) -> bool:
        """Whether a pod has been ready for long enough."""
        return replica.is_available(self._min_ready_s, self._now_ns)

    def is_unavailable(self, replica: Replica) -> bool:
        """Whether a pod is not there for others, or will not be."""
        return not self.is_available(replica) or replica.is_terminating

    @property
    def partition(self) -> int:
        """From which index on pods are updated."""
        return (self._view.spec.update_strategy.rolling_update or RollingUpdate()).partition or 0

    def counts(self, listed: Iterable[Replica]) -> dict[str, int]:
        """Count pods for the status."""
        made = [replica for replica in listed if replica.phase]
        staying = [replica for replica in made if not replica.is_terminating]
        ready = [replica for replica in made if replica.is_ready]
        return {
            "replicas": len(made),
            "readyReplicas": len(ready),
            "availableReplicas": sum(map(self.is_available, ready)),
            "currentReplicas": sum(replica.revision == self._current.name for replica in staying),
            "updatedReplicas": sum(replica.revision == self._update.name for replica in staying),
        }

    def status(self, collision_count: int) -> dict[str, Any]:
        """Return the status as it is before anything is done."""
        return {
            "observedGeneration": self._view.metadata.generation,
            "currentRevision": self._current.name,
            "updateRevision": self._update.name,
            "collisionCount": collision_count,
            **self.counts([*self.wanted, *self.condemned]),
        }

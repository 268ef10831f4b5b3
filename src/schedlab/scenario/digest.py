"""What came out of a run, as one number: two runs have the same digest when they decided the same and left the same.

It is the SHA-256 of every scheduling cycle in order (the pod, when in virtual time, what each filter and each score said
of each node that was looked at, the node, the message) and of every object that is there at the end, as it is stored.
Nothing in it depends on the machine or on how long anything took there.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.cluster.cluster import Cluster
    from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, QueueMove


class DecisionDigest:
    """An observer of the scheduler that keeps a hash of what it hears."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def cycle(self, record: CycleRecord) -> None:
        """Take a cycle in."""
        found = self._hash
        said = (
            record.pod.key,
            record.pod.uid,
            record.attempt,
            record.started_ns,
            record.result,
            record.selected,
            record.failure_message,
            record.victims,
            [(name, status[1]) for name, status in record.post_filter.items()],
        )
        found.update(repr(said).encode())
        if record.filter is not None:
            for name in record.filter.plugins:
                found.update(name.encode())
            _take(found, record.filter.visited, "<i4")
            _take(found, record.filter.failed_plugin, "|i1")
            _take(found, record.filter.code, "|u1")
        record.work_out()
        if record.score is not None:
            _take(found, record.score.rows, "<i4")
            _take(found, record.score.final, "<i8")
            _take(found, record.score.total, "<i8")

    def binding(self, record: BindingRecord) -> None:
        """Take the end of a binding in."""
        said = (record.pod.key, record.attempt, record.node, record.finished_ns, record.error)
        self._hash.update(repr(said).encode())

    def queue_move(self, move: QueueMove) -> None:
        """Moves through the queue show in when attempts are made."""

    def finish(self, cluster: Cluster) -> str:
        """Return the digest together with the objects that are there now."""
        found = self._hash.copy()
        for resource in sorted(cluster.store.resources()):
            for obj in cluster.store.list(resource):
                found.update(f"{resource} {obj.revision} ".encode())
                for segment in obj.segments:
                    found.update(segment)
        return f"sha256:{found.hexdigest()}"


def _take(found: Any, values: NDArray[Any], dtype: str) -> None:
    found.update(np.ascontiguousarray(values, dtype).data)

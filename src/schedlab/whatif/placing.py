"""All pods placed anew, one after the other in the order in which they were bound, by two configurations side by side.

What differs is then due to the configurations alone, not to how the cluster came to be as it is. Pods with volume claims
or device claims stay where they are, as do those that no profile of both configurations is responsible for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from schedlab.scheduler.framework.types import PodInfo
from schedlab.whatif.flips import Flip, flipped
from schedlab.whatif.trial import Trial, waits

if TYPE_CHECKING:
    from schedlab.cluster.cluster import Cluster
    from schedlab.scheduler.framework.record import CycleRecord


def compare(cluster: Cluster, raw: Mapping[str, Any], location: str) -> Iterator[tuple[PodInfo, Flip]]:
    """Yield the pods that the other configuration places elsewhere, with what flipped the choice."""
    mine, theirs = Trial.of(cluster), Trial.of(cluster, (raw, location))
    both = [name for name in mine.scheduler.profiles if name in theirs.scheduler.profiles]
    pods = [pod for pod in _in_order(mine) if pod.pod.spec.scheduler_name in both]
    for trial in (mine, theirs):
        for pod in pods:
            if pod.pod.spec.node_name:
                trial.scheduler.cache.remove_pod(pod)
    for pod in pods:
        fresh = pod.on_node("")
        flip = flipped(_place(mine, fresh), _place(theirs, fresh))
        if flip is not None:
            yield pod, flip


def _in_order(trial: Trial) -> Sequence[PodInfo]:
    """Return the pods to place: bound ones as the scheduler heard of them, then those that wait."""
    placed = [pod for pod in trial.scheduler.cache.pods() if not pod.claim_keys and not pod.pod.spec.resource_claims]
    waiting = [
        PodInfo(stored.view, stored)
        for stored in trial.listers.lister("pods").all_stored()
        if waits(stored) and not stored.view.spec.scheduling_gates
    ]
    return [*placed, *waiting]


def _place(trial: Trial, pod: PodInfo) -> CycleRecord:
    record = trial.attempt(pod)
    if record.selected:
        trial.scheduler.cache.assume_pod(pod, record.selected)
    return record

"""What the scheduler saw at an attempt of the past, made again: the same nodes, pods, order, nominations, dice.

The cache is made again from the scheduler's journal, everything else from the objects of that revision. Both are kept as
far back as the setting `history` says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from schedlab.cluster.frozen import FrozenListers
from schedlab.cluster.past import KEEP_MORE, fork_store, past_lost
from schedlab.cluster.schedulers import Surroundings, make_scheduler
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.dra.devices import DEVICE_KINDS, Devices
from schedlab.scheduler.event_handlers import PODS, WAKING_RESOURCES
from schedlab.scheduler.framework.interface import ExtenderAnswer
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
from schedlab.scheduler.rehearsal import rehearse
from schedlab.scheduler.scheduler import Origin, Scheduler
from schedlab.whatif.trial import Trial, Unobserved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schedlab.apimachinery.features import FeatureGates
    from schedlab.cluster.cluster import Cluster
    from schedlab.scheduler.framework.record import CycleRecord
    from schedlab.scheduler.schedule_one import Answers, Requests


@dataclass(frozen=True, slots=True)
class PastState:
    """A scheduler as it was when the cycle of `record` began.

    `assumed` are the pods that were on their way to a node. `missing` says what could not be made again, because it was
    neither in the cache nor stored: devices and volumes that had been chosen for pods on their way.
    """

    record: CycleRecord
    pod: PodInfo
    scheduler: Scheduler
    listers: FrozenListers
    assumed: tuple[PodInfo, ...]
    missing: tuple[str, ...]

    def rerun(self) -> CycleRecord:
        """Run the attempt again, with the answers that extenders gave then."""
        record = self.record
        return rehearse(
            self.scheduler,
            self.pod,
            makes_room=True,
            answer=_Recorded(record),
            hint=record.node_hint,
            attempt=record.attempt,
        )

    def trial(self) -> Trial:
        """Return a trial on that state, for other pods and changes."""
        return Trial(self.scheduler, self.listers, _Recorded(self.record))


class _Recorded:
    """Gives the answers that were recorded, in their order."""

    def __init__(self, record: CycleRecord) -> None:
        self._calls = iter(record.extender_calls)

    def __call__(self, requests: Requests) -> Answers:
        """See rehearsal.Answerer."""
        calls = [next(self._calls, None) for _ in requests]
        return tuple(
            ExtenderAnswer(error="this was not asked then")
            if call is None
            else ExtenderAnswer(call.response, call.error)
            for call in calls
        )


def state_at(cluster: Cluster, record: CycleRecord) -> PastState:
    """Make again what the scheduler saw at an attempt; raises SchedlabError when that is no longer kept."""
    journal = cluster.scheduler.journal
    if journal is None or record.position < 0 or not cluster.settings.history:
        raise SchedlabError("this cluster keeps no past", hint=KEEP_MORE)
    if 0 < record.started_ns < journal.began_ns:
        raise SchedlabError(
            f"attempt {record.attempt} of {record.pod.key} was made before this process began, which does not know how "
            "the cluster was then",
            hint=f"what was decided is kept: schedlab explain {record.pod.key} --attempt {record.attempt}",
        )
    if record.position < journal.whole_since or not journal.keeps(record):
        raise past_lost(record.revision)
    configuration = cluster.configurations.get(record.configuration)
    if configuration is None:
        raise SchedlabError(
            f"the scheduler configuration {record.configuration} of this attempt is not known here",
            hint="ask the cluster that has made the attempt",
        )
    cache = journal.cache_at(record.position)
    listers = FrozenListers(fork_store(cluster.store, record.revision))
    settings = replace(cluster.settings, full=cluster.scheduler.full)
    devices = _devices(listers, settings.feature_gates)
    around = Surroundings(
        clock=VirtualClock(record.started_ns),
        random=SeededRandom(record.chance),
        listers=listers,
        observer=Unobserved(),
        origin=Origin(cache, devices, next_start_node_index=record.start, revision=record.revision),
    )
    scheduler, _ = make_scheduler(settings, around, *configuration)
    _nominate(scheduler, record, listers)
    assumed = cache.assumed_pods()
    missing = [f"what pod {pod.key} had chosen" for pod in assumed if pod.claim_keys or pod.pod.spec.resource_claims]
    return PastState(record, _pod(record, listers), scheduler, listers, assumed, tuple(missing))


def _pod(record: CycleRecord, listers: FrozenListers) -> PodInfo:
    stored = listers.lister(PODS).stored(record.pod.name, record.pod.namespace)
    if stored is None or stored.uid != record.pod.uid:
        return record.pod
    return PodInfo(stored.view, stored)


def _devices(listers: FrozenListers, features: FeatureGates) -> Devices:
    devices = Devices(features)
    for resource, kind in WAKING_RESOURCES.items():
        for stored in listers.lister(resource).all_stored() if kind in DEVICE_KINDS else ():
            devices.observe(kind, None, stored)
    return devices


def _nominate(scheduler: Scheduler, record: CycleRecord, listers: FrozenListers) -> None:
    """Let the nominator know what it knew; pods that waited count with what they ask for."""
    scheduler.queue.nominator.restore(record.nominated)
    pods = listers.lister(PODS)
    for nomination in record.nominated:
        stored = pods.stored(nomination.name, nomination.namespace)
        if nomination.waits and stored is not None:
            scheduler.queue.keep(QueuedPodInfo(PodInfo(stored.view, stored), scheduler.clock.now_ns()))


def records_of(cluster: Cluster, namespace: str, name: str) -> Sequence[CycleRecord]:
    """Return the recorded attempts of the newest pod of that name, oldest first."""
    story = cluster.log.find(namespace, name)
    return () if story is None else [attempt.cycle() for attempt in story.attempts]

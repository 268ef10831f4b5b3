"""Scheduling cycles tried on a scheduler of a fork, one after the other; each is taken back before the next.

    trial = Trial.of(cluster)
    trial.attempt(pod)                          what would come of it now
    with trial.tryout() as tryout:              what, if a node or a placed pod were different
        tryout.set_node(node)
        trial.attempt(pod)

One trial serves any number of attempts: making one costs a copy of the scheduler's cache, an attempt a few milliseconds
at thousands of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.cluster.fork_caller import ask_extenders, calls_out
from schedlab.cluster.frozen import FrozenListers
from schedlab.cluster.past import fork_store
from schedlab.cluster.schedulers import Surroundings, make_scheduler
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.cache.tryout import Tryout
from schedlab.scheduler.dra.devices import DEVICE_KINDS
from schedlab.scheduler.event_handlers import WAKING_RESOURCES
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.rehearsal import Answerer, refuse, rehearse
from schedlab.scheduler.scheduler import Origin, Scheduler

if TYPE_CHECKING:
    from schedlab.api.object import Object
    from schedlab.cluster.cluster import Cluster
    from schedlab.cluster.scheduler_instance import SchedulerInstance
    from schedlab.scheduler.framework.events import EventResource
    from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, QueueMove


_OVER: Final = ("Succeeded", "Failed")


class Unobserved:
    """An observer that keeps nothing; with one, cycles make records."""

    def cycle(self, record: CycleRecord) -> None:
        """See Observer."""

    def binding(self, record: BindingRecord) -> None:
        """See Observer."""

    def queue_move(self, move: QueueMove) -> None:
        """See Observer."""


class Trial:
    """A scheduler on a fork, and what its listers know."""

    def __init__(self, scheduler: Scheduler, listers: FrozenListers, answer: Answerer = refuse) -> None:
        self.scheduler = scheduler
        self.listers = listers
        self._answer = answer
        #: How the scheduler in the cluster is, if it does not work now.
        self.idle = ""
        #: Which clients schedule the pods for which this stands in, if others do: their configuration is not known.
        self.elsewhere = ""
        #: How many attempts there were: what a search costs, whatever the machine.
        self.attempts = 0
        self._device_revision = 0

    @classmethod
    def of(cls, cluster: Cluster, configuration: tuple[Mapping[str, Any] | None, str] | None = None) -> Trial:
        """Return a trial on a fork of the cluster as it is now; every filter judges every node.

        `configuration` is another scheduler configuration (None: the default one) and where it comes from.
        """
        listers = FrozenListers(cluster.store.fork(), cluster.informers)
        settings = replace(cluster.settings, full=True)
        origin = Origin.of(cluster.scheduler)
        around = Surroundings(
            clock=VirtualClock(cluster.clock.now_ns()),
            random=SeededRandom(cluster.scheduler.random.state),
            listers=listers,
            observer=Unobserved(),
            # Another configuration may not have the profiles that pods of the queue wait for.
            origin=origin if configuration is None else replace(origin, queue=None),
        )
        own = settings.scheduler_config, settings.scheduler_config_location
        scheduler, _ = make_scheduler(settings, around, *(own if configuration is None else configuration))
        if not cluster.settings.schedules:
            _tell(scheduler, listers)
        return cls(scheduler, listers, ask_extenders if calls_out(cluster.caller) else refuse)

    @classmethod
    def of_name(cls, cluster: Cluster, scheduler_name: str) -> Trial:
        """Return a trial of the scheduler that is responsible for pods of that name; of the cluster's own if none is."""
        instance = responsible(cluster, scheduler_name)
        if instance is None:
            made = cls.of(cluster)
            known = [one for one in cluster.schedulers() if scheduler_name in one.names]
            if all(one.state == "outside" for one in known):
                made.elsewhere = "; ".join(one.told() for one in known)
            if not known and scheduler_name in made.scheduler.profiles:
                made.idle = f"none of the name {scheduler_name} is here"
            return made
        store = cluster.store.fork()
        if not instance.is_active:
            made = cls._told(cluster, FrozenListers(store), instance)
            assert instance.desk is not None, "it is one of this cluster"
            made.idle = instance.known(instance.desk.by).told()
            return made
        listers = FrozenListers(store, instance.informers)
        return cls._made(cluster, listers, instance, Origin.of(instance.scheduler))

    @classmethod
    def at(
        cls, cluster: Cluster, revision: int, scheduler_name: str = "", without: StoredObject | None = None
    ) -> Trial:
        """Return the same on the objects of a revision, but for one; raises SchedlabError when that is not kept.

        Without a name it is the cluster's own scheduler.
        """
        listers = FrozenListers(fork_store(cluster.store, revision))
        if without is not None:
            listers.lister(without.resource).drop(without)
        return cls._told(cluster, listers, responsible(cluster, scheduler_name) if scheduler_name else None)

    @classmethod
    def _told(cls, cluster: Cluster, listers: FrozenListers, instance: SchedulerInstance | None) -> Trial:
        made = cls._made(cluster, listers, instance, None)
        _tell(made.scheduler, listers)
        return made

    @classmethod
    def _made(
        cls, cluster: Cluster, listers: FrozenListers, instance: SchedulerInstance | None, origin: Origin | None
    ) -> Trial:
        settings = cluster.settings if instance is None else instance.settings
        around = Surroundings(
            clock=VirtualClock(cluster.clock.now_ns()),
            random=SeededRandom((cluster if instance is None else instance).scheduler.random.state),
            listers=listers,
            observer=Unobserved(),
            origin=origin,
        )
        raw, location = settings.scheduler_config, settings.scheduler_config_location
        scheduler, _ = make_scheduler(replace(settings, full=True), around, raw, location)
        return cls(scheduler, listers, ask_extenders if calls_out(cluster.caller) else refuse)

    def attempt(self, pod: PodInfo, *, makes_room: bool = False) -> CycleRecord:
        """Return what would come of a pod; `makes_room` lets it look for victims."""
        self.attempts += 1
        if pod.stored is None:
            return rehearse(self.scheduler, pod, makes_room=makes_room, answer=self._answer)
        with self.stored(pod.stored):
            return rehearse(self.scheduler, pod, makes_room=makes_room, answer=self._answer)

    def _tell_device(self, kind: EventResource, before: StoredObject, after: StoredObject) -> None:
        self._device_revision = max(self._device_revision, before.revision, after.revision) + 1
        self.scheduler.devices.observe(kind, before, after.with_revision(self._device_revision))

    def tryout(self) -> Tryout:
        """Return a context for changes of nodes and placed pods that are taken back at its end."""
        return Tryout(self.scheduler.cache)

    @contextmanager
    def stored(self, *objects: StoredObject) -> Iterator[None]:
        """Let listers know other states of objects for a while."""
        undo: list[Callable[[], None]] = []
        for obj in objects:
            lister = self.listers.lister(obj.resource)
            before = lister.stored(obj.name, obj.namespace)
            if before is obj:
                continue
            lister.put(obj)
            undo.append(partial(lister.drop, obj) if before is None else partial(lister.put, before))
            kind = WAKING_RESOURCES.get(obj.resource)
            if kind is not None and kind in DEVICE_KINDS and before is not None:
                # Devices are not read from listers, and believe in what is newer only.
                self._tell_device(kind, before, obj)
                undo.append(partial(self._tell_device, kind, obj, before))
        try:
            yield
        finally:
            for back in reversed(undo):
                back()


def responsible(cluster: Cluster, scheduler_name: str) -> SchedulerInstance | None:
    """Return the scheduler of a pod that works for that name, None where it is the cluster's own or nobody here."""
    if cluster.settings.schedules and scheduler_name in cluster.scheduler.profiles:
        return None
    found = [one for one in cluster.instances() if scheduler_name in one.scheduler.profiles]
    return next((one for one in found if one.is_active), found[0] if found else None)


def _tell(scheduler: Scheduler, listers: FrozenListers) -> None:
    """Tell a scheduler what is there: that of a cluster that leaves scheduling to others has never heard of it."""
    for resource in scheduler.resources():
        for stored in listers.lister(resource).all_stored():
            scheduler.handle(WatchEvent("ADDED", stored))


def waits(stored: StoredObject) -> bool:
    """Whether a pod is to be placed: it is on no node, has not ended and is not on its way out."""
    pod = stored.view
    return not (pod.spec.node_name or pod.metadata.deletion_timestamp or pod.status.phase in _OVER)


def changed(stored: StoredObject, change: Callable[[Object], None]) -> StoredObject:
    """Return an object with a change of its dict, at the revision it had."""
    raw = stored.thaw()
    change(raw)
    return StoredObject.encode(stored.resource, raw, stored.revision)


def pod_of(stored: StoredObject) -> PodInfo:
    """Return a stored pod as the scheduler sees it."""
    return PodInfo(stored.view, stored)

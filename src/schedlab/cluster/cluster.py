"""One cluster on one clock: store, registry, informers, scheduler, kubelets, controllers and the decision log, wired.

    cluster = Cluster(clock, random, ClusterSettings(...))
    cluster.start()
    BatchDriver(cluster.engine, clock).run_for(10 * SECOND_NS)      # or LiveDriver(cluster.engine, clock)

Every part writes through a client of its own, so that events, field owners and user agents name it as in a real
cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apiserver.authorization import MastersFirst
from schedlab.apiserver.rbac import Access, RBACAuthorizer
from schedlab.client.effects import Part
from schedlab.client.informers import Informers, Unheard
from schedlab.client.node_servers import LogSource
from schedlab.cluster.api import API, APISettings
from schedlab.cluster.driver import Caller
from schedlab.cluster.past import Past, fork_store
from schedlab.cluster.scheduler_instance import SchedulerInstance
from schedlab.cluster.scheduler_pods.program import Surroundings as ProgramSurroundings
from schedlab.cluster.scheduler_pods.programs import SchedulerLogs, SchedulerPrograms
from schedlab.cluster.schedulers import Surroundings, make_scheduler
from schedlab.cluster.service_time import NO_TIME, PacedScheduler, ServiceTime
from schedlab.cluster.stage_loading import apply_stages, install
from schedlab.cluster.static_pods import StaticPods
from schedlab.cluster.usage import install_usages, usage_parts
from schedlab.controllers.framework.controller import ControllerContext
from schedlab.controllers.node_lifecycle.controller import NodeLifecycleController
from schedlab.controllers.registry import CONTROLLERS, DRIVERS, is_enabled
from schedlab.controllers.serviceaccount import new_default_account
from schedlab.decisions.annotations import AnnotationMode, Projection
from schedlab.decisions.archive import Archive
from schedlab.decisions.explainer import Explainer
from schedlab.decisions.log import DEFAULT_BYTES_MAX, DecisionLog
from schedlab.decisions.observers import Observers
from schedlab.decisions.projector import AnnotationProjector
from schedlab.decisions.schedulers import OWN, KnownScheduler, Outsiders
from schedlab.decisions.spans import SpanLog, as_json
from schedlab.decisions.strict_upstream import StrictProjection
from schedlab.kernel.clock import SECOND_NS, Clock
from schedlab.kernel.randomness import RandomSource
from schedlab.kubelet.heartbeats import Heartbeats
from schedlab.kubelet.kubelet import Kubelet
from schedlab.kubelet.logs import SimulatedLogs
from schedlab.kubelet.node_server import NodeServers
from schedlab.kubelet.stages.controller import StageController, finder
from schedlab.registry import Overlay, WriteOptions
from schedlab.scheduler.cache.journal import CacheJournal
from schedlab.scheduler.config import dump
from schedlab.scheduler.extender import HTTPExtender
from schedlab.scheduler.framework.hooks import HooksFactory
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.metrics import SchedulerMetrics
from schedlab.scheduler.scheduler import Origin, Scheduler
from schedlab.store import Backend

NODE_NAME: Final = "node-{}"
_ZONES: Final = ("zone-a", "zone-b", "zone-c")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings(APISettings):
    """What can be chosen about a cluster, besides its API.

    scheduler_config: a decoded KubeSchedulerConfiguration, None for the default one. full: every filter judges every
    node for the record, also after the first failure; no decision changes. nodes: how many there are at least at the
    start. schedules: whether its own scheduler does anything, counts: whether it keeps metrics. plugins: plugins that do not come with the scheduler (`plugin_class.entry_of` makes an entry of a class); profiles of
    scheduler_config have to enable them, without one they are enabled at all their extension points. hooks: what goes
    around plugins, by their names (`framework.hooks.factory_of` makes a factory of a class). stages: KWOK's Stages that
    are there from the start (`stage_loading.load_stages` reads them). static_pods: folder of manifests that the node
    `control-plane` runs. controllers: which
    run, as kube-controller-manager's --controllers says it: "*" are all, a name one, "-name" all but that one.
    kubelets: whether nodes register and pods get to run. image_bandwidth: how many
    bytes of images each node pulls per second; 0 is at once. service_time: how long its own scheduler takes, on a
    virtual clock.
    strict_upstream: results are shown with kube-scheduler-simulator's quirks.
    decisions_bytes, decisions_age_s: how much of the decision log
    memory (and its file) may hold, and how old it may get; 0 seconds is for ever.
    """

    scheduler_config: Mapping[str, Any] | None = None
    scheduler_config_location: str = ""
    annotations: AnnotationMode = "auto"
    full: bool = True
    nodes: int = 0
    schedules: bool = True
    counts: bool = False
    plugins: tuple[PluginEntry, ...] = ()
    hooks: Mapping[str, HooksFactory] = field(default_factory=dict)
    stages: tuple[Mapping[str, Any], ...] = ()
    static_pods: Path | None = None
    controllers: tuple[str, ...] = ("*",)
    kubelets: bool = True
    image_bandwidth: int = 0
    strict_upstream: bool = False
    service_time: ServiceTime = NO_TIME
    decisions_bytes: int = DEFAULT_BYTES_MAX
    decisions_age_s: int = 0


class Cluster(API):
    """The parts and how they are joined; `engine` drives them. `warnings` are lines that the user should see."""

    def __init__(
        self,
        clock: Clock,
        random: RandomSource,
        settings: ClusterSettings,
        caller: Caller | None = None,
        *,
        root_ca: str = "",
        backend: Backend | None = None,
        original: Cluster | None = None,
        revision: int | None = None,
        archive: Archive | None = None,
    ) -> None:
        """Wire the parts; a fork goes on where its `original` stands, or begins anew at a kept revision of it."""
        store = None if original is None else fork_store(original.store, revision)
        super().__init__(clock, random, settings, caller, backend=backend, store=store)
        self.settings, self._random = settings, random
        self.past = Past(self.store, clock, settings.history)
        self._reconfigured = 0
        # How many keep it at rest.
        self._resting = 0
        self._controllers: list[Part] = []
        self.root_ca = root_ca
        #: Scheduler configurations that were in force, by their digests in records, with where they come from.
        self.configurations: dict[str, tuple[Mapping[str, Any] | None, str]] = {}
        install_usages(self.registry)
        install(self.registry)
        if original is None:
            apply_stages(self.registry, settings.stages)
        self.informers = Informers(self.client("schedlab-informers"))
        self._wake: Callable[[], None] | None = None
        self.log = self._new_log(settings, archive)
        self.spans = SpanLog(clock)
        self.outsiders = Outsiders(clock)
        self._programs: SchedulerPrograms | None = None
        #: Who hears of the scheduler's decisions; nobody traces what forks do.
        self.observers = Observers(self.log) if original is not None else Observers(self.spans, self.log)
        self.warnings: Sequence[str] = ()
        self.scheduler_metrics = SchedulerMetrics(settings.feature_gates) if settings.counts else None
        #: Whether the scheduler has been told of everything by the one that it goes on from.
        self._is_told = original is not None and revision is None
        self.scheduler = self._new_scheduler(settings, random.split("scheduler"), original if self._is_told else None)
        self.explainer = Explainer(self.log, self.scheduler)
        self.explainer.known = self.schedulers
        self.explainer.others = lambda: [one.desk for one in self.instances() if one.desk is not None]
        self._make_nodes(random)
        if original is None:
            self.registry.on_write(self._written)
            self.informers.on_change("pods", self.spans.pod_changed)
        self._add_parts(random.split("controllers"), root_ca)

    def _make_nodes(self, random: RandomSource) -> None:
        """Make the kubelets, what plays Stages, and what is asked of nodes."""
        nodes_and_pods = self.informers if self.settings.kubelets else Unheard(self.informers)
        self.kubelet = Kubelet(
            nodes_and_pods, self.clock, random.split("kubelet"), image_bandwidth=self.settings.image_bandwidth
        )
        self.metrics, self._usage_checker = usage_parts(self.informers, self.clock, self.kubelet.runs)
        self.stages = StageController(
            nodes_and_pods,
            self.clock,
            random.split("stages"),
            self.kubelet,
            finder(lambda: [one.type for one in self.registry.served]),
            follow=self._follow,
        )
        self.kubelet.attach(self.stages, self.spans)
        self.stages.observer = self.spans
        self.logs: LogSource = SimulatedLogs(self.kubelet.runs, self.kubelet.node_address)
        self.node_servers = NodeServers(
            self.kubelet,
            self.informers.lister("nodes"),
            self.informers.lister("pods"),
            memory_qos=self.settings.feature_gates.enabled("MemoryQoS"),
        )
        self.registry.on_resources(self.stages.resources_changed)
        heartbeats = Heartbeats(self.clock, self.kubelet.failed_since_ns)
        self.registry.overlay("leases.coordination.k8s.io", Overlay(heartbeats.lease))
        self.registry.overlay("nodes", Overlay(heartbeats.node))

    def _new_log(self, settings: ClusterSettings, archive: Archive | None) -> DecisionLog:
        age_ns = settings.decisions_age_s * SECOND_NS
        return DecisionLog(settings.decisions_bytes, lambda: self.registry.revision, age_max_ns=age_ns, archive=archive)

    def _new_scheduler(
        self,
        settings: ClusterSettings,
        random: RandomSource,
        original: Cluster | None = None,
        journal: CacheJournal | None = None,
    ) -> Scheduler:
        around = Surroundings(
            clock=self.clock,
            random=random,
            listers=self.informers,
            observer=self.observers,
            metrics=self.scheduler_metrics,
            origin=None if original is None else Origin.of(original.scheduler),
        )
        raw, location = settings.scheduler_config, settings.scheduler_config_location
        scheduler, self.warnings = make_scheduler(settings, around, raw, location)
        kept_from = self.store.oldest_revision if settings.history else None
        scheduler.keep_past(lambda: self.registry.durable_revision, kept_from, journal)
        self.configurations[scheduler.configuration_digest] = raw, location
        return scheduler

    def _add_scheduler(self) -> None:
        """Let the scheduler be driven, at the pace that was chosen for it."""
        self._scheduling: Part = self.scheduler
        if any(self.settings.service_time):
            paced = PacedScheduler(self.scheduler, self.clock, self.settings.service_time)
            self.observers.add(paced)
            self._scheduling = paced
        self.engine.add(self._scheduling, self.client("kube-scheduler"))

    def configuration(self) -> Mapping[str, Any]:
        """Return the scheduler's configuration in force, defaults included, in wire form."""
        return dump(self.scheduler.config)

    def extenders(self) -> Sequence[HTTPExtender]:
        """Return the extenders in force."""
        return self.scheduler.extenders

    def reconfigure(self, raw: Mapping[str, Any], location: str = "") -> None:
        """Put another configuration in force, as a restart of the scheduler would: bindings in flight start anew.

        Raises ConfigError with every mistake, and then the old scheduler goes on.
        """
        settings = replace(self.settings, scheduler_config=raw, scheduler_config_location=location)
        old = self.scheduler
        random = self._random.split(f"scheduler-{self._reconfigured}")
        made = self._new_scheduler(settings, random, journal=old.journal)
        self._reconfigured += 1
        self.settings, self.scheduler, self._is_told = settings, made, False
        self.explainer.follow(made)
        self.engine.remove(self._scheduling)
        old.stop()
        for resource in old.resources():
            self.informers.lister(resource).forget(old.handle)
        self._add_scheduler()
        self._listen()

    @property
    def runs_scheduler_pods(self) -> bool:
        """Whether pods that run kube-scheduler schedule."""
        return self._programs is not None

    def run_scheduler_pods(self) -> None:
        """Let pods that run kube-scheduler schedule, with the rights that their accounts have."""
        around = ProgramSurroundings(
            registry=self.registry,
            engine=self.engine,
            clock=self.clock,
            random=self._random.split("scheduler-pods"),
            features=self.settings.feature_gates,
            authorizer=MastersFirst(RBACAuthorizer(Access(self.registry))),
            decisions=self.log,
            spans=self.spans,
        )
        self._programs = SchedulerPrograms(around)
        self.kubelet.attach(programs=self._programs)
        self.logs = SchedulerLogs(self._programs, self.logs)

    def instances(self) -> Sequence[SchedulerInstance]:
        """Return the schedulers that run in pods now."""
        return () if self._programs is None else self._programs.instances()

    def schedulers(self) -> Sequence[KnownScheduler]:
        """Return all schedulers that are known: its own, those of pods, clients that act like one."""
        own = KnownScheduler(tuple(self.scheduler.profiles), OWN, "scheduling")
        in_pods = () if self._programs is None else self._programs.known()
        return (*([own] if self.settings.schedules else []), *in_pods, *self.outsiders.known())

    def _written(self, obj: StoredObject, verb: str, subresource: str, options: WriteOptions) -> None:
        self.past.note(obj.revision)
        if obj.resource == "pods":
            self.spans.written(obj, verb, subresource, options)
            self.outsiders.written(obj, verb, subresource, options)

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Let neither controllers nor the scheduler act while objects come whose like are not all there yet."""
        self._resting += 1
        self.engine.suspend([*self._controllers, self.scheduler])
        try:
            yield
        finally:
            self._resting -= 1
            if not self._resting:
                self.engine.resume()
            if self._wake is not None:
                self._wake()

    def _listen(self) -> None:
        if self.settings.schedules:
            for resource in self.scheduler.resources():
                self._follow(resource, self.scheduler.handle, from_now=self._is_told)
            self.scheduler.start()

    def start(self) -> None:
        """Make the nodes that were asked for and begin to listen."""
        self._listen()
        for number in range(self.settings.nodes):
            if self.store.get("nodes", NODE_NAME.format(number)) is None:
                self.registry.create("nodes", self.registry.decode("nodes", new_node(number)))
        if self.settings.static_pods is not None:
            StaticPods(self.settings.static_pods, self.registry, self.clock).start()
        super().start()

    def trace(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Tell the way of a pod, None when nothing is known of it."""
        found = self.spans.find(namespace, name)
        return None if found is None else as_json(found, self.node_servers.reservation(namespace, name))

    def on_change(self, wake: Callable[[], None]) -> None:
        """Call `wake` after every change of an object that some part of the cluster listens to."""
        self._wake = wake
        for resource in self.informers.resources():
            self.informers.on_change(resource, lambda _: wake())

    def _follow(self, resource: str, handler: Callable[[WatchEvent], None], *, from_now: bool = False) -> None:
        """Let a part listen to a resource that maybe nobody has listened to before."""
        is_new = resource not in self.informers.resources()
        self.informers.on_change(resource, handler, from_now=from_now)
        if is_new and self._wake is not None:
            wake = self._wake
            self.informers.on_change(resource, lambda _: wake())

    def _projection(self) -> Projection:
        if not self.settings.strict_upstream:
            return Projection(self.settings.annotations)
        return StrictProjection("full", weights=lambda: next(iter(self.scheduler.profiles.values())).weights)

    def _add_parts(self, random: RandomSource, root_ca: str) -> None:
        pods = self.informers.lister("pods")
        projector = AnnotationProjector(
            self.log,
            pods,
            self._projection(),
            touch=lambda namespace, name: self.registry.touch("pods", name, namespace),
        )
        self.registry.overlay("pods", Overlay(projector.shown, projector.settle))
        self._add_scheduler()
        # Kubelets and node lifecycle go first: a node must be ready before the scheduler looks at it.
        self.engine.add(self.kubelet, self.client("kubelet"), first=True)
        self.engine.add(self._usage_checker, self.client("kwok"))
        self.engine.add(self.stages, self.client("kwok"))
        resources = tuple(self.registry.resources)
        features = self.settings.feature_gates
        context = ControllerContext(
            self.informers,
            self.clock,
            random,
            features,
            resources,
            root_ca,
            self.kubelet.runs,
            self.metrics,
            self.stages.holds,
        )
        controller_manager = self.client("kube-controller-manager")
        for name, make in CONTROLLERS.items():
            if is_enabled(name, self.settings.controllers):
                controller = make(context)
                self._controllers.append(controller)
                self.engine.add(controller, controller_manager, first=name == NodeLifecycleController.name)
        for name, make in DRIVERS.items():
            if is_enabled(name, self.settings.controllers):
                self.engine.add(make(context), self.client(name))
        self.registry.provide_accounts(lambda namespace: controller_manager.submit(new_default_account(namespace)))
        self.engine.add(projector, self.client("kube-scheduler-simulator"))


def new_node(number: int) -> dict[str, Any]:
    """Return the manifest of a plain node: 4 CPU, 32Gi, 110 pods, in one of three zones in turn."""
    name = NODE_NAME.format(number)
    capacity = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": _ZONES[number % len(_ZONES)]},
        },
        "status": {"capacity": capacity, "allocatable": capacity},
    }

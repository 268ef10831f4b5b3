"""One copy of a scheduler among others: it waits until it knows everything, stands for election, and schedules.

    waiting for objects ──> standby ──> scheduling ──> ended: asked to (0) or without its lease (1)
                              └ at once without election

Any number of instances run on one engine, in process or as processes of their own; they meet through the API only.

Mirrors: Run of cmd/kube-scheduler/app/server.go (v1.36)
Differs: outcomes of attempts are logged at any verbosity; every decision is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.resources import known_resources
from schedlab.apimachinery.version import KUBERNETES_VERSION
from schedlab.client.informers import Informers
from schedlab.client.leader_election import Election, LeaderElector, State
from schedlab.client.protocol import Client
from schedlab.cluster.driver import Engine
from schedlab.cluster.gate import Gate
from schedlab.cluster.schedulers import Surroundings, configuration_of, make_scheduler
from schedlab.decisions.annotation_writer import AnnotationWriter
from schedlab.decisions.annotations import AnnotationMode, Projection
from schedlab.decisions.explainer import Explainer
from schedlab.decisions.log import DecisionLog
from schedlab.decisions.moments import JournalMoments
from schedlab.decisions.observers import Observers
from schedlab.decisions.scheduler_log import SchedulerLog
from schedlab.decisions.schedulers import Desk, KnownScheduler
from schedlab.kernel.clock import Clock
from schedlab.kernel.randomness import RandomSource
from schedlab.scheduler.config import KubeSchedulerConfiguration
from schedlab.scheduler.framework.hooks import HooksFactory
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.record import Observer
from schedlab.scheduler.metrics import SchedulerMetrics
from schedlab.scheduler.scheduler import Scheduler

#: What plugins look up that wakes nobody: there before the first pod is tried, as upstream's informers are.
LOOKED_UP: Final = (
    "namespaces",
    "services",
    "replicationcontrollers",
    "replicasets.apps",
    "statefulsets.apps",
    "poddisruptionbudgets.policy",
)
#: How a scheduler ends that has lost its lease.
LEASE_LOST: Final = 1


class MirroringClient(Client, Protocol):
    """A client whose lists may still be on their way."""

    #: Called when nothing is lacking any more.
    on_synced: Callable[[], None]
    #: Called with resource, verb and error of every list and watch that fails; they are tried again.
    on_error: Callable[[str, str, StatusError], None]

    def lacking(self) -> tuple[str, ...]:
        """Return the resources that were asked for and are not there yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceSettings:
    """What can be chosen: see `ClusterSettings` for those of the same name. verbosity is klog's.

    annotations: how much of a result is written into its pod.
    """

    scheduler_config: Mapping[str, Any] | None = None
    scheduler_config_location: str = ""
    feature_gates: FeatureGates = field(default_factory=FeatureGates.default)
    plugins: tuple[PluginEntry, ...] = ()
    hooks: Mapping[str, HooksFactory] = field(default_factory=dict)
    full: bool = False
    annotations: AnnotationMode = "off"
    verbosity: int = 0
    counts: bool = False

    def configuration(self) -> KubeSchedulerConfiguration:
        """Return the configuration that the settings stand for; raises ConfigError with every mistake."""
        return configuration_of(self, self.scheduler_config, self.scheduler_config_location)


@dataclass(frozen=True, slots=True)
class Process:
    """What an instance has of the process that it is, or stands for.

    host is the first part of its identity; write gets the lines of its log; ended(code) is called when it ends by
    itself.
    """

    clock: Clock
    random: RandomSource
    host: str
    pid: int
    write: Callable[[str], None]
    ended: Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Recording:
    """Where the attempts of an instance are recorded, under which name, and who else hears of them."""

    log: DecisionLog
    by: str
    also: tuple[Observer, ...] = ()

    def desk(self, scheduler: Scheduler) -> Desk:
        """Return where the scheduler's decisions are explained."""
        return Desk(self.by, scheduler, JournalMoments(scheduler))


class SchedulerInstance:
    """A scheduler on an engine; raises ConfigError, SchedlabError for a configuration that cannot be used.

    Without a recording it has a log of its own, and an explainer of that.
    `warnings` are lines that the user should see.
    """

    def __init__(
        self,
        settings: InstanceSettings,
        client: MirroringClient,
        engine: Engine,
        process: Process,
        recording: Recording | None = None,
    ) -> None:
        self._client, self._engine, self._process = client, engine, process
        self.lines = SchedulerLog(process.clock, process.write, verbosity=settings.verbosity, pid=process.pid)
        self.settings = settings
        self.decisions = DecisionLog() if recording is None else recording.log
        recorder = self.decisions if recording is None else recording.log.recorder(recording.by)
        self.metrics = SchedulerMetrics(settings.feature_gates) if settings.counts else None
        self.informers = Informers(client)
        #: Whether it schedules: everything is known and it leads, if there is an election.
        self.is_active = False
        self.is_synced = False
        self._is_retiring = False
        client.on_error = self._lacking
        client.on_synced = self._synced
        around = Surroundings(
            clock=process.clock,
            random=process.random.split("scheduler"),
            listers=self.informers,
            observer=Observers(self.lines, *(() if recording is None else recording.also), recorder),
            metrics=self.metrics,
        )
        self.scheduler, self.warnings = make_scheduler(
            settings, around, settings.scheduler_config, settings.scheduler_config_location
        )
        #: Explains its attempts, if it has a log of its own; else whoever has the log does, at this desk.
        self.explainer = Explainer(self.decisions, self.scheduler) if recording is None else None
        self.desk = None if recording is None else recording.desk(self.scheduler)
        self.elector = self._new_elector(self.scheduler.config)
        if settings.annotations != "off":
            projection = Projection(settings.annotations)
            writer = AnnotationWriter(self.decisions, self.scheduler.pods, projection, self._not_annotated)
            engine.add(writer, client)
        self._gate = Gate(self.scheduler, lambda: self.is_active)
        engine.add(self._gate, client)
        if self.elector is not None:
            engine.add(self.elector, client)

    def _new_elector(self, config: KubeSchedulerConfiguration) -> LeaderElector | None:
        chosen = config.leader_election
        if not chosen.leader_elect:
            return None
        random = self._process.random.split("election")
        election = Election(
            chosen.resource_namespace,
            chosen.resource_name,
            f"{self._process.host}_{random.uid()}",
            config.profiles[0].scheduler_name or "",
            chosen.lease_duration,
            chosen.renew_deadline,
            chosen.retry_period,
        )
        return LeaderElector(
            election,
            self._process.clock,
            random,
            on_change=self._elected,
            on_error=self._lease_failed,
            on_leader=self._led_by,
        )

    # --- Its life ---

    def start(self) -> None:
        """Begin to listen; schedule once everything is known and, with leader election, this one leads."""
        self.lines.line("I", "server.go:174", "Starting Kubernetes Scheduler", version=KUBERNETES_VERSION)
        for resource in self.scheduler.resources():
            self.informers.on_change(resource, self.scheduler.handle)
        for resource in LOOKED_UP:
            self.informers.lister(resource)
        if not self._client.lacking():
            self._synced()

    def release(self) -> None:
        """Schedule no more and give the lease back; `elector.state` says when that is done."""
        self.is_active = False
        if self.elector is not None:
            self.elector.release()

    def retire(self) -> None:
        """Schedule no more, give the lease back, and be gone."""
        self.is_active = False
        self.informers.stop()
        self.scheduler.queue.stop()
        self._engine.remove(self._gate)
        if self.elector is None:
            return
        self._is_retiring = True
        was_leading = self.elector.state == "leading"
        self.elector.release()
        if not was_leading:
            self._engine.remove(self.elector)

    def kill(self) -> None:
        """Stop at once, as a process that dies: what it asked for and nobody has carried out yet is lost."""
        self.is_active = False
        self._engine.remove(self._gate)
        self.scheduler.queue.stop()
        if self.elector is not None:
            self.elector.stop()
            self._engine.remove(self.elector)
        self.informers.stop()

    def _synced(self) -> None:
        if self.is_synced:
            return
        self.is_synced = True
        if self.elector is None:
            self._activate()
        else:
            place = "leaderelection.go:258"
            self.lines.line("I", place, "Attempting to acquire leader lease...", lock=self._lock())
            self.elector.start()

    def _activate(self) -> None:
        self.is_active = True
        self.scheduler.start()

    def known(self, where: str) -> KnownScheduler:
        """Tell what it works for and how it is."""
        names = tuple(self.scheduler.profiles)
        if not self.is_synced:
            return KnownScheduler(names, where, "waiting", f"it may not list {', '.join(self._client.lacking())}")
        if self.is_active:
            return KnownScheduler(names, where, "scheduling")
        return KnownScheduler(names, where, "standby", f"waits for the lease {self._lock()}")

    # --- What its log tells ---

    def _elected(self, state: State) -> None:
        if state == "leading":
            self.lines.line("I", "leaderelection.go:272", "Successfully acquired lease", lock=self._lock())
            self._activate()
        elif state == "lost":
            self.is_active = False
            self.lines.line("E", "server.go:311", "Leaderelection lost")
            self._process.ended(LEASE_LOST)
        elif state == "released" and self._is_retiring:
            assert self.elector is not None
            self._engine.remove(self.elector)
        elif state == "released":
            self._process.ended(0)

    def _lock(self) -> str:
        assert self.elector is not None
        return f"{self.elector.election.namespace}/{self.elector.election.name}"

    def _lease_failed(self, text: str, error: StatusError) -> None:
        self.lines.line("E", "leaderelection.go:448", text, err=error.message, lock=self._lock())

    def _not_annotated(self, pod: str, error: StatusError) -> None:
        self.lines.line("E", "annotation_writer", "Failed to annotate pod", err=error.message, pod=pod)

    def _led_by(self, identity: str) -> None:
        if self.lines.verbosity >= 4:
            self.lines.line("I", "leaderelection.go:278", "New leader elected", identity=identity, lock=self._lock())

    def _lacking(self, resource: str, verb: str, error: StatusError) -> None:
        kind = known_resources().named(resource)
        type_ = f"*{kind.version}.{kind.kind}"
        self.lines.line(
            "E",
            "reflector.go:227",
            "Failed to watch",
            err=f"failed to {verb} {type_}: {error.message}",
            logger="UnhandledError",
            reflector="k8s.io/client-go/informers/factory.go:161",
            type=type_,
        )

"""A whole simulated cluster as an object: what goes in, how time passes, what is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, Self, TypeAlias

import orjson

from schedlab.apimachinery.errors import NotFound
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.references import parse_pod
from schedlab.apimachinery.time import TimeError, parse_duration
from schedlab.cluster.cluster import Cluster as Simulation
from schedlab.cluster.cluster import ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.decisions.explain import PodQuestion, UnknownNameError
from schedlab.decisions.tables import TABLES, Query, Table, rows
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.randomness import SeededRandom
from schedlab.laboratory.explanation import Explanation, explanation_of
from schedlab.laboratory.frames import Frame, as_frame
from schedlab.mirror.files import read_cluster
from schedlab.mirror.manifests import load_objects
from schedlab.mirror.snapshot import Loaded, export
from schedlab.scheduler.config.file import read_configuration
from schedlab.scheduler.framework.plugin_class import entry_of
from schedlab.whatif.capacity import NotFull, why_not_full
from schedlab.whatif.changes import Change, Made, finish_drains, make, read_changes, target_of
from schedlab.whatif.fit import LIMIT_MAX, Fit, fit
from schedlab.whatif.foreign import explain_foreign
from schedlab.whatif.forks import fork
from schedlab.whatif.help import Help, what_would_help
from schedlab.whatif.optimum.bound import TIME_LIMIT_S, Bound, bound
from schedlab.whatif.optimum.problem import Goal
from schedlab.whatif.pending import FIXES_MAX, Pending, pending
from schedlab.whatif.plan import Plan, plan_drain, plan_nodes
from schedlab.whatif.what_if import DEFAULT_S, WhatIf, what_if


class _Builder(Protocol):
    def dict(self) -> dict[str, Any]: ...


#: An object as on the wire, or a builder of one (`schedlab.testing.make_pod`, `make_node`).
Manifest: TypeAlias = Mapping[str, Any] | _Builder
#: A scheduler's configuration, decoded or as a file.
Configuration: TypeAlias = Mapping[str, Any] | str | Path
#: Seconds, or a text like "90s" or "1h30m".
Duration: TypeAlias = float | str

#: A cluster is at rest when nothing was written for so long and no pod is about to be tried.
_QUIET_NS: Final = 5 * SECOND_NS
_DAY: Final = "24h"
_HISTORY: Final = 20_000


class Cluster:
    """A simulated cluster on a virtual clock: time stands still until `run`.

    Every object that is asked for or about is named as kubectl names it: `KIND/NAME` with a namespace beside it, a pod
    also `NAME` or `NAMESPACE/NAME`. All mistakes are SchedlabError.
    """

    def __init__(
        self,
        *objects: Manifest,
        nodes: int = 0,
        config: Configuration | None = None,
        seed: int = 1,
        plugins: Sequence[type] = (),
        feature_gates: Mapping[str, bool] | None = None,
        history: int = _HISTORY,
    ) -> None:
        """Make a cluster and apply objects in their order.

        nodes: how many plain ones there are from the start. config: a KubeSchedulerConfiguration, the default one if
        not given. seed: the same seed and input give the same decisions. plugins: classes of scheduler plugins that do
        not come with it. history: of how many revisions the past can be asked about.
        """
        raw, location = _configuration(config)
        settings = ClusterSettings(
            scheduler_config=raw,
            scheduler_config_location=location,
            feature_gates=FeatureGates.default().with_overrides(feature_gates or {}, location="feature_gates"),
            plugins=tuple(map(entry_of, plugins)),
            annotations="off",
            nodes=nodes,
            history=history,
        )
        simulation = Simulation(VirtualClock(), SeededRandom(seed), settings)
        simulation.start()
        self._begin(simulation)
        self.apply(*objects)

    def _begin(self, simulation: Simulation) -> None:
        assert isinstance(simulation.clock, VirtualClock), "a cluster of the laboratory runs on a virtual clock"
        self.simulation: Simulation = simulation
        #: What was left out of the files that it was made of: files that cannot be read, objects that the API refuses.
        self.refused: tuple[str, ...] = ()
        self._driver = BatchDriver(simulation.engine, simulation.clock)
        self._began_ns = simulation.clock.now_ns()
        self._driver.settle()

    @classmethod
    def from_files(
        cls,
        *paths: str | Path,
        config: Configuration | None = None,
        seed: int = 1,
        plugins: Sequence[type] = (),
        feature_gates: Mapping[str, bool] | None = None,
        strict: bool = True,
    ) -> Self:
        """Make a cluster of a snapshot, or of files and folders of manifests; `Cluster(…)` tells of the rest.

        A snapshot brings its scheduler's configuration unless one is given. strict: a file of a folder that
        cannot be read and an object that the API refuses are errors, else they are left out and told in `refused`.
        """
        found = read_cluster([Path(path) for path in paths])
        chosen = found.scheduler_config if config is None else config
        made = cls(config=chosen, seed=seed, plugins=plugins, feature_gates=feature_gates)
        loaded = Loaded()
        with made.simulation.at_rest():
            for _ in load_objects(made.simulation.registry, found.objects, loaded):
                pass
        refused = (*found.warnings, *loaded.problems)
        if strict and refused:
            raise SchedlabError(
                "; ".join(refused),
                location=", ".join(map(str, paths)),
                hint="correct the objects, or leave them out: strict=False",
            )
        made._driver.settle()
        made.refused = refused
        return made

    # --- What goes in ------------------------------------------------------------------------------------------------

    def apply(self, *objects: Manifest, namespace: str = "default") -> None:
        """Create objects, or apply them to those that are there, as `kubectl apply` does.

        namespace: of those that name none. Time does not pass.
        """
        for number, given in enumerate(objects):
            change = Change("apply", manifest_of(given), f"objects[{number}]", namespace)
            make(self.simulation, change, Made())
        self._driver.settle()

    def delete(self, target: str, *, namespace: str = "default") -> None:
        """Delete an object."""
        self._change({"delete": target, "namespace": namespace})

    def patch(self, target: str, change: Mapping[str, Any] | Sequence[Any], *, namespace: str = "default") -> None:
        """Patch an object: an object is a strategic merge, a list a JSON patch."""
        body = dict(change) if isinstance(change, Mapping) else list(change)
        self._change({"patch": target, "change": body, "namespace": namespace})

    def scale(self, target: str, replicas: int, *, namespace: str = "default") -> None:
        """Scale a workload."""
        self._change({"scale": target, "replicas": replicas, "namespace": namespace})

    def cordon(self, node: str) -> None:
        """Let a node take no more pods."""
        self._change({"cordon": node})

    def uncordon(self, node: str) -> None:
        """Let a node take pods again."""
        self._change({"uncordon": node})

    def drain(self, node: str, *, timeout: Duration = "2m") -> tuple[str, ...]:
        """Cordon a node and evict its pods within their disruption budgets; time passes while a budget keeps some.

        Returns the pods that are kept when the time is over.
        """
        made = self._change({"drain": node})
        end_ns = self.simulation.clock.now_ns() + _duration_ns(timeout, "timeout")
        finish_drains(self.simulation, self._driver, made, end_ns)
        self._driver.settle()
        return tuple(made.draining)

    def reconfigure(self, config: Configuration) -> None:
        """Put another scheduler configuration in force, as a restart of the scheduler would."""
        raw, location = _configuration(config)
        self.simulation.reconfigure(raw or {}, location)
        self._driver.settle()

    def _change(self, change: Mapping[str, Any]) -> Made:
        made = Made()
        (read,) = read_changes([{**change, "place": next(iter(change))}])
        make(self.simulation, read, made)
        self._driver.settle()
        return made

    # --- How time passes ---------------------------------------------------------------------------------------------

    def run(self, duration: Duration | None = None, *, limit: Duration = _DAY) -> float:
        """Let virtual time pass, for a duration or else until the cluster is at rest; return the seconds that did.

        At rest: for five seconds nothing was written, and no pod is about to be tried again. A cluster that does not
        come to rest runs up to the limit.
        """
        clock, began_ns = self.simulation.clock, self.simulation.clock.now_ns()
        if duration is not None:
            self._driver.run_for(_duration_ns(duration, "duration"))
        else:
            end_ns = began_ns + _duration_ns(limit, "limit")
            quiet_ns, revision = began_ns, -1
            while clock.now_ns() < end_ns and clock.now_ns() - quiet_ns < _QUIET_NS:
                self._driver.run_until(min(end_ns, clock.now_ns() + SECOND_NS))
                if self.simulation.registry.revision != revision or self._is_about_to_try():
                    quiet_ns, revision = clock.now_ns(), self.simulation.registry.revision
        return (clock.now_ns() - began_ns) / SECOND_NS

    def _is_about_to_try(self) -> bool:
        queue = self.simulation.scheduler.queue.contents()
        return bool(queue.active or queue.backoff or queue.in_flight)

    @property
    def time(self) -> float:
        """Virtual seconds since the cluster was made or forked."""
        return (self.simulation.clock.now_ns() - self._began_ns) / SECOND_NS

    @contextmanager
    def fork(self) -> Iterator[Cluster]:
        """Go on with a copy; this cluster is not touched by whatever happens to it."""
        copy = Cluster.__new__(Cluster)
        copy._begin(fork(self.simulation))  # noqa: SLF001 - it is one of this class
        yield copy

    # --- What is there -----------------------------------------------------------------------------------------------

    def get(self, target: str, *, namespace: str = "default") -> dict[str, Any]:
        """Return an object as on the wire; raises SchedlabError when it is not there."""
        kind, name, where = target_of(self.simulation, target, namespace, "get")
        try:
            return dict(self.simulation.registry.get(kind.full_name, name, where).raw)
        except NotFound as error:
            raise SchedlabError(error.message, location=target, hint="objects() tells what is there") from error

    def objects(self, resource: str, *, namespace: str = "") -> list[dict[str, Any]]:
        """Return all objects of a kind (`pods`, `deploy`), of one namespace or all, in the order of their names."""
        kind = self.simulation.registry.resources.search(resource)
        if kind is None:
            raise SchedlabError(f"{resource!r} is no resource", hint="write it like pods or deployments")
        return [dict(obj.raw) for obj in self.simulation.registry.list(kind.full_name, namespace).items]

    def node_of(self, pod: str) -> str:
        """Return the node that a pod is on, "" while it waits; raises SchedlabError when there is no such pod."""
        namespace, name = parse_pod(pod, "default")
        return str(self.get(f"pod/{name}", namespace=namespace)["spec"].get("nodeName", ""))

    def snapshot(self) -> dict[str, Any]:
        """Return the state in kube-scheduler-simulator's form; `from_files` and `schedlab snapshot restore` read it."""
        document: dict[str, Any] = orjson.loads(export(self.simulation.registry, self.simulation.configuration()))
        return document

    # --- What is asked -----------------------------------------------------------------------------------------------

    def explain(self, pod: str, *, attempt: int | None = None, all_plugins: bool = False) -> Explanation:
        """Explain an attempt to schedule a pod, the newest if none is given; pods that are gone are known, too.

        Of a pod that was made with a node, or bound by somebody else, it is what the scheduler would have done; `data`
        says in `placedBy` who it was.

        all_plugins: `data` has the numbers of what passed, too.
        """
        namespace, name = parse_pod(pod, "default")
        question = PodQuestion(attempt, all_plugins=all_plugins)
        if attempt is None and self.simulation.explainer.is_foreign(namespace, name):
            return explanation_of(explain_foreign(self.simulation, namespace, name, question))
        try:
            return explanation_of(self.simulation.explainer.explain(namespace, name, question))
        except UnknownNameError as error:
            raise SchedlabError(str(error), location=pod, hint=error.hint) from error
        except LookupError as error:
            raise SchedlabError(str(error), location=pod, hint="run() lets the scheduler try") from error

    def what_would_help(self, pod: str, *, attempt: int | None = None) -> Help:
        """Search the smallest changes that would let a pod be scheduled, now or at a recorded attempt."""
        namespace, name = parse_pod(pod, "default")
        return what_would_help(self.simulation, namespace, name, attempt=attempt)

    def what_if(self, *changes: Mapping[str, Any], duration: Duration = DEFAULT_S) -> WhatIf:
        """Make changes on a fork, let it run, and tell which pods are elsewhere then, and why.

        Changes are written as in the REST API: `{"drain": "node-1"}`, `{"scale": "deployment/web", "replicas": 5}`.
        """
        return what_if(self.simulation, read_changes(list(changes)), _duration_ns(duration, "duration") // SECOND_NS)

    def pending(self, namespace: str = "", *, fixes: int = FIXES_MAX) -> Pending:
        """Group the pods that wait by their reasons; for the largest groups search a change that helps."""
        return pending(self.simulation, namespace, fixes_max=fixes)

    def why_not_full(self) -> NotFull:
        """Tell what keeps free capacity from being used."""
        return why_not_full(self.simulation)

    def fit(self, pod: Manifest, *, namespace: str = "default", limit: int = LIMIT_MAX) -> Fit:
        """Say how many of a pod fit besides what is there, and what stops the next one; nobody is evicted for it."""
        return fit(self.simulation, manifest_of(pod), namespace=namespace, limit=limit)

    def plan_nodes(self, *workload: Manifest, template: Manifest, namespace: str = "default") -> Plan:
        """Say how many nodes of a template, besides those that there are, hold a workload."""
        objects = [manifest_of(one) for one in workload]
        return plan_nodes(self.simulation, objects, manifest_of(template), namespace=namespace)

    def plan_drain(self, selector: str, *, duration: Duration = DEFAULT_S) -> WhatIf:
        """Say where pods land when all nodes with some labels are emptied within disruption budgets."""
        return plan_drain(self.simulation, selector, duration_s=_duration_ns(duration, "duration") // SECOND_NS)

    def bound(self, goal: Goal, *, time_limit: Duration = TIME_LIMIT_S) -> Bound:
        """Say what no scheduler can beat: the fewest `nodes` for the pods that are placed, or the most `pods` placed.

        time_limit: counted in work of the solver that takes about so long. Needs the extra `optimum`.
        """
        seconds = _duration_ns(time_limit, "time_limit") / SECOND_NS
        return bound(self.simulation, goal, time_limit_s=seconds)

    def table(self, table: Table, query: Query = Query(), *, frame: Frame = "pandas") -> Any:  # noqa: B008 - frozen
        """Return a table of the decision log, oldest attempt first, as a data frame or a list of dicts."""
        if table not in TABLES:
            raise SchedlabError(f"{table!r} is no table", location="table", hint=f"one of {', '.join(TABLES)}")
        return as_frame(rows(self.simulation.log, table, query), frame)


def manifest_of(given: Manifest) -> Mapping[str, Any]:
    """Return an object as the API takes it."""
    if isinstance(given, Mapping):
        return given
    built = given.dict()
    # Builders make uids of names; here the API gives them.
    built["metadata"].pop("uid", None)
    return built


def _configuration(given: Configuration | None) -> tuple[Mapping[str, Any] | None, str]:
    if given is None or isinstance(given, Mapping):
        return given, "" if given is None else "config"
    return read_configuration(Path(given), "config"), str(given)


def _duration_ns(given: Duration, location: str) -> int:
    hint = "give seconds, or a text like 90s or 1h30m"
    try:
        duration_ns = parse_duration(given) if isinstance(given, str) else int(given * SECOND_NS)
    except TimeError as error:
        raise SchedlabError(str(error), location=location, hint=hint) from error
    if duration_ns < 0:
        raise SchedlabError(f"{given} is in the past", location=location, hint=hint)
    return duration_ns

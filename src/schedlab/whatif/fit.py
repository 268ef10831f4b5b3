"""How many more of a pod fit, and what stops the next one: copies are made on a fork until one is not scheduled.

Every copy is an object of its own: it is admitted (quotas, limits of a namespace), gets its claims and is scheduled by the
cluster's own configuration. Nobody is evicted for it.

Mirrors: what cluster-capacity of kubernetes-sigs answers
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery.errors import StatusError
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.errors import SchedlabError
from schedlab.scheduler.framework.record import PASSED
from schedlab.scheduler.framework.status import REASONS
from schedlab.whatif.capacity import node_groups
from schedlab.whatif.forks import fork

if TYPE_CHECKING:
    from schedlab.api.object import Object
    from schedlab.cluster.cluster import Cluster
    from schedlab.scheduler.framework.record import CycleRecord

LIMIT_MAX: Final = 10_000
#: So many copies are made at a time at most; the first is made alone.
_AT_ONCE_MAX: Final = 500
#: How long copies may wait for what controllers make for them (claims, volumes).
_PATIENCE_NS: Final = 15 * SECOND_NS


@dataclass(frozen=True, slots=True)
class GroupFit:
    """Nodes of one size and with the same taints. reasons: why they turn the next one down, on how many nodes each."""

    group: str
    nodes: int
    placed: int
    reasons: dict[str, int]


@dataclass(frozen=True, slots=True)
class Fit:
    """How many fit. stops: why the next one does not, empty when the limit was reached. placed: how many by node."""

    pod: str
    fits: int
    limit: int
    stops: str
    groups: tuple[GroupFit, ...]
    placed: dict[str, int]

    def data(self) -> dict[str, Any]:
        """Return it as JSON-shaped data."""
        return asdict(self)


def fit(cluster: Cluster, manifest: Mapping[str, Any], *, namespace: str = "default", limit: int = LIMIT_MAX) -> Fit:
    """Say how many of a pod fit besides what is there; the manifest is a pod's, or that of a workload with a template.

    Raises SchedlabError for what is neither, for a pod of another scheduler, and for one that the API refuses.
    """
    if not 1 <= limit <= LIMIT_MAX:
        raise SchedlabError(f"{limit} copies cannot be tried", location="limit", hint=f"give 1 to {LIMIT_MAX}")
    pod, name, where = _pod_of(manifest, namespace)
    configuration = _without_preemption(cluster.configuration())
    made = fork(cluster, scheduler_config=(configuration, cluster.settings.scheduler_config_location), lean=True)
    scheduler = pod["spec"].get("schedulerName", "default-scheduler")
    if scheduler not in made.scheduler.profiles:
        raise SchedlabError(
            f"the pod asks for the scheduler {scheduler!r}, which is not here",
            location="spec.schedulerName",
            hint=f"there are: {', '.join(made.scheduler.profiles)}",
        )
    copies = _Copies(made, pod, f"{name}-fit", where)
    copies.fill(limit)
    return Fit(
        f"{where}/{name}", sum(copies.placed.values()), limit, copies.stops, copies.groups(), dict(copies.placed)
    )


def _pod_of(manifest: Mapping[str, Any], namespace: str) -> tuple[Object, str, str]:
    """Return a pod as it can be made many times, its name and namespace."""
    spec, metadata = manifest.get("spec"), manifest.get("metadata") or {}
    template = spec.get("template") if isinstance(spec, dict) else None
    source = manifest if template is None else template
    if (
        not isinstance(source, Mapping)
        or not isinstance(source.get("spec"), dict)
        or not source["spec"].get("containers")
    ):
        raise SchedlabError(
            f"{manifest.get('kind', 'this')} is no pod and has no template of one",
            location="spec",
            hint="give a Pod, or a workload like a Deployment",
        )
    own = source.get("metadata") or {}
    name = str(metadata.get("name") or own.get("name") or "pod")
    kept = {key: own[key] for key in ("labels", "annotations") if own.get(key)}
    body = {key: value for key, value in source["spec"].items() if key != "nodeName"}
    return (
        {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": body},
        name,
        str(metadata.get("namespace") or namespace),
    )


def _without_preemption(configuration: Mapping[str, Any]) -> dict[str, Any]:
    nobody = {"disabled": [{"name": "*"}]}
    profiles = [
        {**profile, "plugins": {**(profile.get("plugins") or {}), "postFilter": nobody}}
        for profile in configuration["profiles"]
    ]
    return {**configuration, "profiles": profiles}


class _Copies:
    """Copies of a pod on a fork. stops: why the next one does not fit; placed: how many by node."""

    def __init__(self, made: Cluster, pod: Object, name: str, namespace: str) -> None:
        assert isinstance(made.clock, VirtualClock), "a fork runs on a virtual clock"
        self._made, self._pod, self._name, self._namespace = made, pod, name, namespace
        self._driver = BatchDriver(made.engine, made.clock)
        self._driver.settle()
        self._count = 0
        self._last: CycleRecord | None = None
        self.stops = ""
        self.placed: Counter[str] = Counter()

    def fill(self, limit: int) -> None:
        """Make copies until one does not fit, or there are as many as the limit says."""
        size = 1
        while self._count < limit and not self.stops:
            self._make(min(size, limit - self._count))
            size = min(2 * size, _AT_ONCE_MAX)

    def _make(self, size: int) -> None:
        registry, names = self._made.registry, []
        for _ in range(size):
            name = f"{self._name}-{self._count}"
            metadata = {**self._pod["metadata"], "name": name, "namespace": self._namespace}
            try:
                registry.create("pods", registry.decode("pods", {**self._pod, "metadata": metadata}), self._namespace)
            except StatusError as error:
                if not self._count:
                    raise SchedlabError(error.message, location=self._name, hint="correct the pod") from error
                self.stops = error.message
                break
            self._count += 1
            names.append(name)
        self._driver.settle()
        if any(not self._node_of(name) for name in names):
            self._driver.run_for(_PATIENCE_NS)
        for name in names:
            node = self._node_of(name)
            if node:
                self.placed[node] += 1
            elif self._last is None:
                self.stops = self._why(name)

    def _node_of(self, name: str) -> str:
        pod = self._made.informers.lister("pods").get(name, self._namespace)
        return "" if pod is None else str(pod.spec.node_name)

    def _why(self, name: str) -> str:
        """Say why a copy waits, and keep the record of its last attempt."""
        story = self._made.log.find(self._namespace, name)
        if story is None or not story.attempts:
            return self._made.explainer.untried(self._namespace, name)
        self._last = story.attempts[-1].cycle()
        return self._last.failure_message

    def groups(self) -> tuple[GroupFit, ...]:
        """Return what became of each kind of node."""
        table = self._made.scheduler.cache.table
        reasons = {} if self._last is None else _reasons_by_node(self._last)
        found = []
        for label, rows in node_groups(table):
            names = [table.names[row] for row in rows.tolist()]
            counts = Counter(reasons[name] for name in names if name in reasons)
            placed = sum(self.placed[name] for name in names)
            found.append(GroupFit(label, len(names), placed, dict(counts.most_common())))
        return tuple(found)


def _reasons_by_node(record: CycleRecord) -> dict[str, str]:
    if record.pre_filter_status is not None:
        status = record.pre_filter_status
        return dict.fromkeys(record.node_names, f"{status.plugin}: {status.message}")
    filtered = record.filter
    if filtered is None:
        return {}
    verdicts = zip(filtered.visited.tolist(), filtered.failed_plugin.tolist(), filtered.reason.tolist(), strict=True)
    return {
        record.node_names[row]: f"{filtered.plugins[plugin]}: {', '.join(REASONS.texts(reason))}"
        for row, plugin, reason in verdicts
        if plugin != PASSED
    }

"""Plans: how many nodes of a template hold a workload, and where pods land when nodes are emptied.

Each number of nodes is tried on a fork of its own, with scheduler, controllers and kubelets; the least is found by doubling
and halving, as if one more node never hurt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery import selectors
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.errors import SchedlabError
from schedlab.scheduler.framework.amounts import CPU, MEMORY
from schedlab.whatif.capacity import node_groups
from schedlab.whatif.changes import Change, Made, make
from schedlab.whatif.forks import fork
from schedlab.whatif.what_if import DEFAULT_S, WhatIf, what_if

if TYPE_CHECKING:
    from schedlab.api.views.core import Pod
    from schedlab.cluster.cluster import Cluster

NODES_MAX: Final = 5_000
#: How long controllers and the scheduler's queue get to bring a workload up.
_RUN_NS: Final = 60 * SECOND_NS
_HOSTNAME: Final = "kubernetes.io/hostname"
_OVER: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Plan:
    """How many nodes of a template a workload needs.

    nodes: how many; None when as many as `tried` are not enough, and more would not help. pods: how many the workload has; placed: on which
    kinds of nodes they are. used: shares of what all new nodes have that are requested, by resource. waits: why pods wait
    that no number of these nodes helps.
    """

    template: str
    nodes: int | None
    tried: int
    pods: int
    placed: dict[str, int]
    used: dict[str, float]
    waits: dict[str, int]

    def data(self) -> dict[str, Any]:
        """Return it as JSON-shaped data."""
        return asdict(self)


def plan_nodes(
    cluster: Cluster,
    workload: Sequence[Mapping[str, Any]],
    template: Mapping[str, Any],
    *,
    namespace: str = "default",
    nodes_max: int = NODES_MAX,
) -> Plan:
    """Say how many nodes of a template, beside those that there are, let no pod of a workload wait.

    Raises SchedlabError for a template that is no node, and for manifests that the API refuses.
    """
    name = str((template.get("metadata") or {}).get("name") or "node")
    if template.get("kind") != "Node":
        raise SchedlabError(
            f"{template.get('kind', 'this')} is no node", location="template", hint="give the manifest of a Node"
        )
    tries: dict[int, _Try] = {}

    def tried(count: int) -> _Try:
        if count not in tries:
            tries[count] = _Try(cluster, workload, template, name, count, namespace)
        return tries[count]

    fewest, enough = 0, 0
    while tried(enough).waiting:
        # A node that takes no pod of those that wait will not be of use as one of many.
        limit = min(nodes_max, len(tried(0).waiting))
        if enough >= limit:
            return tried(enough).plan(name, None, enough)
        fewest, enough = enough, min(max(1, 2 * enough), limit)
    while enough - fewest > 1:
        middle = (fewest + enough) // 2
        if tried(middle).waiting:
            fewest = middle
        else:
            enough = middle
    return tried(enough).plan(name, enough, max(tries))


class _Try:
    """A workload on a fork with so many new nodes."""

    def __init__(
        self,
        cluster: Cluster,
        workload: Sequence[Mapping[str, Any]],
        template: Mapping[str, Any],
        name: str,
        count: int,
        namespace: str,
    ) -> None:
        made = fork(cluster)
        assert isinstance(made.clock, VirtualClock), "a fork runs on a virtual clock"
        driver = BatchDriver(made.engine, made.clock)
        driver.settle()
        before = _pods(made)
        new = [f"{name}-plan-{number}" for number in range(count)]
        for node in new:
            make(made, Change("apply", _named(template, node), "template"), Made())
        for number, manifest in enumerate(workload):
            make(made, Change("apply", manifest, f"workload[{number}]", namespace), Made())
        driver.run_for(_RUN_NS)
        after = _pods(made)
        self._made, self._new = made, frozenset(new)
        self.pods = {uid: pod for uid, pod in after.items() if uid not in before}
        self.waiting = [pod for pod in self.pods.values() if not pod.spec.node_name]

    def plan(self, name: str, nodes: int | None, tried: int) -> Plan:
        """Return what came out."""
        table = self._made.scheduler.cache.table
        label_of = {table.names[row]: label for label, rows in node_groups(table) for row in rows.tolist()}
        placed = Counter(
            f"new {name}" if pod.spec.node_name in self._new else label_of.get(pod.spec.node_name, "gone")
            for pod in self.pods.values()
            if pod.spec.node_name
        )
        rows = [row for row, node in enumerate(table.names) if node in self._new]
        used = {}
        for resource in (CPU, MEMORY, *(one for one in table.resource_names if "/" in one)):
            at = table.resource_index(resource)
            there = int(table.allocatable[at, rows].sum())
            if there:
                used[resource] = round(int(table.requested[at, rows].sum()) / there, 4)
        waits = Counter(self._why(pod) for pod in self.waiting)
        return Plan(name, nodes, tried, len(self.pods), dict(placed.most_common()), used, dict(waits.most_common()))

    def _why(self, pod: Pod) -> str:
        story = self._made.log.story(pod.metadata.uid)
        if story is None or not story.attempts:
            return self._made.explainer.untried(pod.metadata.namespace, pod.metadata.name)
        return story.attempts[-1].cycle().failure_message


def _named(template: Mapping[str, Any], name: str) -> dict[str, Any]:
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), _HOSTNAME: name}
    kept = {"annotations": metadata["annotations"]} if metadata.get("annotations") else {}
    return {**template, "metadata": {"name": name, "labels": labels, **kept}}


def _pods(cluster: Cluster) -> dict[str, Pod]:
    pods = cluster.informers.lister("pods").list()
    return {pod.metadata.uid: pod for pod in pods if pod.status.phase not in _OVER}


def plan_drain(cluster: Cluster, selector: str, *, duration_s: int = DEFAULT_S) -> WhatIf:
    """Say where pods land when all nodes with some labels are emptied within disruption budgets: none lands on another.

    Raises SchedlabError for a selector that cannot be read, and when no node has the labels.
    """
    try:
        wanted = selectors.parse(selector)
    except selectors.SelectorError as error:
        raise SchedlabError(
            str(error), location="selector", hint="write it like topology.kubernetes.io/zone=b"
        ) from error
    nodes = [node for node in cluster.informers.lister("nodes").list() if wanted.matches(node.metadata.labels)]
    if not nodes or wanted.is_empty:
        what = "all nodes would be emptied" if wanted.is_empty else f"no node has the labels {selector}"
        raise SchedlabError(what, location="selector", hint="see: kubectl get nodes --show-labels")
    names = [node.metadata.name for node in nodes]
    changes = [Change(kind, name, selector) for kind in ("cordon", "drain") for name in names]
    return what_if(cluster, changes, duration_s)

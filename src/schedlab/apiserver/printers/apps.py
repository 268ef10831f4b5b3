"""The columns of the apps group's kinds.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from schedlab.apimachinery.gvk import parse_group_version
from schedlab.apimachinery.selectors import SelectorError, from_label_selector, label_selector_text
from schedlab.apimachinery.table import AGE, NAME, NONE, Cell, Column, Object, Printer, age, name_of
from schedlab.apiserver.printers.common import (
    CONTAINERS,
    IMAGES,
    container_cells,
    labels_text,
    part,
    pod_spec,
    shows,
)

_READY_PODS: Final = Column("Ready", description="Number of the pod with ready state")


def _ready_of(obj: Object) -> str:
    return f"{part(obj, 'status').get('readyReplicas', 0)}/{part(obj, 'spec').get('replicas', 0)}"


def _deployment_cells(deployment: Object, now_ns: int) -> Sequence[Cell]:
    status = part(deployment, "status")
    try:
        selector = str(from_label_selector(part(deployment, "spec").get("selector")))
    except SelectorError:
        selector = "<invalid>"
    return (
        name_of(deployment),
        _ready_of(deployment),
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(deployment, now_ns),
        *container_cells(pod_spec(deployment)),
        selector,
    )


DEPLOYMENTS: Final = Printer(
    (
        NAME,
        _READY_PODS,
        shows("Up-to-date", "apps.v1.DeploymentStatus", "updatedReplicas"),
        shows("Available", "apps.v1.DeploymentStatus", "availableReplicas"),
        AGE,
        CONTAINERS,
        IMAGES,
        shows("Selector", "apps.v1.DeploymentSpec", "selector", priority=1),
    ),
    _deployment_cells,
)


def _replica_set_cells(replica_set: Object, now_ns: int) -> Sequence[Cell]:
    spec, status = part(replica_set, "spec"), part(replica_set, "status")
    return (
        name_of(replica_set),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(replica_set, now_ns),
        *container_cells(pod_spec(replica_set)),
        label_selector_text(spec.get("selector")),
    )


REPLICA_SETS: Final = Printer(
    (
        NAME,
        shows("Desired", "apps.v1.ReplicaSetSpec", "replicas", "integer"),
        shows("Current", "apps.v1.ReplicaSetStatus", "replicas", "integer"),
        shows("Ready", "apps.v1.ReplicaSetStatus", "readyReplicas", "integer"),
        AGE,
        CONTAINERS,
        IMAGES,
        shows("Selector", "apps.v1.ReplicaSetSpec", "selector", priority=1),
    ),
    _replica_set_cells,
)


def _stateful_set_cells(stateful_set: Object, now_ns: int) -> Sequence[Cell]:
    containers = container_cells(pod_spec(stateful_set))
    return name_of(stateful_set), _ready_of(stateful_set), age(stateful_set, now_ns), *containers


STATEFUL_SETS: Final = Printer((NAME, _READY_PODS, AGE, CONTAINERS, IMAGES), _stateful_set_cells)


def _daemon_set_cells(daemon_set: Object, now_ns: int) -> Sequence[Cell]:
    spec, status = part(daemon_set, "spec"), part(daemon_set, "status")
    return (
        name_of(daemon_set),
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        labels_text(pod_spec(daemon_set).get("nodeSelector")),
        age(daemon_set, now_ns),
        *container_cells(pod_spec(daemon_set)),
        label_selector_text(spec.get("selector")),
    )


DAEMON_SETS: Final = Printer(
    (
        NAME,
        shows("Desired", "apps.v1.DaemonSetStatus", "desiredNumberScheduled", "integer"),
        shows("Current", "apps.v1.DaemonSetStatus", "currentNumberScheduled", "integer"),
        shows("Ready", "apps.v1.DaemonSetStatus", "numberReady", "integer"),
        shows("Up-to-date", "apps.v1.DaemonSetStatus", "updatedNumberScheduled", "integer"),
        shows("Available", "apps.v1.DaemonSetStatus", "numberAvailable", "integer"),
        shows("Node Selector", "core.v1.PodSpec", "nodeSelector"),
        AGE,
        CONTAINERS,
        IMAGES,
        shows("Selector", "apps.v1.DaemonSetSpec", "selector", priority=1),
    ),
    _daemon_set_cells,
)


def _revision_cells(revision: Object, now_ns: int) -> Sequence[Cell]:
    controller = NONE
    for owner in revision["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            group_version = parse_group_version(owner.get("apiVersion", ""))
            kind = str(group_version.with_kind(owner.get("kind", "")).group_kind).lower()
            controller = f"{kind}/{owner.get('name', '')}"
            break
    return name_of(revision), controller, revision.get("revision", 0), age(revision, now_ns)


CONTROLLER_REVISIONS: Final = Printer(
    (
        NAME,
        Column("Controller", description="Controller of the object"),
        shows("Revision", "apps.v1.ControllerRevision", "revision"),
        AGE,
    ),
    _revision_cells,
)

PRINTERS: Final[Mapping[str, Printer]] = {
    "controllerrevisions": CONTROLLER_REVISIONS,
    "daemonsets": DAEMON_SETS,
    "deployments": DEPLOYMENTS,
    "replicasets": REPLICA_SETS,
    "statefulsets": STATEFUL_SETS,
}

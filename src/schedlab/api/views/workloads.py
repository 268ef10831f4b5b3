"""Typed views of the controllers' kinds whose selectors the scheduler reads, and of scheduling and policy kinds.

Mirrors: staging/src/k8s.io/api/{apps,policy,scheduling}/v1/types.go (v1.36), the fields in use here.
"""

from __future__ import annotations

from schedlab.api.views.meta import LabelSelector, ObjectMeta, View


class SelectorSpec(View):
    """spec of a ReplicaSet or StatefulSet: what it selects."""

    selector: LabelSelector | None = None
    replicas: int | None = None


class SelectingController(View):
    """apps/v1 ReplicaSet or StatefulSet."""

    metadata: ObjectMeta = ObjectMeta()
    spec: SelectorSpec = SelectorSpec()


class ReplicationControllerSpec(View):
    """spec of a replication controller: its selector is a plain map."""

    selector: dict[str, str] = {}
    replicas: int | None = None


class ReplicationController(View):
    """core/v1 ReplicationController."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class PodDisruptionBudgetSpec(View):
    """spec of a disruption budget; minAvailable and maxUnavailable are int or percentage text."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class PodDisruptionBudgetStatus(View):
    """status of a disruption budget."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = {}


class PodDisruptionBudget(View):
    """policy/v1 PodDisruptionBudget."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(View):
    """scheduling.k8s.io/v1 PriorityClass."""

    metadata: ObjectMeta = ObjectMeta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None

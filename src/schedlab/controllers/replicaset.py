"""The ReplicaSet controller, and the replication controller, which differs in its kind only.

    pods that match ──claimed──► too few: create in growing batches │ too many: delete the least useful │ status

Mirrors: pkg/controller/replicaset/{replica_set,replica_set_utils}.go, pkg/controller/replication (v1.36).
Differs: a status that met a conflict is written by the next sync.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.rules.inert import is_inert
from schedlab.api.views.core import Pod
from schedlab.api.views.workloads import ReplicaSet, ReplicationController
from schedlab.apimachinery import selectors
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.selectors import Selector
from schedlab.apimachinery.time import format_time
from schedlab.controllers.framework import kinds, ownership, pods
from schedlab.controllers.framework.controller import Asking, Controller, ControllerContext, Steps, ask, split_key
from schedlab.controllers.framework.expectations import Expectations
from schedlab.controllers.framework.kinds import Kind
from schedlab.controllers.framework.pod_control import PodControl, is_namespace_going, slow_start
from schedlab.controllers.framework.status import Condition, find_condition, new_status, without_condition
from schedlab.kernel.clock import SECOND_NS

BURST_REPLICAS: Final = 500
_FAILURE: Final = "ReplicaFailure"


class ReplicaSetController(Controller):
    """Keeps as many pods as each ReplicaSet asks for."""

    name: ClassVar[str] = "replicaset-controller"
    kind: ClassVar[Kind] = kinds.REPLICA_SET
    counts_terminating: ClassVar[bool] = True

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._expectations = Expectations(context.clock)
        self._control = PodControl(self.kind, self.events)
        self._sets = context.lister(self.kind.resource)
        self._pods = context.lister("pods")
        ownership.index_by_controller(self._sets)
        ownership.index_by_controller(self._pods)
        self._counts_terminating = self.counts_terminating and context.features.enabled(
            "DeploymentReplicaSetTerminatingReplicas"
        )
        self._sets.on_change(self._on_set)
        self._pods.on_change(self._on_pod)

    # --- Events ------------------------------------------------------------------------------------------------------

    def _on_set(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self._expectations.forget(event.object.key)
        self.queue.add(event.object.key)

    def _on_pod(self, event: WatchEvent) -> None:
        if ownership.is_foreign(event, self.kind):
            return
        pod, before = event.object, event.previous
        if event.type == "DELETED" or ownership.is_deleted(pod):
            self._pod_gone(pod)
            return
        owner = ownership.controller_of(pod)
        former = None if before is None else ownership.controller_of(before)
        if former is not None and former != owner:
            self._enqueue_owner(pod.namespace, ownership.resolve(self._sets, self.kind, pod.namespace, former))
        if owner is not None:
            self._owned_pod_changed(pod, before, ownership.resolve(self._sets, self.kind, pod.namespace, owner))
        elif before is None or former is not None or before.labels != pod.labels:
            for each in self._sets.all_stored(pod.namespace):
                if _matches(each, pod):
                    self.queue.add(each.key)

    def _pod_gone(self, pod: StoredObject) -> None:
        found = ownership.resolve(self._sets, self.kind, pod.namespace, ownership.controller_of(pod))
        if found is not None:
            self._expectations.deletion_observed(found.key, pod.key)
            self.queue.add(found.key)

    def _owned_pod_changed(self, pod: StoredObject, before: StoredObject | None, owner: StoredObject | None) -> None:
        if owner is None:
            return
        if before is None:
            self._expectations.creation_observed(owner.key)
        self.queue.add(owner.key)
        min_ready_s: int = owner.view.spec.min_ready_seconds
        if before is not None and min_ready_s and pods.is_ready(pod.view) and not pods.is_ready(before.view):
            self.queue.add_after(owner.key, min_ready_s * SECOND_NS)

    def _enqueue_owner(self, _namespace: str, owner: StoredObject | None) -> None:
        if owner is not None:
            self.queue.add(owner.key)

    # --- Sync --------------------------------------------------------------------------------------------------------

    def sync(self, key: str) -> Steps:
        """Bring the number of pods to what one set asks for, then report."""
        namespace, name = split_key(key)
        found = self._sets.stored(name, namespace)
        if found is None:
            self._expectations.forget(key)
            return
        if is_inert(found.view):
            return
        needs_sync = self._expectations.satisfied(key)
        selector = _selector(found)
        candidates = [*ownership.controlled_by(self._pods, found.uid), *ownership.orphans(self._pods, namespace)]
        self.queue.rest(key, len(candidates))
        unfinished = [pod for pod in candidates if pod.view.status.phase not in pods.FINISHED]
        going = [pod for pod in unfinished if ownership.is_deleted(pod)]
        active = unfinished if not going else [pod for pod in unfinished if not ownership.is_deleted(pod)]
        claim = ownership.Claim(self.kind, found, self._sets, lambda pod: selector.matches(pod.labels))
        active = yield from claim.all(active)
        terminating = sum(ownership.is_controlled_by(pod, found) and selector.matches(pod.labels) for pod in going)
        error = None
        if needs_sync and not ownership.is_deleted(found):
            error = yield from self._manage(found, active)
        updated = yield from self._report(found, active, terminating, error)
        if error is not None:
            raise error
        self._plan_availability(key, updated, active)

    def _manage(self, found: StoredObject, active: Sequence[StoredObject]) -> Asking[StatusError | None]:
        difference = len(active) - found.view.spec.replicas
        if difference < 0:
            return (yield from self._create(found, min(-difference, BURST_REPLICAS)))
        if difference > 0:
            return (yield from self._delete(found, active, min(difference, BURST_REPLICAS)))
        return None

    def _create(self, found: StoredObject, count: int) -> Asking[StatusError | None]:
        self._expectations.expect_creations(found.key, count)
        write = self._control.creation(found, found.raw["spec"]["template"])
        outcomes = yield from slow_start([write] * count)
        errors = [
            error for error in (self._control.created(found, outcome) for outcome in outcomes) if error is not None
        ]
        # What failed or was not tried will not be seen. A namespace on its way out is nobody's failure.
        self._expectations.creation_observed(found.key, len(errors) + count - len(outcomes))
        return next((error for error in errors if not is_namespace_going(error)), None)

    def _delete(self, found: StoredObject, active: Sequence[StoredObject], count: int) -> Asking[StatusError | None]:
        chosen = active[:count]
        if count < len(active):
            order = pods.sort_for_deletion(active, self._ranks(found, active), self.clock.now_ns())
            chosen = [active[index] for index in order[:count]]
        self._expectations.expect_deletions(found.key, [pod.key for pod in chosen])
        errors = yield from self._control.delete(found, chosen)
        for pod, error in zip(chosen, errors, strict=True):
            if error is not None:
                self._expectations.deletion_observed(found.key, pod.key)
        return next((error for error in errors if error is not None and error.reason != "NotFound"), None)

    def _ranks(self, found: StoredObject, active: Sequence[StoredObject]) -> Sequence[int]:
        """Count, for each pod, the active ones of the same deployment on its node."""
        on_node: dict[str, int] = {}
        for pod in self._related(found):
            view: Pod = pod.view
            if pods.is_active(view):
                on_node[view.spec.node_name] = on_node.get(view.spec.node_name, 0) + 1
        return [on_node.get(pod.view.spec.node_name, 0) for pod in active]

    def _related(self, found: StoredObject) -> Sequence[StoredObject]:
        """Return the pods that the sets of the same owner select."""
        owner = ownership.controller_of(found)
        if owner is None:
            return ()
        related: dict[str, StoredObject] = {}
        for each in ownership.controlled_by(self._sets, owner.uid):
            selector = _selector(each)
            candidates = self._pods.all_stored(each.namespace)
            related.update((pod.uid, pod) for pod in candidates if selector.matches(pod.labels))
        return tuple(related.values())

    # --- Status ------------------------------------------------------------------------------------------------------

    def _report(
        self, found: StoredObject, active: Sequence[StoredObject], terminating: int, error: StatusError | None
    ) -> Asking[StoredObject]:
        status = self._status(found, active, terminating, error)
        known: Mapping[str, Any] = found.raw.get("status") or {}
        observed = found.view.metadata.generation == found.view.status.observed_generation
        if observed and {**known, "observedGeneration": 0} == {**status, "observedGeneration": 0}:
            return found
        return (yield from ask(new_status(found, status)))

    def _status(
        self, found: StoredObject, active: Sequence[StoredObject], terminating: int, error: StatusError | None
    ) -> dict[str, Any]:
        view: ReplicaSet | ReplicationController = found.view
        now_ns = self.clock.now_ns()
        template: Mapping[str, Any] = found.raw["spec"]["template"].get("metadata") or {}
        labels = selectors.from_map(template.get("labels"))
        views = [pod.view for pod in active]
        status: dict[str, Any] = {"replicas": len(active), "observedGeneration": view.metadata.generation}
        ready = sum(map(pods.is_ready, views))
        min_ready_s = view.spec.min_ready_seconds
        counts = {
            "fullyLabeledReplicas": sum(labels.matches(pod.labels) for pod in active),
            "readyReplicas": ready,
            "availableReplicas": sum(pods.is_available(pod, min_ready_s, now_ns) for pod in views)
            if min_ready_s
            else ready,
        }
        status |= {name: count for name, count in counts.items() if count}
        if self._counts_terminating:
            status["terminatingReplicas"] = terminating
        conditions = self._conditions(found, len(active) - view.spec.replicas, error)
        if conditions:
            status["conditions"] = conditions
        return status

    def _conditions(self, found: StoredObject, difference: int, error: StatusError | None) -> list[Condition]:
        conditions: list[Condition] = list((found.raw.get("status") or {}).get("conditions") or ())
        if error is None:
            return without_condition(conditions, _FAILURE)
        if find_condition(conditions, _FAILURE) is None:
            failure = {
                "type": _FAILURE,
                "status": "True",
                "lastTransitionTime": format_time(self.clock.now_ns()),
                "message": str(error),
            }
            reason = "FailedCreate" if difference < 0 else "FailedDelete" if difference > 0 else ""
            conditions.append({**failure, "reason": reason} if reason else failure)
        return conditions

    def _plan_availability(self, key: str, found: StoredObject, active: Sequence[StoredObject]) -> None:
        """Look again when the next ready pod becomes available."""
        view: ReplicaSet | ReplicationController = found.view
        min_ready_s = view.spec.min_ready_seconds
        if min_ready_s <= 0 or view.status.ready_replicas == view.status.available_replicas:
            return
        after_ns = pods.next_availability_ns((pod.view for pod in active), min_ready_s, self.clock.now_ns())
        self.queue.add_after(key, min_ready_s * SECOND_NS if after_ns is None else after_ns)


class ReplicationManager(ReplicaSetController):
    """Keeps as many pods as each ReplicationController asks for."""

    name: ClassVar[str] = "replicationcontroller-controller"
    kind: ClassVar[Kind] = kinds.REPLICATION_CONTROLLER
    counts_terminating: ClassVar[bool] = False


def _selector(found: StoredObject) -> Selector:
    if found.resource == kinds.REPLICATION_CONTROLLER.resource:
        return selectors.from_map(found.view.spec.selector)
    return selectors.selector_from_view(found.view.spec.selector)


def _matches(found: StoredObject, pod: StoredObject) -> bool:
    """Whether a set would adopt the pod; one that selects everything selects nothing."""
    selector = _selector(found)
    return not selector.is_empty and selector.matches(pod.labels)

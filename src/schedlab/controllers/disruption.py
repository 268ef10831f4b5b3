"""The disruption controller: how many pods of each budget are healthy, should be, and may be evicted now.

Mirrors: pkg/controller/disruption/disruption.go, pkg/apis/policy pdbhelper of component-helpers (v1.36).
Differs: the scale of owners is read from their objects; only kinds with a scale subresource have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.views.core import Pod
from schedlab.api.views.workloads import PodDisruptionBudget
from schedlab.apimachinery import selectors
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.resources import ResourceType
from schedlab.apimachinery.time import format_time, parse_time
from schedlab.client.protocol import Write
from schedlab.controllers.framework import kinds, ownership
from schedlab.controllers.framework import pods as pod_rules
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, ask, attempt, split_key
from schedlab.controllers.framework.selector_text import selector_text
from schedlab.controllers.framework.status import Condition, find_condition, new_status, scaled_value
from schedlab.kernel.clock import SECOND_NS

_ALLOWED: Final = "DisruptionAllowed"
_TARGET: Final = "DisruptionTarget"
_BY_KUBELET: Final = "TerminationByKubelet"
#: For how long a pod that was evicted counts as gone although it is not.
_DELETION_NS: Final = 120 * SECOND_NS
#: After what time a pod that should have been disrupted but was not is told so no longer.
_STALE_NS: Final = 120 * SECOND_NS
_POD_KEY: Final = "pod:"
_UNMANAGED: Final = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of the "
    "PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set "
    '".spec.minAvailable" field of the PDB to an integer value.'
)


class _Expected(NamedTuple):
    """How many pods there should be, how many of them healthy, and whether some belong to nobody."""

    pods: int
    healthy: int
    unmanaged: bool = False


class _ScaleError(Exception):
    """An owner whose scale cannot be known."""


class DisruptionController(Controller):
    """Keys are those of budgets, and of pods behind `pod:`."""

    name: ClassVar[str] = "disruption-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "controllermanager")
        self._budgets = context.lister(kinds.POD_DISRUPTION_BUDGET.resource)
        self._pods = context.lister("pods")
        self._types: dict[tuple[str, str], ResourceType] = {}
        for each in context.resources:
            version = f"{each.group}/{each.version}" if each.group else each.version
            self._types[version, each.kind] = each
        #: By a budget's key: the version that was parsed, and what it selects.
        self._selectors: dict[str, tuple[StoredObject, selectors.Selector]] = {}
        self._budgets.on_change(self._on_budget)
        self._pods.on_change(self._on_pod)

    def _on_budget(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self._selectors.pop(event.object.key, None)
        self.queue.add(event.object.key)

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.object
        budgets = [each for each in self._budgets.all_stored(pod.namespace) if self._selector(each).matches(pod.labels)]
        if budgets:
            self.queue.add(budgets[0].key)
        if len(budgets) > 1:
            message = (
                f'Pod "{pod.namespace}"/"{pod.name}" matches multiple PodDisruptionBudgets.  '
                f'Chose "{budgets[0].name}" arbitrarily.'
            )
            self.events.warning(kinds.POD, pod, "MultiplePodDisruptionBudgets", message)
        if event.type != "DELETED" and (stale_ns := self._stale_after_ns(pod.view)) is not None:
            self.queue.add_after(_POD_KEY + pod.key, max(stale_ns, 1))

    def _selector(self, budget: StoredObject) -> selectors.Selector:
        """Return what a budget selects; an empty selector is about all pods."""
        parsed, selector = self._selectors.get(budget.key, (None, selectors.nothing()))
        if parsed is not budget:
            selector = selectors.selector_from_view(budget.view.spec.selector)
            self._selectors[budget.key] = budget, selector
        return selector

    # --- Sync --------------------------------------------------------------------------------------------------------

    def sync(self, key: str) -> Steps:
        """Work out one budget, or take a stale condition from a pod."""
        if key.startswith(_POD_KEY):
            yield from self._clear(key.removeprefix(_POD_KEY))
            return
        namespace, name = split_key(key)
        budget = self._budgets.stored(name, namespace)
        if budget is None:
            return
        everyone = self._pods.all_stored(namespace)
        self.queue.rest(key, len(everyone))
        selector = self._selector(budget)
        pods = [pod for pod in everyone if selector.matches(pod.labels)]
        if not pods:
            self.events.normal(kinds.POD_DISRUPTION_BUDGET, budget, "NoPods", "No matching pods found")
        try:
            yield from self._work_out(budget, pods)
        except (StatusError, _ScaleError) as error:
            if isinstance(error, StatusError) and error.reason == "Conflict":
                raise
            yield from self._fail_safe(budget, str(error))

    def _work_out(self, budget: StoredObject, pods: Sequence[StoredObject]) -> Steps:
        try:
            expected = self._expect(budget.view, pods)
        except _ScaleError as error:
            message = f"Failed to calculate the number of expected pods: {error}"
            self._warn(budget, "CalculateExpectedPodCountFailed", message)
            raise
        if expected.unmanaged:
            self._warn(budget, "UnmanagedPods", _UNMANAGED.format(selector_text(budget.view.spec.selector)))
        now_ns = self.clock.now_ns()
        evicted = self._evicted(budget, pods, now_ns)
        healthy = sum(
            pod_rules.is_ready(pod.view) for pod in pods if not ownership.is_deleted(pod) and pod.name not in evicted
        )
        yield from self._report(budget, expected, healthy, evicted)
        if evicted:
            due_ns = min(map(parse_time, evicted.values())) + _DELETION_NS
            self.queue.add_after(budget.key, max(due_ns - now_ns, 0) + 1)

    def _expect(self, view: PodDisruptionBudget, pods: Sequence[StoredObject]) -> _Expected:
        spec = view.spec
        if spec.max_unavailable is not None:
            scale, unmanaged = self._scale(pods)
            healthy = scale - scaled_value(spec.max_unavailable, scale, round_up=True)
            return _Expected(scale, max(0, healthy), unmanaged)
        if isinstance(spec.min_available, str):
            scale, unmanaged = self._scale(pods)
            return _Expected(scale, scaled_value(spec.min_available, scale, round_up=True), unmanaged)
        if spec.min_available is not None:
            return _Expected(len(pods), spec.min_available)
        return _Expected(0, 0)

    def _evicted(self, budget: StoredObject, pods: Sequence[StoredObject], now_ns: int) -> dict[str, str]:
        """Return when pods were evicted that are still there, as far as their time is not over."""
        view: PodDisruptionBudget = budget.view
        known = view.status.disrupted_pods
        evicted = {}
        for pod in pods:
            when = known.get(pod.name)
            if when is None or ownership.is_deleted(pod):
                continue
            if parse_time(when) + _DELETION_NS < now_ns:
                message = f"Pod was expected by PDB {budget.namespace}/{budget.namespace} to be deleted but it wasn't"
                self.events.warning(kinds.POD, pod, "NotDeleted", message)
            else:
                evicted[pod.name] = when
        return evicted

    # --- Scale of owners ---------------------------------------------------------------------------------------------

    def _scale(self, pods: Sequence[StoredObject]) -> tuple[int, bool]:
        """Return how many pods their owners want together, and whether some have none."""
        scales: dict[str, int] = {}
        unmanaged = False
        for pod in pods:
            reference = ownership.controller_of(pod)
            if reference is None:
                unmanaged = True
            elif reference.uid not in scales:
                owner = self._find(reference.api_version, reference.kind, reference.name, reference.uid, pod.namespace)
                if owner is None:
                    raise _ScaleError(f'found no controllers for pod "{pod.name}"')
                deployment = self._deployment_of(owner)
                # What belongs to the same Deployment is counted once, under its own uid.
                found = owner if deployment is None else deployment
                scales[found.uid] = found.raw["spec"].get("replicas", 0)
        return sum(scales.values()), unmanaged

    def _find(self, version: str, kind: str, name: str, uid: str, namespace: str) -> StoredObject | None:
        type_ = self._types.get((version, kind))
        if type_ is None:
            raise _ScaleError(f'no matches for kind "{kind}" in version "{version}"')
        if not _has_scale(type_):
            raise _ScaleError(f"{type_.full_name} does not implement the scale subresource")
        found = self.context.lister(type_.full_name).stored(name, namespace)
        return found if found is not None and found.uid == uid else None

    def _deployment_of(self, owner: StoredObject) -> StoredObject | None:
        if owner.resource != kinds.REPLICA_SET.resource:
            return None
        deployments = self.context.lister(kinds.DEPLOYMENT.resource)
        return ownership.resolve(deployments, kinds.DEPLOYMENT, owner.namespace, ownership.controller_of(owner))

    # --- Status ------------------------------------------------------------------------------------------------------

    def _report(self, budget: StoredObject, expected: _Expected, healthy: int, evicted: Mapping[str, str]) -> Steps:
        allowed = max(0, healthy - expected.healthy) if expected.pods > 0 else 0
        generation = budget.view.metadata.generation
        status: dict[str, Any] = {
            "observedGeneration": generation,
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": expected.healthy,
            "expectedPods": expected.pods,
        }
        if evicted:
            status["disruptedPods"] = dict(evicted)
        reason = "SufficientPods" if allowed else "InsufficientPods"
        status["conditions"] = self._conditions(budget, "True" if allowed else "False", reason, "", generation)
        if status != budget.raw.get("status"):
            yield from ask(new_status(budget, status))

    def _fail_safe(self, budget: StoredObject, message: str) -> Steps:
        """Allow nothing while the budget cannot be worked out."""
        known = budget.raw.get("status") or {}
        generation = budget.view.status.observed_generation
        conditions = self._conditions(budget, "False", "SyncFailed", message, generation)
        status = {**known, "disruptionsAllowed": 0, "conditions": conditions}
        if status != known:
            yield from ask(new_status(budget, status))

    def _conditions(
        self, budget: StoredObject, status: str, reason: str, message: str, generation: int
    ) -> list[Condition]:
        conditions: list[Condition] = list((budget.raw.get("status") or {}).get("conditions") or ())
        known = find_condition(conditions, _ALLOWED)
        same = known is not None and known["status"] == status
        condition: dict[str, Any] = {
            "type": _ALLOWED,
            "status": status,
            "lastTransitionTime": known["lastTransitionTime"] if same and known else format_time(self.clock.now_ns()),
            "reason": reason,
            "message": message,
        }
        if generation:
            condition["observedGeneration"] = generation
        if known is None:
            return [*conditions, condition]
        return [condition if each is known else each for each in conditions]

    def _warn(self, budget: StoredObject, reason: str, message: str) -> None:
        self.events.warning(kinds.POD_DISRUPTION_BUDGET, budget, reason, message)

    # --- Pods that were not disrupted --------------------------------------------------------------------------------

    def _clear(self, key: str) -> Steps:
        namespace, name = split_key(key)
        pod = self._pods.stored(name, namespace)
        stale_ns = None if pod is None else self._stale_after_ns(pod.view)
        if pod is None or stale_ns is None:
            return
        if stale_ns > 0:
            self.queue.add_after(_POD_KEY + key, stale_ns)
            return
        condition = {"type": _TARGET, "status": "False", "reason": None, "message": None}
        condition["lastTransitionTime"] = format_time(self.clock.now_ns())
        body = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
        write = Write("patch", "pods", namespace, name, body, subresource="status", patch_type="strategic")
        outcome = yield from attempt(write)
        if outcome.error is not None and outcome.error.reason != "NotFound":
            raise outcome.error

    def _stale_after_ns(self, pod: Pod) -> int | None:
        """Return after what time it is to be taken as not disrupted; None when it is not marked for disruption."""
        condition = pod.status.condition(_TARGET)
        if condition is None or condition.status != "True" or condition.reason == _BY_KUBELET:
            return None
        if pod.metadata.deletion_timestamp or pod_rules.is_finished(pod):
            return None
        since = condition.last_transition_time
        return max(0, (parse_time(since) if since else 0) + _STALE_NS - self.clock.now_ns())


def _has_scale(type_: ResourceType) -> bool:
    known = (kinds.REPLICATION_CONTROLLER, kinds.REPLICA_SET, kinds.DEPLOYMENT, kinds.STATEFUL_SET)
    return any(each.resource == type_.full_name for each in known) or type_.subresource("scale") is not None

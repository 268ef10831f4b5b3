"""Eviction: the deletion of a pod that asks its disruption budget first.

    finished, pending or being deleted ──► delete
    two budgets ──► 500;  a budget without disruptions left ──► 429
    otherwise ──► one disruption fewer, condition DisruptionTarget, delete

Mirrors: pkg/registry/core/pod/storage/eviction.go (v1.36)
Differs: nothing is retried, because nobody else writes meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from schedlab.api.kinds.conditions import set_condition
from schedlab.api.object import Object, StoredObject
from schedlab.api.views.core import Pod
from schedlab.apimachinery.errors import (
    Status,
    TooManyRequests,
    new_bad_request,
    new_forbidden,
    new_status,
    new_too_many_requests,
    new_unknown,
)
from schedlab.apimachinery.gvk import GroupResource
from schedlab.apimachinery.selectors import selector_from_view
from schedlab.registry.core import Core
from schedlab.registry.deletes import Deleter
from schedlab.registry.request import DeleteOptions, WriteOptions
from schedlab.registry.writes import Writer

_BUDGETS: Final = "poddisruptionbudgets.policy"
_VIOLATED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_TWO_BUDGETS: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_DISRUPTED_PODS_MAX: Final = 2000
_UNGUARDED: Final = ("Pending", "Succeeded", "Failed")


class Evictor:
    """Evicts pods."""

    def __init__(self, core: Core, writer: Writer, deleter: Deleter) -> None:
        self._core = core
        self._writer = writer
        self._deleter = deleter

    def evict(
        self, name: str, namespace: str, eviction: Object, options: WriteOptions, delete_options: DeleteOptions
    ) -> Status:
        """Delete a pod if its budget allows; raises TooManyRequests when it does not."""
        if eviction["metadata"].get("name", "") != name:
            raise new_bad_request("name in URL does not match name in Eviction object")
        pods = self._core.resources["pods"]
        stored = self._core.require(pods, namespace, name)
        pod: Pod = stored.view
        if pod.status.phase in _UNGUARDED or pod.metadata.deletion_timestamp:
            self._deleter.delete(pods, name, namespace, delete_options)
            return new_status("Success")
        budgets = [budget for budget in self._budgets(namespace) if _covers(budget, pod)]
        if len(budgets) > 1:
            raise new_unknown(_TWO_BUDGETS)
        if budgets and not _tolerates_unready(budgets[0], pod):
            self._take_disruption(budgets[0], name, options)
        self._mark(stored, options)
        # The condition made a new version; a precondition on the old one has been met by now.
        self._deleter.delete(pods, name, namespace, replace(delete_options, resource_version=None))
        return new_status("Success")

    def _budgets(self, namespace: str) -> list[StoredObject]:
        return self._core.store.list(_BUDGETS, f"{namespace}/")

    def _take_disruption(self, budget: StoredObject, pod_name: str, options: WriteOptions) -> None:
        """Count one disruption of the budget; raises TooManyRequests when there is none left."""
        obj = budget.thaw()
        status = obj["status"]
        _refuse_without_disruptions(budget.name, obj, status)
        status["disruptionsAllowed"] -= 1
        if options.dry_run:
            return
        status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: self._core.now()}
        if status["disruptionsAllowed"] == 0:
            self._note_exhausted(status)
        budgets = self._core.resources[_BUDGETS]
        self._writer.replace(budgets, budget.name, budget.namespace, lambda _: obj, options, subresource="status")

    def _note_exhausted(self, status: Object) -> None:
        conditions = status.setdefault("conditions", [])
        present = next((each for each in conditions if each["type"] == "DisruptionAllowed"), None)
        if present is None:
            present = {"type": "DisruptionAllowed"}
            conditions.append(present)
        if present.get("status") != "False":
            present["status"] = "False"
            present["lastTransitionTime"] = self._core.now()
        present["reason"] = "InsufficientPods"
        present.setdefault("message", "")
        if generation := status.get("observedGeneration"):
            present["observedGeneration"] = generation

    def _mark(self, stored: StoredObject, options: WriteOptions) -> None:
        """Note in the pod why it goes."""
        pod = stored.thaw()
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        set_condition(pod["status"], condition, self._core.now())
        pods = self._core.resources["pods"]
        self._writer.replace(pods, stored.name, stored.namespace, lambda _: pod, options, subresource="status")


def _covers(budget: StoredObject, pod: Pod) -> bool:
    # An empty selector selects every pod, an absent one none.
    return selector_from_view(budget.view.spec.selector).matches(pod.metadata.labels)


def _tolerates_unready(budget: StoredObject, pod: Pod) -> bool:
    """Whether the budget lets a pod go that is not ready, because it disrupts nobody."""
    ready = pod.status.condition("Ready")
    if ready is not None and ready.status == "True":
        return False
    raw = budget.raw
    if raw["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status: Mapping[str, Any] = raw["status"]
    desired = status.get("desiredHealthy", 0)
    return bool(0 < desired <= status.get("currentHealthy", 0))


def _refuse_without_disruptions(name: str, budget: Object, status: Object) -> None:
    resource = GroupResource("policy", "poddisruptionbudget")
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _violated(f"The disruption budget {name} is still being processed by the server.", retry_after_s=10)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise new_forbidden(resource, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > _DISRUPTED_PODS_MAX:
        cause = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise new_forbidden(resource, name, cause)
    if allowed == 0:
        desired, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        raise _violated(f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")


def _violated(message: str, retry_after_s: int = 0) -> TooManyRequests:
    error = new_too_many_requests(_VIOLATED, retry_after_s)
    error.status["details"]["causes"] = [{"reason": "DisruptionBudget", "message": message}]
    return error

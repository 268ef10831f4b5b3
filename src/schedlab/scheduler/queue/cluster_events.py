"""The events the queue hears of: their texts, which registered events they match, and what a change of an object means.

Mirrors: pkg/scheduler/framework/events.go, event matching in pkg/scheduler/framework/types.go (v1.36).
Differs: annotations that hold our own results do not count as a change, so that writing a result wakes no pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from schedlab.apimachinery.quantity import parse_cached
from schedlab.scheduler.framework.events import ActionType, ClusterEvent, EventResource

if TYPE_CHECKING:
    from schedlab.api.views.core import Node
    from schedlab.api.views.meta import ObjectMeta
    from schedlab.apimachinery.features import FeatureGates
    from schedlab.scheduler.framework.types import PodInfo

# Reasons of moves that no event of the cluster stands behind.
SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF: Final = "PopFromBackoffQ"
FORCE_ACTIVATE: Final = "ForceActivate"
UNSCHEDULABLE_TIMEOUT: Final = "UnschedulableTimeout"

ASSIGNED_POD_ADD: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_DELETE: Final = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
UNSCHEDULED_POD_ADD: Final = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.ADD)
UNSCHEDULED_POD_UPDATE: Final = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.UPDATE)
NODE_ADD: Final = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_DELETE: Final = ClusterEvent(EventResource.NODE, ActionType.DELETE)
TIMEOUT_EVENT: Final = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, UNSCHEDULABLE_TIMEOUT)
FORCE_ACTIVATE_EVENT: Final = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, FORCE_ACTIVATE)

RESULT_ANNOTATION_PREFIX: Final = "kube-scheduler-simulator.sigs.k8s.io/"
# Lists the annotations that hold results of plugins and hooks under keys of their own, separated by commas.
CUSTOM_RESULTS_ANNOTATION: Final = f"{RESULT_ANNOTATION_PREFIX}custom-results"

_NONE: Final[Mapping[str, None]] = {}
_ACTION_TEXTS: Final = {
    ActionType.ADD: "Add",
    ActionType.DELETE: "Delete",
    ActionType.UPDATE_NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    ActionType.UPDATE_NODE_LABEL: "UpdateNodeLabel",
    ActionType.UPDATE_NODE_TAINT: "UpdateNodeTaint",
    ActionType.UPDATE_NODE_CONDITION: "UpdateNodeCondition",
    ActionType.UPDATE_NODE_ANNOTATION: "UpdateNodeAnnotation",
    ActionType.UPDATE_NODE_DECLARED_FEATURE: "UpdateNodeDeclaredFeature",
    ActionType.UPDATE_POD_LABEL: "UpdatePodLabel",
    ActionType.UPDATE_POD_SCALE_DOWN: "UpdatePodScaleDown",
    ActionType.UPDATE_POD_TOLERATION: "UpdatePodToleration",
    ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "UpdatePodGeneratedResourceClaim",
    ActionType.ALL: "All",
    ActionType.UPDATE: "Update",
}

_POD_RESOURCES: Final = (EventResource.ASSIGNED_POD, EventResource.UNSCHEDULED_POD)


def event_label(event: ClusterEvent) -> str:
    """Return upstream's text of an event: `NodeUpdateNodeLabel`, `storage.k8s.io/CSIDriverAdd`."""
    return event.label or f"{event.resource.value}{_ACTION_TEXTS.get(event.action, '')}"


def event_words(event: ClusterEvent) -> str:
    """Return what a plugin registered in words: `Node: Add, UpdateNodeLabel`."""
    if event.action in _ACTION_TEXTS:
        return f"{event.resource.value}: {_ACTION_TEXTS[event.action]}"
    single = [action for action in _ACTION_TEXTS if action not in (ActionType.ALL, ActionType.UPDATE)]
    updates = [ActionType.UPDATE] if event.action & ActionType.UPDATE == ActionType.UPDATE else []
    parts = [action for action in single if action & event.action and not (updates and action & ActionType.UPDATE)]
    return f"{event.resource.value}: {', '.join(_ACTION_TEXTS[action] for action in (*parts, *updates))}"


def is_wildcard(event: ClusterEvent) -> bool:
    """Whether the event stands for every event."""
    return event.resource is EventResource.WILDCARD and event.action == ActionType.ALL


def event_matches(registered: ClusterEvent, incoming: ClusterEvent) -> bool:
    """Whether what happened is what a plugin registered, or more specific.

    A general update, one that no specific kind describes, matches only who registered all updates.
    """
    if is_wildcard(registered):
        return True
    if not registered.action & incoming.action or incoming.action > registered.action:
        return False
    wanted = registered.resource
    return (
        wanted is EventResource.WILDCARD
        or wanted is incoming.resource
        or (wanted is EventResource.POD and incoming.resource in _POD_RESOURCES)
    )


# --- What changed ---


def pod_changes(old: PodInfo, new: PodInfo, features: FeatureGates) -> tuple[ClusterEvent, ...]:
    """Return the events that a pod's change amounts to; the general update when it is nothing specific."""
    a, b = old.pod, new.pod
    actions = []
    if a.metadata.labels != b.metadata.labels:
        actions.append(ActionType.UPDATE_POD_LABEL)
    if _scaled_down(old, new):
        actions.append(ActionType.UPDATE_POD_SCALE_DOWN)
    if a.spec.scheduling_gates and not b.spec.scheduling_gates:
        actions.append(ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    # Tolerations can only be added.
    if len(a.spec.tolerations) != len(b.spec.tolerations):
        actions.append(ActionType.UPDATE_POD_TOLERATION)
    if features.enabled("DynamicResourceAllocation") and (
        a.status.resource_claim_statuses != b.status.resource_claim_statuses
        or a.status.extended_resource_claim_status != b.status.extended_resource_claim_status
    ):
        actions.append(ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    resource = EventResource.ASSIGNED_POD if b.spec.node_name else EventResource.UNSCHEDULED_POD
    return tuple(ClusterEvent(resource, action) for action in actions or (ActionType.UPDATE,))


def _scaled_down(old: PodInfo, new: PodInfo) -> bool:
    wanted = new.requests
    return any(name not in wanted or amount > wanted[name] for name, amount in old.requests.items())


def only_results_written(old: PodInfo, new: PodInfo) -> bool:
    """Whether nothing but annotations that hold our own results was changed."""
    before, after = old.pod.metadata, new.pod.metadata
    if before.annotations == after.annotations:
        return False
    custom = {**custom_result_keys(before.annotations), **custom_result_keys(after.annotations)}
    return (
        _comparable(before, custom) == _comparable(after, custom)
        and old.pod.spec == new.pod.spec
        and old.pod.status == new.pod.status
    )


def custom_result_keys(annotations: Mapping[str, str]) -> dict[str, None]:
    """Return the keys of an object's annotations that hold results of plugins and hooks."""
    listed = annotations.get(CUSTOM_RESULTS_ANNOTATION)
    return dict.fromkeys(listed.split(",")) if listed else {}


def _comparable(metadata: ObjectMeta, custom: Mapping[str, None]) -> ObjectMeta:
    return replace(metadata, resource_version="", generation=0, annotations=_foreign(metadata.annotations, custom))


def _foreign(annotations: Mapping[str, str], custom: Mapping[str, None] = _NONE) -> dict[str, str]:
    return {
        key: value
        for key, value in annotations.items()
        if not key.startswith(RESULT_ANNOTATION_PREFIX) and key not in custom
    }


def node_changes(old: Node, new: Node, features: FeatureGates) -> tuple[ClusterEvent, ...]:
    """Return the events that a node's change amounts to; none when it cannot matter."""
    actions = []
    if old.spec.unschedulable and not new.spec.unschedulable:
        actions.append(ActionType.UPDATE_NODE_TAINT)
    if not _same_amounts(old.status.allocatable, new.status.allocatable):
        actions.append(ActionType.UPDATE_NODE_ALLOCATABLE)
    if old.metadata.labels != new.metadata.labels:
        actions.append(ActionType.UPDATE_NODE_LABEL)
    if old.spec.taints != new.spec.taints:
        actions.append(ActionType.UPDATE_NODE_TAINT)
    if _condition_states(old) != _condition_states(new):
        actions.append(ActionType.UPDATE_NODE_CONDITION)
    if _foreign(old.metadata.annotations) != _foreign(new.metadata.annotations):
        actions.append(ActionType.UPDATE_NODE_ANNOTATION)
    if features.enabled("NodeDeclaredFeatures") and old.status.declared_features != new.status.declared_features:
        actions.append(ActionType.UPDATE_NODE_DECLARED_FEATURE)
    return tuple(ClusterEvent(EventResource.NODE, action) for action in actions)


def _same_amounts(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Whether two resource lists say the same; 1 and 1000m do."""
    return old == new or (
        old.keys() == new.keys() and all(parse_cached(old[name]) == parse_cached(new[name]) for name in old)
    )


def _condition_states(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}

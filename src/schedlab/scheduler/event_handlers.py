"""What the scheduler makes of changes in the cluster: they go into the cache, then wake the pods they may help.

Pods are those that are not over: one that succeeds or fails is gone as far as scheduling goes.

Mirrors: pkg/scheduler/eventhandlers.go and newPodInformer in pkg/scheduler/scheduler.go (v1.36).
Differs: new nodes are not checked against pods before the hints are asked, since queueing hints are always on; writing
our own result annotations changes neither cache nor queue; events may be held back while a scheduling cycle waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from schedlab.scheduler.dra.devices import DEVICE_KINDS
from schedlab.scheduler.framework.events import ActionType, ClusterEvent, EventResource
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.queue.cluster_events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    UNSCHEDULED_POD_ADD,
    event_label,
    node_changes,
    only_results_written,
    pod_changes,
)

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.api.views.core import Node, Pod
    from schedlab.apimachinery.features import FeatureGates
    from schedlab.client.protocol import WatchEvent
    from schedlab.scheduler.cache.cache import SchedulerCache
    from schedlab.scheduler.dra.devices import Devices
    from schedlab.scheduler.framework.pod_groups import PodGroups
    from schedlab.scheduler.queue.environment import QueueProfile
    from schedlab.scheduler.queue.scheduling_queue import PreCheck, SchedulingQueue

PODS: Final = "pods"
NODES: Final = "nodes"

#: Resources whose changes only wake pods, with the kind of event they make.
WAKING_RESOURCES: Final[Mapping[str, EventResource]] = {
    "persistentvolumes": EventResource.PERSISTENT_VOLUME,
    "persistentvolumeclaims": EventResource.PERSISTENT_VOLUME_CLAIM,
    "storageclasses.storage.k8s.io": EventResource.STORAGE_CLASS,
    "csinodes.storage.k8s.io": EventResource.CSI_NODE,
    "csidrivers.storage.k8s.io": EventResource.CSI_DRIVER,
    "csistoragecapacities.storage.k8s.io": EventResource.CSI_STORAGE_CAPACITY,
    "volumeattachments.storage.k8s.io": EventResource.VOLUME_ATTACHMENT,
    "resourceclaims.resource.k8s.io": EventResource.RESOURCE_CLAIM,
    "resourceslices.resource.k8s.io": EventResource.RESOURCE_SLICE,
    "deviceclasses.resource.k8s.io": EventResource.DEVICE_CLASS,
    "podgroups.scheduling.k8s.io": EventResource.POD_GROUP,
}
# Kinds that are listened to only while their feature is on.
_FEATURE_OF: Final[Mapping[EventResource, str]] = {
    EventResource.RESOURCE_CLAIM: "DynamicResourceAllocation",
    EventResource.RESOURCE_SLICE: "DynamicResourceAllocation",
    EventResource.DEVICE_CLASS: "DynamicResourceAllocation",
    EventResource.POD_GROUP: "GenericWorkload",
}
_OVER: Final = ("Succeeded", "Failed")


class EventHandlers:
    """Takes the watch events of every resource the scheduler listens to.

    profiles: by scheduler name; pods of other schedulers are ignored until they are bound.
    reject_waiting_pod: ends the permit wait of a pod that is being deleted; False when it does not wait.
    """

    def __init__(
        self,
        cache: SchedulerCache,
        queue: SchedulingQueue,
        devices: Devices,
        pod_groups: PodGroups,
        profiles: Mapping[str, QueueProfile],
        features: FeatureGates,
        reject_waiting_pod: Callable[[PodInfo], bool],
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._devices = devices
        self._pod_groups = pod_groups
        devices.on_change = self.object_changed
        self._profiles = profiles
        self._features = features
        self._tells_of_new_pods = features.enabled("GangScheduling")
        self._reject_waiting_pod = reject_waiting_pod
        self._wanted = _wanted_actions(profiles, features)
        self._holding = False
        self._held: deque[WatchEvent] = deque()

    def resources(self) -> tuple[str, ...]:
        """Return the resources to watch, named as kubectl names them."""
        waking = (resource for resource, kind in WAKING_RESOURCES.items() if kind in self._wanted)
        return (PODS, NODES, *waking)

    def handle(self, event: WatchEvent) -> None:
        """Take one event, now or, while events are held back, later."""
        if self._holding:
            self._held.append(event)
            return
        resource = event.object.resource
        before, after = _states(event)
        if resource == PODS:
            self._pod_changed(before, after)
        elif resource == NODES:
            self._node_changed(before.view if before else None, after.view if after else None)
        else:
            kind = WAKING_RESOURCES[resource]
            if kind in DEVICE_KINDS:
                self._devices.observe(kind, before, after)
            else:
                self.object_changed(kind, before.view if before else None, after.view if after else None)

    def hold(self) -> None:
        """Hold events back: a scheduling cycle waits for an answer and must find everything as it was."""
        self._holding = True

    def release(self) -> None:
        """Take the events that were held back, in order, and hold back no more."""
        self._holding = False
        while self._held and not self._holding:
            self.handle(self._held.popleft())

    @property
    def held(self) -> tuple[WatchEvent, ...]:
        """The events that are held back: what a fork made now has still to be told."""
        return tuple(self._held)

    def object_changed(self, kind: EventResource, old: object, new: object) -> None:
        """Wake pods for an object that is not cached; None stands for "was not" and "is no more"."""
        action = ActionType.ADD if old is None else ActionType.DELETE if new is None else ActionType.UPDATE
        if action & self._wanted.get(kind, ActionType.NONE):
            self._queue.move_all(ClusterEvent(kind, action), old, new)

    # --- Nodes ---

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            assert old is not None
            self._queue.move_all(NODE_DELETE, old, None)
            self._cache.remove_node(old)
            return
        self._cache.set_node(new)
        for event in (NODE_ADD,) if old is None else node_changes(old, new, self._features):
            self._queue.move_all(event, old, new)

    # --- Pods ---

    def _pod_changed(self, before: StoredObject | None, after: StoredObject | None) -> None:
        view: Pod | None = None if after is None else after.view
        new = None if view is None or is_over(view) else PodInfo(view, after)
        if before is not None and new is not None and _is_binding(before, new):
            self._pod_bound(new)
            return
        old = self._known(before) if before is not None and not is_over(before.view) else None
        if old is not None and new is not None and old.uid != new.uid:
            self._pod_groups.remove(old)
            self._delete_pod(old)
            old = None
        if new is not None:
            self._pod_groups.put(new)
        elif old is not None:
            self._pod_groups.remove(old)
        if old is None:
            if new is not None:
                self._add_pod(new)
        elif new is None:
            self._delete_pod(old)
        else:
            self._update_pod(old, new)

    def _known(self, stored: StoredObject) -> PodInfo:
        """Return the pod as it is in queue or cache, so that nothing is parsed twice; else anew."""
        queued = self._queue.find(stored.key)
        for pod in (self._cache.pod(stored.uid), queued.pod if queued is not None else None):
            if pod is not None and pod.stored is stored and pod.pod is stored.view:
                return pod
        return PodInfo(stored.view, stored)

    def _is_responsible(self, pod: PodInfo) -> bool:
        return pod.pod.spec.scheduler_name in self._profiles

    def _add_pod(self, pod: PodInfo) -> None:
        if _is_assigned(pod):
            self._add_assigned(pod)
        elif self._is_responsible(pod):
            self._queue.add(pod)
            if self._tells_of_new_pods:
                self._queue.move_all(UNSCHEDULED_POD_ADD, None, pod.pod)

    def _update_pod(self, old: PodInfo, new: PodInfo) -> None:
        if _is_assigned(old):
            self._update_assigned(old, new)
        elif self._is_responsible(old):
            self._update_pending(old, new)

    def _pod_bound(self, pod: PodInfo) -> None:
        is_ours = self._cache.is_assumed(pod.uid)
        self._pod_groups.put(pod)
        self._add_assigned(pod)
        # One that was assumed is not in the queue; it may be if somebody else bound it.
        if not is_ours and self._is_responsible(pod):
            self._queue.delete(pod)

    def _delete_pod(self, pod: PodInfo) -> None:
        if _is_assigned(pod):
            self._cache.remove_pod(pod)
            self._queue.move_all(ASSIGNED_POD_DELETE, pod.pod, None)
        elif self._is_responsible(pod):
            self._delete_pending(pod)

    def _add_assigned(self, pod: PodInfo) -> None:
        self._cache.add_pod(pod)
        self._queue.move_all(ASSIGNED_POD_ADD, None, pod.pod)

    def _update_assigned(self, old: PodInfo, new: PodInfo) -> None:
        if only_results_written(old, new):
            return
        self._cache.update_pod(new)
        for event in pod_changes(old, new, self._features):
            self._queue.move_all(event, old.pod, new.pod)

    def _update_pending(self, old: PodInfo, new: PodInfo) -> None:
        if old.pod.metadata.resource_version == new.pod.metadata.resource_version:
            return
        if self._cache.is_assumed(new.uid):
            if new.pod.metadata.deletion_timestamp and not old.pod.metadata.deletion_timestamp:
                self._give_up_assumed(new)
            return
        self._queue.update(old, new)
        nominated = old.pod.status.nominated_node_name
        if nominated and nominated != new.pod.status.nominated_node_name:
            # Pods of lower priority counted it in on that node.
            self._queue.move_all(ASSIGNED_POD_DELETE, old.pod, None, _up_to_priority(old.priority))

    def _delete_pending(self, pod: PodInfo) -> None:
        self._queue.delete(pod)
        if self._cache.is_assumed(pod.uid):
            self._give_up_assumed(pod)
        elif pod.pod.status.nominated_node_name:
            self._queue.move_all(ASSIGNED_POD_DELETE, pod.pod, None, _up_to_priority(pod.priority))

    def _give_up_assumed(self, pod: PodInfo) -> None:
        """Free what a pod holds that is on its way to a node and being deleted; its binding fails by itself."""
        assumed = self._cache.pod(pod.uid)
        assert assumed is not None, f"{pod.key} is assumed but not cached"
        if not self._reject_waiting_pod(assumed):
            self._cache.forget_pod(assumed)
        self._queue.move_all(ASSIGNED_POD_DELETE, assumed.pod, None)


def _wanted_actions(profiles: Mapping[str, QueueProfile], features: FeatureGates) -> dict[EventResource, ActionType]:
    """Return what any plugin of any profile wants to hear of each kind."""
    wanted: dict[EventResource, ActionType] = {}
    for profile in profiles.values():
        for kind, action in profile.hints.actions().items():
            feature = _FEATURE_OF.get(kind)
            if feature is None or features.enabled(feature):
                wanted[kind] = wanted.get(kind, ActionType.NONE) | action
    return wanted


def event_labels(event: WatchEvent, features: FeatureGates) -> tuple[str, ...]:
    """Return what upstream calls a change in the metric of its handling."""
    before, after = _states(event)
    action = "Add" if before is None else "Delete" if after is None else "Update"
    either = after or before
    assert either is not None
    if either.resource == PODS:
        of = "AssignedPod" if either.view.spec.node_name else "UnschedulablePod"
        return (f"{of}{action}",)
    if either.resource == NODES and before is not None and after is not None:
        return tuple(event_label(each) for each in node_changes(before.view, after.view, features))
    kind = EventResource.NODE if either.resource == NODES else WAKING_RESOURCES[either.resource]
    return (f"{kind.value}{action}",)


def _states(event: WatchEvent) -> tuple[StoredObject | None, StoredObject | None]:
    if event.type == "DELETED":
        return event.previous or event.object, None
    return event.previous, event.object


def _is_binding(before: StoredObject, pod: PodInfo) -> bool:
    """Whether a change of a pod is that it has got a node."""
    if not pod.pod.spec.node_name or before.uid != pod.uid:
        return False
    was: Pod = before.view
    return not was.spec.node_name and not is_over(was)


def _is_assigned(pod: PodInfo) -> bool:
    return bool(pod.pod.spec.node_name)


def is_over(pod: Pod) -> bool:
    """Whether a pod has ended: as far as scheduling goes it is gone."""
    return pod.status.phase in _OVER


def _up_to_priority(priority: int) -> PreCheck:
    return lambda pod: pod.priority <= priority

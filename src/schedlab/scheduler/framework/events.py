"""Cluster events, and which of them may make a rejected pod schedulable.

Mirrors: staging/src/k8s.io/kube-scheduler/framework/types.go (v1.36), ClusterEvent and queueing hints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, IntFlag, StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from schedlab.scheduler.framework.types import PodInfo


class ActionType(IntFlag):
    """What happened to an object; updates tell which part changed."""

    NONE = 0
    ADD = 1 << 0
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_NODE_DECLARED_FEATURE = 1 << 7
    UPDATE_POD_LABEL = 1 << 8
    UPDATE_POD_SCALE_DOWN = 1 << 9
    UPDATE_POD_TOLERATION = 1 << 10
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 11
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 12
    UPDATE = (1 << 13) - 1 - 3
    ALL = (1 << 13) - 1


class EventResource(StrEnum):
    """Kinds of objects whose changes matter; the values are upstream's texts."""

    POD = "Pod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    WILDCARD = "*"
    # Only in events that happen, never in those a plugin registers: POD matches both.
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnschedulablePod"


class ClusterEvent(msgspec.Struct, frozen=True, gc=False):
    """A kind of change; `label` replaces the generated text where upstream has one."""

    resource: EventResource
    action: ActionType
    label: str = ""


class QueueingHint(IntEnum):
    """A hint's answer: may the event make the pod schedulable."""

    SKIP = 0
    QUEUE = 1


# (pod, object before or None, object after or None) -> hint; objects are typed views. Raising means "queue".
QueueingHintFn = Callable[["PodInfo", Any, Any], QueueingHint]


@dataclass(frozen=True, slots=True)
class ClusterEventWithHint:
    """An event a plugin wants to hear of for the pods it rejected; without a hint every such event queues the pod."""

    event: ClusterEvent
    hint: QueueingHintFn | None = None

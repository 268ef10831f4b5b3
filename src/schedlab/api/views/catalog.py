"""Which typed view each resource has; a resource without one is seen through its metadata alone."""

from __future__ import annotations

from typing import Final

from schedlab.api.views import core, resource, scheduling, storage, workloads
from schedlab.api.views.meta import Metadata, View

VIEWS: Final[dict[str, type[View]]] = {
    "namespaces": core.Namespace,
    "nodes": core.Node,
    "persistentvolumeclaims": storage.PersistentVolumeClaim,
    "persistentvolumes": storage.PersistentVolume,
    "pods": core.Pod,
    "services": core.Service,
    "replicationcontrollers": workloads.ReplicationController,
    "controllerrevisions.apps": workloads.ControllerRevision,
    "daemonsets.apps": workloads.DaemonSet,
    "deployments.apps": workloads.Deployment,
    "replicasets.apps": workloads.ReplicaSet,
    "statefulsets.apps": workloads.StatefulSet,
    "cronjobs.batch": workloads.CronJob,
    "jobs.batch": workloads.Job,
    "csidrivers.storage.k8s.io": storage.CSIDriver,
    "csinodes.storage.k8s.io": storage.CSINode,
    "csistoragecapacities.storage.k8s.io": storage.CSIStorageCapacity,
    "storageclasses.storage.k8s.io": storage.StorageClass,
    "volumeattachments.storage.k8s.io": storage.VolumeAttachment,
    "poddisruptionbudgets.policy": workloads.PodDisruptionBudget,
    "podgroups.scheduling.k8s.io": scheduling.PodGroup,
    "priorityclasses.scheduling.k8s.io": workloads.PriorityClass,
    "deviceclasses.resource.k8s.io": resource.DeviceClass,
    "resourceclaims.resource.k8s.io": resource.ResourceClaim,
    "resourceclaimtemplates.resource.k8s.io": resource.ResourceClaimTemplate,
    "resourceslices.resource.k8s.io": resource.ResourceSlice,
}


def view_of(resource: str) -> type[View]:
    """Return the view of a resource, named as kubectl names it."""
    return VIEWS.get(resource, Metadata)

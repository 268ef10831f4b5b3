"""The kinds of objects that controllers own or make: their resource and their type.

Mirrors: schema.GroupVersionKind and metav1.NewControllerRef (v1.36). Differs: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.object import StoredObject


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: the name of its resource as kubectl prints it, and what its objects say of themselves."""

    resource: str
    api_version: str
    kind: str

    def reference(self, owner: StoredObject) -> dict[str, Any]:
        """Return the owner reference of an object that `owner` controls."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": owner.name,
            "uid": owner.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


POD: Final = Kind("pods", "v1", "Pod")
NODE: Final = Kind("nodes", "v1", "Node")
SERVICE: Final = Kind("services", "v1", "Service")
ENDPOINTS: Final = Kind("endpoints", "v1", "Endpoints")
ENDPOINT_SLICE: Final = Kind("endpointslices.discovery.k8s.io", "discovery.k8s.io/v1", "EndpointSlice")
PERSISTENT_VOLUME_CLAIM: Final = Kind("persistentvolumeclaims", "v1", "PersistentVolumeClaim")
REPLICATION_CONTROLLER: Final = Kind("replicationcontrollers", "v1", "ReplicationController")
REPLICA_SET: Final = Kind("replicasets.apps", "apps/v1", "ReplicaSet")
DEPLOYMENT: Final = Kind("deployments.apps", "apps/v1", "Deployment")
STATEFUL_SET: Final = Kind("statefulsets.apps", "apps/v1", "StatefulSet")
DAEMON_SET: Final = Kind("daemonsets.apps", "apps/v1", "DaemonSet")
CONTROLLER_REVISION: Final = Kind("controllerrevisions.apps", "apps/v1", "ControllerRevision")
JOB: Final = Kind("jobs.batch", "batch/v1", "Job")
CRON_JOB: Final = Kind("cronjobs.batch", "batch/v1", "CronJob")
POD_DISRUPTION_BUDGET: Final = Kind("poddisruptionbudgets.policy", "policy/v1", "PodDisruptionBudget")
HORIZONTAL_POD_AUTOSCALER: Final = Kind(
    "horizontalpodautoscalers.autoscaling", "autoscaling/v2", "HorizontalPodAutoscaler"
)

"""Every controller, by the name under which kube-controller-manager knows it, in the order in which they are stepped.

Mirrors: NewControllerDescriptors of cmd/kube-controller-manager/app/controllermanager.go (v1.36).
Differs: nothing runs that a simulated cluster has no use for (certificates, tokens, clouds).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from schedlab.client.effects import Part
from schedlab.controllers.attachdetach import AttachDetachController
from schedlab.controllers.attacher import SimulatedAttacher
from schedlab.controllers.clusterroleaggregation import ClusterRoleAggregationController
from schedlab.controllers.cronjob.controller import CronJobController
from schedlab.controllers.daemonset.controller import DaemonSetsController
from schedlab.controllers.deployment.controller import DeploymentController
from schedlab.controllers.disruption import DisruptionController
from schedlab.controllers.endpoints.controller import EndpointsController
from schedlab.controllers.endpointslice.controller import EndpointSliceController
from schedlab.controllers.endpointslicemirroring import EndpointSliceMirroringController
from schedlab.controllers.ephemeral_volume import EphemeralVolumeController
from schedlab.controllers.framework.controller import ControllerContext
from schedlab.controllers.garbagecollector import GarbageCollector
from schedlab.controllers.job.controller import JobController
from schedlab.controllers.namespace.controller import NamespaceController
from schedlab.controllers.node_lifecycle.controller import NodeLifecycleController
from schedlab.controllers.node_ttl import NodeTTLController
from schedlab.controllers.persistentvolume.controller import PersistentVolumeController
from schedlab.controllers.persistentvolume.provisioner import SimulatedProvisioner
from schedlab.controllers.podautoscaler.horizontal import HorizontalController
from schedlab.controllers.podgc import PodGCController
from schedlab.controllers.pv_protection import PVProtectionController
from schedlab.controllers.pvc_protection import PVCProtectionController
from schedlab.controllers.replicaset import ReplicaSetController, ReplicationManager
from schedlab.controllers.resourceclaim import ResourceClaimController
from schedlab.controllers.resourcequota import ResourceQuotaController
from schedlab.controllers.root_ca_cert_publisher import RootCACertPublisher
from schedlab.controllers.serviceaccount import ServiceAccountController
from schedlab.controllers.statefulset.controller import StatefulSetController
from schedlab.controllers.taint_eviction import TaintEvictionController
from schedlab.controllers.ttlafterfinished import TTLAfterFinishedController
from schedlab.controllers.vac_protection import VACProtectionController

Constructor: TypeAlias = Callable[[ControllerContext], Part]


CONTROLLERS: Final[Mapping[str, Constructor]] = {
    NamespaceController.name: NamespaceController,
    ServiceAccountController.name: ServiceAccountController,
    RootCACertPublisher.name: RootCACertPublisher,
    ClusterRoleAggregationController.name: ClusterRoleAggregationController,
    GarbageCollector.name: GarbageCollector,
    EndpointsController.name: EndpointsController,
    EndpointSliceController.name: EndpointSliceController,
    EndpointSliceMirroringController.name: EndpointSliceMirroringController,
    ReplicationManager.name: ReplicationManager,
    DaemonSetsController.name: DaemonSetsController,
    JobController.name: JobController,
    CronJobController.name: CronJobController,
    TTLAfterFinishedController.name: TTLAfterFinishedController,
    ReplicaSetController.name: ReplicaSetController,
    DeploymentController.name: DeploymentController,
    StatefulSetController.name: StatefulSetController,
    HorizontalController.name: HorizontalController,
    DisruptionController.name: DisruptionController,
    NodeLifecycleController.name: NodeLifecycleController,
    TaintEvictionController.name: TaintEvictionController,
    NodeTTLController.name: NodeTTLController,
    PodGCController.name: PodGCController,
    ResourceClaimController.name: ResourceClaimController,
    ResourceQuotaController.name: ResourceQuotaController,
    PersistentVolumeController.name: PersistentVolumeController,
    AttachDetachController.name: AttachDetachController,
    EphemeralVolumeController.name: EphemeralVolumeController,
    PVCProtectionController.name: PVCProtectionController,
    PVProtectionController.name: PVProtectionController,
    VACProtectionController.name: VACProtectionController,
}
#: What drivers of a real cluster would do; no part of kube-controller-manager.
DRIVERS: Final[Mapping[str, Constructor]] = {
    SimulatedProvisioner.name: SimulatedProvisioner,
    SimulatedAttacher.name: SimulatedAttacher,
}


def is_enabled(name: str, chosen: Sequence[str]) -> bool:
    """Say whether a controller runs: by its name, or because all do that are not named with a minus."""
    return name in chosen or ("*" in chosen and f"-{name}" not in chosen)

"""Typed views of the core/v1 kinds that the scheduler, the kubelet and the controllers read.

Mirrors: staging/src/k8s.io/api/core/v1/types.go (v1.36), the fields in use here.
"""

from __future__ import annotations

from msgspec import field

from schedlab.api.views.meta import LabelSelector, ObjectMeta, View

# resource name -> quantity text, as on the wire
ResourceList = dict[str, str]


class Toleration(View):
    """spec.tolerations[i]; tolerationSeconds None means for ever."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class Taint(View):
    """spec.taints[i] of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeSelectorRequirement(View):
    """One expression of a node selector term."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(View):
    """Expressions and fields that must all hold; a term without any matches nothing."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(View):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(View):
    """A weighted node selector term."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(View):
    """spec.affinity.nodeAffinity."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(View):
    """Pods that match the selector in the namespaces, within one domain of topologyKey."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(View):
    """A weighted pod affinity term."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(View):
    """spec.affinity.podAffinity or podAntiAffinity."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(View):
    """spec.affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(View):
    """spec.topologySpreadConstraints[i]."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class ResourceClaimReference(View):
    """resources.claims[i]: which of the pod's claims a container uses."""

    name: str = ""
    request: str = ""


class ResourceRequirements(View):
    """resources of a container or of the whole pod."""

    requests: ResourceList = {}
    limits: ResourceList = {}
    claims: tuple[ResourceClaimReference, ...] = ()


class ContainerPort(View):
    """ports[i] of a container."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = field(name="hostIP", default="")
    protocol: str = "TCP"
    name: str = ""


class ContainerRestartRule(View):
    """restartPolicyRules[i]; only the action matters to scheduling."""

    action: str = ""


class Container(View):
    """A container, init container or ephemeral container."""

    name: str = ""
    image: str = ""
    image_pull_policy: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()


class SchedulingGate(View):
    """spec.schedulingGates[i]."""

    name: str = ""


class PodResourceClaim(View):
    """spec.resourceClaims[i]: a claim by name or a template to make one from."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PersistentVolumeClaimSource(View):
    """volumes[i].persistentVolumeClaim."""

    claim_name: str = ""
    read_only: bool = False


class ImageVolumeSource(View):
    """volumes[i].image."""

    reference: str = ""


class EphemeralVolumeSource(View):
    """volumes[i].ephemeral: a claim named POD-VOLUME is made from the template."""


class GCEPersistentDisk(View):
    """volumes[i].gcePersistentDisk."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(View):
    """volumes[i].awsElasticBlockStore."""

    volume_id: str = field(name="volumeID", default="")
    read_only: bool = False


class RBDVolume(View):
    """volumes[i].rbd."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


class ISCSIVolume(View):
    """volumes[i].iscsi."""

    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    read_only: bool = False


class AzureDisk(View):
    """volumes[i].azureDisk."""

    disk_name: str = ""
    disk_uri: str = field(name="diskURI", default="")
    kind: str | None = None


class AzureFile(View):
    """volumes[i].azureFile."""

    share_name: str = ""


class CinderVolume(View):
    """volumes[i].cinder."""

    volume_id: str = field(name="volumeID", default="")


class VSphereVolume(View):
    """volumes[i].vsphereVolume."""

    volume_path: str = ""


class PortworxVolume(View):
    """volumes[i].portworxVolume."""

    volume_id: str = field(name="volumeID", default="")


class Volume(View):
    """spec.volumes[i], as far as it constrains scheduling."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    image: ImageVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    rbd: RBDVolume | None = None
    iscsi: ISCSIVolume | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: CinderVolume | None = None
    vsphere_volume: VSphereVolume | None = None
    portworx_volume: PortworxVolume | None = None
    csi: dict[str, object] | None = None


class PodOS(View):
    """spec.os."""

    name: str = ""


class PodSchedulingGroup(View):
    """spec.schedulingGroup."""

    pod_group_name: str | None = None


class PodSpec(View):
    """spec of a pod."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    overhead: ResourceList = {}
    resources: ResourceRequirements | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    service_account_name: str = ""
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    runtime_class_name: str | None = None
    os: PodOS | None = None
    hostname: str = ""
    subdomain: str = ""
    scheduling_group: PodSchedulingGroup | None = None


class PodCondition(View):
    """status.conditions[i] of a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str | None = None
    last_probe_time: str | None = None


class ContainerStatus(View):
    """status.containerStatuses[i], as far as resizes, requests and the order of deletion need it."""

    name: str = ""
    restart_count: int = 0
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None


class PodResourceClaimStatus(View):
    """status.resourceClaimStatuses[i]: the claim generated for a template."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(View):
    """One mapping of a container's extended resource to a request of the generated claim."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(View):
    """status.extendedResourceClaimStatus."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class PodIP(View):
    """status.podIPs[i]."""

    ip: str = ""


class PodStatus(View):
    """status of a pod."""

    phase: str = ""
    observed_generation: int = 0
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    qos_class: str = ""
    start_time: str | None = None
    pod_ip: str = field(name="podIP", default="")
    pod_ips: tuple[PodIP, ...] = field(name="podIPs", default=())
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None
    resize: str = ""

    def condition(self, kind: str) -> PodCondition | None:
        """Return the condition of that type, if present."""
        for condition in self.conditions:
            if condition.type == kind:
                return condition
        return None


class Pod(View):
    """core/v1 Pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class ContainerImage(View):
    """status.images[i] of a node."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeCondition(View):
    """status.conditions[i] of a node."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_heartbeat_time: str | None = None
    last_transition_time: str | None = None


class NodeSpec(View):
    """spec of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = field(name="providerID", default="")
    pod_cidr: str = field(name="podCIDR", default="")


class NodeStatus(View):
    """status of a node."""

    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    images: tuple[ContainerImage, ...] = ()
    conditions: tuple[NodeCondition, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(View):
    """core/v1 Node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class NamespaceStatus(View):
    """status of a namespace."""

    phase: str = ""


class Namespace(View):
    """core/v1 Namespace."""

    metadata: ObjectMeta = ObjectMeta()
    status: NamespaceStatus = NamespaceStatus()


class ServicePort(View):
    """spec.ports[i] of a service."""

    name: str = ""
    protocol: str = "TCP"
    app_protocol: str | None = None
    port: int = 0
    target_port: int | str = 0


class ServiceSpec(View):
    """spec of a service."""

    type: str = ""
    selector: dict[str, str] = {}
    ports: tuple[ServicePort, ...] = ()
    cluster_ip: str = field(name="clusterIP", default="")
    ip_families: tuple[str, ...] = ()
    publish_not_ready_addresses: bool = False
    traffic_distribution: str | None = None


class Service(View):
    """core/v1 Service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()

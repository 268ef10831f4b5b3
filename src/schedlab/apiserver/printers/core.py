"""The columns of the core group's kinds, and of events in both of their groups. Pods have a module of their own.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery.table import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Cell,
    Column,
    Object,
    Printer,
    age,
    name_of,
    since,
)
from schedlab.apiserver.printers.common import (
    CONTAINERS,
    IMAGES,
    NAME_AND_AGE,
    container_cells,
    labels_text,
    part,
    pod_spec,
    shows,
)
from schedlab.apiserver.printers.pods import PODS

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_ROLE_LABEL: Final = "kubernetes.io/role"
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_ACCESS_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _namespace_cells(namespace: Object, now_ns: int) -> Sequence[Cell]:
    return name_of(namespace), part(namespace, "status").get("phase", ""), age(namespace, now_ns)


NAMESPACES: Final = Printer((NAME, Column("Status", description="The status of the namespace"), AGE), _namespace_cells)


def _node_cells(node: Object, now_ns: int) -> Sequence[Cell]:
    system = part(node, "status", "nodeInfo")
    return (
        name_of(node),
        _node_status(node),
        ",".join(_node_roles(node["metadata"].get("labels") or {})) or NONE,
        age(node, now_ns),
        system.get("kubeletVersion", ""),
        _node_address(node, "InternalIP"),
        _node_address(node, "ExternalIP"),
        system.get("osImage") or UNKNOWN,
        _kernel(system),
        system.get("containerRuntimeVersion") or UNKNOWN,
    )


def _kernel(system: Mapping[str, Any]) -> str:
    kernel, architecture = system.get("kernelVersion"), system.get("architecture")
    if not kernel:
        return UNKNOWN
    return f"{kernel} ({architecture})" if architecture else str(kernel)


def _node_status(node: Object) -> str:
    status = "Unknown"
    for condition in part(node, "status").get("conditions") or ():
        if condition.get("type") == "Ready":  # the last one counts
            status = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if part(node, "spec").get("unschedulable") else status


def _node_roles(labels: Mapping[str, str]) -> list[str]:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE_LABEL, ""))
    return sorted(role for role in roles if role)


def _node_address(node: Object, address_type: str) -> str:
    for address in part(node, "status").get("addresses") or ():
        if address.get("type") == address_type:
            return str(address.get("address", ""))
    return NONE


NODES: Final = Printer(
    (
        NAME,
        Column("Status", description="The status of the node"),
        Column("Roles", description="The roles of the node"),
        AGE,
        shows("Version", "core.v1.NodeSystemInfo", "kubeletVersion"),
        shows("Internal-IP", "core.v1.NodeStatus", "addresses", priority=1),
        shows("External-IP", "core.v1.NodeStatus", "addresses", priority=1),
        shows("OS-Image", "core.v1.NodeSystemInfo", "osImage", priority=1),
        shows("Kernel-Version", "core.v1.NodeSystemInfo", "kernelVersion", priority=1),
        shows("Container-Runtime", "core.v1.NodeSystemInfo", "containerRuntimeVersion", priority=1),
    ),
    _node_cells,
)


def _service_cells(service: Object, now_ns: int) -> Sequence[Cell]:
    spec = part(service, "spec")
    return (
        name_of(service),
        spec.get("type", ""),
        next(iter(spec.get("clusterIPs") or ()), NONE),
        _external_ips(service),
        ",".join(map(_service_port, spec.get("ports") or ())) or NONE,
        age(service, now_ns),
        labels_text(spec.get("selector")),
    )


def _external_ips(service: Object) -> str:
    spec = part(service, "spec")
    external = list(spec.get("externalIPs") or ())
    service_type = spec.get("type", "")
    if service_type in ("ClusterIP", "NodePort"):
        return ",".join(external) or NONE
    if service_type == "LoadBalancer":
        return ",".join(load_balancer_addresses(service) + external) or "<pending>"
    return str(spec.get("externalName", "")) if service_type == "ExternalName" else UNKNOWN


def load_balancer_addresses(obj: Object) -> list[str]:
    ingress = part(obj, "status", "loadBalancer").get("ingress") or ()
    found = {entry.get("ip") or entry.get("hostname") or "" for entry in ingress}
    return sorted(address for address in found if address)


def _service_port(port: Mapping[str, Any]) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node_port}/{port.get('protocol', '')}"


SERVICES: Final = Printer(
    (
        NAME,
        shows("Type", "core.v1.ServiceSpec", "type"),
        shows("Cluster-IP", "core.v1.ServiceSpec", "clusterIP"),
        shows("External-IP", "core.v1.ServiceSpec", "externalIPs"),
        shows("Port(s)", "core.v1.ServiceSpec", "ports"),
        AGE,
        shows("Selector", "core.v1.ServiceSpec", "selector", priority=1),
    ),
    _service_cells,
)


def _endpoints_cells(endpoints: Object, now_ns: int) -> Sequence[Cell]:
    subsets = endpoints.get("subsets") or ()
    addresses = [address for subset in subsets for address in _subset_addresses(subset)]
    text = ",".join(addresses[:3])
    if len(addresses) > 3:
        text = f"{text} + {len(addresses) - 3} more..."
    return name_of(endpoints), text if subsets else NONE, age(endpoints, now_ns)


def _subset_addresses(subset: Mapping[str, Any]) -> list[str]:
    ips = [address.get("ip", "") for address in subset.get("addresses") or ()]
    ports = [port.get("port", 0) for port in subset.get("ports") or ()]
    if not ports:
        return ips
    return [f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}" for port in ports for ip in ips]


ENDPOINTS: Final = Printer((NAME, shows("Endpoints", "core.v1.Endpoints", "subsets"), AGE), _endpoints_cells)


def _config_map_cells(config_map: Object, now_ns: int) -> Sequence[Cell]:
    count = len(part(config_map, "data")) + len(part(config_map, "binaryData"))
    return name_of(config_map), count, age(config_map, now_ns)


CONFIG_MAPS: Final = Printer((NAME, shows("Data", "core.v1.ConfigMap", "data"), AGE), _config_map_cells)


def _secret_cells(secret: Object, now_ns: int) -> Sequence[Cell]:
    return name_of(secret), secret.get("type", ""), len(part(secret, "data")), age(secret, now_ns)


SECRETS: Final = Printer(
    (NAME, shows("Type", "core.v1.Secret", "type"), shows("Data", "core.v1.Secret", "data"), AGE), _secret_cells
)


def _event_cells(event: Object, now_ns: int) -> Sequence[Cell]:
    first = since(event.get("firstTimestamp") or event.get("eventTime"), now_ns)
    last, count = since(event.get("lastTimestamp"), now_ns), event.get("count") or 1
    if not event.get("lastTimestamp"):
        last = first
    series = event.get("series")
    if series is not None:
        last, count = since(series.get("lastObservedTime"), now_ns), series.get("count", 0)
    involved, source = part(event, "involvedObject"), part(event, "source")
    target = involved.get("kind", "").lower()
    component = source.get("component") or event.get("reportingComponent", "")
    instance = source.get("host") or event.get("reportingInstance", "")
    return (
        last,
        event.get("type", ""),
        event.get("reason", ""),
        f"{target}/{involved['name']}" if involved.get("name") else target,
        involved.get("fieldPath", ""),
        f"{component}, {instance}" if instance else component,
        event.get("message", "").strip(),
        first,
        count,
        name_of(event),
    )


def _new_event_cells(event: Object, now_ns: int) -> Sequence[Cell]:
    """Print an events.k8s.io Event, whose fields have other names."""
    names = {
        "regarding": "involvedObject",
        "note": "message",
        "reportingController": "reportingComponent",
        "deprecatedSource": "source",
        "deprecatedFirstTimestamp": "firstTimestamp",
        "deprecatedLastTimestamp": "lastTimestamp",
        "deprecatedCount": "count",
    }
    return _event_cells({names.get(key, key): value for key, value in event.items()}, now_ns)


_EVENT_COLUMNS: Final = (
    shows("Last Seen", "core.v1.Event", "lastTimestamp"),
    shows("Type", "core.v1.Event", "type"),
    shows("Reason", "core.v1.Event", "reason"),
    shows("Object", "core.v1.Event", "involvedObject"),
    shows("Subobject", "core.v1.ObjectReference", "fieldPath", priority=1),
    shows("Source", "core.v1.Event", "source", priority=1),
    shows("Message", "core.v1.Event", "message"),
    shows("First Seen", "core.v1.Event", "firstTimestamp", priority=1),
    shows("Count", "core.v1.Event", "count", priority=1),
    Column("Name", format="name", field=NAME.field, priority=1),
)
EVENTS: Final = Printer(_EVENT_COLUMNS, _event_cells)
NEW_EVENTS: Final = Printer(_EVENT_COLUMNS, _new_event_cells)


def _volume_cells(volume: Object, now_ns: int) -> Sequence[Cell]:
    spec, status = part(volume, "spec"), part(volume, "status")
    claim = spec.get("claimRef")
    return (
        name_of(volume),
        part(spec, "capacity").get("storage", "0"),
        _access_modes(spec.get("accessModes") or ()),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(volume),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _storage_class(volume),
        _or_unset(spec, "volumeAttributesClassName"),
        status.get("reason", ""),
        age(volume, now_ns),
        _or_unset(spec, "volumeMode"),
    )


def _phase(obj: Object) -> str:
    deleting = obj["metadata"].get("deletionTimestamp")
    return "Terminating" if deleting else str(part(obj, "status").get("phase", ""))


def _access_modes(modes: Sequence[str]) -> str:
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in modes)


def _storage_class(obj: Object) -> str:
    annotation = part(obj, "metadata", "annotations").get(_CLASS_ANNOTATION)
    return str(part(obj, "spec").get("storageClassName") or "" if annotation is None else annotation)


def _or_unset(spec: Mapping[str, Any], key: str) -> str:
    value = spec.get(key)
    return UNSET if value is None else str(value)


PERSISTENT_VOLUMES: Final = Printer(
    (
        NAME,
        shows("Capacity", "core.v1.PersistentVolumeSpec", "capacity"),
        shows("Access Modes", "core.v1.PersistentVolumeSpec", "accessModes"),
        shows("Reclaim Policy", "core.v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy"),
        shows("Status", "core.v1.PersistentVolumeStatus", "phase"),
        shows("Claim", "core.v1.PersistentVolumeSpec", "claimRef"),
        Column("StorageClass", description="StorageClass of the pv"),
        Column("VolumeAttributesClass", description="VolumeAttributesClass of the pv"),
        shows("Reason", "core.v1.PersistentVolumeStatus", "reason"),
        AGE,
        shows("VolumeMode", "core.v1.PersistentVolumeSpec", "volumeMode", priority=1),
    ),
    _volume_cells,
)


def _claim_cells(claim: Object, now_ns: int) -> Sequence[Cell]:
    spec, status = part(claim, "spec"), part(claim, "status")
    is_bound = bool(spec.get("volumeName"))
    return (
        name_of(claim),
        _phase(claim),
        spec.get("volumeName", ""),
        part(status, "capacity").get("storage", "0") if is_bound else "",
        _access_modes(status.get("accessModes") or ()) if is_bound else "",
        _storage_class(claim),
        _or_unset(spec, "volumeAttributesClassName"),
        age(claim, now_ns),
        _or_unset(spec, "volumeMode"),
    )


PERSISTENT_VOLUME_CLAIMS: Final = Printer(
    (
        NAME,
        shows("Status", "core.v1.PersistentVolumeClaimStatus", "phase"),
        shows("Volume", "core.v1.PersistentVolumeClaimSpec", "volumeName"),
        shows("Capacity", "core.v1.PersistentVolumeClaimStatus", "capacity"),
        shows("Access Modes", "core.v1.PersistentVolumeClaimStatus", "accessModes"),
        Column("StorageClass", description="StorageClass of the pvc"),
        Column("VolumeAttributesClass", description="VolumeAttributesClass of the pvc"),
        AGE,
        shows("VolumeMode", "core.v1.PersistentVolumeClaimSpec", "volumeMode", priority=1),
    ),
    _claim_cells,
)


def _controller_cells(controller: Object, now_ns: int) -> Sequence[Cell]:
    spec, status = part(controller, "spec"), part(controller, "status")
    return (
        name_of(controller),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(controller, now_ns),
        *container_cells(pod_spec(controller)),
        labels_text(spec.get("selector")),
    )


REPLICATION_CONTROLLERS: Final = Printer(
    (
        NAME,
        shows("Desired", "core.v1.ReplicationControllerSpec", "replicas", "integer"),
        shows("Current", "core.v1.ReplicationControllerStatus", "replicas", "integer"),
        shows("Ready", "core.v1.ReplicationControllerStatus", "readyReplicas", "integer"),
        AGE,
        CONTAINERS,
        IMAGES,
        shows("Selector", "core.v1.ReplicationControllerSpec", "selector", priority=1),
    ),
    _controller_cells,
)


def _template_cells(template: Object, now_ns: int) -> Sequence[Cell]:  # noqa: ARG001 - the signature of all printers
    names, images = container_cells(part(template, "template", "spec"))
    return name_of(template), names, images, labels_text(part(template, "template", "metadata").get("labels"))


POD_TEMPLATES: Final = Printer(
    (
        NAME,
        Column("Containers", description=CONTAINERS.description),
        Column("Images", description=IMAGES.description),
        Column("Pod Labels", description="The labels for the pod template."),
    ),
    _template_cells,
)


def _quota_cells(quota: Object, now_ns: int) -> Sequence[Cell]:
    status = part(quota, "status")
    hard, used = part(status, "hard"), part(status, "used")
    requests: list[str] = []
    limits: list[str] = []
    for resource in sorted(hard):
        column = limits if resource.startswith("limits.") else requests
        column.append(f"{resource}: {used.get(resource, '0')}/{hard[resource]}")
    return name_of(quota), ", ".join(requests), ", ".join(limits), age(quota, now_ns)


RESOURCE_QUOTAS: Final = Printer(
    (
        NAME,
        Column(
            "Request", description="Request represents a minimum amount of cpu/memory that a container may consume."
        ),
        Column(
            "Limit",
            description="Limits control the maximum amount of cpu/memory that a container may use independent of "
            "contention on the node.",
        ),
        AGE,
    ),
    _quota_cells,
)


def _component_cells(component: Object, now_ns: int) -> Sequence[Cell]:  # noqa: ARG001 - the signature of all printers
    for condition in component.get("conditions") or ():
        if condition.get("type") == "Healthy":
            status = "Healthy" if condition.get("status") == "True" else "Unhealthy"
            return name_of(component), status, condition.get("message", ""), condition.get("error", "")
    return name_of(component), "Unknown", "", ""


COMPONENT_STATUSES: Final = Printer(
    (
        NAME,
        Column("Status", description="Status of the component conditions"),
        Column("Message", description="Message of the component conditions"),
        Column("Error", description="Error of the component conditions"),
    ),
    _component_cells,
)

PRINTERS: Final[Mapping[str, Printer]] = {
    "componentstatuses": COMPONENT_STATUSES,
    "configmaps": CONFIG_MAPS,
    "endpoints": ENDPOINTS,
    "events": EVENTS,
    "namespaces": NAMESPACES,
    "nodes": NODES,
    "persistentvolumeclaims": PERSISTENT_VOLUME_CLAIMS,
    "persistentvolumes": PERSISTENT_VOLUMES,
    "pods": PODS,
    "podtemplates": POD_TEMPLATES,
    "replicationcontrollers": REPLICATION_CONTROLLERS,
    "resourcequotas": RESOURCE_QUOTAS,
    "secrets": SECRETS,
    "serviceaccounts": NAME_AND_AGE,
    "services": SERVICES,
}

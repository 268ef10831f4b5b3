"""Endpoint slices as values: what a slice of a service is made of, and when two are the same.

Mirrors: staging/src/k8s.io/endpointslice/{utils.go,util/{controller_utils,endpointset}.go} (v1.36).
Differs: nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from schedlab.api.object import Object, StoredObject
from schedlab.api.views.core import Pod, Service
from schedlab.controllers.framework import kinds
from schedlab.controllers.framework.pods import is_ready
from schedlab.controllers.framework.services import (
    HEADLESS,
    NO_ADDRESS,
    canonical_address,
    has_hostname,
    is_headless,
    name_prefix,
    target,
    target_port,
)
from schedlab.controllers.framework.slice_index import MANAGED_BY, SERVICE_NAME

CONTROLLER: Final = "endpointslice-controller.k8s.io"
ZONE: Final = "topology.kubernetes.io/zone"
_RESERVED: Final = (SERVICE_NAME, MANAGED_BY, HEADLESS)
_FAMILIES: Final = ("IPv4", "IPv6")
_NIL: Final = "<nil>"
_FNV_OFFSET: Final = 0x6C62272E07BB014262B821756295C58D
_FNV_PRIME: Final = 0x0000000001000000000000000000013B
_FNV_MASK: Final = (1 << 128) - 1

#: One entry of a slice's endpoints, and one of its ports.
Endpoint: TypeAlias = dict[str, Any]
Port: TypeAlias = dict[str, Any]
#: What makes endpoints the same one: addresses, host name, namespace and name of the pod.
EndpointKey: TypeAlias = tuple[tuple[str, ...], str, str, str]
#: What tells groups of slices apart: their ports.
PortsKey: TypeAlias = tuple[tuple[Any, ...], ...]


def address_types(service: Service) -> Sequence[str]:
    """Return the families of addresses that a service has slices for."""
    return [family for family in service.spec.ip_families if family in _FAMILIES] or _FAMILIES


def new_endpoint(pod: StoredObject, zone: str, service: Service, address_type: str) -> Endpoint:
    """Return the endpoint of a pod; one without addresses is none."""
    view: Pod = pod.view
    serving, terminating = is_ready(view), view.metadata.deletion_timestamp is not None
    ready = service.spec.publish_not_ready_addresses or (serving and not terminating)
    endpoint: Endpoint = {
        "addresses": _addresses(view, address_type),
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": target(pod),
    }
    if view.spec.node_name:
        endpoint["nodeName"] = view.spec.node_name
    if zone:
        endpoint["zone"] = zone
    if has_hostname(view, service):
        endpoint["hostname"] = view.spec.hostname
    return endpoint


def _addresses(pod: Pod, address_type: str) -> list[str]:
    known = [canonical_address(each.ip) for each in pod.status.pod_ips]
    return [text for text, family in known if family == address_type]


def endpoint_ports(service: Service, pod: Pod) -> list[Port]:
    """Return the ports of a pod that a service leads to, in the order in which slices have them."""
    if not service.spec.ports and service.spec.cluster_ip == NO_ADDRESS:
        return []
    ports: list[Port] = []
    for port in service.spec.ports:
        number = target_port(pod, port)
        if number is None:
            continue
        found: Port = {"name": port.name, "protocol": port.protocol, "port": number}
        if port.app_protocol is not None:
            found["appProtocol"] = port.app_protocol
        ports.append(found)
    return in_order(ports)


def in_order(ports: Sequence[Port]) -> list[Port]:
    """Sort ports as slices have them: by their hashes."""
    return sorted(ports, key=lambda port: _port_hash(*ports_key([port])[0]))


def ports_key(ports: Sequence[Mapping[str, Any]] | None) -> PortsKey:
    """Return what is the same for equal ports."""
    return tuple(
        (port.get("name"), port.get("protocol"), port.get("port"), port.get("appProtocol")) for port in ports or ()
    )


@functools.lru_cache(maxsize=1024)
def _port_hash(*fields: Any) -> int:
    """Return the FNV-1a hash of a port as upstream prints it; ports of services are few."""
    types = ("Name:(*string)", "Protocol:(*v1.Protocol)", "Port:(*int32)", "AppProtocol:(*string)")
    parts = [f"{start}{_NIL if value is None else value}" for start, value in zip(types, fields, strict=True)]
    value = _FNV_OFFSET
    for byte in f"(v1.EndpointPort){{{' '.join(parts)}}}".encode():
        value = ((value ^ byte) * _FNV_PRIME) & _FNV_MASK
    return value


def key_of(endpoint: Mapping[str, Any]) -> EndpointKey:
    """Return by what an endpoint is found again."""
    reference = endpoint.get("targetRef") or {}
    addresses = tuple(sorted(endpoint["addresses"]))
    return addresses, endpoint.get("hostname") or "", reference.get("namespace", ""), reference.get("name", "")


def is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether endpoints with one key are equal, hints and versions of pods aside."""
    if any(one.get(key) != other.get(key) for key in ("nodeName", "zone", "conditions")):
        return False
    first, second = one.get("targetRef"), other.get("targetRef")
    if first is None or second is None:
        return first is second
    return bool({**first, "resourceVersion": ""} == {**second, "resourceVersion": ""})


def is_ready_endpoint(endpoint: Mapping[str, Any]) -> bool:
    """Whether traffic goes to the endpoint."""
    return bool((endpoint.get("conditions") or {}).get("ready"))


def slice_labels(service: StoredObject) -> dict[str, str]:
    """Return the labels of a service's slices: its own ones and those that say what a slice is."""
    labels = {key: value for key, value in service.labels.items() if key not in _RESERVED}
    if is_headless(service.view):
        labels[HEADLESS] = ""
    return {**labels, SERVICE_NAME: service.name, MANAGED_BY: CONTROLLER}


def has_labels_of(found: Object, service: StoredObject) -> bool:
    """Whether a slice carries the labels of its service, those that say what a slice is aside."""
    own = found["metadata"].get("labels") or {}
    return _unreserved(own) == _unreserved(service.labels)


def _unreserved(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key not in _RESERVED}


def new_slice(service: StoredObject, address_type: str, ports: Sequence[Port]) -> Object:
    """Return a slice without endpoints."""
    metadata = {
        "generateName": name_prefix(service.name),
        "namespace": service.namespace,
        "labels": slice_labels(service),
        "ownerReferences": [kinds.SERVICE.reference(service)],
    }
    made: Object = {
        "apiVersion": kinds.ENDPOINT_SLICE.api_version,
        "kind": kinds.ENDPOINT_SLICE.kind,
        "metadata": metadata,
        "addressType": address_type,
    }
    return {**made, "ports": list(ports)} if ports else made


def is_owned(found: Object, service: StoredObject) -> bool:
    """Whether a slice belongs to this service and not to a former one of the same name."""
    references = found["metadata"].get("ownerReferences") or ()
    return any(
        each["uid"] == service.uid and each["kind"] == "Service" and each["apiVersion"] == "v1" for each in references
    )


def endpoints_of(found: Object) -> list[Endpoint]:
    """Return the endpoints of a slice."""
    return found.get("endpoints") or []

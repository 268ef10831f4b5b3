"""Mirrors Endpoints that people made by hand, for services that select no pods, into endpoint slices.

Mirrors: pkg/controller/endpointslicemirroring (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias

from schedlab.api.object import Object, StoredObject, WatchEvent
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.ip import format_ip, is_ipv6, parse_ip
from schedlab.client.protocol import Write
from schedlab.controllers.endpoints.controller import LEADER
from schedlab.controllers.endpointslice.slices import (
    Endpoint,
    EndpointKey,
    Port,
    PortsKey,
    endpoints_of,
    in_order,
    is_same,
    key_of,
    ports_key,
)
from schedlab.controllers.framework import kinds
from schedlab.controllers.framework.controller import (
    Asking,
    Controller,
    ControllerContext,
    Steps,
    attempt,
    split_key,
)
from schedlab.controllers.framework.ownership import is_deleted
from schedlab.controllers.framework.pod_control import is_namespace_going
from schedlab.controllers.framework.services import LAST_CHANGE, RETRIES_MAX, SLICE_RETRY_BASE_NS, name_prefix
from schedlab.controllers.framework.slice_index import MANAGED_BY, SERVICE_NAME, SliceIndex
from schedlab.controllers.framework.work_queue import WorkQueue
from schedlab.kernel.clock import SECOND_NS

ENDPOINTS_PER_SUBSET_MAX: Final = 1000
_MANAGER: Final = "endpointslicemirroring-controller.k8s.io"
_SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_RETRY_MAX_NS: Final = 100 * SECOND_NS

#: A slice's family of addresses and its ports.
GroupKey: TypeAlias = tuple[str, PortsKey]


class EndpointSliceMirroringController(Controller):
    """Keys are those of Endpoints."""

    name: ClassVar[str] = "endpointslice-mirroring-controller"
    retries_max: ClassVar[int | None] = RETRIES_MAX

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, component="endpoint-slice-mirroring-controller")
        self.queue = WorkQueue(context.clock, retry_base_ns=SLICE_RETRY_BASE_NS, retry_max_ns=_RETRY_MAX_NS)
        self._services = context.lister("services")
        self._endpoints = context.lister(kinds.ENDPOINTS.resource)
        self._slices = SliceIndex(context.lister(kinds.ENDPOINT_SLICE.resource), _MANAGER)
        self._services.on_change(self._on_service)
        self._endpoints.on_change(self._on_endpoints)
        self._slices.on_change(self.queue.add)

    def _on_service(self, event: WatchEvent) -> None:
        selects = bool(event.object.view.spec.selector)
        selected = selects if event.previous is None else bool(event.previous.view.spec.selector)
        if selects != selected if event.type == "MODIFIED" else not selects:
            self.queue.add(event.object.key)

    def _on_endpoints(self, event: WatchEvent) -> None:
        if _is_mirrored(event.object) or (event.previous is not None and _is_mirrored(event.previous)):
            self.queue.add(event.object.key)

    def sync(self, key: str) -> Steps:
        """Bring the slices of one Endpoints object to what it says."""
        namespace, name = split_key(key)
        endpoints, service = self._endpoints.stored(name, namespace), self._services.stored(name, namespace)
        existing = self._slices.of(key)
        with self._slices.writing(key):
            if endpoints is None or service is None or not _is_mirrored(endpoints) or service.view.spec.selector:
                yield from self._delete(key, existing)
            else:
                yield from self._mirror(endpoints, existing)

    def _mirror(self, endpoints: StoredObject, existing: Sequence[Object]) -> Steps:
        wanted = self._wanted(endpoints)
        by_key: dict[GroupKey, list[Object]] = {}
        for each in existing:
            by_key.setdefault((each["addressType"], ports_key(each.get("ports"))), []).append(each)
        create: list[Object] = []
        update: list[Object] = []
        delete: list[Object] = []
        for key, (ports, found) in wanted.items():
            slices = by_key.pop(key, [])
            delete += slices[1:]
            first = slices[0] if slices else None
            if first is not None and _is_current(first, found, endpoints):
                continue
            made = _new_slice(endpoints, key[0], ports, list(found.values()))
            if first is None:
                create.append(made)
            else:
                update.append(_named(made, first))
        delete += [each for slices in by_key.values() for each in slices]
        for made in list(create):
            old = next((each for each in delete if each["addressType"] == made["addressType"]), None)
            if old is not None:
                create.remove(made)
                delete.remove(old)
                update.append(_named(made, old))
        yield from self._write(endpoints, [] if is_deleted(endpoints) else create, update)
        yield from self._delete(endpoints.key, delete)

    def _wanted(self, endpoints: StoredObject) -> dict[GroupKey, tuple[list[Port], dict[EndpointKey, Endpoint]]]:
        """Return the endpoints of each slice that there should be; tells of addresses that are left out."""
        wanted: dict[GroupKey, tuple[list[Port], dict[EndpointKey, Endpoint]]] = {}
        invalid = skipped = 0
        for subset in endpoints.raw.get("subsets") or ():
            ports = in_order([_port(each) for each in subset.get("ports") or ()])
            added = 0
            addresses = list(_addresses(subset))
            for address, ready in addresses:
                if added >= ENDPOINTS_PER_SUBSET_MAX:
                    break
                endpoint = _endpoint(address, ready=ready)
                if endpoint is None:
                    invalid += 1
                    continue
                added += 1
                family = "IPv6" if is_ipv6(address["ip"]) else "IPv4"
                wanted.setdefault((family, ports_key(ports)), (ports, {}))[1][key_of(endpoint)] = endpoint
            skipped += len(addresses) - added
        if invalid:
            text = f"Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices"
            self.events.warning(kinds.ENDPOINTS, endpoints, "InvalidIPAddress", text)
        if skipped > invalid:
            most = (
                f"A max of {ENDPOINTS_PER_SUBSET_MAX} addresses can be mirrored to EndpointSlices per Endpoints subset."
            )
            text = f"{most} {skipped} addresses were skipped"
            self.events.warning(kinds.ENDPOINTS, endpoints, "TooManyAddressesToMirror", text)
        return wanted

    def _write(self, endpoints: StoredObject, create: Sequence[Object], update: Sequence[Object]) -> Steps:
        resource, namespace = kinds.ENDPOINT_SLICE.resource, endpoints.namespace
        for each in create:
            outcome = yield from attempt(Write("create", resource, namespace, "", each))
            self._slices.written(endpoints.key, outcome)
            if outcome.error is not None:
                if is_namespace_going(outcome.error):
                    return
                raise outcome.error
        for each in update:
            outcome = yield from attempt(Write("update", resource, namespace, each["metadata"]["name"], each))
            self._slices.written(endpoints.key, outcome)
            if outcome.error is not None:
                raise outcome.error

    def _delete(self, key: str, slices: Sequence[Object]) -> Asking[None]:
        error: StatusError | None = None
        for each in slices:
            metadata = each["metadata"]
            write = Write("delete", kinds.ENDPOINT_SLICE.resource, metadata["namespace"], metadata["name"])
            outcome = yield from attempt(write)
            self._slices.written(key, outcome)
            if outcome.error is not None and outcome.error.reason != "NotFound":
                error = error or outcome.error
        if error is not None:
            raise error


def _is_mirrored(endpoints: StoredObject) -> bool:
    """Whether an Endpoints object wants to be mirrored, if its service selects nothing."""
    return endpoints.labels.get(_SKIP) != "true" and LEADER not in endpoints.view.metadata.annotations


def _addresses(subset: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], bool]]:
    for each in subset.get("addresses") or ():
        yield each, True
    for each in subset.get("notReadyAddresses") or ():
        yield each, False


def _endpoint(address: Mapping[str, Any], *, ready: bool) -> Endpoint | None:
    ip = parse_ip(address["ip"])
    if ip is None:
        return None
    endpoint: Endpoint = {"addresses": [format_ip(ip)], "conditions": {"ready": ready}}
    for key in ("targetRef", "nodeName", "hostname"):
        if address.get(key):
            endpoint[key] = address[key]
    return endpoint


def _port(port: Mapping[str, Any]) -> Port:
    found: Port = {"name": port.get("name", ""), "protocol": port["protocol"], "port": port["port"]}
    if port.get("appProtocol") is not None:
        found["appProtocol"] = port["appProtocol"]
    return found


def _labels(endpoints: StoredObject) -> dict[str, str]:
    return {**endpoints.labels, SERVICE_NAME: endpoints.name, MANAGED_BY: _MANAGER}


def _annotations(endpoints: StoredObject) -> dict[str, str]:
    own: Mapping[str, str] = endpoints.view.metadata.annotations
    return {key: value for key, value in own.items() if key not in (LAST_CHANGE, _LAST_APPLIED)}


def _is_current(found: Object, wanted: Mapping[EndpointKey, Endpoint], endpoints: StoredObject) -> bool:
    """Whether a slice says what it should."""
    known = {key_of(each): each for each in endpoints_of(found)}
    if known.keys() != wanted.keys() or not all(is_same(each, known[key]) for key, each in wanted.items()):
        return False
    metadata = found["metadata"]
    return bool(
        metadata.get("labels") == _labels(endpoints) and metadata.get("annotations", {}) == _annotations(endpoints)
    )


def _new_slice(endpoints: StoredObject, family: str, ports: Sequence[Port], found: Sequence[Endpoint]) -> Object:
    kind = kinds.ENDPOINT_SLICE
    metadata = {
        "generateName": name_prefix(endpoints.name),
        "namespace": endpoints.namespace,
        "labels": _labels(endpoints),
        "annotations": _annotations(endpoints),
        "ownerReferences": [kinds.ENDPOINTS.reference(endpoints)],
    }
    made: Object = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "addressType": family}
    made["endpoints"] = list(found[:ENDPOINTS_PER_SUBSET_MAX])
    return {**made, "ports": list(ports)} if ports else made


def _named(made: Object, old: Object) -> Object:
    """Return a slice under the name of one that is there."""
    return {**made, "metadata": {**made["metadata"], "name": old["metadata"]["name"]}}

"""The Endpoints controller: keeps the Endpoints object of every service that selects pods.

Mirrors: pkg/controller/endpoint/endpoints_controller.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from schedlab.api.object import Object, StoredObject, WatchEvent
from schedlab.api.views.core import Pod, Service
from schedlab.client.protocol import Write
from schedlab.controllers.endpoints.subsets import CAPACITY, NO_PORT, PortKey, Subsets, truncate
from schedlab.controllers.framework import kinds
from schedlab.controllers.framework.controller import (
    Controller,
    ControllerContext,
    Steps,
    attempt,
    split_key,
)
from schedlab.controllers.framework.pod_control import is_namespace_going
from schedlab.controllers.framework.pods import is_ready
from schedlab.controllers.framework.services import (
    HEADLESS,
    NO_ADDRESS,
    RETRIES_MAX,
    Memberships,
    TriggerTimes,
    belongs,
    canonical_address,
    has_endpoints,
    has_hostname,
    is_headless,
    members,
    target,
    target_port,
    with_last_change,
)

MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
_CONTROLLER: Final = "endpoint-controller"


class EndpointsController(Controller):
    """Keys are those of services."""

    name: ClassVar[str] = "endpoints-controller"
    retries_max: ClassVar[int | None] = RETRIES_MAX

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, component="endpoint-controller")
        self._services = context.lister("services")
        self._pods = context.lister("pods")
        self._endpoints = context.lister(kinds.ENDPOINTS.resource)
        self._memberships = Memberships(self._services)
        self._times = TriggerTimes()
        # Those that were left over from a former life: their services are not told of any more.
        for found in self._endpoints.all_stored():
            if LEADER not in found.view.metadata.annotations:
                self.queue.add(found.key)
        self._services.on_change(self._on_service)
        self._pods.on_change(self._on_pod)
        self._endpoints.on_change(self._on_endpoints)

    def _on_service(self, event: WatchEvent) -> None:
        self.queue.add(event.object.key)

    def _on_pod(self, event: WatchEvent) -> None:
        for service in self._memberships.affected(event):
            self.queue.add(service)

    def _on_endpoints(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self.queue.add(event.object.key)

    def sync(self, key: str) -> Steps:
        """Bring the Endpoints of one service to what its pods ask for."""
        namespace, name = split_key(key)
        service = self._services.stored(name, namespace)
        if service is not None:
            if has_endpoints(service.view):
                yield from self._sync_service(service)
            return
        self._times.forget(key)
        if self._endpoints.stored(name, namespace) is not None:
            outcome = yield from attempt(Write("delete", kinds.ENDPOINTS.resource, namespace, name))
            if outcome.error is not None and outcome.error.reason != "NotFound":
                raise outcome.error

    def _sync_service(self, service: StoredObject) -> Steps:
        pods = members(service.view, self._pods)
        self.queue.rest(service.key, len(pods))
        trigger_ns = self._times.next_ns(service, pods)
        subsets = _subsets(service.view, pods)
        current = self._endpoints.stored(service.name, service.namespace)
        if current is not None and _is_current(current, subsets, service):
            return
        metadata: dict[str, Any] = {"name": service.name, "namespace": service.namespace}
        if current is not None:
            metadata = dict(current.raw["metadata"])
        metadata = with_last_change(metadata, trigger_ns)
        annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key != OVER_CAPACITY}
        shortened = truncate(subsets)
        if shortened is not None:
            annotations[OVER_CAPACITY] = "truncated"
        headless = {HEADLESS: ""} if is_headless(service.view) else {}
        own = {key: value for key, value in service.labels.items() if key != HEADLESS}
        metadata |= {"annotations": annotations, "labels": {**own, **headless, MANAGED_BY: _CONTROLLER}}
        yield from self._write(service, current, metadata, subsets if shortened is None else shortened)

    def _write(
        self, service: StoredObject, current: StoredObject | None, metadata: Object, subsets: Sequence[Object]
    ) -> Steps:
        kind = kinds.ENDPOINTS
        body: Object = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        if subsets:
            body["subsets"] = subsets
        if current is None:
            outcome = yield from attempt(Write("create", kind.resource, service.namespace, service.name, body))
            if outcome.error is not None and is_namespace_going(outcome.error):
                return
            reason, what = "FailedToCreateEndpoint", "Failed to create endpoint for service"
        else:
            outcome = yield from attempt(Write("update", kind.resource, service.namespace, service.name, body))
            reason, what = "FailedToUpdateEndpoint", "Failed to update endpoint"
        if outcome.error is not None:
            about = StoredObject.encode(kind.resource, body, 0)
            self.events.warning(kind, about, reason, f"{what} {service.key}: {outcome.error}")
            raise outcome.error


def _subsets(service: Service, pods: Sequence[StoredObject]) -> list[Object]:
    found = Subsets()
    tolerates = service.spec.publish_not_ready_addresses
    for pod in pods:
        view: Pod = pod.view
        if not belongs(view, terminating=tolerates):
            continue
        ip = _address(service, view)
        if not ip:
            continue
        address: Object = {"ip": ip, "nodeName": view.spec.node_name, "targetRef": target(pod)}
        if has_hostname(view, service):
            address["hostname"] = view.spec.hostname
        ready = tolerates or is_ready(view)
        if not service.spec.ports and service.spec.cluster_ip == NO_ADDRESS:
            found.add(address, NO_PORT, ready=ready)
        for port in service.spec.ports:
            number = target_port(view, port)
            if number is not None:
                key = PortKey(port.name, number, port.protocol, port.app_protocol)
                found.add(address, key, ready=ready)
    return found.pack()


def _address(service: Service, pod: Pod) -> str:
    """Return the first address of the pod of the service's first family."""
    families = service.spec.ip_families
    family = families[0] if families else canonical_address(pod.status.pod_ip)[1]
    return next((each.ip for each in pod.status.pod_ips if canonical_address(each.ip)[1] == family), "")


def _is_current(current: StoredObject, subsets: Sequence[Object], service: StoredObject) -> bool:
    """Whether there is nothing to write."""
    known: Sequence[Mapping[str, Any]] = current.raw.get("subsets") or ()
    if _comparable(known) != _comparable(subsets):
        return False
    size = sum(len(each.get(key, ())) for each in known for key in ("addresses", "notReadyAddresses"))
    if size > CAPACITY or OVER_CAPACITY in current.view.metadata.annotations:
        return False
    labels = dict(current.labels)
    if labels.pop(MANAGED_BY, None) != _CONTROLLER:
        return False
    labels.pop(HEADLESS, None)
    return labels == {key: value for key, value in service.labels.items() if key not in (HEADLESS, MANAGED_BY)}


def _comparable(subsets: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return subsets without the versions of pods."""
    keys = "addresses", "notReadyAddresses"
    return [
        {**subset, **{key: [_without_version(each) for each in subset.get(key) or ()] for key in keys}}
        for subset in subsets
    ]


def _without_version(address: Mapping[str, Any]) -> dict[str, Any]:
    reference = {key: value for key, value in (address.get("targetRef") or {}).items() if key != "resourceVersion"}
    return {**address, "targetRef": reference}

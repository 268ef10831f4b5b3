"""What endpoints of services are made from: which services a pod belongs to, its ports and addresses, the time of a change.

Mirrors: staging/src/k8s.io/endpointslice/util/{controller_utils,trigger_time_tracker}.go, FindPort of
pkg/api/v1/pod/util.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.views.core import Pod, Service, ServicePort
from schedlab.apimachinery.ip import format_ip, is_ipv6, parse_ip
from schedlab.apimachinery.names import name_is_dns_subdomain
from schedlab.apimachinery.time import format_time, parse_time
from schedlab.client.informers import Informer
from schedlab.controllers.framework.pods import is_finished, is_ready
from schedlab.kernel.clock import SECOND_NS

LAST_CHANGE: Final = "endpoints.kubernetes.io/last-change-trigger-time"
HEADLESS: Final = "service.kubernetes.io/headless"
NO_ADDRESS: Final = "None"
_EXTERNAL_NAME: Final = "ExternalName"
#: How often a service whose endpoints cannot be written is tried again before it is left alone.
RETRIES_MAX: Final = 15
SLICE_RETRY_BASE_NS: Final = SECOND_NS


class Memberships:
    """Which services a change of a pod is about."""

    def __init__(self, services: Informer) -> None:
        self._services = services

    def affected(self, event: WatchEvent) -> Sequence[str]:
        """Return the keys of the services whose endpoints may be others now."""
        pod, before = event.object, event.previous
        candidates = [each for each in self._services.all_stored(pod.namespace) if each.view.spec.selector]
        if not candidates:
            return ()
        if event.type != "MODIFIED" or before is None:
            return [each.key for each in candidates if _selects(each, pod)]
        changed, moved = _changed(before.view, pod.view), _moved(before.view, pod.view)
        if not moved:
            return [each.key for each in candidates if _selects(each, pod)] if changed else ()
        verdicts = [(each.key, _selects(each, before), _selects(each, pod)) for each in candidates]
        return [key for key, was, now in verdicts if was != now or (changed and now)]


def _selects(service: StoredObject, pod: StoredObject) -> bool:
    selector: Mapping[str, str] = service.view.spec.selector
    return bool(selector.items() <= pod.labels.items())


def _changed(before: Pod, now: Pod) -> bool:
    """Whether something is new that endpoints show."""
    return (
        before.metadata.deletion_timestamp != now.metadata.deletion_timestamp
        or is_ready(before) != is_ready(now)
        or before.status.pod_ips != now.status.pod_ips
    )


def _moved(before: Pod, now: Pod) -> bool:
    """Whether the pod may belong to other services."""
    return (
        before.metadata.labels != now.metadata.labels
        or before.spec.hostname != now.spec.hostname
        or before.spec.subdomain != now.spec.subdomain
    )


def has_endpoints(service: Service) -> bool:
    """Whether endpoints are made for the service; for others somebody else makes them, or nobody."""
    return service.spec.type != _EXTERNAL_NAME and bool(service.spec.selector)


def is_headless(service: Service) -> bool:
    """Whether the service has no address of its own."""
    return service.spec.cluster_ip in ("", NO_ADDRESS)


def members(service: Service, pods: Informer) -> list[StoredObject]:
    """Return the pods that a service selects."""
    wanted = service.spec.selector.items()
    return [pod for pod in pods.all_stored(service.metadata.namespace) if wanted <= pod.labels.items()]


def belongs(pod: Pod, *, terminating: bool) -> bool:
    """Whether a selected pod is an endpoint: it has an address and has not ended."""
    if is_finished(pod) or not (pod.status.pod_ip or pod.status.pod_ips):
        return False
    return terminating or pod.metadata.deletion_timestamp is None


def has_hostname(pod: Pod, service: Service) -> bool:
    """Whether the pod can be found under its own name in the domain of the service."""
    return bool(pod.spec.hostname) and pod.spec.subdomain == service.metadata.name


def target_port(pod: Pod, port: ServicePort) -> int | None:
    """Return the number of the port of the pod to which a port of the service leads."""
    wanted = port.target_port
    if isinstance(wanted, int):
        return wanted
    sidecars = [each for each in pod.spec.init_containers if each.restart_policy == "Always"]
    for container in (*pod.spec.containers, *sidecars):
        for each in container.ports:
            if each.name == wanted and each.protocol == port.protocol:
                return each.container_port
    return None


@functools.lru_cache(maxsize=1 << 16)
def canonical_address(text: str) -> tuple[str, str]:
    """Return an address in its usual form, and its family; both are empty for what is none."""
    address = parse_ip(text)
    return ("", "") if address is None else (format_ip(address), "IPv6" if is_ipv6(text) else "IPv4")


def target(pod: StoredObject) -> dict[str, Any]:
    """Return the reference to the pod behind an address."""
    return {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}


def name_prefix(name: str) -> str:
    """Return the beginning of the names of a service's slices."""
    prefix = f"{name}-"
    return name if name_is_dns_subdomain(prefix, prefix=True) else prefix


class TriggerTimes:
    """When what led to a change of endpoints happened, by the key of their service."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, dict[str, int]]] = {}

    def forget(self, key: str) -> None:
        """The service is gone."""
        self._known.pop(key, None)

    def next_ns(self, service: StoredObject, pods: Sequence[StoredObject]) -> int:
        """Return the earliest moment of what is new since the last time; 0 if nothing is."""
        created = service.view.metadata.creation_timestamp
        created_ns = parse_time(created) if created else 0
        times = {pod.name: when for pod in pods if (when := _transition_ns(pod.view))}
        known = self._known.get(service.key)
        self._known[service.key] = created_ns, times
        if known is None:
            return created_ns
        before_ns, before = known
        news = [when for name, when in times.items() if when > before.get(name, 0)]
        return min([*news, created_ns] if created_ns > before_ns else news, default=0)


def with_last_change(metadata: Mapping[str, Any], when_ns: int) -> dict[str, Any]:
    """Return metadata of endpoints that say when what led to their change happened, if that is known."""
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != LAST_CHANGE}
    if when_ns:
        annotations[LAST_CHANGE] = format_time(when_ns)
    others = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**others, "annotations": annotations} if annotations else others


def _transition_ns(pod: Pod) -> int:
    for condition in pod.status.conditions:
        if condition.type == "Ready":
            return _moment_ns(condition.last_transition_time) if condition.last_transition_time else 0
    return 0


# Pods of a rollout share a few moments, and are looked at again and again.
_moment_ns = functools.lru_cache(maxsize=1 << 12)(parse_time)

"""What pods ask for, one gauge for each pod and resource, as /metrics/resources has it.

Mirrors: pkg/scheduler/metrics/resources/resources.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from schedlab.api.rules.requests import SPEC_RULES, pod_limits, pod_requests
from schedlab.kernel.metrics import Gauge

if TYPE_CHECKING:
    from schedlab.api.views.core import Pod

_LABELS: Final = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")
_MEANING: Final = (
    "broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along "
    "with the unit for the resource if any."
)
_UNITS: Final = {"cpu": "cores", "memory": "bytes", "storage": "bytes", "ephemeral-storage": "bytes"}
_OVER: Final = ("Succeeded", "Failed")
_MILLI: Final = 1000


def resource_gauges(pods: Iterable[Pod]) -> list[Gauge]:
    """Return requests and limits of the pods that are not over."""
    requests = Gauge(
        "kube_pod_resource_request", _LABELS, f"[STABLE] Resources requested by workloads on the cluster, {_MEANING}"
    )
    limits = Gauge(
        "kube_pod_resource_limit", _LABELS, f"[STABLE] Resources limit for workloads on the cluster, {_MEANING}"
    )
    for pod in pods:
        if pod.spec.node_name and pod.status.phase in _OVER:
            continue
        whose = (pod.metadata.namespace, pod.metadata.name, pod.spec.node_name or "", pod.spec.scheduler_name)
        priority = "" if pod.spec.priority is None else str(pod.spec.priority)
        for gauge, amounts in ((requests, pod_requests(pod, SPEC_RULES)), (limits, pod_limits(pod, SPEC_RULES))):
            for resource, amount in amounts.items():
                if amount:
                    value = amount / _MILLI if resource == "cpu" else amount
                    gauge.set(value, *whose, priority, resource, _unit(resource))
    return [requests, limits]


def _unit(resource: str) -> str:
    if resource.startswith("hugepages-"):
        return "bytes"
    if resource.startswith("attachable-volumes-"):
        return "integer"
    return _UNITS.get(resource, "")

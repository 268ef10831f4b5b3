"""Host ports: which ones a pod takes on its node, and which of them exclude each other.

Mirrors: GetHostPorts in pkg/scheduler/util/utils.go and HostPortInfo in staging/src/k8s.io/kube-scheduler/framework/types.go
(v1.36).
Differs: nothing.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from schedlab.api.rules.requests import is_sidecar
from schedlab.api.views.core import Pod

BIND_ALL_HOST_IP: Final = "0.0.0.0"  # noqa: S104 - nothing is bound here

#: (address, protocol, port), with the defaults filled in.
HostPort: TypeAlias = tuple[str, str, int]


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Return the ports the pod takes on its node: first those of its sidecars, then those of its containers."""
    sidecars = filter(is_sidecar, pod.spec.init_containers)
    return tuple(
        (port.host_ip or BIND_ALL_HOST_IP, port.protocol or "TCP", port.host_port)
        for container in (*sidecars, *pod.spec.containers)
        for port in container.ports
        if port.host_port > 0
    )


def conflicts(wanted: HostPort, used: HostPort) -> bool:
    """Whether both ports cannot be taken on one node; the wildcard address stands for every address."""
    return wanted[1:] == used[1:] and (wanted[0] == used[0] or BIND_ALL_HOST_IP in (wanted[0], used[0]))

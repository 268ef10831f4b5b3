"""What a pod that is not on a node yet asks for, which of that is left to devices, and its signature.

Mirrors: computePodResourceRequest, shouldDelegateResourceToDRA and SignPod in
pkg/scheduler/framework/plugins/noderesources/fit.go (v1.36).
Differs: extended resources are looked at in the order of their names, where upstream's order is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.api.rules.requests import CPU, MEMORY, RequestRules, pod_requests
from schedlab.api.rules.resource_names import is_scalar_resource
from schedlab.scheduler.framework.helpers import signers
from schedlab.scheduler.framework.status import Status, unschedulable
from schedlab.scheduler.framework.types import EPHEMERAL_STORAGE
from schedlab.scheduler.plugins.node_resources.allocation import is_plain

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import Handle
    from schedlab.scheduler.framework.types import PodInfo

REASON_NOT_SIGNED: Final = "signature disabled when dra extended resources are used in the cluster"

#: Resources that nodes always offer themselves.
NATIVE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)


class PendingRequests:
    """Says what pending pods ask for, under the scheduler's feature gates."""

    def __init__(self, handle: Handle) -> None:
        self._rules = RequestRules(
            status=False, pod_level=handle.features.enabled("PodLevelResources"), pod_level_status=False
        )
        self._classes = handle.device_classes if handle.features.enabled("DRAExtendedResource") else None

    def of(self, pod: PodInfo) -> tuple[tuple[str, int], ...]:
        """Return (resource, amount) of what is more than zero: cpu, memory, ephemeral storage, the rest by name."""
        amounts = pod.requests if is_plain(pod.pod) else pod_requests(pod.pod, self._rules)
        scalars = sorted(name for name in amounts if name not in NATIVE and is_scalar_resource(name))
        return tuple((name, amounts[name]) for name in (*NATIVE, *scalars) if amounts.get(name, 0) > 0)

    def is_for_devices(self, resource: str) -> bool:
        """Whether a DeviceClass stands behind the resource, so that a node need not offer it itself."""
        return self._classes is not None and self._classes.device_class(resource) is not None

    def sign(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        """Return the pod's requests as a signature; pods that ask for devices have none."""
        requests = self.of(pod)
        if any(self.is_for_devices(name) for name, _ in requests):
            return None, unschedulable(REASON_NOT_SIGNED)
        return ((signers.RESOURCES, requests),), None

"""Extended resources that device classes stand behind: the claim that is made for them, its requests and mappings.

    PreFilter  a claim in memory, without requests   (or the one a former cycle left, which has to go first)
    Filter     its requests, for what the node does not offer itself
    PreBind    it is created, allocated, and named in the pod's status

Mirrors: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from schedlab.api.rules.resource_names import DEVICE_CLASS_PREFIX, is_extended_resource, is_scalar_resource
from schedlab.api.views.core import Container, ContainerExtendedResourceRequest
from schedlab.api.views.meta import ObjectMeta, OwnerReference
from schedlab.api.views.resource import DeviceClaim, DeviceRequest, ExactDeviceRequest, ResourceClaim, ResourceClaimSpec
from schedlab.apimachinery.quantity import parse_cached
from schedlab.scheduler.dra.requests import EXACT_COUNT
from schedlab.scheduler.framework.status import Status, unresolvable

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.api.views.core import Pod
    from schedlab.scheduler.dra.device_classes import DeviceClasses
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

#: The name of the claim while it exists in memory only; no object can be named so.
IN_MEMORY_NAME: Final = "<extended-resources>"
ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"

_CANNOT_FIT: Final = unresolvable("cannot fit resource")
_STALE: Final = unresolvable("cannot schedule extended resource claim")

Mappings = tuple[ContainerExtendedResourceRequest, ...]
NO_MAPPINGS: Final[Mappings] = ()


def is_device_resource_name(name: str) -> bool:
    """Whether a resource of that name may be backed by devices."""
    return is_extended_resource(name) or name.startswith(DEVICE_CLASS_PREFIX)


def requested_resources(pod: PodInfo, classes: DeviceClasses) -> dict[str, int] | None:
    """Return the scalar resources the pod asks for, or None when no class is behind any of them."""
    requests = pod.requests
    if not any(
        amount and is_device_resource_name(name) and classes.device_class(name) is not None
        for name, amount in requests.items()
    ):
        return None
    return {name: amount for name, amount in requests.items() if is_scalar_resource(name)}


def find_claim(pod: Pod, claims: Iterable[StoredObject]) -> StoredObject | None:
    """Return the claim that a former cycle made for the pod."""
    for claim in claims:
        metadata = claim.view.metadata
        if metadata.annotations.get(ANNOTATION) == "true" and any(
            owner.controller and owner.name == pod.metadata.name and owner.uid == pod.metadata.uid
            for owner in metadata.owner_references
        ):
            return claim
    return None


def claim_in_memory(pod: Pod, uid: str) -> ResourceClaim:
    """Return a claim without requests that stands for the pod's extended resources."""
    metadata = pod.metadata
    owner = OwnerReference(kind="Pod", name=metadata.name, uid=metadata.uid, api_version="v1", controller=True)
    return ResourceClaim(
        ObjectMeta(
            name=IN_MEMORY_NAME,
            namespace=metadata.namespace,
            uid=uid,
            generate_name=f"{metadata.name}-extended-resources-",
            owner_references=(owner,),
            annotations={ANNOTATION: "true"},
        )
    )


def claim_for_node(
    claim: ResourceClaim,
    resources: Mapping[str, int],
    pod: Pod,
    node: NodeInfo,
    classes: DeviceClasses,
    *,
    has_user_claims: bool,
) -> tuple[ResourceClaim | None, Mappings, Status | None]:
    """Return the claim with requests for what the node does not offer itself, or None when it offers everything."""
    if claim.spec.devices.requests:
        return None, (), _STALE
    from_devices = []
    for name, amount in resources.items():
        if not amount or not is_device_resource_name(name):
            continue
        offered = node.allocatable.scalar.get(name)
        if not offered and classes.device_class(name) is not None:
            from_devices.append(name)
        elif offered is None:
            return None, (), _CANNOT_FIT
    if (not has_user_claims and not from_devices) or claim.status.allocation is not None:
        return None, (), None
    requests, mappings = requests_and_mappings(pod, sorted(from_devices), classes)
    return replace(claim, spec=ResourceClaimSpec(DeviceClaim(requests))), mappings, None


def requests_and_mappings(
    pod: Pod, resources: Sequence[str], classes: DeviceClasses
) -> tuple[tuple[DeviceRequest, ...], Mappings]:
    """Return the requests for the resources, and which container may use the devices of which request."""
    requests: list[DeviceRequest] = []
    mappings: list[ContainerExtendedResourceRequest] = []
    for resource in resources:
        found = classes.device_class(resource)
        if found is not None:
            share = _Share(pod, resource, found.metadata.name)
            requests += share.requests
            mappings += share.mappings
    return tuple(sorted(requests, key=lambda request: request.name)), tuple(mappings)


class _Share:
    """One resource of all containers.

    Containers that run for long have requests of their own. An init container may use what later ones of those have;
    what is missing is requested once for all init containers, as much as the neediest of them needs.
    """

    def __init__(self, pod: Pod, resource: str, class_name: str) -> None:
        self._resource = resource
        self._class_name = class_name
        containers = (*pod.spec.init_containers, *pod.spec.containers)
        init_count = len(pod.spec.init_containers)
        short_lived = [index for index in range(init_count) if containers[index].restart_policy != "Always"]
        own: list[DeviceRequest | None] = [None] * len(containers)
        long_mappings: list[ContainerExtendedResourceRequest] = []
        for index, container in enumerate(containers):
            if index not in short_lived:
                own[index], mapped = self._request(index, container, ())
                long_mappings += mapped
        shared, short_mappings = self._of_short_lived({index: containers[index] for index in short_lived}, own)
        self.requests = [each for each in (shared, *own) if each is not None]
        self.mappings = [*long_mappings, *short_mappings]

    def _of_short_lived(
        self, containers: Mapping[int, Container], own: Sequence[DeviceRequest | None]
    ) -> tuple[DeviceRequest | None, list[ContainerExtendedResourceRequest]]:
        mappings: list[ContainerExtendedResourceRequest] = []
        requests: list[DeviceRequest] = []
        for index, container in containers.items():
            request, mapped = self._request(index, container, own[index:])
            mappings += mapped
            if request is not None:
                requests.append(request)
        if not requests:
            return None, mappings
        largest = max(requests, key=_count)
        replaced = {request.name for request in requests}
        return largest, [
            replace(each, request_name=largest.name) if each.request_name in replaced else each for each in mappings
        ]

    def _request(
        self, index: int, container: Container, reusable: Sequence[DeviceRequest | None]
    ) -> tuple[DeviceRequest | None, list[ContainerExtendedResourceRequest]]:
        """Return the request a container needs beside the ones it can reuse, and its mappings."""
        amounts = container.resources.requests
        wanted = _whole(amounts.get(self._resource, "0"))
        if not wanted:
            return None, []
        mappings, total = [], 0
        for request in reusable:
            if request is not None:
                total += _count(request)
                mappings.append(ContainerExtendedResourceRequest(container.name, self._resource, request.name))
                if total >= wanted:
                    return None, mappings
        # Requests are named by the container's place and the resource's place among the container's requests.
        name = f"container-{index}-request-{sorted(amounts).index(self._resource)}"
        mappings.append(ContainerExtendedResourceRequest(container.name, self._resource, name))
        exactly = ExactDeviceRequest(self._class_name, allocation_mode=EXACT_COUNT, count=wanted - total)
        return DeviceRequest(name, exactly), mappings


def _count(request: DeviceRequest) -> int:
    assert request.exactly is not None
    return request.exactly.count


def _whole(text: str) -> int:
    """Return a whole number; 0 for anything else."""
    amount = parse_cached(text)
    return amount.value() if amount.scale >= 0 else 0

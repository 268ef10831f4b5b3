"""Typed views of the resource.k8s.io/v1 kinds: device classes, slices of devices, claims and their templates.

What the scheduler writes into a claim's status is built from the same structs, so they hold every field of it.

Mirrors: staging/src/k8s.io/api/resource/v1/types.go (v1.36), the fields in use here.
"""

from __future__ import annotations

from typing import Any

from msgspec import field

from schedlab.api.views.core import NodeSelector
from schedlab.api.views.meta import ObjectMeta, View

# qualified name -> quantity text
Amounts = dict[str, str]

# --- Devices ---


class DeviceAttribute(View):
    """One value of one type; lists are an alpha feature."""

    int_value: int | None = field(name="int", default=None)
    bool_value: bool | None = field(name="bool", default=None)
    string_value: str | None = field(name="string", default=None)
    version_value: str | None = field(name="version", default=None)


class CapacityRequestPolicyRange(View):
    """Amounts that may be asked for: from min to max in steps."""

    min: str | None = None
    max: str | None = None
    step: str | None = None


class CapacityRequestPolicy(View):
    """How a request for a part of a capacity is rounded, and what counts when nothing is requested."""

    default: str | None = None
    valid_values: tuple[str, ...] | None = None
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(View):
    """capacity[name] of a device."""

    value: str = "0"
    request_policy: CapacityRequestPolicy | None = None


class Counter(View):
    """A number that devices share."""

    value: str = "0"


class CounterSet(View):
    """spec.sharedCounters[i] of a slice."""

    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(View):
    """consumesCounters[i] of a device."""

    counter_set: str = ""
    counters: dict[str, Counter] = {}


class DeviceTaint(View):
    """taints[i] of a device."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class Device(View):
    """spec.devices[i] of a slice."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False


class ResourcePool(View):
    """spec.pool of a slice; only the newest generation counts, and only with all its slices."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(View):
    """spec of a slice."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(View):
    """resource.k8s.io/v1 ResourceSlice."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceSliceSpec = ResourceSliceSpec()


# --- Classes ---


class CELDeviceSelector(View):
    """A CEL expression over a device."""

    expression: str = ""


class DeviceSelector(View):
    """A condition on devices; CEL is the only kind there is."""

    cel: CELDeviceSelector | None = None


class OpaqueDeviceConfiguration(View):
    """Parameters that only the driver understands."""

    driver: str = ""
    parameters: Any = None


class DeviceClassConfiguration(View):
    """spec.config[i] of a class."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(View):
    """spec of a class."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(View):
    """resource.k8s.io/v1 DeviceClass."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()


# --- Claims ---


class DeviceToleration(View):
    """tolerations[i] of a request."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequirements(View):
    """How much of a device's capacities a request needs."""

    requests: Amounts = {}


class ExactDeviceRequest(View):
    """A request for devices of one class."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(View):
    """One of several alternatives."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(View):
    """spec.devices.requests[i] of a claim: one request, or alternatives of which the first that fits is taken."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(View):
    """spec.devices.constraints[i] of a claim; without requests it is about all of them."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(View):
    """spec.devices.config[i] of a claim."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(View):
    """spec.devices of a claim."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(View):
    """spec of a claim."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(View):
    """status.allocation.devices.results[i]: a device for a request."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = field(name="shareID", default=None)
    consumed_capacity: Amounts | None = None


class DeviceAllocationConfiguration(View):
    """status.allocation.devices.config[i]."""

    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(View):
    """status.allocation.devices."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(View):
    """status.allocation: the devices, and the nodes they can be used on."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(View):
    """status.reservedFor[i]: who may use the claim."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class Condition(View):
    """metav1.Condition."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str | None = None


class AllocatedDeviceStatus(View):
    """status.devices[i]: what a driver says of a device."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = field(name="shareID", default=None)
    conditions: tuple[Condition, ...] = ()
    data: Any = None
    network_data: Any = None

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of that type, if present."""
        return next((condition for condition in self.conditions if condition.type == kind), None)


class ResourceClaimStatus(View):
    """status of a claim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(View):
    """resource.k8s.io/v1 ResourceClaim."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(View):
    """spec of a template: what the claims made from it are like."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(View):
    """resource.k8s.io/v1 ResourceClaimTemplate."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()

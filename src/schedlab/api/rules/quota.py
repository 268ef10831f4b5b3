"""What objects cost by the names that resource quotas know, and which quotas they fall under.

    pods                    pods, cpu, requests.cpu, limits.memory, requests.example.com/gpu, hugepages-2Mi, …
    persistentvolumeclaims  requests.storage, CLASS.storageclass.storage.k8s.io/requests.storage, …
    services                services, services.nodeports, services.loadbalancers
    resourceclaims          CLASS.deviceclass.resource.k8s.io/devices
    anything                count/RESOURCE.GROUP

Objects are whole dicts, as they are stored.

Mirrors: pkg/quota/v1/evaluator/core, staging/src/k8s.io/apiserver/pkg/quota/v1 (v1.36)
Differs: of a pod that is being resized the spec counts, not what is still allocated; device classes that stand for
extended resources are not counted under the names of those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from schedlab.api.kinds.resource_lists import aggregate
from schedlab.api.rules.resource_names import is_native_resource
from schedlab.apimachinery.quantity import Quantity, of_int, parse_cached
from schedlab.apimachinery.time import SECOND, parse_time

Object: TypeAlias = Mapping[str, Any]
Amounts: TypeAlias = dict[str, Quantity]

PODS: Final = "pods"
CLAIMS: Final = "persistentvolumeclaims"
SERVICES: Final = "services"
DEVICE_CLAIMS: Final = "resourceclaims.resource.k8s.io"
#: Whose number is not limited.
IGNORED: Final = ("events", "events.events.k8s.io", "bindings")

_ONE: Final = of_int(1)
_REQUESTS: Final = "requests."
_LIMITS: Final = "limits."
_HUGE_PAGES: Final = "hugepages-"
_IMPLICIT_EXTENDED: Final = "requests.deviceclass.resource.kubernetes.io/"
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES: Final = (
    "count/pods",
    PODS,
    *_COMPUTE,
    *(f"{prefix}{name}" for prefix in (_REQUESTS, _LIMITS) for name in _COMPUTE),
)
_STORAGE_NAMES: Final = (CLAIMS, "requests.storage")
_OF_STORAGE_CLASS: Final = ".storageclass.storage.k8s.io/"
_OF_DEVICE_CLASS: Final = ".deviceclass.resource.k8s.io/devices"
_SERVICE_NAMES: Final = ("count/services", SERVICES, "services.nodeports", "services.loadbalancers")
#: Kinds that are also counted under their plain name.
_ALIASES: Final = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
#: What every container has to ask for once a quota limits it: a mistake of old that stays.
_REQUIRED: Final = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
_ALL_DEVICES: Final = 32


def tracked(resource: str, names: Iterable[str]) -> list[str]:
    """Return those names of a quota that objects of a resource count for."""
    return [name for name in names if _tracks(resource, name)]


def _tracks(resource: str, name: str) -> bool:
    if resource == PODS:
        is_extended = name.startswith(_REQUESTS) and (
            not is_native_resource(name) or name.startswith(_IMPLICIT_EXTENDED)
        )
        return name in _POD_NAMES or name.startswith((_HUGE_PAGES, _REQUESTS + _HUGE_PAGES)) or is_extended
    if resource == CLAIMS:
        of_class = tuple(_OF_STORAGE_CLASS + each for each in _STORAGE_NAMES)
        return name in _STORAGE_NAMES or name == f"count/{CLAIMS}" or name.endswith(of_class)
    if resource == SERVICES:
        return name in _SERVICE_NAMES
    if resource == DEVICE_CLAIMS and name.endswith(_OF_DEVICE_CLASS):
        return True
    return name == f"count/{resource}" or (name == resource and resource in _ALIASES)


# --- Cost -------------------------------------------------------------------------------------------------------------


def usage(resource: str, obj: Object, now_ns: int) -> Amounts:
    """Return what one object costs."""
    cost: Amounts = {f"count/{resource}": _ONE}
    if resource in _ALIASES:
        cost[resource] = _ONE
    elif resource == PODS:
        cost |= _pod_usage(obj, now_ns)
    elif resource == CLAIMS:
        cost |= _claim_usage(obj)
    elif resource == SERVICES:
        cost |= _service_usage(obj["spec"])
    elif resource == DEVICE_CLAIMS:
        cost |= _device_usage(obj["spec"])
    return cost


def _pod_usage(pod: Object, now_ns: int) -> Amounts:
    if not pod_counts(pod, now_ns):
        return {}
    spec = pod["spec"]
    return _compute_usage(_total(spec, "requests"), _total(spec, "limits"))


def pod_counts(pod: Object, now_ns: int) -> bool:
    """Whether a pod still costs anything: it has not ended, nor is it stuck on its way out."""
    metadata = pod["metadata"]
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return False
    deleted, grace_s = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    return deleted is None or grace_s is None or now_ns <= parse_time(deleted) + grace_s * SECOND


def _total(spec: Object, member: str) -> Amounts:
    total = aggregate(spec, member)
    own = (spec.get("resources") or {}).get(member) or {}
    total |= {name: parse_cached(text) for name, text in own.items()}
    for name, text in (spec.get("overhead") or {}).items():
        if member == "requests" or name in total:
            total[name] = total[name] + parse_cached(text) if name in total else parse_cached(text)
    return total


def _compute_usage(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> Amounts:
    cost: Amounts = {PODS: _ONE}
    for name, amount in requests.items():
        is_huge = name.startswith(_HUGE_PAGES)
        if name in _COMPUTE or is_huge:
            cost[name] = cost[_REQUESTS + name] = amount
        elif not is_native_resource(name):
            cost[_REQUESTS + name] = amount
    cost |= {_LIMITS + name: amount for name, amount in limits.items() if name in _COMPUTE}
    return cost


def _claim_usage(claim: Object) -> Amounts:
    cost: Amounts = {CLAIMS: _ONE}
    requested = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage")
    if requested is not None:
        amount = parse_cached(requested).round_up(0)
        allocated = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage")
        if allocated is not None:
            amount = max(amount, parse_cached(allocated).round_up(0))
        cost["requests.storage"] = amount
    annotations = claim["metadata"].get("annotations") or {}
    name = annotations.get("volume.beta.kubernetes.io/storage-class", claim["spec"].get("storageClassName") or "")
    return cost | ({name + _OF_STORAGE_CLASS + key: amount for key, amount in cost.items()} if name else {})


def _service_usage(spec: Object) -> Amounts:
    kind, ports = spec.get("type", "ClusterIP"), spec.get("ports") or ()
    balanced = kind == "LoadBalancer"
    if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
        node_ports = sum(bool(port.get("nodePort")) for port in ports)
    else:
        node_ports = len(ports) if balanced or kind == "NodePort" else 0
    return {SERVICES: _ONE, "services.nodeports": of_int(node_ports), "services.loadbalancers": of_int(int(balanced))}


def _device_usage(spec: Object) -> Amounts:
    counts: dict[str, int] = {}
    for request in (spec.get("devices") or {}).get("requests") or ():
        worst: dict[str, int] = {}
        for choice in request.get("firstAvailable") or filter(None, [request.get("exactly")]):
            name = choice.get("deviceClassName", "") + _OF_DEVICE_CLASS
            mode = choice.get("allocationMode")
            count = choice.get("count", 0) if mode == "ExactCount" else _ALL_DEVICES if mode == "All" else 0
            worst[name] = max(worst.get(name, 0), count)
        for name, count in worst.items():
            counts[name] = counts.get(name, 0) + count
    return {name: of_int(count) for name, count in counts.items()}


# --- Constraints ------------------------------------------------------------------------------------------------------


def missing(pod: Object, names: Iterable[str]) -> str:
    """Say what containers of a pod do not ask for though a quota limits it, "" when nothing is missing."""
    spec = pod["spec"]
    own = spec.get("resources") or {}
    if own.get("requests") or own.get("limits"):
        return ""
    required = [name for name in names if name in _REQUIRED]
    lacking: dict[str, list[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        present = _compute_usage(resources.get("requests") or {}, resources.get("limits") or {})
        for name in required:
            if name not in present:
                lacking.setdefault(name, []).append(container["name"])
    parts = [f"{name} for: {','.join(sorted(set(lacking[name])))}" for name in sorted(lacking)]
    return f"must specify {'; '.join(parts)}" if parts else ""


# --- Scopes -----------------------------------------------------------------------------------------------------------


def matches_scopes(resource: str, spec: Object, obj: Object) -> bool:
    """Whether an object is within all scopes of a quota."""
    selectors = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    selectors += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return all(_in_scope(resource, selector, obj) for selector in selectors)


def _in_scope(resource: str, selector: Object, obj: Object) -> bool:
    name = selector["scopeName"]
    if resource == CLAIMS and name == "VolumeAttributesClass":
        return _selects(selector, _attributes_classes(obj))
    if resource != PODS:
        return False
    spec = obj["spec"]
    if name == "PriorityClass":
        return _selects(selector, [spec["priorityClassName"]] if spec.get("priorityClassName") else [])
    found = _POD_SCOPES.get(name)
    return found is not None and found(spec)


def _selects(selector: Object, values: Sequence[str]) -> bool:
    operator, wanted = selector.get("operator"), selector.get("values") or ()
    if operator == "DoesNotExist":
        return not values
    if operator == "NotIn":
        return not any(value in wanted for value in values)
    return bool(values) if operator == "Exists" else any(value in wanted for value in values)


def _attributes_classes(claim: Object) -> list[str]:
    status = claim.get("status") or {}
    named = (
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return [name for name in dict.fromkeys(named) if name]


def is_terminating(spec: Object) -> bool:
    """Whether a pod has a time after which it ends."""
    return bool(spec.get("activeDeadlineSeconds") is not None and spec["activeDeadlineSeconds"] >= 0)


def _is_best_effort(spec: Object) -> bool:
    own = spec.get("resources") or {}
    every = [
        own,
        *((each.get("resources") or {}) for key in ("containers", "initContainers") for each in spec.get(key) or ()),
    ]
    return not any(
        bool(parse_cached(text))
        for resources in every
        for member in ("requests", "limits")
        for name, text in (resources.get(member) or {}).items()
        if name in ("cpu", "memory")
    )


def _reaches_other_namespaces(spec: Object) -> bool:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        terms = list(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [each["podAffinityTerm"] for each in preferred]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False


_POD_SCOPES: Final[Mapping[str, Callable[[Object], bool]]] = {
    "Terminating": is_terminating,
    "NotTerminating": lambda spec: not is_terminating(spec),
    "BestEffort": _is_best_effort,
    "NotBestEffort": lambda spec: not _is_best_effort(spec),
    "CrossNamespacePodAffinity": _reaches_other_namespaces,
}


# --- Sums -------------------------------------------------------------------------------------------------------------


def plus(one: Mapping[str, Quantity], other: Mapping[str, Quantity]) -> Amounts:
    """Add amounts by name."""
    return dict(one) | {name: one[name] + amount if name in one else amount for name, amount in other.items()}


def parsed(texts: Mapping[str, str] | None) -> Amounts:
    """Return the amounts of a wire resource list."""
    return {name: parse_cached(text) for name, text in (texts or {}).items()}

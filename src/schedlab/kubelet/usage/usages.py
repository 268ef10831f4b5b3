"""How much a container uses: what a ResourceUsage says of its pod, else the first ClusterResourceUsage that selects the
pod and speaks of the container, else the pod's annotations.

Mirrors: KWOK's pkg/kwok/server/metrics_resource_usage.go (v0.8), kustomize/metrics/usage/usage-from-annotation.yaml.
Differs: usage by annotation needs no object. An expression that fails counts as no usage, as there, and is told of by
`UsageChecker`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.apimachinery import quantity
from schedlab.apimachinery.cel import CelError
from schedlab.apimachinery.quantity import QuantityError
from schedlab.client.informers import Informer
from schedlab.client.resource_metrics import Usage
from schedlab.kubelet.usage.expressions import compile_usage, evaluate_usage

RESOURCES: Final = ("cpu", "memory")
_ANNOTATION: Final = "kwok.x-k8s.io/usage-{}"
_DEFAULTS: Final = {"cpu": "1m", "memory": "1Mi"}
_NANO: Final = 10**9
#: More than any container can use; beyond it sums would not fit into a quantity.
_AMOUNT_MAX: Final = 1e15


class Usages:
    """Works out usage from the objects as they are."""

    def __init__(self, nodes: Informer, usages: Informer, cluster_usages: Informer) -> None:
        self._nodes = nodes
        self._usages = usages
        self._cluster_usages = cluster_usages

    def of(self, pod: StoredObject, now_ns: int) -> dict[str, Usage]:
        """Return what each container of a pod uses."""
        if not self._usages.count and not self._cluster_usages.count:
            known = _annotated(pod)
            return {container.name: known for container in pod.view.spec.containers}
        node = self._nodes.stored(pod.view.spec.node_name)
        containers: Sequence[Mapping[str, Any]] = pod.raw["spec"]["containers"]
        return {each["name"]: self._container(pod, node, each, now_ns) for each in containers}

    def _container(
        self, pod: StoredObject, node: StoredObject | None, container: Mapping[str, Any], now_ns: int
    ) -> Usage:
        usage = self._find(pod, container["name"])
        if usage is None:
            return _annotated(pod)
        if node is None:
            return Usage(0, 0)
        amounts = [_amount(usage.get(each) or {}, node, pod, container, each, now_ns) for each in RESOURCES]
        return Usage(int(amounts[0] * _NANO), int(amounts[1]))

    def _find(self, pod: StoredObject, container: str) -> Mapping[str, Any] | None:
        """Return what is said of a container; nothing said where its pod is spoken of is no usage."""
        own = self._usages.stored(pod.name, pod.namespace)
        if own is not None:
            return _choose(own.raw["spec"].get("usages") or (), container) or {}
        for each in self._cluster_usages.all_stored():
            spec = each.raw["spec"]
            if _selects(spec.get("selector") or {}, pod):
                found = _choose(spec.get("usages") or (), container)
                if found is not None:
                    return found
        return None


def _selects(selector: Mapping[str, Any], pod: StoredObject) -> bool:
    namespaces, names = selector.get("matchNamespaces"), selector.get("matchNames")
    return (not namespaces or pod.namespace in namespaces) and (not names or pod.name in names)


def _choose(usages: Sequence[Mapping[str, Any]], container: str) -> Mapping[str, Any] | None:
    """Return the usage that names a container, else the first one that names none."""
    named = next((each for each in usages if container in (each.get("containers") or ())), None)
    found = named or next((each for each in usages if not each.get("containers")), None)
    return None if found is None else found.get("usage") or {}


def _amount(
    value: Mapping[str, Any],
    node: StoredObject,
    pod: StoredObject,
    container: Mapping[str, Any],
    resource: str,
    now_ns: int,
) -> float:
    if value.get("value") is not None:
        return quantity.from_json(value["value"]).as_approximate_float64()
    source = value.get("expression")
    if source is None:
        return 0.0
    rand = _fraction(pod.uid, str(container["name"]), resource, str(now_ns))
    try:
        amount = evaluate_usage(compile_usage(source), node.raw, pod.raw, container, now_ns, rand)
        return min(max(0.0, amount), _AMOUNT_MAX)
    except CelError:
        return 0.0


def _fraction(*parts: str) -> float:
    """Return a number from 0 to 1 that is as good as random, and the same for the same parts."""
    digest = hashlib.blake2b("/".join(parts).encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def _annotated(pod: StoredObject) -> Usage:
    annotations: Mapping[str, str] = pod.view.metadata.annotations
    cpu, memory = (_quantity(annotations.get(_ANNOTATION.format(each), _DEFAULTS[each])) for each in RESOURCES)
    return Usage(int(cpu * _NANO), int(memory))


def _quantity(text: str) -> float:
    try:
        return max(0.0, quantity.parse_cached(text).as_approximate_float64())
    except QuantityError:
        return 0.0

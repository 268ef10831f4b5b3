"""The metrics API: what pods and nodes use, for `kubectl top`. Nothing is stored; it is measured when it is asked for.

    GET /apis/metrics.k8s.io/v1beta1/nodes[/NAME]
    GET /apis/metrics.k8s.io/v1beta1[/namespaces/NAMESPACE]/pods[/NAME]

Mirrors: metrics-server's pkg/api (v0.8), k8s.io/metrics/pkg/apis/metrics/v1beta1 (v1.36)
Differs: served by the API server itself, so that its APIService needs no server behind it; a list takes no limit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from schedlab.api.kinds.strategy import Strategy, UpdateStrategy
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery import quantity
from schedlab.apimachinery.errors import new_not_found
from schedlab.apimachinery.gvk import GroupResource, GroupVersionKind
from schedlab.apimachinery.quantity import Format, Quantity
from schedlab.apimachinery.resources import ResourceType
from schedlab.apimachinery.schema import Struct
from schedlab.apimachinery.time import format_duration, format_time
from schedlab.apiserver import results
from schedlab.apiserver.answers import Answer
from schedlab.apiserver.options import read_list_query
from schedlab.apiserver.reading import ReadHandlers
from schedlab.apiserver.request import Request
from schedlab.apiserver.results import Pieces
from schedlab.apiserver.routing import Route
from schedlab.client.resource_metrics import Measured, NodeMetrics, PodMetrics, ResourceMetrics, Usage
from schedlab.registry.registry import Registry
from schedlab.registry.request import ListOptions, ObjectList
from schedlab.registry.resource import Resource

GROUP: Final = "metrics.k8s.io"
VERSION: Final = "v1beta1"
_API_VERSION: Final = f"{GROUP}/{VERSION}"
_AMOUNTS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
_COMMON: Final = {"timestamp": {"type": "string", "format": "date-time"}, "window": {"type": "string"}}
_NODE_SCHEMA: Final = {"type": "object", "properties": {**_COMMON, "usage": _AMOUNTS}}
_POD_SCHEMA: Final = {
    "type": "object",
    "properties": {
        **_COMMON,
        "containers": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "usage": _AMOUNTS}},
        },
    },
}


def _resource(plural: str, kind: str, *, namespaced: bool) -> Resource:
    entry = ResourceType(GROUP, VERSION, plural, "", kind, namespaced, ("get", "list"))
    strategy = Strategy(entry.full_name, lambda _obj, _context: [], UpdateStrategy(lambda _new, _old, _context: []))
    struct = Struct(kind, go=f"v1beta1.{kind}")
    struct.gvks = (GroupVersionKind(GROUP, VERSION, kind),)
    return Resource(entry, strategy, struct)


NODES: Final = _resource("nodes", "NodeMetrics", namespaced=False)
PODS: Final = _resource("pods", "PodMetrics", namespaced=True)
RESOURCES: Final = (NODES, PODS)
#: For OpenAPI: the schemas of types that Kubernetes itself does not have.
SCHEMAS: Final[Mapping[ResourceType, Mapping[str, Any]]] = {NODES.type: _NODE_SCHEMA, PODS.type: _POD_SCHEMA}


class ResourceMetricsHandlers:
    """Answers for metrics."""

    def __init__(self, registry: Registry, reading: ReadHandlers, metrics: ResourceMetrics) -> None:
        self._registry = registry
        self._reading = reading
        self._metrics = metrics

    def find(self, route: Route) -> Callable[[Route, Request], Awaitable[Answer | Pieces]] | None:
        """Return the handler, None for everything that is no metric."""
        if route.type.group != GROUP:
            return None
        return self._get if route.verb == "get" else self._list

    async def _get(self, route: Route, request: Request) -> Answer:
        """Answer with the metrics of one node or pod."""
        form = request.output_form()
        info = request.info
        if route.type.resource == "nodes":
            node = self._metrics.node(info.name)
            found = None if node is None else _node_object(node)
        else:
            pod = self._metrics.pod(info.name, info.namespace)
            found = None if pod is None else _pod_object(pod)
        if found is None:
            name = f"{info.namespace}/{info.name}" if info.namespace else info.name
            raise new_not_found(GroupResource(GROUP, route.type.resource), name)
        return results.one(request, route, found, form)

    async def _list(self, route: Route, request: Request) -> Answer | Pieces:
        """Answer with the metrics that are selected."""
        form = request.output_form()
        selection = self._reading.selection(route.resource, request, read_list_query(request.query))
        if route.type.resource == "nodes":
            found = [_node_object(each) for each in self._metrics.nodes() if _is_chosen(each.node, selection)]
        else:
            pods = self._metrics.pods(request.info.namespace or None)
            found = [_pod_object(each) for each in pods if _is_chosen(each.pod, selection)]
        found.sort(key=lambda each: (each.namespace, each.name))
        return results.several(request, route, ObjectList(found, self._registry.revision), form)


def _is_chosen(about: StoredObject, selection: ListOptions) -> bool:
    fields = {"metadata.name": about.name, "metadata.namespace": about.namespace}
    return selection.labels.matches(about.labels) and selection.fields.matches(fields)


def _node_object(found: NodeMetrics) -> StoredObject:
    return _object(NODES, found.node, found, {"usage": _amounts(found.usage)})


def _pod_object(found: PodMetrics) -> StoredObject:
    containers = [{"name": name, "usage": _amounts(usage)} for name, usage in found.containers.items()]
    return _object(PODS, found.pod, found, {"containers": containers})


def _object(resource: Resource, about: StoredObject, measured: Measured, body: Object) -> StoredObject:
    now = format_time(measured.measured_ns)
    metadata: Object = {"name": about.name, "creationTimestamp": now}
    if about.namespace:
        metadata["namespace"] = about.namespace
    if about.labels:
        metadata["labels"] = dict(about.labels)
    head = {"kind": resource.type.kind, "apiVersion": _API_VERSION, "metadata": metadata}
    times = {"timestamp": now, "window": format_duration(measured.window_ns)}
    return StoredObject.encode(resource.type.full_name, {**head, **times, **body}, 0)


def _amounts(usage: Usage) -> Mapping[str, str]:
    """Return usage as metrics-server writes it: CPU to the nanocore, memory in powers of two."""
    memory = quantity.of_int(usage.memory_bytes, Format.BINARY_SI)
    return {"cpu": str(Quantity(usage.cpu_nano, quantity.NANO, Format.DECIMAL_SI)), "memory": str(memory)}

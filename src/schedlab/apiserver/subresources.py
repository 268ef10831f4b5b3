"""Handlers of what lies below objects and is not a part of them: binding, eviction, logs, connections.

`status` and its like are parts of the object; reading and writing them is `reading` and `writing` with a name.

Mirrors: pkg/registry/core/pod/storage (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeAlias

from schedlab.api.object import Object
from schedlab.apimachinery.errors import Status
from schedlab.apiserver import results
from schedlab.apiserver.answers import Answer
from schedlab.apiserver.containers import CONNECTIONS, ContainerHandlers
from schedlab.apiserver.durability import settle
from schedlab.apiserver.negotiation import body_media_type
from schedlab.apiserver.options import read_write_options
from schedlab.apiserver.request import Request
from schedlab.apiserver.routing import Route
from schedlab.apiserver.watching import WatchStream
from schedlab.apiserver.writing import decode_checked, schema_of
from schedlab.client.node_servers import LogSource, NodeServer
from schedlab.registry.registry import Registry
from schedlab.registry.request import WriteOptions

SubresourceHandler: TypeAlias = Callable[[Route, Request], Awaitable[Answer | WatchStream]]
#: Takes name, order, namespace and options.
Order: TypeAlias = Callable[[str, Object, str, WriteOptions], Status]

#: The collection that a binding can be sent to instead of the pod.
BINDINGS: Final = "bindings"


class SubresourceHandlers:
    """Answers requests for subresources that need more than the object itself."""

    def __init__(self, registry: Registry, logs: LogSource | None = None, nodes: NodeServer | None = None) -> None:
        self._registry = registry
        self._containers = ContainerHandlers(registry, logs, nodes)
        self._handlers: dict[tuple[str, str], SubresourceHandler] = {
            ("binding", "create"): self._bind,
            ("eviction", "create"): self._evict,
            ("log", "get"): self._containers.log,
        }

    @property
    def streams(self) -> Iterable[WatchStream]:
        """Logs that are still being sent."""
        return self._containers.streams

    def find(self, route: Route) -> SubresourceHandler | None:
        """Return the handler of a subresource, None for those that are parts of their object."""
        if route.sub is None:
            return self._bind if route.type.full_name == BINDINGS else None
        if route.sub.name in CONNECTIONS:
            return self._containers.connect
        return self._handlers.get((route.sub.name, route.verb))

    async def _bind(self, route: Route, request: Request) -> Answer:
        """Put a pod onto a node."""
        return await self._order(route, request, self._registry.bind)

    async def _evict(self, route: Route, request: Request) -> Answer:
        """Delete a pod if its budget allows it."""
        return await self._order(route, request, self._registry.evict)

    async def _order(self, route: Route, request: Request, carry_out: Order) -> Answer:
        """Hand over what was posted below an object; the answer is a Status."""
        form = request.output_form()
        media_type = body_media_type(request.content_type)
        text = await request.body()
        options = read_write_options(request, "CreateOptions")
        gvk = route.type.gvk if route.sub is None else route.sub.gvk
        decoded = decode_checked(text, media_type, gvk, schema_of(route), options)
        name = request.info.name or decoded.object["metadata"].get("name", "")
        status = carry_out(name, decoded.object, request.info.namespace, options)
        await settle(self._registry, self._registry.revision)
        return results.status_answer({**status, "code": 201}, form, 201)

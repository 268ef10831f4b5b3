"""ComponentStatus: whether the parts of the control plane are well. Nothing is stored; it is made when it is asked for.

Mirrors: pkg/registry/core/componentstatus/rest.go (v1.36)
Differs: only the store is reported on. Scheduler and controllers of a cluster here run in the server's own process,
and there is nothing of theirs to call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import new_unknown
from schedlab.apiserver import results
from schedlab.apiserver.answers import Answer
from schedlab.apiserver.durability import storage_works
from schedlab.apiserver.options import read_list_query
from schedlab.apiserver.reading import ReadHandlers
from schedlab.apiserver.request import Request
from schedlab.apiserver.results import Pieces
from schedlab.apiserver.routing import Route
from schedlab.registry.registry import Registry
from schedlab.registry.request import ObjectList

COMPONENTS: Final = "componentstatuses"
_STORE: Final = "etcd-0"


class ComponentHandlers:
    """Answers for the components."""

    def __init__(self, registry: Registry, reading: ReadHandlers) -> None:
        self._registry = registry
        self._reading = reading

    def find(self, route: Route) -> Callable[[Route, Request], Awaitable[Answer | Pieces]] | None:
        """Return the handler, None for everything that is no component."""
        if route.type.full_name != COMPONENTS:
            return None
        return self._get if route.verb == "get" else self._list

    async def _get(self, route: Route, request: Request) -> Answer:
        """Answer with one component."""
        form = request.output_form()
        for found in self._components():
            if found.name == request.info.name:
                return results.one(request, route, found, form)
        raise new_unknown(f"Component not found: {request.info.name}")

    async def _list(self, route: Route, request: Request) -> Answer | Pieces:
        """Answer with the components that are selected."""
        form = request.output_form()
        selection = self._reading.selection(route.resource, request, read_list_query(request.query))
        chosen = [
            component
            for component in self._components()
            if selection.labels.matches({}) and selection.fields.matches({"metadata.name": component.name})
        ]
        return results.several(request, route, ObjectList(chosen, self._registry.revision), form)

    def _components(self) -> Sequence[StoredObject]:
        works = storage_works(self._registry)
        condition = {"type": "Healthy", "status": "True" if works else "False"}
        condition |= {"message": "ok"} if works else {"error": "the last write could not be kept"}
        component: dict[str, Any] = {
            "kind": "ComponentStatus",
            "apiVersion": "v1",
            "metadata": {"name": _STORE},
            "conditions": [condition],
        }
        return [StoredObject.encode(COMPONENTS, component, self._registry.revision)]

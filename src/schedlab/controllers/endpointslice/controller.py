"""The EndpointSlice controller: keeps the slices of every service that selects pods.

Mirrors: pkg/controller/endpointslice/endpointslice_controller.go, finalize of
staging/src/k8s.io/endpointslice/reconciler.go (v1.36).
Differs: slices that somebody else changed are told by their revision, which no answer to a write of its own carried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from schedlab.api.object import Object, StoredObject, WatchEvent
from schedlab.api.views.core import Node
from schedlab.client.protocol import Verb, Write
from schedlab.controllers.endpointslice.changes import Changes
from schedlab.controllers.endpointslice.reconciler import Reconciler
from schedlab.controllers.endpointslice.slices import CONTROLLER, ZONE, is_owned
from schedlab.controllers.endpointslice.topologycache import TopologyCache, hints_enabled
from schedlab.controllers.framework import kinds
from schedlab.controllers.framework.controller import (
    Asking,
    Controller,
    ControllerContext,
    Steps,
    SyncError,
    attempt,
    split_key,
)
from schedlab.controllers.framework.ownership import is_deleted
from schedlab.controllers.framework.pod_control import is_namespace_going
from schedlab.controllers.framework.services import (
    RETRIES_MAX,
    SLICE_RETRY_BASE_NS,
    Memberships,
    TriggerTimes,
    has_endpoints,
    members,
    with_last_change,
)
from schedlab.controllers.framework.slice_index import SliceIndex
from schedlab.controllers.framework.work_queue import WorkQueue
from schedlab.kernel.clock import SECOND_NS

_NODES_KEY: Final = "nodes"
#: Changes of slices by others are looked at together.
_FOREIGN_CHANGE_NS: Final = SECOND_NS


class EndpointSliceController(Controller):
    """Keys are those of services, and one for the nodes of the cluster."""

    name: ClassVar[str] = "endpointslice-controller"
    retries_max: ClassVar[int | None] = RETRIES_MAX

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, component="endpoint-slice-controller")
        self.queue = WorkQueue(context.clock, retry_base_ns=SLICE_RETRY_BASE_NS)
        self._services = context.lister("services")
        self._pods = context.lister("pods")
        self._nodes = context.lister("nodes")
        self._slices = SliceIndex(context.lister(kinds.ENDPOINT_SLICE.resource), CONTROLLER)
        self._memberships = Memberships(self._services)
        self._times = TriggerTimes()
        self._topology = TopologyCache()
        self._reconciler = Reconciler(self._nodes, self._topology)
        self._nodes_changed = True
        self._services.on_change(self._on_service)
        self._slices.on_change(lambda service: self.queue.add_after(service, _FOREIGN_CHANGE_NS))
        self._pods.on_change(self._on_pod)
        self._nodes.on_change(self._on_node)

    def _on_service(self, event: WatchEvent) -> None:
        self.queue.add(event.object.key)

    def _on_pod(self, event: WatchEvent) -> None:
        for service in self._memberships.affected(event):
            self.queue.add(service)

    def _on_node(self, event: WatchEvent) -> None:
        """Shares of zones matter only to services that have hints."""
        node, before = event.object, event.previous
        if event.type != "MODIFIED" or before is None or _facts(before.view) != _facts(node.view):
            self._nodes_changed = True
            if self._topology.any_hints():
                self.queue.add(_NODES_KEY)

    def sync(self, key: str) -> Steps:
        """Bring the slices of one service to what its pods ask for."""
        if key == _NODES_KEY:
            self._take_nodes()
            for service in self._topology.overloaded():
                self.queue.add(service)
            return
        namespace, name = split_key(key)
        found = self._services.stored(name, namespace)
        if found is None:
            self._times.forget(key)
        elif has_endpoints(found.view):
            with self._slices.writing(key):
                yield from self._sync_service(found)

    def _sync_service(self, service: StoredObject) -> Steps:
        pods = members(service.view, self._pods)
        self.queue.rest(service.key, len(pods))
        existing = self._slices.of(service.key)
        trigger_ns = self._times.next_ns(service, pods)
        if hints_enabled(service.view.metadata.annotations):
            self._take_nodes()
        errors: list[str] = []
        for plan in self._reconciler.plan(service, pods, existing):
            errors += plan.errors
            error = yield from self._finalize(service, plan.changes, trigger_ns)
            errors += [error] if error else []
            for event in plan.events:
                self.events.record(kinds.SERVICE, service, event.type, event.reason, event.message)
        if errors:
            text = errors[0] if len(errors) == 1 else f"[{', '.join(dict.fromkeys(errors))}]"
            message = f"Error updating Endpoint Slices for Service {service.key}: {text}"
            self.events.warning(kinds.SERVICE, service, "FailedToUpdateEndpointSlices", message)
            raise SyncError(text)

    def _take_nodes(self) -> None:
        if self._nodes_changed:
            self._nodes_changed = False
            self._topology.set_nodes(self._nodes.list())

    def _finalize(self, service: StoredObject, changes: Changes, trigger_ns: int) -> Asking[str]:
        """Write the changes and return the first error; slices that would be deleted are used for new ones."""
        _recycle(service, changes)
        # The slices of a service on its way out are the garbage collector's.
        created = [] if is_deleted(service) else changes.create
        for verb, slices in _steps(created, changes):
            for each in slices:
                name = each["metadata"].get("name", "")
                body = (
                    None if verb == "delete" else {**each, "metadata": with_last_change(each["metadata"], trigger_ns)}
                )
                outcome = yield from attempt(Write(verb, kinds.ENDPOINT_SLICE.resource, service.namespace, name, body))
                self._slices.written(service.key, outcome)
                error = outcome.error
                if error is None or (verb == "delete" and error.reason == "NotFound"):
                    continue
                if verb == "create" and is_namespace_going(error):
                    return ""
                what = f"{name} EndpointSlice" if name else "EndpointSlice"
                return f"failed to {verb} {what} for Service {service.key}: {error}"
        return ""


def _steps(created: Sequence[Object], changes: Changes) -> Sequence[tuple[Verb, Sequence[Object]]]:
    return ("create", created), ("update", changes.update), ("delete", changes.delete)


def _recycle(service: StoredObject, changes: Changes) -> None:
    """Turn creations into updates of slices that would be deleted."""
    kept: list[Object] = []
    for old in changes.delete:
        new = changes.create[-1] if changes.create else None
        if new is None or new["addressType"] != old["addressType"] or not is_owned(old, service):
            kept.append(old)
            continue
        changes.create.pop()
        changes.update.append({**new, "metadata": {**new["metadata"], "name": old["metadata"]["name"]}})
    changes.delete = kept


def _facts(node: Node) -> tuple[bool, str, str]:
    """Return what the share of a zone depends on."""
    is_ready = any(each.type == "Ready" and each.status == "True" for each in node.status.conditions)
    return is_ready, node.metadata.labels.get(ZONE, ""), str(node.status.allocatable.get("cpu", ""))

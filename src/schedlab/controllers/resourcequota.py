"""The resource quota controller: counts what a namespace uses of its quotas.

Admission counts up by itself; this counts anew when something is deleted or ends, when limits change, and every five
minutes after admission has counted.

Mirrors: pkg/controller/resourcequota/resource_quota_controller.go (v1.36)
Differs: the recount follows each quota's own changes, where upstream recounts all of them at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from schedlab.api.kinds.customresourcedefinition import DEFINITIONS
from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.rules import quota
from schedlab.apimachinery.quantity import parse_cached
from schedlab.client.informers import Informer
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, ask, split_key
from schedlab.controllers.framework.definitions import served_types
from schedlab.controllers.framework.status import new_status
from schedlab.kernel.clock import SECOND_NS

_RECOUNT_NS: Final = 300 * SECOND_NS
_NOTHING: Final = parse_cached("0")


class ResourceQuotaController(Controller):
    """Keys are those of quotas."""

    name: ClassVar[str] = "resourcequota-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        names = [each.full_name for each in context.resources if each.namespaced and "create" in each.verbs]
        self._known = tuple(name for name in dict.fromkeys(names) if name not in quota.IGNORED)
        self._definitions = context.lister(DEFINITIONS)
        #: What is counted by now; a resource is listened to from the first quota on that limits it.
        self._counted: dict[str, Informer] = {}
        self._quotas = context.lister("resourcequotas")
        self._quotas.on_change(self._on_quota)
        self._definitions.on_change(self._on_definition)

    def _on_definition(self, event: WatchEvent) -> None:
        """Count anew for quotas that limit what has come to be served, or is not any more."""
        for stored in self._quotas.all_stored():
            if f"count/{event.object.name}" in (stored.raw["spec"].get("hard") or {}):
                self.queue.add(stored.key)

    def _resources(self) -> Sequence[str]:
        """Return everything that can be counted, what definitions have added with it."""
        types = [each for stored in self._definitions.all_stored() for each in served_types(stored)]
        return (*self._known, *dict.fromkeys(each.full_name for each in types if each.namespaced))

    def _on_quota(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            return
        stored = event.object
        spec, before = stored.raw["spec"], None if event.previous is None else event.previous.raw
        if before is None or before["spec"].get("hard") != spec.get("hard"):
            self.queue.add(stored.key)
        elif before.get("status") != stored.raw.get("status"):
            self.queue.add_after(stored.key, _RECOUNT_NS)

    def _on_object(self, event: WatchEvent) -> None:
        obj = event.object
        quotas = self._quotas.all_stored(obj.namespace)
        if not quotas or event.type == "ADDED":
            return
        if event.type == "MODIFIED" and not self._frees(event):
            return
        for each in quotas:
            hard = (each.raw.get("status") or {}).get("hard") or {}
            if quota.tracked(obj.resource, hard):
                self.queue.add(each.key)

    def _frees(self, event: WatchEvent) -> bool:
        """Whether an object has come to use less by a change."""
        if event.previous is None or event.object.resource not in (quota.PODS, quota.SERVICES, quota.CLAIMS):
            return False
        now_ns = self.clock.now_ns()
        resource = event.object.resource
        return quota.usage(resource, event.previous.raw, now_ns) != quota.usage(resource, event.object.raw, now_ns)

    def sync(self, key: str) -> Steps:
        """Count anew what a quota limits."""
        namespace, name = split_key(key)
        stored = self._quotas.stored(name, namespace)
        if stored is None:
            return
        hard: Mapping[str, str] = stored.raw["spec"].get("hard") or {}
        status = stored.raw.get("status") or {}
        used = self._count(stored, hard)
        kept = quota.parsed(status.get("used"))
        either = kept | used
        used = {limit: either[limit] for limit in hard if limit in either}
        same_limits = quota.parsed(hard) == quota.parsed(status.get("hard"))
        if same_limits and status.get("used") is not None and used == kept:
            return
        shown = {limit: str(amount) for limit, amount in used.items()}
        yield from ask(new_status(stored, {"hard": dict(hard), "used": shown}))

    def _count(self, stored: StoredObject, hard: Mapping[str, str]) -> quota.Amounts:
        """Return what is used now of each limit that means anything."""
        used: quota.Amounts = {}
        now_ns, objects = self.clock.now_ns(), 0
        for resource in self._resources():
            names = quota.tracked(resource, hard)
            if not names:
                continue
            used |= {name: used.get(name, _NOTHING) for name in names}
            for obj in self._objects(resource).all_stored(stored.namespace):
                objects += 1
                if quota.matches_scopes(resource, stored.raw["spec"], obj.raw):
                    cost = quota.usage(resource, obj.raw, now_ns)
                    used = quota.plus(used, {name: cost[name] for name in names if name in cost})
        self.queue.rest(stored.key, objects)
        return used

    def _objects(self, resource: str) -> Informer:
        known = self._counted.get(resource)
        if known is None:
            known = self._counted[resource] = self.context.lister(resource)
            known.on_change(self._on_object)
        return known

"""The controller of aggregated cluster roles: they have the rules of all roles that their selectors match.

Mirrors: pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery import selectors
from schedlab.client.protocol import Write
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, ask

_ROLES: Final = "clusterroles.rbac.authorization.k8s.io"


class ClusterRoleAggregationController(Controller):
    """Keys are names of cluster roles."""

    name: ClassVar[str] = "clusterrole-aggregation-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._roles = context.lister(_ROLES)
        self._roles.on_change(self._on_role)

    def _on_role(self, _event: WatchEvent) -> None:
        """Look at all that add up others: any of them may be matched, or have been."""
        for stored in self._roles.all_stored():
            if _selectors(stored.raw):
                self.queue.add(stored.name)

    def sync(self, key: str) -> Steps:
        """Give a role the rules of those that it adds up."""
        stored = self._roles.stored(key)
        if stored is None or not _selectors(stored.raw):
            return
        rules = self._sum(stored)
        if rules == (stored.raw.get("rules") or []):
            return
        body: dict[str, Any] = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
        body["metadata"] = {"name": key}
        if rules:
            body["rules"] = rules
        options = {"fieldManager": self.name, "force": "true"}
        yield from ask(Write("patch", _ROLES, "", key, body, patch_type="apply", options=options))

    def _sum(self, role: StoredObject) -> list[Mapping[str, Any]]:
        """Return the rules of the selected roles, by name and each once."""
        found: list[Mapping[str, Any]] = []
        others = sorted(self._roles.all_stored(), key=lambda other: other.name)
        for wanted in _selectors(role.raw):
            selector = selectors.from_label_selector(wanted)
            for other in others:
                if other.name == role.name or not selector.matches(other.labels):
                    continue
                found += [rule for rule in other.raw.get("rules") or () if rule not in found]
        return found


def _selectors(role: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()

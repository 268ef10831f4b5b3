"""What an autoscaler scales: the Scale of the object that it names, of built-in kinds and of custom resources.

Mirrors: scaleForResourceMappings of pkg/controller/podautoscaler/horizontal.go, RESTMappings of
staging/src/k8s.io/apimachinery/pkg/api/meta (v1.36).
Differs: the Scale is made from the cached object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.kinds.catalog import STRATEGIES
from schedlab.api.kinds.customresourcedefinition import DEFINITIONS
from schedlab.api.kinds.scales import ScaleRules, scale_of
from schedlab.api.object import Object
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.gojson import quote
from schedlab.controllers.framework.controller import ControllerContext, SyncError
from schedlab.registry.custom.scaling import read_rules

_NO_RESOURCE: Final = "the server could not find the requested resource"


@dataclass(frozen=True, slots=True)
class Scale:
    """A Scale with the resource to which it belongs."""

    resource: str
    object: Object

    @property
    def replicas(self) -> int:
        """How many replicas are wanted."""
        found: int = self.object["spec"].get("replicas", 0)
        return found

    @property
    def present(self) -> int:
        """How many replicas there are."""
        found: int = self.object["status"].get("replicas", 0)
        return found

    @property
    def selector(self) -> str:
        """What selects the pods, as text."""
        found: str = self.object["status"].get("selector", "")
        return found

    def with_replicas(self, number: int) -> Object:
        """Return the Scale with another wanted number."""
        return {**self.object, "spec": {"replicas": number}}


class Scales:
    """Finds Scales; raises SyncError with what the API would say."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._definitions = context.lister(DEFINITIONS)
        self._built_in = {(each.group, each.kind): each.full_name for each in context.resources}

    def find(self, reference: Mapping[str, Any], namespace: str) -> Scale:
        """Return the Scale of the object that a reference names."""
        group, slash, _ = reference.get("apiVersion", "").rpartition("/")
        if group.count("/"):
            raise SyncError(f"unexpected GroupVersion string: {reference['apiVersion']}")
        resource, rules = self._rules(group if slash else "", reference["kind"])
        if rules is None:
            raise SyncError(_NO_RESOURCE)
        found = self._context.lister(resource).stored(reference["name"], namespace)
        if found is None:
            raise SyncError(f"{resource} {quote(reference['name'])} not found")
        try:
            return Scale(resource, scale_of(found.raw, rules))
        except StatusError as error:
            raise SyncError(str(error)) from None

    def _rules(self, group: str, kind: str) -> tuple[str, ScaleRules | None]:
        built_in = self._built_in.get((group, kind), "")
        if built_in in STRATEGIES:
            return built_in, STRATEGIES[built_in].scale
        for definition in self._definitions.all_stored():
            spec = definition.raw["spec"]
            if spec["group"] != group or spec["names"]["kind"] != kind:
                continue
            stored = next(version for version in spec["versions"] if version.get("storage"))
            source = (stored.get("subresources") or {}).get("scale")
            versions = [f"{group}/{version['name']}" for version in spec["versions"]]
            return definition.name, None if source is None else read_rules(source, versions)
        raise SyncError(f"no matches for kind {quote(kind)} in group {quote(group)}")

"""Objects as the registry holds them, and what the rules of their kind say about them."""

import copy
from collections.abc import Mapping
from typing import Any

from schedlab.api.kinds.catalog import STRATEGIES
from schedlab.api.kinds.strategy import Context, Strategy
from schedlab.api.object import Object
from schedlab.apimachinery import strict
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.resources import known_resources
from schedlab.apimachinery.schema import schema_for

NOW = "2026-01-01T00:00:00Z"
POD_SPEC: Mapping[str, Any] = {"containers": [{"name": "c", "image": "i"}]}


def context(**gates: bool) -> Context:
    """Make a context in which features are as by default, but for those named."""
    return Context(FeatureGates.default().with_overrides(gates), NOW)


def strategy(resource: str) -> Strategy:
    return STRATEGIES[resource]


def decoded(resource: str, obj: Mapping[str, Any]) -> Object:
    """Bring an object into canonical form, without defaults."""
    gvk = known_resources().named(resource).gvk
    value = strict.decode(dict(obj), schema_for(*gvk)).value
    return {**value, "kind": gvk.kind, "apiVersion": gvk.api_version}


def defaulted(resource: str, obj: Mapping[str, Any], within: Context | None = None) -> Object:
    """Return an object with its defaults."""
    known = decoded(resource, obj)
    strategy(resource).default(known, within or context())
    return known


def stored(resource: str, obj: Mapping[str, Any], within: Context | None = None) -> Object:
    """Return an object as it is stored when it is created."""
    chosen = within or context()
    rules, known = strategy(resource), defaulted(resource, obj, chosen)
    if rules.conversion is not None:
        known = rules.conversion.to_stored(known)
    known["metadata"].update({"uid": "u", "creationTimestamp": NOW})
    rules.prepare(known, chosen)
    known["metadata"]["resourceVersion"] = "1"
    return known


def create_errors(resource: str, obj: Mapping[str, Any], within: Context | None = None) -> list[str]:
    """Return what is wrong with a new object, as texts."""
    chosen = within or context()
    return [str(error) for error in strategy(resource).validate(stored(resource, obj, chosen), chosen)]


def update_errors(
    resource: str, old: Object, new: Object, subresource: str = "", within: Context | None = None
) -> list[str]:
    """Return what is wrong with an update of a stored object, as texts, each once."""
    chosen = within or context()
    rules = strategy(resource)
    way = rules.subresources[subresource] if subresource else rules.update
    changed = copy.deepcopy(new)
    way.prepare(changed, old, chosen)
    return list(dict.fromkeys(map(str, way.validate(changed, old, chosen))))


def changed(obj: Object, path: str, value: Any) -> Object:
    """Return a copy of an object with one member changed; None takes it away. `path` is like spec.containers.0.image."""
    copied = copy.deepcopy(obj)
    *way, last = path.split(".")
    holder: Any = copied
    for step in way:
        holder = holder[int(step)] if isinstance(holder, list) else holder.setdefault(step, {})
    if isinstance(holder, list):
        holder[int(last)] = value
    elif value is None:
        holder.pop(last, None)
    else:
        holder[last] = value
    return copied


def pod(metadata: Mapping[str, Any] | None = None, **spec: Any) -> Object:
    """Return a small pod as a user writes it."""
    return {"metadata": {"name": "p", "namespace": "n", **(metadata or {})}, "spec": {**POD_SPEC, **spec}}


def container(**fields: Any) -> list[Object]:
    """Return the containers of a pod that has one."""
    return [{"name": "c", "image": "i", **fields}]

"""ResourceQuota: what a namespace may hold, and what it holds already.

    object ──► the quotas it falls under ──► their use, with the object ──► over a limit? refused : noted in their status

Only quotas whose status a controller has filled in count.

Mirrors: staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/{admission,controller}.go (v1.36)
Differs: nothing that is limited by default can be configured. Requests do not wait for each other: there is one writer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schedlab.api.object import Object, StoredObject
from schedlab.api.rules import quota
from schedlab.apimachinery.quantity import Quantity, parse_cached
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.admission.errors import forbidden
from schedlab.registry.core import Core

_QUOTAS: Final = "resourcequotas"
_MANAGER: Final = "kube-apiserver"
_NOTHING: Final = parse_cached("0")


def _validate(attributes: Attributes, core: Core) -> None:
    resource = attributes.resource.name
    if not attributes.namespace or attributes.obj is None or resource == "namespaces" or resource in quota.IGNORED:
        return
    known = core.resources[_QUOTAS]
    quotas = core.store.list(_QUOTAS, known.prefix(attributes.namespace))
    if not quotas or not _concerns(attributes):
        return
    changes = [(each, used) for each in quotas if (used := _checked(attributes, core, each)) is not None]
    if not attributes.dry_run:
        for each, used in changes:
            _note(core, each, used)


def _concerns(attributes: Attributes) -> bool:
    """Whether the request can change what is used."""
    resource, operation, subresource = attributes.resource.name, attributes.operation, attributes.subresource
    new, old = attributes.obj, attributes.old
    if subresource:
        if resource == quota.PODS and subresource == "resize":
            return True
        return resource == quota.CLAIMS and subresource == "status" and new is not None and old is not None
    if operation == "CREATE":
        return True
    if resource == quota.PODS:
        assert new is not None
        assert old is not None
        return quota.is_terminating(new["spec"]) != quota.is_terminating(old["spec"])
    return resource in (quota.CLAIMS, quota.SERVICES, quota.DEVICE_CLAIMS)


def _checked(attributes: Attributes, core: Core, stored: StoredObject) -> quota.Amounts | None:
    """Return what a quota's use would be; None when the object does not change it."""
    obj = attributes.obj
    assert obj is not None
    resource, body = attributes.resource.name, stored.raw
    status: Object = body.get("status") or {}
    hard = quota.parsed(status.get("hard"))
    names = quota.tracked(resource, hard)
    if not names or not quota.matches_scopes(resource, body["spec"], obj):
        return None
    if resource == quota.PODS and (problem := quota.missing(obj, names)):
        raise forbidden(attributes, f"failed quota: {stored.name}: {problem}")
    used = quota.parsed(status.get("used"))
    if any(name not in used for name in names):
        raise forbidden(attributes, f"status unknown for quota: {stored.name}, resources: {','.join(sorted(names))}")
    requested = {name: amount for name, amount in _cost(attributes, core, body["spec"]).items() if name in hard}
    if not requested:
        return None
    total = quota.plus(used, requested)
    exceeded = [name for name in requested if total[name] > hard[name]]
    if exceeded and attributes.subresource != "status":
        raise forbidden(
            attributes,
            f"exceeded quota: {stored.name}, requested: {_shown(requested, exceeded)}, "
            f"used: {_shown(used, exceeded)}, limited: {_shown(hard, exceeded)}",
        )
    return total


def _cost(attributes: Attributes, core: Core, spec: Object) -> quota.Amounts:
    """Return what the request adds, without zeros."""
    resource, now_ns = attributes.resource.name, core.clock.now_ns()
    assert attributes.obj is not None
    cost = quota.usage(resource, attributes.obj, now_ns)
    negative = sorted(name for name, amount in cost.items() if amount.sign < 0)
    if negative:
        raise forbidden(attributes, f"quota usage is negative for resource(s): {','.join(negative)}")
    if attributes.old is not None and quota.matches_scopes(resource, spec, attributes.old):
        before = quota.usage(resource, attributes.old, now_ns)
        cost = {name: _less(amount, before.get(name, _NOTHING)) for name, amount in cost.items()}
    return {name: amount for name, amount in cost.items() if amount}


def _less(amount: Quantity, before: Quantity) -> Quantity:
    """Return what is added; what becomes less is found out by the controller."""
    return amount - before if amount > before else _NOTHING


def _shown(amounts: Mapping[str, Quantity], names: list[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(names))


def _note(core: Core, stored: StoredObject, used: quota.Amounts) -> None:
    known = core.resources[_QUOTAS]
    old = stored.thaw()
    new = stored.thaw()
    new["status"] = {**new["status"], "used": {name: str(amount) for name, amount in used.items()}}
    new = known.managers["status"].update(old, new, _MANAGER, core.now())
    core.store.update(StoredObject.encode(_QUOTAS, new, core.store.next_revision), stored.revision)


RESOURCE_QUOTA: Final = Admission(
    "ResourceQuota", validate=_validate, subresources=("", "resize", "status"), repeats=True
)

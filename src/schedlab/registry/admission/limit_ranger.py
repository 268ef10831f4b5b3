"""LimitRanger: containers get the requests and limits of their namespace, and stay within its bounds, as claims do.

    creation or resize of a pod ──► defaults of every LimitRange, one after the other
    then                        ──► min, max and limit/request ratio, per container, per pod, per claim

Mirrors: plugin/pkg/admission/limitranger/admission.go (v1.36)
Differs: bounds are checked in the order of resource names, where upstream follows the order of a map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from schedlab.api.kinds.resource_lists import aggregate
from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery import field
from schedlab.apimachinery.quantity import Quantity, parse_cached
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.admission.errors import forbidden
from schedlab.registry.core import Core

_LIMIT_RANGES: Final = "limitranges"
_PODS: Final = "pods"
_CLAIMS: Final = "persistentvolumeclaims"
_ANNOTATION: Final = "kubernetes.io/limit-ranger"
_INT64_MAX: Final = 2**63 - 1
#: The largest value whose thousandths can still be counted.
_MILLI_MAX: Final = _INT64_MAX // 1000
_POD_LEVEL: Final = ("cpu", "memory")
_KINDS: Final = {"containers": "container", "initContainers": "init container"}

Amounts = Mapping[str, Quantity]


def _admit(attributes: Attributes, core: Core) -> None:
    if attributes.resource.name != _PODS or attributes.obj is None:
        return
    for limit_range in _limit_ranges(attributes, core):
        _set_defaults(attributes.obj, limit_range.raw["spec"].get("limits") or ())


def _validate(attributes: Attributes, core: Core) -> None:
    obj = attributes.obj
    if obj is None:
        return
    check = _check_pod if attributes.resource.name == _PODS else _check_claim
    pod_level = core.features.enabled("PodLevelResources")
    for limit_range in _limit_ranges(attributes, core):
        problems = list(check(obj["spec"], limit_range.raw["spec"].get("limits") or (), pod_level=pod_level))
        if problems:
            raise forbidden(attributes, field.aggregate(problems))


def _limit_ranges(attributes: Attributes, core: Core) -> Sequence[StoredObject]:
    """Return what bounds the object; pods change their resources by their creation and by resizing alone."""
    is_pod, subresource = attributes.resource.name == _PODS, attributes.subresource
    if attributes.operation == "DELETE" or (subresource and not is_pod):
        return ()
    if is_pod and attributes.operation == "UPDATE" and subresource != "resize":
        return ()
    if attributes.old is not None and attributes.old["metadata"].get("deletionTimestamp"):
        return ()
    known = core.resources[_LIMIT_RANGES]
    return core.store.list(_LIMIT_RANGES, known.prefix(attributes.namespace))


# --- Defaults ---------------------------------------------------------------------------------------------------------


def _set_defaults(pod: Object, limits: Sequence[Object]) -> None:
    defaults: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for limit in limits:
        if limit["type"] == "Container":
            defaults["requests"] |= limit.get("defaultRequest") or {}
            defaults["limits"] |= limit.get("default") or {}
    notes: list[str] = []
    for key, kind in _KINDS.items():
        for container in pod["spec"].get(key) or ():
            for member in ("requests", "limits"):
                added = _add_missing(container, member, defaults[member])
                if added:
                    notes.append(f"{', '.join(sorted(added))} {member[:-1]} for {kind} {container['name']}")
    if notes:
        metadata = pod["metadata"]
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        metadata["annotations"] = {**(metadata.get("annotations") or {}), _ANNOTATION: text}


def _add_missing(container: Object, member: str, defaults: Mapping[str, str]) -> Sequence[str]:
    resources = container.get("resources") or {}
    present = resources.get(member) or {}
    missing = {name: text for name, text in defaults.items() if name not in present}
    if missing:
        container["resources"] = {**resources, member: {**present, **missing}}
    return tuple(missing)


# --- Bounds -----------------------------------------------------------------------------------------------------------


def _check_pod(spec: Object, limits: Sequence[Object], *, pod_level: bool) -> Iterator[str]:
    for limit in limits:
        if limit["type"] == "Container":
            for key in _KINDS:
                for container in spec.get(key) or ():
                    resources = container.get("resources") or {}
                    yield from _check(limit, _parsed(resources, "requests"), _parsed(resources, "limits"))
        elif limit["type"] == "Pod":
            yield from _check(
                limit, _total(spec, "requests", pod_level=pod_level), _total(spec, "limits", pod_level=pod_level)
            )


def _check_claim(spec: Object, limits: Sequence[Object], *, pod_level: bool) -> Iterator[str]:  # noqa: ARG001
    requests = _parsed(spec.get("resources") or {}, "requests")
    for limit in limits:
        if limit["type"] == "PersistentVolumeClaim":
            yield from _each(
                limit, "min", lambda name, bound: _below(name, "PersistentVolumeClaim", bound, requests, {})
            )
            yield from _each(limit, "max", lambda name, bound: _request_above(name, bound, requests))


def _check(limit: Object, requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = limit["type"]
    yield from _each(limit, "min", lambda name, bound: _below(name, kind, bound, requests, limits))
    yield from _each(limit, "max", lambda name, bound: _above(name, kind, bound, requests, limits))
    yield from _each(limit, "maxLimitRequestRatio", lambda name, bound: _ratio(name, kind, bound, requests, limits))


def _each(limit: Object, member: str, check: Callable[[str, Quantity], str]) -> Iterator[str]:
    for name, text in sorted((limit.get(member) or {}).items()):
        if problem := check(name, parse_cached(text)):
            yield problem


def _total(spec: Object, member: str, *, pod_level: bool) -> Amounts:
    total = aggregate(spec, member)
    if pod_level:
        own = _parsed(spec.get("resources") or {}, member)
        total |= {name: amount for name, amount in own.items() if name in _POD_LEVEL}
    return total


def _parsed(resources: Object, member: str) -> Amounts:
    return {name: parse_cached(text) for name, text in (resources.get(member) or {}).items()}


def _comparable(*amounts: Quantity) -> Sequence[int]:
    """Return amounts in thousandths, or in units when one is too large for that."""
    values = [amount.value() for amount in amounts]
    return [amount.milli_value() for amount in amounts] if all(value <= _MILLI_MAX for value in values) else values


_NOTHING: Final = parse_cached("0")


def _below(name: str, kind: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    wanted, limit = requests.get(name), limits.get(name)
    asked, allowed, least = _comparable(wanted or _NOTHING, limit or _NOTHING, bound)
    if wanted is None:
        return f"minimum {name} usage per {kind} is {bound}.  No request is specified"
    if asked < least:
        return f"minimum {name} usage per {kind} is {bound}, but request is {wanted}"
    if limit is not None and allowed < least:
        return f"minimum {name} usage per {kind} is {bound}, but limit is {limit}"
    return ""


def _above(name: str, kind: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    wanted, limit = requests.get(name), limits.get(name)
    asked, allowed, most = _comparable(wanted or _NOTHING, limit or _NOTHING, bound)
    if limit is None:
        return f"maximum {name} usage per {kind} is {bound}.  No limit is specified"
    if allowed > most:
        return f"maximum {name} usage per {kind} is {bound}, but limit is {limit}"
    if wanted is not None and asked > most:
        return f"maximum {name} usage per {kind} is {bound}, but request is {wanted}"
    return ""


def _request_above(name: str, bound: Quantity, requests: Amounts) -> str:
    """Check a claim, whose limits mean nothing."""
    wanted = requests.get(name)
    if wanted is None:
        return f"maximum {name} usage per PersistentVolumeClaim is {bound}.  No request is specified"
    asked, most = _comparable(wanted, bound)
    if asked > most:
        return f"maximum {name} usage per PersistentVolumeClaim is {bound}, but request is {wanted}"
    return ""


def _ratio(name: str, kind: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str:
    asked, allowed, _ = _comparable(requests.get(name, _NOTHING), limits.get(name, _NOTHING), bound)
    start = f"{name} max limit to request ratio per {kind} is {bound}, but"
    if not asked:
        return f"{start} no request is specified or request is 0"
    if not allowed:
        return f"{start} no limit is specified or limit is 0"
    ratio = allowed / asked
    most = bound.value()
    exceeded = ratio * 1000 > bound.milli_value() if most <= _MILLI_MAX else ratio > most
    return f"{start} provided ratio is {ratio:f}" if exceeded else ""


LIMIT_RANGER: Final = Admission(
    "LimitRanger",
    mutate=_admit,
    validate=_validate,
    resources=(_PODS, _CLAIMS),
    subresources=("", "resize"),
    repeats=True,
)

"""RuntimeClass: a pod pays the overhead of its runtime class and goes to the nodes that have the runtime.

Mirrors: plugin/pkg/admission/runtimeclass/admission.go, MergeTolerations of pkg/util/tolerations (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import Object
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.quantity import parse_cached
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.admission.errors import forbidden
from schedlab.registry.core import Core

_CLASSES: Final = "runtimeclasses.node.k8s.io"
_OTHER_OVERHEAD: Final = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_OVERHEAD_WITHOUT_CLASS: Final = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"

Toleration = Mapping[str, Any]


def _admit(attributes: Attributes, core: Core) -> None:
    if not _concerns(attributes) or attributes.obj is None:
        return
    spec = attributes.obj["spec"]
    runtime_class = _class(attributes, spec, core)
    overhead = runtime_class.get("overhead")
    if overhead is not None:
        fixed = overhead.get("podFixed") or {}
        if spec.get("overhead") and not _same(fixed, spec["overhead"]):
            raise forbidden(attributes, _OTHER_OVERHEAD)
        spec["overhead"] = dict(fixed)
    scheduling = runtime_class.get("scheduling")
    if scheduling is not None:
        _add_scheduling(attributes, spec, scheduling)


def _validate(attributes: Attributes, core: Core) -> None:
    if not _concerns(attributes) or attributes.obj is None:
        return
    spec = attributes.obj["spec"]
    overhead = _class(attributes, spec, core).get("overhead")
    if overhead is not None:
        if not _same(overhead.get("podFixed") or {}, spec.get("overhead") or {}):
            raise forbidden(attributes, _OTHER_OVERHEAD)
    elif spec.get("overhead") is not None:
        raise forbidden(attributes, _OVERHEAD_WITHOUT_CLASS)


def _concerns(attributes: Attributes) -> bool:
    return attributes.operation == "CREATE"


def _class(attributes: Attributes, spec: Object, core: Core) -> Object:
    """Return the runtime class of a pod, an empty one for a pod that names none."""
    name = spec.get("runtimeClassName")
    if name is None:
        return {}
    found = core.find(_CLASSES, "", name)
    if found is None:
        raise forbidden(attributes, f"pod rejected: RuntimeClass {quote(name)} not found")
    return found.raw


def _same(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return one.keys() == other.keys() and all(parse_cached(one[key]) == parse_cached(other[key]) for key in one)


def _add_scheduling(attributes: Attributes, spec: Object, scheduling: Object) -> None:
    selector: dict[str, str] = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            raise forbidden(
                attributes,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}",
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    merged = merge_tolerations(spec.get("tolerations") or (), scheduling.get("tolerations") or ())
    if merged:
        spec["tolerations"] = merged


def merge_tolerations(first: Sequence[Toleration], second: Sequence[Toleration]) -> list[Toleration]:
    """Join two lists; of two tolerations of which one covers the other, only the wider one is kept."""
    both = [*first, *second]
    merged: list[Toleration] = []
    for index, toleration in enumerate(both):
        if any(_covers(kept, toleration) for kept in merged):
            continue
        later = both[index + 1 :]
        if any(not _equal(other, toleration) and _covers(other, toleration) for other in later):
            continue
        merged.append(toleration)
    return merged


def _covers(wide: Toleration, narrow: Toleration) -> bool:
    if _equal(wide, narrow):
        return True
    key, operator, effect = wide.get("key", ""), wide.get("operator", ""), wide.get("effect", "")
    if narrow.get("key", "") != key and (key or operator != "Exists"):
        return False
    if effect and narrow.get("effect", "") != effect:
        return False
    seconds, wanted = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
    if effect == "NoExecute" and seconds is not None and (wanted is None or wanted > seconds):
        return False
    if operator == "Exists":
        return True
    if operator not in ("", "Equal"):
        return False
    return bool(narrow.get("operator", "") == "Equal" and narrow.get("value", "") == wide.get("value", ""))


def _equal(one: Toleration, other: Toleration) -> bool:
    keys = ("key", "operator", "value", "effect")
    same = all(one.get(key, "") == other.get(key, "") for key in keys)
    return same and one.get("tolerationSeconds") == other.get("tolerationSeconds")


RUNTIME_CLASS: Final = Admission(
    "RuntimeClass", mutate=_admit, validate=_validate, resources=("pods",), subresources=("",), repeats=True
)

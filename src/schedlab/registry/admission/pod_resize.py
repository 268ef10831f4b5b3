"""PodResizeValidator: a pod on a node does not grow beyond what the node has.

Mirrors: plugin/pkg/admission/podresize/admission.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.resource_lists import aggregate, is_pod_level
from schedlab.api.object import Object
from schedlab.apimachinery.errors import Forbidden
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.quantity import Quantity, parse_cached
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.admission.errors import forbidden
from schedlab.registry.core import Core

_OS: Final = "kubernetes.io/os"


def _validate(attributes: Attributes, core: Core) -> None:
    new, old = attributes.obj, attributes.old
    if new is None or old is None:
        return
    name = new["spec"].get("nodeName")
    if not name or new["metadata"].get("generation", 0) == old["metadata"].get("generation", 0):
        return
    if not core.features.enabled("InPlacePodVerticalScaling"):
        return
    node = core.find("nodes", "", name)
    if node is None:
        raise forbidden(attributes, f"node {quote(name)} not found")
    system = node.labels.get(_OS, "linux")
    if system != "linux":
        cause = f"pod resize is only supported on linux nodes, node {quote(name)} is {quote(system)}"
        raise _because(forbidden(attributes, cause), "UnsupportedPlatform")
    lacking = _lacking(new["spec"], node.view.status.allocatable)
    if lacking:
        cause = f"node didn't have enough allocatable resources: {'; '.join(lacking)}"
        raise _because(forbidden(attributes, cause), "NodeCapacity")


def _because(error: Forbidden, reason: str) -> Forbidden:
    error.status["details"]["causes"] = [{"reason": reason}]
    return error


def _lacking(spec: Object, allocatable: dict[str, str]) -> list[str]:
    requests = _requests(spec)
    found = []
    for name in ("cpu", "memory"):
        wanted, given = requests.get(name, parse_cached("0")), parse_cached(allocatable.get(name, "0"))
        if wanted > given:
            amounts = [each.milli_value() if name == "cpu" else each.value() for each in (wanted, given)]
            found.append(f"{name}, requested: {amounts[0]}, allocatable: {amounts[1]}")
    return found


def _requests(spec: Object) -> dict[str, Quantity]:
    """Return what a pod asks for by its spec: of its containers, or of itself where it says so, with overhead."""
    total = aggregate(spec, "requests")
    for name, text in ((spec.get("resources") or {}).get("requests") or {}).items():
        if is_pod_level(name):
            total[name] = parse_cached(text)
    for name, text in (spec.get("overhead") or {}).items():
        total[name] = total[name] + parse_cached(text) if name in total else parse_cached(text)
    return total


POD_RESIZE_VALIDATOR: Final = Admission(
    "PodResizeValidator", validate=_validate, resources=("pods",), subresources=("resize",), repeats=True
)

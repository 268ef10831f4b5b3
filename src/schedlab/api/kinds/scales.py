"""The subresource `scale`: how many replicas of something there are, in a form that is the same for all kinds.

Mirrors: ScaleREST in pkg/registry/{apps,core}/…/storage/storage.go, pkg/apis/autoscaling/validation (ValidateScale)
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import nonnegative
from schedlab.apimachinery import names, selectors
from schedlab.apimachinery.apply.scale import SCALE_VERSION, ReplicasPaths
from schedlab.apimachinery.errors import new_internal_error
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.selectors import Selector

_SHOWN_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


@dataclass(frozen=True, slots=True)
class ScaleRules:
    """How a kind is scaled."""

    #: Per apiVersion of the kind that ever was, the field of the replicas.
    paths: ReplicasPaths
    #: What selects the pods; written as text in a Scale.
    selector: Callable[[Object], Selector | str]
    #: The steps to the wanted and to the present number of replicas.
    wanted: tuple[str, ...] = ("spec", "replicas")
    present: tuple[str, ...] = ("status", "replicas")
    #: Whether nobody but its users says that an object of the kind has replicas.
    is_custom: bool = False

    def replicas_of(self, obj: Object) -> int | None:
        """Return the wanted number of replicas of an object; None when it says nothing of them."""
        return _number(obj, self.wanted)

    def with_replicas(self, obj: Object, number: int) -> Object:
        """Return an object with that wanted number; what does not change is shared."""
        changed = inner = dict(obj)
        for step in self.wanted[:-1]:
            inner[step] = dict(inner.get(step) or {})
            inner = inner[step]
        inner[self.wanted[-1]] = number
        return changed


def _number(obj: Object, path: Sequence[str]) -> int | None:
    found: Any = obj
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, int) else None


def rules(selector: Callable[[Object], Selector], *versions: str) -> ScaleRules:
    """Return the rules of a kind in these versions."""
    return ScaleRules(dict.fromkeys(versions, ("f:spec", "f:replicas")), selector)


def by_label_selector(obj: Object) -> Selector:
    """Return the selector of a workload."""
    return selectors.from_label_selector(obj["spec"].get("selector"))


def scale_of(obj: Object, known: ScaleRules) -> Object:
    """Return the Scale of an object; nothing of it is shared with the object."""
    metadata = obj["metadata"]
    replicas = known.replicas_of(obj)
    if replicas is None and known.is_custom:
        raise new_internal_error(f"the spec replicas field {quote('.' + '.'.join(known.wanted))} does not exist")
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": {key: metadata[key] for key in _SHOWN_METADATA if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": _status(_number(obj, known.present) or 0, str(known.selector(obj))),
    }


def _status(replicas: int, selector: str) -> Object:
    return {"replicas": replicas, "selector": selector} if selector else {"replicas": replicas}


def validate_scale(scale: Object) -> ErrorList:
    """Check a Scale."""
    errors = meta.validate(scale["metadata"], names.name_is_dns_subdomain, namespaced=True)
    return errors + nonnegative(scale["spec"], Path("spec"), "replicas")

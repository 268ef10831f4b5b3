"""The subresource `scale`: how many replicas of something there are, in a form that is the same for all kinds.

Mirrors: ScaleREST in pkg/registry/{apps,core}/…/storage/storage.go, pkg/apis/autoscaling/validation (ValidateScale)
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import nonnegative
from schedlab.apimachinery import names, selectors
from schedlab.apimachinery.apply.scale import SCALE_VERSION, ReplicasPaths
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.selectors import Selector

_SHOWN_METADATA: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


@dataclass(frozen=True, slots=True)
class ScaleRules:
    """How a kind that has `spec.replicas` and `status.replicas` is scaled."""

    #: Per apiVersion of the kind that ever was, the field of the replicas.
    paths: ReplicasPaths
    #: What selects the pods.
    selector: Callable[[Object], Selector]


def rules(selector: Callable[[Object], Selector], *versions: str) -> ScaleRules:
    """Return the rules of a kind in these versions."""
    return ScaleRules(dict.fromkeys(versions, ("f:spec", "f:replicas")), selector)


def by_label_selector(obj: Object) -> Selector:
    """Return the selector of a workload."""
    return selectors.from_label_selector(obj["spec"].get("selector"))


def scale_of(obj: Object, known: ScaleRules) -> Object:
    """Return the Scale of an object; nothing of it is shared with the object."""
    metadata = obj["metadata"]
    replicas = obj["spec"].get("replicas") or 0
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": {key: metadata[key] for key in _SHOWN_METADATA if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": _status(obj["status"].get("replicas") or 0, str(known.selector(obj))),
    }


def _status(replicas: int, selector: str) -> Object:
    return {"replicas": replicas, "selector": selector} if selector else {"replicas": replicas}


def validate_scale(scale: Object) -> ErrorList:
    """Check a Scale."""
    errors = meta.validate(scale["metadata"], names.name_is_dns_subdomain, namespaced=True)
    return errors + nonnegative(scale["spec"], Path("spec"), "replicas")

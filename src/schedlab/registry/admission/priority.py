"""Priority: a pod's priority and preemption policy come from its class; at most one class is the default.

Mirrors: plugin/pkg/admission/priority/admission.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.object import Object
from schedlab.api.views.workloads import PriorityClass
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.admission.errors import forbidden
from schedlab.registry.core import Core

_CLASSES: Final = "priorityclasses.scheduling.k8s.io"
_NO_CLASS: Final = PriorityClass(preemption_policy="PreemptLowerPriority")


def _admit(attributes: Attributes, core: Core) -> None:
    if attributes.resource.name != "pods" or attributes.obj is None:
        return
    spec = attributes.obj["spec"]
    if attributes.old is not None:
        for key in ("priority", "preemptionPolicy"):
            if key in attributes.old["spec"]:
                spec.setdefault(key, attributes.old["spec"][key])
        return
    chosen = _class_of(attributes, spec, core)
    if "priority" in spec and spec["priority"] != chosen.value:
        raise forbidden(
            attributes,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {chosen.value} from the given PriorityClass name",
        )
    spec["priority"] = chosen.value
    policy = chosen.preemption_policy
    if policy is None:
        return
    if "preemptionPolicy" in spec and spec["preemptionPolicy"] != policy:
        raise forbidden(
            attributes,
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name",
        )
    spec["preemptionPolicy"] = policy


def _class_of(attributes: Attributes, spec: Object, core: Core) -> PriorityClass:
    name = spec.get("priorityClassName", "")
    if not name:
        default = default_class(core)
        if default is None:
            return _NO_CLASS
        spec["priorityClassName"] = default.metadata.name
        return default
    found = core.find(_CLASSES, "", name)
    if found is None:
        raise forbidden(attributes, f"no PriorityClass with name {name} was found")
    view: PriorityClass = found.view
    return view


def default_class(core: Core) -> PriorityClass | None:
    """Return the class of pods that name none; of several, which only a race can make, the lowest."""
    views: list[PriorityClass] = [obj.view for obj in core.store.list(_CLASSES)]
    return min((view for view in views if view.global_default), key=lambda view: view.value, default=None)


def _validate(attributes: Attributes, core: Core) -> None:
    if attributes.resource.name != _CLASSES or attributes.obj is None or not attributes.obj.get("globalDefault"):
        return
    default = default_class(core)
    if default is not None and (attributes.operation == "CREATE" or default.metadata.name != attributes.name):
        raise forbidden(
            attributes,
            f"PriorityClass {default.metadata.name} is already marked as default. Only one default can exist",
        )


PRIORITY: Final = Admission(
    "Priority", mutate=_admit, validate=_validate, resources=("pods", _CLASSES), subresources=("",), repeats=True
)

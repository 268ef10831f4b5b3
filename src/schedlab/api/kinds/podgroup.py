"""Groups of pods that are scheduled together, and the workloads whose templates they are made from.

Mirrors: pkg/registry/scheduling/{podgroup,workload}/strategy.go, pkg/apis/scheduling/validation/validation.go and
pkg/apis/scheduling/v1alpha2/defaults.go (v1.36)
Differs: served with the gate GenericWorkload alone, where a kube-apiserver also wants
--runtime-config=scheduling.k8s.io/v1alpha2=true; errors show bad values in the form of the wire.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.kinds.gated_fields import GatedFields, drop_gated
from schedlab.api.kinds.plain import first_generation, update_of_status
from schedlab.api.kinds.strategy import RESETS_STATUS, Context, Strategy, UpdateStrategy, bump_generation, keep_status
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages, name, one_of, positive
from schedlab.api.validation.conditions import validate_conditions
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

#: The gate without which neither kind is served.
GENERIC_WORKLOAD: Final = "GenericWorkload"
_SPEC: Final = Path("spec")
_TEMPLATES_MAX: Final = 8
_TOPOLOGY_MAX: Final = 1
_POLICIES: Final = ("basic", "gang")
_DISRUPTION_MODES: Final = ("Pod", "PodGroup")
_OF_PREEMPTION: Final = (("disruptionMode",), ("priorityClassName",), ("priority",))
_GATED: Final[GatedFields] = {
    ("TopologyAwareWorkloadScheduling",): (("schedulingConstraints",),),
    ("DRAWorkloadResourceClaims",): (("resourceClaims",),),
    ("WorkloadAwarePreemption",): _OF_PREEMPTION,
}
_GATED_IN_TEMPLATES: Final[GatedFields] = {
    gates: tuple(("podGroupTemplates", "*", *path) for path in paths) for gates, paths in _GATED.items()
}


def _validate_policy(policy: Mapping[str, Any], path: Path) -> ErrorList:
    chosen = [key for key in _POLICIES if policy.get(key) is not None]
    if not chosen:
        return [field.invalid(path, "", "must specify one of: `basic`, `gang`")]
    if len(chosen) > 1:
        shown = "{" + ", ".join(f"`{key}`" for key in chosen) + "}"
        return [field.invalid(path, shown, "exactly one of `basic`, `gang` is required, but multiple fields are set")]
    gang = policy.get("gang")
    if gang is None:
        return []
    own, count = path.child("gang", "minCount"), gang.get("minCount", 0)
    return positive(count, own) if count else [field.required(own)]


def _validate_group(spec: Mapping[str, Any], path: Path) -> ErrorList:
    """Check what a group and the template of one have in common."""
    errors = _validate_policy(spec.get("schedulingPolicy") or {}, path.child("schedulingPolicy"))
    topology = (spec.get("schedulingConstraints") or {}).get("topology") or ()
    own = path.child("schedulingConstraints", "topology")
    if len(topology) > _TOPOLOGY_MAX:
        errors.append(field.too_many(own, len(topology), _TOPOLOGY_MAX))
    for i, constraint in enumerate(topology):
        key = constraint.get("key", "")
        where = own.index(i).child("key")
        errors += messages(where, key, names.check_qualified_name(key)) if key else [field.required(where)]
    mode = spec.get("disruptionMode")
    if mode is not None:
        errors += one_of(mode, _DISRUPTION_MODES, path.child("disruptionMode"))
    return errors


# --- Groups -----------------------------------------------------------------------------------------------------------


def _default(group: Object, context: Context) -> None:
    if context.features.enabled("WorkloadAwarePreemption"):
        group["spec"].setdefault("disruptionMode", "Pod")


def _prepare(group: Object, context: Context) -> None:
    first_generation(group, context)
    group["status"] = {}
    drop_gated(group["spec"], {}, _GATED, context.features)


def _validate(group: Object, _context: Context) -> ErrorList:
    errors = meta.validate(group["metadata"], names.name_is_dns_subdomain, namespaced=True)
    spec = group["spec"]
    reference = spec.get("podGroupTemplateRef")
    if reference is not None:
        errors += _validate_reference(reference, _SPEC.child("podGroupTemplateRef"))
    return errors + _validate_group(spec, _SPEC)


def _validate_reference(reference: Mapping[str, Any], path: Path) -> ErrorList:
    workload = reference.get("workload")
    if workload is None:
        return [field.invalid(path, "", "must specify one of: `workload`")]
    errors: ErrorList = []
    checks = (("workloadName", names.name_is_dns_subdomain), ("podGroupTemplateName", names.name_is_dns_label))
    for key, check in checks:
        value, own = workload.get(key, ""), path.child("workload", key)
        errors += name(value, check, own) if value else [field.required(own)]
    return errors


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    keep_status(new, old)
    drop_gated(new["spec"], old["spec"], _GATED, context.features)
    bump_generation(new, old, "spec")


def _validate_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    return errors + _validate_fixed(new["spec"], old["spec"])


def _validate_fixed(spec: Object, before: Object) -> ErrorList:
    """Check that no field of a spec was changed."""
    keys = sorted({*spec, *before})
    return [
        error for key in keys for error in meta.validate_immutable(spec.get(key), before.get(key), _SPEC.child(key))
    ]


def _validate_status(new: Object, _old: Object, _context: Context) -> ErrorList:
    return validate_conditions(new["status"].get("conditions") or (), Path("status", "conditions"))


POD_GROUP: Final = Strategy(
    resource="podgroups.scheduling.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update, RESETS_STATUS),
    default=_default,
    prepare=_prepare,
    subresources={"status": update_of_status(_validate_status)},
    feature=GENERIC_WORKLOAD,
)


# --- Workloads --------------------------------------------------------------------------------------------------------


def _prepare_workload(workload: Object, context: Context) -> None:
    first_generation(workload, context)
    _drop_in_templates(workload["spec"], {}, context)


def _drop_in_templates(spec: Object, old: Mapping[str, Any], context: Context) -> None:
    drop_gated(spec, old, _GATED_IN_TEMPLATES, context.features)
    for template in spec.get("podGroupTemplates") or ():
        # A pointer that is written as null.
        template.setdefault("schedulingConstraints", None)


def _validate_workload(workload: Object, _context: Context) -> ErrorList:
    errors = meta.validate(workload["metadata"], names.name_is_dns_subdomain, namespaced=True)
    spec = workload["spec"]
    reference = spec.get("controllerRef")
    if reference is not None:
        errors += _validate_controller(reference, _SPEC.child("controllerRef"))
    return errors + _validate_templates(spec.get("podGroupTemplates") or (), _SPEC.child("podGroupTemplates"))


def _validate_controller(reference: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    group = reference.get("apiGroup", "")
    if group:
        errors += name(group, names.name_is_dns_subdomain, path.child("apiGroup"))
    for key in ("kind", "name"):
        value, own = reference.get(key, ""), path.child(key)
        errors += name(value, names.name_is_path_segment, own) if value else [field.required(own)]
    return errors


def _validate_templates(templates: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    if not templates:
        return [field.required(path, "must have at least one item")]
    if len(templates) > _TEMPLATES_MAX:
        return [field.too_many(path, len(templates), _TEMPLATES_MAX)]
    errors: ErrorList = []
    known: dict[str, None] = {}
    for i, template in enumerate(templates):
        own, value = path.index(i), template.get("name", "")
        errors += (
            name(value, names.name_is_dns_label, own.child("name")) if value else [field.required(own.child("name"))]
        )
        if value in known:
            errors.append(field.duplicate(own, value))
        known[value] = None
        errors += _validate_group(template, own)
    return errors


def _prepare_workload_update(new: Object, old: Object, context: Context) -> None:
    _drop_in_templates(new["spec"], old["spec"], context)
    bump_generation(new, old, "spec")


def _validate_workload_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    return errors + _validate_fixed(new["spec"], old["spec"])


WORKLOAD: Final = Strategy(
    resource="workloads.scheduling.k8s.io",
    validate=_validate_workload,
    update=UpdateStrategy(_validate_workload_update, _prepare_workload_update),
    prepare=_prepare_workload,
    feature=GENERIC_WORKLOAD,
)

"""Checks of an update that gives the containers of a pod more or less.

Mirrors: pkg/apis/core/validation/validation.go (ValidatePodResize and around) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from schedlab.api.object import Object
from schedlab.api.rules.qos import computed_qos_class
from schedlab.api.validation import meta
from schedlab.api.validation.pods.annotations import MIRROR
from schedlab.api.validation.pods.rules import PodRules, Spec
from schedlab.api.validation.pods.spec import validate_pod
from schedlab.api.views.core import Pod
from schedlab.apimachinery import field
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_RESIZABLE: Final = ("cpu", "memory")
_KINDS: Final = ("requests", "limits")
_ONLY_CPU_AND_MEMORY: Final = "only cpu and memory resources are mutable"


def validate_resize(new: Object, old: Object, rules: PodRules) -> ErrorList:
    spec, before = new["spec"], old["spec"]
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [field.forbidden(Path(""), "static pods cannot be resized")]
    if (before.get("os") or {}).get("name") == "windows":
        return [field.forbidden(Path(""), "windows pods cannot be resized")]
    errors = meta.validate_update(new["metadata"], old["metadata"])
    errors += validate_pod(new, rules)
    errors += _validate_pod(new, old, rules)
    settled = dict(spec)
    if _asks(spec) or _asks(before):
        if not rules.features.enabled("InPlacePodLevelResourcesVerticalScaling"):
            detail = (
                "resize of pods with pod-level resources is forbidden when "
                "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
            )
            return [*errors, field.forbidden(Path(""), detail)]
        errors += _validate_pod_level(settled, before)
    if old["status"].get("nodeAllocatableResourceClaimStatuses"):
        errors.append(field.forbidden(_SPEC, "pods with node allocatable resource claims cannot be resized"))
    if moved := _validate_same_containers(spec, before):
        return errors + moved
    errors += _validate_nothing_removed(spec, before, rules)
    errors += _settle_containers(settled, before)
    errors += _settle_init_containers(settled, before, rules)
    if not errors and _without_empty(settled) != _without_empty(before):
        errors.append(field.forbidden(_SPEC, _ONLY_CPU_AND_MEMORY))
    return errors


def _validate_pod(new: Object, old: Object, rules: PodRules) -> ErrorList:
    """The quality of service stays, and the pod's node must know how to resize."""
    errors: ErrorList = []
    pod_level = rules.features.enabled("PodLevelResources")
    spec = {key: value for key, value in new["spec"].items() if value is not None}
    quality = computed_qos_class(msgspec.convert({"spec": spec}, Pod), pod_level=pod_level)
    if old["status"].get("qosClass") != quality:
        detail = "Pod QOS Class may not change as a result of resizing"
        errors.append(field.invalid(_SPEC, new["status"].get("qosClass", ""), detail))
    statuses = old["status"].get("containerStatuses") or ()
    running = next((status for status in statuses if "running" in (status.get("state") or {})), None)
    if running is not None and "resources" not in running:
        errors.append(field.forbidden(_SPEC, "Pod running on node without support for resize"))
    return errors


def _asks(spec: Spec) -> bool:
    resources = spec.get("resources") or {}
    return any(resources.get(kind) for kind in _KINDS)


def _validate_pod_level(spec: Object, old: Spec) -> ErrorList:
    """Check the resources of the pod as a whole, and make what may change equal."""
    resources, before = spec.get("resources"), old.get("resources")
    path = _SPEC.child("resources")
    if resources is None:
        return [field.forbidden(path, "pod-level resources cannot be removed")] if before is not None else []
    errors = [
        field.forbidden(path.child(kind), f"pod-level resource {kind} cannot be removed")
        for kind in _KINDS
        if _is_less(resources.get(kind), (before or {}).get(kind))
    ]
    settled = _with_old_amounts(resources, before or {})
    if before is None and not any(settled.values()):
        spec.pop("resources")
    else:
        spec["resources"] = settled
    if spec.get("resources") != before:
        errors.append(field.forbidden(_SPEC, f"{_ONLY_CPU_AND_MEMORY} at pod-level"))
    return errors


def _is_less(new: Mapping[str, str] | None, old: Mapping[str, str] | None) -> bool:
    return any(name not in (new or {}) for name in old or ())


def _with_old_amounts(resources: Mapping[str, Any], old: Mapping[str, Any]) -> Object:
    """Return resources with cpu and memory as they were."""
    settled = dict(resources)
    for kind in _KINDS:
        amounts = {name: text for name, text in (resources.get(kind) or {}).items() if name not in _RESIZABLE}
        before = old.get(kind) or {}
        amounts |= {name: before[name] for name in _RESIZABLE if name in before}
        settled.pop(kind, None)
        if amounts:
            settled[kind] = amounts
    return settled


def _validate_same_containers(spec: Spec, old: Spec) -> ErrorList:
    errors: ErrorList = []
    for key in ("containers", "initContainers"):
        now, before = ([container.get("name") for container in each.get(key) or ()] for each in (spec, old))
        if len(now) != len(before):
            errors.append(field.forbidden(_SPEC.child(key), f"{key} may not be added or removed on resize"))
            continue
        errors += [
            field.forbidden(_SPEC.child(key).index(i).child("name"), f"{key} may not be renamed or reordered on resize")
            for i, name in enumerate(now)
            if name != before[i]
        ]
    return errors


def _may_resize(container: Mapping[str, Any], rules: PodRules) -> bool:
    """Whether an init container can be resized."""
    init = rules.features.enabled("InPlacePodVerticalScalingInitContainers")
    return init or container.get("restartPolicy") == "Always"


def _validate_nothing_removed(spec: Spec, old: Spec, rules: PodRules) -> ErrorList:
    errors: ErrorList = []
    for key in ("initContainers", "containers"):
        for i, container in enumerate(old.get(key) or ()):
            if key == "initContainers" and not _may_resize(container, rules):
                continue
            before, now = container["resources"], spec[key][i]["resources"]
            path = _SPEC.child(key).index(i).child("resources")
            errors += [
                field.forbidden(path.child(kind), f"resource {kind} cannot be removed")
                for kind in _KINDS
                if _is_less(now.get(kind), before.get(kind))
            ]
    return errors


def _settled(container: Mapping[str, Any], old: Mapping[str, Any]) -> Object:
    return {**container, "resources": _without_claims(_with_old_amounts(container["resources"], old["resources"]))}


def _without_claims(resources: Object) -> Object:
    """Claims are not compared: kube-apiserver loses them where it makes amounts equal."""
    return {key: value for key, value in resources.items() if key != "claims"}


def _settle_containers(spec: Object, old: Spec) -> ErrorList:
    errors: ErrorList = []
    settled = []
    for container, before in zip(spec.get("containers") or (), old.get("containers") or (), strict=True):
        settled.append(_settled(container, before))
        if settled[-1] != before:
            errors.append(field.forbidden(_SPEC, _ONLY_CPU_AND_MEMORY))
    spec["containers"] = settled
    return errors


def _settle_init_containers(spec: Object, old: Spec, rules: PodRules) -> ErrorList:
    errors: ErrorList = []
    settled = []
    pairs = zip(spec.get("initContainers") or (), old.get("initContainers") or (), strict=True)
    for i, (container, before) in enumerate(pairs):
        path = _SPEC.child("initContainers").index(i)
        changed = container != before
        if not _may_resize(container, rules):
            settled.append(container)
            if changed:
                detail = "resources for non-sidecar init containers are immutable"
                errors.append(field.forbidden(_SPEC, detail))
            continue
        settled.append(_settled(container, before))
        if settled[-1] != before:
            detail = f"{_ONLY_CPU_AND_MEMORY.removesuffix('are mutable')}for init or sidecar containers are mutable"
            errors.append(field.forbidden(path, detail))
        if changed and container.get("restartPolicy") != "Always":
            restarts = [
                one for one in container.get("resizePolicy") or () if one.get("restartPolicy") == "RestartContainer"
            ]
            detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
            errors += [field.forbidden(path, detail) for _ in restarts]
    if settled:
        spec["initContainers"] = settled
    return errors


def _without_empty(spec: Spec) -> Mapping[str, Any]:
    return {key: value for key, value in spec.items() if value not in (None, [], {})}

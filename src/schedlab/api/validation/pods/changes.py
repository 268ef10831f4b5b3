"""Checks of what an update does to a pod.

Mirrors: pkg/apis/core/validation/validation.go (ValidatePodUpdate, ValidatePodEphemeralContainersUpdate) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.internal_form import internal_diff, internal_text
from schedlab.api.kinds.strategy import keep
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.pods.annotations import MIRROR, validate_annotation_changes, validate_annotations
from schedlab.api.validation.pods.containers import validate_image_text
from schedlab.api.validation.pods.rules import PodRules
from schedlab.api.validation.pods.scheduling import validate_tolerations
from schedlab.api.validation.pods.spec import validate_pod
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import quote

_METADATA: Final = Path("metadata")
_SPEC: Final = Path("spec")
_SECONDS_MAX: Final = 2**31 - 1
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_UPDATABLE: Final = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)


def validate_metadata_change(new: Object, old: Object, rules: PodRules, *, whole: bool = True) -> ErrorList:
    """Check what all updates of pods and of their subresources must keep to; `whole` checks the new pod as well."""
    errors = meta.validate_update(new["metadata"], old["metadata"])
    if whole:
        errors += validate_pod(new, rules)
    annotations, before = (each["metadata"].get("annotations") or {} for each in (new, old))
    path = _METADATA.child("annotations")
    errors += validate_annotation_changes(annotations, before, path)
    return errors + validate_annotations(annotations, new["spec"], path, rules)


def validate_pod_update(new: Object, old: Object, rules: PodRules) -> ErrorList:
    errors = validate_metadata_change(new, old, rules)
    spec, before = new["spec"], old["spec"]
    for key in ("containers", "initContainers"):
        containers = spec.get(key) or ()
        if len(containers) != len(before.get(key) or ()):
            return [*errors, field.forbidden(_SPEC.child(key), "pod updates may not add or remove containers")]
        errors += _validate_images(containers, _SPEC.child(key))
    found, stop = _validate_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    errors += found
    if stop:
        return errors
    errors += _validate_added_tolerations(spec.get("tolerations") or (), before.get("tolerations") or (), rules)
    errors += _validate_deleted_gates(spec.get("schedulingGates") or (), before.get("schedulingGates") or ())
    return errors if spec == before else errors + _validate_rest(spec, before)


def _validate_images(containers: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    for i, container in enumerate(containers):
        if not container.get("image"):
            errors.append(field.required(path.index(i).child("image")))
        errors += validate_image_text(container, path.index(i))
    return errors


def _validate_deadline(new: int | None, old: int | None) -> tuple[ErrorList, bool]:
    """A deadline may appear and come nearer; also return whether nothing else needs to be looked at."""
    path = _SPEC.child("activeDeadlineSeconds")
    if new is None:
        if old is None:
            return [], False
        return [field.invalid(path, None, "must not update from a positive integer to nil value")], False
    if not 0 <= new <= _SECONDS_MAX:
        return [field.invalid(path, new, names.inclusive_range_error(0, _SECONDS_MAX))], True
    if old is not None and old < new:
        return [field.invalid(path, new, "must be less than or equal to previous value")], True
    return [], False


def _validate_added_tolerations(
    new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]], rules: PodRules
) -> ErrorList:
    """Tolerations may be added, and those there are may last longer or shorter."""
    path = _SPEC.child("tolerations")
    known = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in known for toleration in old):
        return [field.forbidden(path, "existing toleration can not be modified except its tolerationSeconds")]
    return validate_tolerations(new, path, rules)


def _without_seconds(toleration: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _validate_deleted_gates(new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]]) -> ErrorList:
    before = [gate.get("name", "") for gate in old]
    added = {gate.get("name", ""): i for i, gate in enumerate(new) if gate.get("name", "") not in before}
    path = _SPEC.child("schedulingGates")
    return [
        field.forbidden(
            path.index(i).child("name"), f"only deletion is allowed, but found new scheduling gate '{name}'"
        )
        for name, i in added.items()
    ]


def _validate_rest(new: Mapping[str, Any], old: Mapping[str, Any]) -> ErrorList:
    """Refuse every other change: what may change is made equal first."""
    spec = dict(new)
    for key in ("containers", "initContainers"):
        if key in spec:
            spec[key] = [_with_image_of(*pair) for pair in zip(spec[key], old[key], strict=True)]
    for key in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        keep(spec, old, key)
    if old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        keep(spec, old, "terminationGracePeriodSeconds")
    errors = _settle_gated(spec, old) if old.get("schedulingGates") else []
    if spec == old:
        return errors
    shown = internal_diff("core.PodSpec", old, spec)
    detail = f"pod updates may not change fields other than {','.join(_UPDATABLE)}\n{shown}"
    return [*errors, field.forbidden(_SPEC, detail)]


def _with_image_of(container: Mapping[str, Any], old: Mapping[str, Any]) -> Object:
    merged = dict(container)
    keep(merged, old, "image")
    return merged


def _settle_gated(spec: Object, old: Mapping[str, Any]) -> ErrorList:
    """Check what may become narrower while a pod is gated, and make it equal."""
    errors: ErrorList = []
    selector, old_selector = spec.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if selector != old_selector:
        if any(selector.get(key) != value for key, value in old_selector.items()):
            detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            errors.append(field.invalid(_SPEC.child("nodeSelector"), spec.get("nodeSelector"), detail))
        keep(spec, old, "nodeSelector")
    affinity, old_affinity = spec.get("affinity"), old.get("affinity")
    node, old_node = ((each or {}).get("nodeAffinity") for each in (affinity, old_affinity))
    if node == old_node:
        return errors
    errors += _validate_node_affinity(node, old_node)
    if affinity is None:
        spec["affinity"] = {"nodeAffinity": old_node}
    elif old_affinity is None and affinity.keys() <= {"nodeAffinity"}:
        del spec["affinity"]
    else:
        spec["affinity"] = settled = dict(affinity)
        keep(settled, old_affinity or {}, "nodeAffinity")
    return errors


def _validate_node_affinity(new: Mapping[str, Any] | None, old: Mapping[str, Any] | None) -> ErrorList:
    """Required terms may get more requirements."""
    path = _SPEC.child("affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
    old_required = (old or {}).get(_REQUIRED)
    if old_required is None:
        return []
    old_terms = old_required.get("nodeSelectorTerms") or ()
    new_terms = ((new or {}).get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    if old_terms and len(old_terms) != len(new_terms):
        shown = internal_text("[]core.NodeSelectorTerm", new_terms or None)
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [field.invalid(path, shown, detail)]
    return [
        field.invalid(
            path.index(i),
            internal_text("core.NodeSelectorTerm", new_terms[i]),
            "only additions are allowed (no mutations or deletions)",
        )
        for i, term in enumerate(old_terms)
        if not _only_adds(new_terms[i], term)
    ]


def _only_adds(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    before = [old.get(key) or [] for key in ("matchExpressions", "matchFields")]
    after = [new.get(key) or [] for key in ("matchExpressions", "matchFields")]
    if not any(before) and any(after):  # an empty term matches nothing
        return False
    return all(now[: len(then)] == then for now, then in zip(after, before, strict=True))


def validate_ephemeral_update(new: Object, old: Object, rules: PodRules) -> ErrorList:
    """Check an update of the ephemeral containers, which can only be added."""
    errors = validate_metadata_change(new, old, rules)
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [field.forbidden(Path(""), "static pods do not support ephemeral containers")]
    path = _SPEC.child("ephemeralContainers")
    found = {container.get("name", ""): container for container in new["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container.get("name", "")
        what = f"existing ephemeral containers {quote(name)} may not be"
        if name not in found:
            errors.append(field.forbidden(path, f"{what} removed\n"))
        elif found[name] != container:
            shown = internal_diff("core.EphemeralContainer", container, found[name])
            errors.append(field.forbidden(path, f"{what} changed\n{shown}"))
    return errors

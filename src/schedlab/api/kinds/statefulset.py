"""Stateful sets.

Mirrors: pkg/registry/apps/statefulset/strategy.go, pkg/apis/apps/{v1/defaults,v1/conversion,validation/validation}.go
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds import scales
from schedlab.api.kinds.plain import update_of_spec, update_of_status
from schedlab.api.kinds.pod.defaults import default_claim_spec, default_template
from schedlab.api.kinds.strategy import Context, Strategy, bump_generation, keep_status
from schedlab.api.kinds.templates import prepare_template
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.claims import validate_claim_spec
from schedlab.api.validation.common import dns_label, nonnegative, one_of
from schedlab.api.validation.int_or_percent import validate_at_most_whole, validate_int_or_percent
from schedlab.api.validation.pods.annotations import validate_annotations
from schedlab.api.validation.pods.rules import PodRules
from schedlab.api.validation.pods.warnings import claim_spec_warnings
from schedlab.api.validation.workloads import (
    amount_of,
    is_new_generation,
    parse_selector,
    selector_text,
    template_warnings,
    validate_available,
    validate_collisions,
    validate_endless_pods,
    validate_parts,
    validate_pod_template,
    validate_selected,
    validate_selector,
)
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_TEMPLATE: Final = _SPEC.child("template")
_STATUS: Final = Path("status")
_MANAGEMENT: Final = ("OrderedReady", "Parallel")
_RETENTION: Final = ("Retain", "Delete")
_PARTS: Final = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
_COUNTS: Final = ("replicas", *_PARTS, "observedGeneration", "collisionCount")
#: Fields of the spec that can change, in the order of the message.
_CHANGEABLE: Final = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_FIXED: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_NEGATIVE_LIMIT: Final = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


def _default(stateful: Object, context: Context) -> None:
    spec = stateful["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and (rolling := strategy.get("rollingUpdate")) is not None:
        rolling.setdefault("partition", 0)
        if context.features.enabled("MaxUnavailableStatefulSet"):
            rolling.setdefault("maxUnavailable", 1)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec["template"])
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
        claim["status"].setdefault("phase", "Pending")
        default_claim_spec(claim["spec"])


def _prepare(stateful: Object, context: Context) -> None:
    stateful["status"] = {"replicas": 0, "availableReplicas": 0}
    stateful["metadata"]["generation"] = 1
    _drop_disabled(stateful["spec"], {}, context)
    prepare_template(stateful["spec"]["template"], None, context)


def _drop_disabled(spec: Object, old: Mapping[str, Any], context: Context) -> None:
    if context.features.enabled("MaxUnavailableStatefulSet"):
        return
    before = (old.get("updateStrategy") or {}).get("rollingUpdate") or {}
    rolling = spec["updateStrategy"].get("rollingUpdate")
    if rolling and before.get("maxUnavailable") is None:
        rolling.pop("maxUnavailable", None)


def _validate(stateful: Object, context: Context) -> ErrorList:
    errors = meta.validate(stateful["metadata"], names.name_is_dns_label, namespaced=True)
    spec = stateful["spec"]
    if service := spec.get("serviceName"):
        errors += dns_label(service, _SPEC.child("serviceName"))
    claims = _SPEC.child("volumeClaimTemplates")
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        errors += validate_claim_spec(claim["spec"], claims.index(i).child("spec"), context)
    errors += _validate_spec(spec, _SPEC, context)
    if not errors:
        context.warnings.extend(template_warnings(spec["template"], _TEMPLATE, context))
        _warn(spec, context)
    return errors


def _warn(spec: Object, context: Context, *below: str) -> None:
    """Look at claims, whose paths have a step more in updates, and at the history."""
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        path = _SPEC.child("volumeClaimTemplates").index(i)
        own = path.child(*below) if below else path
        context.warnings.extend(claim_spec_warnings(claim["spec"], own))
    if spec.get("revisionHistoryLimit", 0) < 0:
        context.warnings.append(_NEGATIVE_LIMIT)


def _validate_spec(spec: Object, path: Path, context: Context, *, skip_template: bool = False) -> ErrorList:
    """Check what creation and update look at alike."""
    management, own = spec.get("podManagementPolicy", ""), path.child("podManagementPolicy")
    errors: ErrorList = []
    if not management:
        errors.append(field.required(own))
    elif management not in _MANAGEMENT:
        errors.append(field.invalid(own, management, "must be 'OrderedReady' or 'Parallel'"))
    errors += _validate_strategy(spec["updateStrategy"], path.child("updateStrategy"))
    if (policy := spec.get("persistentVolumeClaimRetentionPolicy")) is not None:
        errors += _validate_retention(policy, path.child("persistentVolumeClaimRetentionPolicy"))
    errors += nonnegative(spec, path, "replicas", "minReadySeconds")
    errors += nonnegative({"ordinals.start": (spec.get("ordinals") or {}).get("start")}, path, "ordinals.start")
    errors += validate_selector(spec.get("selector"), path.child("selector"), "statefulset")
    errors += _validate_template(spec, path, context, skip_template=skip_template)
    return errors + validate_endless_pods(spec["template"], path.child("template"), "StatefulSet")


def _validate_retention(policy: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    for key in ("whenDeleted", "whenScaled"):
        errors += one_of(policy.get(key, ""), _RETENTION, path.child(key))
    return errors


def _validate_strategy(strategy: Mapping[str, Any], path: Path) -> ErrorList:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if not kind:
        return [field.required(path)]
    own = path.child("rollingUpdate")
    if kind == "OnDelete":
        if rolling is None:
            return []
        shown = internal_text("apps.RollingUpdateStatefulSetStrategy", rolling)
        return [field.invalid(own, shown, "only allowed for updateStrategy 'RollingUpdate'")]
    if kind != "RollingUpdate":
        shown = internal_text("apps.StatefulSetUpdateStrategy", strategy)
        return [field.invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")]
    return [] if rolling is None else _validate_rolling_update(rolling, own)


def _validate_rolling_update(rolling: Mapping[str, Any], path: Path) -> ErrorList:
    errors = nonnegative(rolling, path, "partition")
    unavailable, own = rolling.get("maxUnavailable"), path.child("maxUnavailable")
    if unavailable is None:
        return errors
    errors += validate_int_or_percent(unavailable, own)
    if amount_of(unavailable) == 0:
        errors.append(field.invalid(own, unavailable, "cannot be 0"))
    return errors + validate_at_most_whole(unavailable, own)


def _validate_template(spec: Object, path: Path, context: Context, *, skip_template: bool) -> ErrorList:
    selector = parse_selector(spec.get("selector"))
    if selector is None:
        return [field.invalid(path.child("selector"), selector_text(spec.get("selector")), "")]
    template = _as_made(spec)
    own = path.child("template")
    errors = validate_selected(template, selector, own)
    if not skip_template:
        errors += validate_pod_template(template, own, context)
    metadata = template.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    errors += names.validate_labels(metadata.get("labels"), own.child("labels"))
    errors += meta.validate_annotations(annotations, own.child("annotations"))
    rules = PodRules(context.features)
    return errors + validate_annotations(annotations, template["spec"], own.child("annotations"), rules)


def _as_made(spec: Object) -> Mapping[str, Any]:
    """Return the template as the controller completes it: with its own host names and the claimed volumes."""
    template: Mapping[str, Any] = spec["template"]
    claims = [claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates") or ()]
    pod = {key: value for key, value in template["spec"].items() if key not in ("hostname", "subdomain")}
    if claims:
        claimed = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(claims)]
        others = [volume for volume in pod.get("volumes") or () if volume.get("name", "") not in claims]
        pod["volumes"] = [*claimed, *others]
    return {**template, "spec": pod}


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    keep_status(new, old)
    _drop_disabled(new["spec"], old["spec"], context)
    prepare_template(new["spec"]["template"], old["spec"]["template"], context)
    bump_generation(new, old, "spec")


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    spec, before = new["spec"], old["spec"]
    # A stored template that would be refused today may stay.
    errors += _validate_spec(spec, _SPEC, context, skip_template=bool(_validate_spec(before, _SPEC, context)))
    if _fixed_part(spec) != _fixed_part(before):
        errors.append(field.forbidden(_SPEC, _FIXED))
    if not errors:
        if is_new_generation(new, old):
            context.warnings.extend(template_warnings(spec["template"], _TEMPLATE, context))
        _warn(spec, context, "Spec")
    return errors


def _fixed_part(spec: Object) -> Object:
    return {key: value for key, value in spec.items() if key not in _CHANGEABLE}


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    status = new["status"]
    errors = nonnegative(status, _STATUS, *_COUNTS)
    errors += validate_parts(status, _STATUS, *_PARTS)
    errors += validate_available(status, _STATUS, "status.readyReplicas")
    errors += meta.validate_update(new["metadata"], old["metadata"])
    return errors + validate_collisions(status, old["status"], _STATUS)


STATEFUL_SET: Final = Strategy(
    resource="statefulsets.apps",
    validate=_validate,
    update=update_of_spec(_validate_update, _prepare_update),
    default=_default,
    prepare=_prepare,
    subresources={"status": update_of_status(_validate_status)},
    scale=scales.rules(scales.by_label_selector, "apps/v1", "apps/v1beta2", "apps/v1beta1"),
)

"""Deployments.

Mirrors: pkg/registry/apps/deployment/strategy.go, pkg/apis/apps/{v1/defaults,validation/validation}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds import scales
from schedlab.api.kinds.plain import update_of_spec
from schedlab.api.kinds.pod.defaults import default_template
from schedlab.api.kinds.strategy import (
    RESETS_SPEC,
    Context,
    Strategy,
    UpdateStrategy,
    keep,
    keep_spec,
    keep_status,
)
from schedlab.api.kinds.templates import prepare_template
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import nonnegative
from schedlab.api.validation.int_or_percent import validate_at_most_whole, validate_int_or_percent
from schedlab.api.validation.workloads import (
    amount_of,
    is_new_generation,
    pod_name_warnings,
    template_warnings,
    validate_available,
    validate_collisions,
    validate_fixed_selector,
    validate_parts,
    validate_replicated_template,
    validate_selector,
)
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_TEMPLATE: Final = _SPEC.child("template")
_STATUS: Final = Path("status")
_STRATEGIES: Final = ("Recreate", "RollingUpdate")
_PARTS: Final = ("updatedReplicas", "readyReplicas", "availableReplicas")
_COUNTS: Final = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
)


def _default(deployment: Object, _context: Context) -> None:
    spec = deployment["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec["strategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_template(spec["template"])


def _prepare(deployment: Object, context: Context) -> None:
    deployment["status"] = {}
    deployment["metadata"]["generation"] = 1
    prepare_template(deployment["spec"]["template"], None, context)


def _validate(deployment: Object, context: Context) -> ErrorList:
    metadata = deployment["metadata"]
    errors = meta.validate(metadata, names.name_is_dns_subdomain, namespaced=True)
    errors += _validate_spec(deployment["spec"], context)
    if not errors:
        context.warnings.extend(pod_name_warnings(metadata["name"]))
        context.warnings.extend(template_warnings(deployment["spec"]["template"], _TEMPLATE, context))
    return errors


def _validate_spec(spec: Object, context: Context) -> ErrorList:
    selector = spec.get("selector")
    errors = nonnegative(spec, _SPEC, "replicas")
    errors += validate_selector(selector, _SPEC.child("selector"), "deployment")
    errors += validate_replicated_template(spec["template"], selector, _SPEC, context)
    errors += _validate_strategy(spec["strategy"], _SPEC.child("strategy"))
    errors += nonnegative(spec, _SPEC, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        path = _SPEC.child("progressDeadlineSeconds")
        errors.append(field.invalid(path, deadline, "must be greater than minReadySeconds"))
    return errors


def _validate_strategy(strategy: Mapping[str, Any], path: Path) -> ErrorList:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return [] if rolling is None else [field.forbidden(path.child("rollingUpdate"), detail)]
    if kind != "RollingUpdate":
        return [field.not_supported(path, internal_text("apps.DeploymentStrategy", strategy), _STRATEGIES)]
    if rolling is None:
        return [field.required(path.child("rollingUpdate"), "this should be defaulted and never be nil")]
    return _validate_rolling_update(rolling, path.child("rollingUpdate"))


def _validate_rolling_update(rolling: Mapping[str, Any], path: Path) -> ErrorList:
    surge, unavailable = rolling.get("maxSurge", 0), rolling.get("maxUnavailable", 0)
    own = path.child("maxUnavailable")
    errors = validate_int_or_percent(unavailable, own)
    errors += validate_int_or_percent(surge, path.child("maxSurge"))
    if amount_of(unavailable) == 0 and amount_of(surge) == 0:
        errors.append(field.invalid(own, unavailable, "may not be 0 when `maxSurge` is 0"))
    return errors + validate_at_most_whole(unavailable, own)


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    keep_status(new, old)
    prepare_template(new["spec"]["template"], old["spec"]["template"], context)
    # Annotations are copied to replica sets, so they count as a change, too.
    annotations, before = (each["metadata"].get("annotations") or {} for each in (new, old))
    if new["spec"] != old["spec"] or annotations != before:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    errors += _validate_spec(new["spec"], context)
    selector, before = new["spec"].get("selector"), old["spec"].get("selector")
    errors += validate_fixed_selector(selector, before, _SPEC.child("selector"))
    if not errors and is_new_generation(new, old):
        context.warnings.extend(template_warnings(new["spec"]["template"], _TEMPLATE, context))
    return errors


def _prepare_status(new: Object, old: Object, context: Context) -> None:
    keep_spec(new, old)
    keep(new["metadata"], old["metadata"], "labels")
    if not context.features.enabled("DeploymentReplicaSetTerminatingReplicas"):
        drop_terminating(new["status"], old["status"])


def drop_terminating(status: Object, old: Mapping[str, Any]) -> None:
    """Drop the count of terminating replicas, unless it is in use."""
    if old.get("terminatingReplicas") is None:
        status.pop("terminatingReplicas", None)


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    status = new["status"]
    errors += nonnegative(status, _STATUS, *_COUNTS)
    errors += validate_parts(status, _STATUS, *_PARTS)
    errors += validate_available(status, _STATUS)
    return errors + validate_collisions(status, old["status"], _STATUS)


DEPLOYMENT: Final = Strategy(
    resource="deployments.apps",
    validate=_validate,
    update=update_of_spec(_validate_update, _prepare_update),
    default=_default,
    prepare=_prepare,
    subresources={
        "status": UpdateStrategy(_validate_status, _prepare_status, (*RESETS_SPEC, ("metadata", "labels"))),
    },
    scale=scales.rules(scales.by_label_selector, "apps/v1", "apps/v1beta2", "apps/v1beta1"),
)

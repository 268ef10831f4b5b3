"""Daemon sets.

The count of template changes is a field inside kube-apiserver and an annotation on the wire.

Mirrors: pkg/registry/apps/daemonset/strategy.go, pkg/apis/apps/{v1/defaults,v1/conversion,validation/validation}.go
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.kinds.plain import update_of_spec, update_of_status
from schedlab.api.kinds.pod.defaults import default_template
from schedlab.api.kinds.strategy import Context, Strategy, keep_status
from schedlab.api.kinds.templates import prepare_template
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import nonnegative
from schedlab.api.validation.int_or_percent import validate_at_most_whole, validate_int_or_percent
from schedlab.api.validation.workloads import (
    amount_of,
    parse_selector,
    template_warnings,
    validate_collisions,
    validate_endless_pods,
    validate_fixed_selector,
    validate_not_empty,
    validate_pod_template,
)
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.selectors import parse_int64, validate_label_selector

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"

_SPEC: Final = Path("spec")
_TEMPLATE: Final = _SPEC.child("template")
_STATUS: Final = Path("status")
_STRATEGIES: Final = ("RollingUpdate", "OnDelete")
_ALWAYS_SHOWN: Final = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
_COUNTS: Final = (
    *_ALWAYS_SHOWN,
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def _default(daemons: Object, _context: Context) -> None:
    _set_template_generation(daemons["metadata"], _template_generation(daemons["metadata"]))
    spec = daemons["spec"]
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec["template"])


def _template_generation(metadata: Mapping[str, Any]) -> int:
    text = (metadata.get("annotations") or {}).get(TEMPLATE_GENERATION, "0")
    return parse_int64(text) or 0


def _set_template_generation(metadata: Object, generation: int) -> None:
    metadata["annotations"] = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION: str(generation)}


def _prepare(daemons: Object, context: Context) -> None:
    metadata = daemons["metadata"]
    daemons["status"] = dict.fromkeys(_ALWAYS_SHOWN, 0)
    metadata["generation"] = 1
    _set_template_generation(metadata, max(_template_generation(metadata), 1))
    prepare_template(daemons["spec"]["template"], None, context)


def _validate(daemons: Object, context: Context) -> ErrorList:
    errors = meta.validate(daemons["metadata"], names.name_is_dns_subdomain, namespaced=True)
    errors += _validate_spec(daemons["spec"], context)
    if not errors:
        context.warnings.extend(template_warnings(daemons["spec"]["template"], _TEMPLATE, context))
    return errors


def _validate_spec(spec: Object, context: Context) -> ErrorList:
    selector, template, path = spec.get("selector"), spec["template"], _SPEC.child("template")
    errors = validate_label_selector(selector, _SPEC.child("selector"))
    found = parse_selector(selector)
    labels = (template.get("metadata") or {}).get("labels")
    if found is not None and not found.matches(labels or {}):
        detail = "`selector` does not match template `labels`"
        errors.append(field.invalid(path.child("metadata", "labels"), labels, detail))
    if selector is not None:
        errors += validate_not_empty(selector, _SPEC.child("selector"), "daemonset")
    errors += validate_pod_template(template, path, context)
    errors += validate_endless_pods(template, path, "DaemonSet")
    errors += nonnegative(spec, _SPEC, "minReadySeconds", "revisionHistoryLimit")
    return errors + _validate_strategy(spec["updateStrategy"], _SPEC.child("updateStrategy"))


def _validate_strategy(strategy: Mapping[str, Any], path: Path) -> ErrorList:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        return [field.not_supported(path, internal_text("apps.DaemonSetUpdateStrategy", strategy), _STRATEGIES)]
    if rolling is None:
        return [field.required(path.child("rollingUpdate"))]
    return _validate_rolling_update(rolling, path.child("rollingUpdate"))


def _validate_rolling_update(rolling: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for value, own in ((unavailable, path.child("maxUnavailable")), (surge, path.child("maxSurge"))):
        errors += validate_int_or_percent(value, own)
        errors += validate_at_most_whole(value, own)
    both = amount_of(unavailable) != 0, amount_of(surge) != 0
    if all(both):
        errors.append(field.invalid(path.child("maxSurge"), surge, "may not be set when maxUnavailable is non-zero"))
    elif not any(both):
        errors.append(field.required(path.child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))
    return errors


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    spec, before = new["spec"], old["spec"]
    prepare_template(spec["template"], before["template"], context)
    keep_status(new, old)
    changes = spec["template"] != before["template"]
    _set_template_generation(new["metadata"], _template_generation(old["metadata"]) + changes)
    if spec != before:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    selector, before = new["spec"].get("selector"), old["spec"].get("selector")
    errors += validate_fixed_selector(selector, before, _SPEC.child("selector"))
    errors += _validate_spec(new["spec"], context)
    template = new["spec"]["template"]
    if not errors and template != old["spec"]["template"]:
        context.warnings.extend(template_warnings(template, _TEMPLATE, context))
    return errors


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    errors += nonnegative(new["status"], _STATUS, *_COUNTS)
    return errors + validate_collisions(new["status"], old["status"], _STATUS)


DAEMON_SET: Final = Strategy(
    resource="daemonsets.apps",
    validate=_validate,
    update=update_of_spec(_validate_update, _prepare_update),
    default=_default,
    prepare=_prepare,
    subresources={"status": update_of_status(_validate_status)},
)

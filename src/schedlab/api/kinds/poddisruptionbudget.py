"""Pod disruption budgets.

Mirrors: pkg/registry/policy/poddisruptionbudget/strategy.go, pkg/apis/policy/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.plain import first_generation_without_status, update_of_spec, update_of_status
from schedlab.api.kinds.strategy import Context, Strategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import nonnegative, one_of
from schedlab.api.validation.conditions import validate_conditions
from schedlab.api.validation.int_or_percent import validate_at_most_whole, validate_int_or_percent
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import Verbatim, marshal
from schedlab.apimachinery.selectors import validate_label_selector

_SPEC: Final = Path("spec")
_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _validate(budget: Object, _context: Context) -> ErrorList:
    errors = _validate_spec(budget["spec"])
    # Metadata is checked only in general here, and only when the rest is right.
    return errors or meta.validate_generic(budget["metadata"], names.name_is_path_segment, namespaced=True)


def _validate_spec(spec: Object) -> ErrorList:
    errors: ErrorList = []
    lowest, highest = spec.get("minAvailable"), spec.get("maxUnavailable")
    if lowest is not None and highest is not None:
        shown = {
            "MinAvailable": lowest,
            "Selector": spec.get("selector"),
            "MaxUnavailable": highest,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        detail = "minAvailable and maxUnavailable cannot be both set"
        errors.append(field.invalid(_SPEC, Verbatim(marshal(shown, sort_keys=False)), detail))
    for key, value in (("minAvailable", lowest), ("maxUnavailable", highest)):
        if value is not None:
            errors += validate_int_or_percent(value, _SPEC.child(key))
            errors += validate_at_most_whole(value, _SPEC.child(key))
    errors += validate_label_selector(spec.get("selector"), _SPEC.child("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        errors += one_of(policy, _POLICIES, _SPEC.child("unhealthyPodEvictionPolicy"))
    return errors


def _validate_update(new: Object, _old: Object, _context: Context) -> ErrorList:
    return _validate_spec(new["spec"])


def _validate_status(new: Object, _old: Object, _context: Context) -> ErrorList:
    status, path = new["status"], Path("status")
    errors = validate_conditions(status.get("conditions") or (), path.child("conditions"))
    return errors + nonnegative(status, path, *_COUNTS)


POD_DISRUPTION_BUDGET: Final = Strategy(
    resource="poddisruptionbudgets.policy",
    validate=_validate,
    update=update_of_spec(_validate_update),
    prepare=first_generation_without_status(dict.fromkeys(_COUNTS, 0)),
    subresources={"status": update_of_status(_validate_status)},
    allow_unconditional_update=False,
)

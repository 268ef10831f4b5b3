"""Checks that the kinds which make pods share: selectors, templates, counts, roll-outs.

Mirrors: pkg/apis/apps/validation/validation.go, pkg/apis/core/validation/validation.go (ValidatePodTemplateSpecForRC)
(v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.kinds.strategy import Context
from schedlab.api.object import Object
from schedlab.api.validation.int_or_percent import IntOrPercent, percent_of
from schedlab.api.validation.pods.rules import PodRules
from schedlab.api.validation.pods.spec import validate_template
from schedlab.api.validation.pods.warnings import pod_warnings
from schedlab.apimachinery import field, gojson, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import Verbatim
from schedlab.apimachinery.selectors import Selector, SelectorError, from_label_selector, validate_label_selector

_MISMATCH: Final = "`selector` does not match template `labels`"
_WHOLE: Final = "cannot be greater than status.replicas"


def selector_text(selector: Mapping[str, Any] | None) -> Verbatim:
    """Print a label selector as a bad value."""
    if selector is None:
        return Verbatim("null")
    shown: Object = {}
    if labels := selector.get("matchLabels"):
        shown["matchLabels"] = {key: labels[key] for key in sorted(labels)}
    if expressions := selector.get("matchExpressions"):
        shown["matchExpressions"] = [_ordered(expression) for expression in expressions]
    return Verbatim(gojson.marshal(shown, sort_keys=False))


def _ordered(expression: Mapping[str, Any]) -> Object:
    shown = {"key": expression.get("key", ""), "operator": expression.get("operator", "")}
    return {**shown, "values": expression["values"]} if expression.get("values") else shown


def validate_selector(selector: Mapping[str, Any] | None, path: Path, kind: str) -> ErrorList:
    """A selector that must be there, be sound and ask for something."""
    if selector is None:
        return [field.required(path)]
    return validate_label_selector(selector, path) + validate_not_empty(selector, path, kind)


def validate_not_empty(selector: Mapping[str, Any], path: Path, kind: str) -> ErrorList:
    """A selector may not select everything."""
    if selector.get("matchLabels") or selector.get("matchExpressions"):
        return []
    return [field.invalid(path, selector_text(selector), f"empty selector is invalid for {kind}")]


def validate_fixed_selector(new: Mapping[str, Any] | None, old: Mapping[str, Any] | None, path: Path) -> ErrorList:
    """A selector never changes."""
    return [] if new == old else [field.invalid(path, selector_text(new), names.FIELD_IMMUTABLE)]


def parse_selector(selector: Mapping[str, Any] | None) -> Selector | None:
    """Return what a label selector selects, None when it is malformed."""
    try:
        return from_label_selector(selector)
    except SelectorError:
        return None


def validate_selected(template: Mapping[str, Any], selector: Selector, path: Path) -> ErrorList:
    """The pods that are made must be found again."""
    labels = (template.get("metadata") or {}).get("labels")
    if selector.is_empty or selector.matches(labels or {}):
        return []
    return [field.invalid(path.child("metadata", "labels"), labels, _MISMATCH)]


def validate_pod_template(template: Mapping[str, Any], path: Path, context: Context) -> ErrorList:
    """Check a template as such."""
    return validate_template(template, path, PodRules(context.features))


def validate_endless_pods(template: Mapping[str, Any], path: Path, kind: str) -> ErrorList:
    """Pods that are kept running may not end by themselves."""
    spec = template["spec"]
    errors: ErrorList = []
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        errors.append(field.not_supported(path.child("spec", "restartPolicy"), policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(field.forbidden(path.child("spec", "activeDeadlineSeconds"), detail))
    return errors


def validate_replicated_template(
    template: Mapping[str, Any], selector: Mapping[str, Any] | None, spec_path: Path, context: Context
) -> ErrorList:
    """Check the template of a replica set or a deployment together with its selector."""
    found = parse_selector(selector)
    if found is None:
        return [field.invalid(spec_path.child("selector"), selector_text(selector), "invalid label selector")]
    path = spec_path.child("template")
    errors = validate_selected(template, found, path)
    errors += validate_pod_template(template, path, context)
    return errors + validate_endless_pods(template, path, "ReplicaSet")


def amount_of(value: IntOrPercent) -> int:
    """Return the number of a number or percentage, whatever it counts."""
    percent = percent_of(value)
    if percent is not None:
        return percent
    if isinstance(value, int):
        return value
    return int(value) if value.lstrip("+-").isdecimal() else 0


def validate_parts(status: Mapping[str, Any], path: Path, *keys: str) -> ErrorList:
    """Counts of a status that cannot exceed its replicas; what is available is also ready."""
    errors: ErrorList = []
    whole = status.get("replicas", 0)
    for key in keys:
        count = status.get(key, 0)
        if count > whole:
            errors.append(field.invalid(path.child(key), count, _WHOLE))
    return errors


def validate_available(status: Mapping[str, Any], path: Path, ready: str = "readyReplicas") -> ErrorList:
    """What is available is also ready; `ready` is the name in the message."""
    available = status.get("availableReplicas", 0)
    if available <= status.get("readyReplicas", 0):
        return []
    return [field.invalid(path.child("availableReplicas"), available, f"cannot be greater than {ready}")]


def validate_collisions(new: Mapping[str, Any], old: Mapping[str, Any], path: Path) -> ErrorList:
    """The count of hash collisions never goes down; the arguments are statuses."""
    count, before = new.get("collisionCount"), old.get("collisionCount")
    if before is None or (count is not None and count >= before):
        return []
    return [field.invalid(path.child("collisionCount"), count or 0, "cannot be decremented")]


def template_warnings(template: Mapping[str, Any], path: Path, context: Context) -> list[str]:
    """Look at a template that is allowed."""
    return pod_warnings(template.get("metadata") or {}, template["spec"], PodRules(context.features), path)


def is_new_generation(new: Object, old: Object) -> bool:
    """Whether an update changes what is wanted."""
    return bool(new["metadata"].get("generation") != old["metadata"].get("generation"))


def pod_name_warnings(name: str) -> list[str]:
    """Names of pods are made of this name."""
    found = names.check_dns1123_label(name)
    if not found:
        return []
    advice = "this is used in Pod names and hostnames, which can result in surprising behavior"
    return [f"metadata.name: {advice}; a DNS label is recommended: {gojson.sprint(found)}"]

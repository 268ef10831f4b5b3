"""Checks of what pods ask of the scheduler: affinity, tolerations, spreading, gates.

Mirrors: pkg/apis/core/validation/validation.go (validateAffinity, ValidateTolerations,
validateTopologySpreadConstraints, validateSchedulingGates, validateSchedulingGroup) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.validation.common import messages, one_of, positive
from schedlab.api.validation.node_selectors import validate_node_selector, validate_term
from schedlab.api.validation.pods.rules import PodRules
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.selectors import parse_int64, validate_label_selector

TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_NODE_POLICIES: Final = ("Honor", "Ignore")
_EMPTY_KEY: Final = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WITHOUT_SELECTOR: Final = "must not be specified when labelSelector is not set"
_TWICE: Final = "exists in both matchLabelKeys and labelSelector"


# --- Affinity --------------------------------------------------------------------------------------------------------


def validate_affinity(affinity: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    if "nodeAffinity" in affinity:
        errors += _validate_node_affinity(affinity["nodeAffinity"], path.child("nodeAffinity"))
    for key in ("podAffinity", "podAntiAffinity"):
        if key in affinity:
            errors += _validate_pod_affinity(affinity[key], path.child(key))
    return errors


def _validate_node_affinity(affinity: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    if _REQUIRED in affinity:
        errors += validate_node_selector(affinity[_REQUIRED], path.child(_REQUIRED))
    for i, term in enumerate(affinity.get(_PREFERRED) or ()):
        own = path.child(_PREFERRED).index(i)
        errors += _validate_weight(term, own)
        errors += validate_term(term.get("preference") or {}, own.child("preference"), any_value=True)
    return errors


def _validate_pod_affinity(affinity: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    for i, term in enumerate(affinity.get(_REQUIRED) or ()):
        errors += _validate_pod_term(term, path.child(_REQUIRED).index(i))
    for i, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        own = path.child(_PREFERRED).index(i)
        errors += _validate_weight(weighted, own)
        errors += _validate_pod_term(weighted.get("podAffinityTerm") or {}, own.child("podAffinityTerm"))
    return errors


def _validate_weight(holder: Mapping[str, Any], path: Path) -> ErrorList:
    weight = holder.get("weight", 0)
    return [] if 0 < weight <= 100 else [field.invalid(path.child("weight"), weight, "must be in the range 1-100")]


def _validate_pod_term(term: Mapping[str, Any], path: Path) -> ErrorList:
    selector, topology_key = term.get("labelSelector"), term.get("topologyKey", "")
    errors = validate_label_selector(selector, path.child("labelSelector"))
    errors += validate_label_selector(term.get("namespaceSelector"), path.child("namespaceSelector"))
    for namespace in term.get("namespaces") or ():
        errors += messages(path.child("namespace"), namespace, names.name_is_dns_label(namespace))
    match, mismatch = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
    if match or mismatch:
        errors += _validate_label_keys(match, mismatch, selector, path)
    if not topology_key:
        errors.append(field.required(path.child("topologyKey"), "can not be empty"))
    return errors + names.validate_label_name(topology_key, path.child("topologyKey"))


def _validate_label_keys(
    match: Sequence[str], mismatch: Sequence[str], selector: Mapping[str, Any] | None, path: Path
) -> ErrorList:
    """Check keys of labels whose values the pod itself gives; the selector has what they stand for merged in."""
    errors: ErrorList = []
    for key, label_keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        errors += _validate_key_names(label_keys, selector, path.child(key))
    if selector is not None:
        errors += _validate_keys_once(match, selector, path)
    for i, label_key in enumerate(match):
        if label_key in mismatch:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(field.invalid(path.child("matchLabelKeys").index(i), label_key, detail))
    return errors


def _validate_key_names(keys: Sequence[str], selector: Mapping[str, Any] | None, path: Path) -> ErrorList:
    if not keys:
        return []
    if selector is None:
        return [field.forbidden(path, _WITHOUT_SELECTOR)]
    errors: ErrorList = []
    for i, key in enumerate(keys):
        errors += names.validate_label_name(key, path.index(i))
    return errors


def _validate_keys_once(match: Sequence[str], selector: Mapping[str, Any], path: Path) -> ErrorList:
    """A key that appears twice in the selector was there before it was merged in."""
    errors: ErrorList = []
    positions = {key: i for i, key in enumerate(match)}
    seen = list(selector.get("matchLabels") or ())
    for expression in selector.get("matchExpressions") or ():
        key = expression.get("key", "")
        if key in positions and key in seen:
            errors.append(field.invalid(path.index(positions[key]), key, _TWICE, "duplicatedLabelKeys"))
        seen.append(key)
    return errors


# --- Tolerations -----------------------------------------------------------------------------------------------------


def validate_tolerations(tolerations: Sequence[Mapping[str, Any]], path: Path, rules: PodRules) -> ErrorList:
    errors: ErrorList = []
    for i, toleration in enumerate(tolerations):
        key, operator, effect = (toleration.get(name, "") for name in ("key", "operator", "effect"))
        if key and (found := names.check_qualified_name(key)):
            errors += messages(path.index(i).child("key"), key, found)
        if not key and operator != "Exists":
            errors.append(field.invalid(path.index(i).child("operator"), operator, _EMPTY_KEY))
        if "tolerationSeconds" in toleration and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(field.invalid(path.index(i).child("effect"), effect, detail))
        value = toleration.get("value", "")
        if operator != "Exists" or value:
            errors += _validate_comparison(operator, value, path.index(i), rules)
        if effect and effect not in TAINT_EFFECTS:
            errors.append(field.not_supported(path.index(i).child("effect"), effect, TAINT_EFFECTS))
    return errors


def _validate_comparison(operator: str, value: str, path: Path, rules: PodRules) -> ErrorList:
    own = path.child("operator")
    if operator in ("", "Equal"):
        found = names.check_label_value(value)
        return [field.invalid(own, value, ";".join(found))] if found else []
    if operator == "Exists":
        return [field.invalid(own, value, "value must be empty when `operator` is 'Exists'")]
    if operator not in ("Lt", "Gt"):
        return [field.not_supported(own, operator, ("Equal", "Exists"))]
    if not rules.features.enabled("TaintTolerationComparisonOperators"):
        return [field.not_supported(own, operator, ("Equal", "Exists", "Lt", "Gt"))]
    errors = messages(path.child("value"), value, names.check_decimal_integer(value))
    if parse_int64(value) is None:
        errors.append(field.invalid(path.child("value"), value, _number_error(value)))
    return errors


def _number_error(text: str) -> str:
    digits = text[1:] if text[:1] in ("+", "-") else text
    problem = "value out of range" if digits.isascii() and digits.isdigit() else "invalid syntax"
    return f"strconv.ParseInt: parsing {quote(text)}: {problem}"


# --- Spreading -------------------------------------------------------------------------------------------------------


def validate_spread_constraints(constraints: Sequence[Mapping[str, Any]], path: Path, rules: PodRules) -> ErrorList:
    errors: ErrorList = []
    for i, constraint in enumerate(constraints):
        own = path.index(i)
        topology_key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        errors += positive(constraint.get("maxSkew", 0), own.child("maxSkew"))
        if not topology_key:
            errors.append(field.required(own.child("topologyKey"), "can not be empty"))
        errors += one_of(action, _ACTIONS, own.child("whenUnsatisfiable"))
        others = [(other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")) for other in constraints[i + 1 :]]
        if (topology_key, action) in others:
            pair = own.child("{topologyKey, whenUnsatisfiable}")
            errors.append(field.duplicate(pair, f"{{{topology_key}, {action}}}"))
        errors += _validate_counting(constraint, action, own)
        errors += _validate_spread_keys(constraint, own, rules)
        errors += validate_label_selector(constraint.get("labelSelector"), own.child("labelSelector"))
    return errors


def _validate_counting(constraint: Mapping[str, Any], action: str, path: Path) -> ErrorList:
    """Check how many domains there must be, and which nodes count."""
    errors: ErrorList = []
    domains = constraint.get("minDomains")
    if domains is not None:
        errors += positive(domains, path.child("minDomains"))
        if action != "DoNotSchedule":
            detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            errors.append(field.invalid(path.child("minDomains"), domains, detail, "dependsOn"))
    for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if key in constraint:
            errors += one_of(constraint[key], _NODE_POLICIES, path.child(key))
    return errors


def _validate_spread_keys(constraint: Mapping[str, Any], path: Path, rules: PodRules) -> ErrorList:
    keys, selector = constraint.get("matchLabelKeys") or (), constraint.get("labelSelector")
    if not keys:
        return []
    merges = ("MatchLabelKeysInPodTopologySpread", "MatchLabelKeysInPodTopologySpreadSelectorMerge")
    if all(map(rules.features.enabled, merges)):
        return _validate_label_keys(keys, (), selector, path)
    own = path.child("matchLabelKeys")
    errors = [field.forbidden(own, _WITHOUT_SELECTOR)] if selector is None else []
    known = [*(selector or {}).get("matchLabels", ())]
    known += [expression.get("key", "") for expression in (selector or {}).get("matchExpressions", ())]
    for i, key in enumerate(keys):
        errors += names.validate_label_name(key, own.index(i))
        if key in known:
            errors.append(field.invalid(own.index(i), key, _TWICE, "duplicatedLabelKeys"))
    return errors


# --- Gates -----------------------------------------------------------------------------------------------------------


def validate_gates(gates: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    seen: list[str] = []
    for i, gate in enumerate(gates):
        own = gate.get("name", "")
        errors += messages(path.index(i), own, names.check_qualified_name(own))
        if own in seen:
            errors.append(field.duplicate(path.index(i), own))
        seen.append(own)
    return errors


def validate_readiness_gates(gates: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    for i, gate in enumerate(gates):
        own = gate.get("conditionType", "")
        errors += messages(path.index(i).child("conditionType"), own, names.check_qualified_name(own))
    return errors


def validate_scheduling_group(group: Mapping[str, Any], path: Path) -> ErrorList:
    own, group_name = path.child("podGroupName"), group.get("podGroupName")
    if group_name is None:
        return [field.invalid(own, None, "must specify one of: `podGroupName`")]
    return messages(own, group_name, names.name_is_dns_subdomain(group_name))

"""Configurations of admission webhooks.

Mirrors: pkg/registry/admissionregistration/{validating,mutating}webhookconfiguration/strategy.go,
pkg/apis/admissionregistration/{v1/defaults,validation/validation}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.kinds.plain import first_generation
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, bump_generation
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.admission_rules import (
    FAILURE_POLICIES,
    REINVOCATION_POLICIES,
    default_matching,
    default_rules,
    static_name_warnings,
    unique,
    validate_match_conditions,
    validate_match_policy,
    validate_rule,
    validate_selectors,
)
from schedlab.api.validation.common import messages, one_of
from schedlab.api.validation.webhooks import validate_service, validate_url
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_WEBHOOKS: Final = Path("webhooks")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")
_NO_SIDE_EFFECTS: Final = _SIDE_EFFECTS[:2]
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_TIMEOUT_MAX: Final = 30


@dataclass(frozen=True, slots=True)
class _Rules:
    """What is allowed, which depends on what is stored already."""

    side_effects: Sequence[str] = _NO_SIDE_EFFECTS
    needs_known_version: bool = True
    needs_unique_names: bool = True
    checks_conditions: bool = True
    allow_invalid_values: bool = False


def _default_validating(configuration: Object, _context: Context) -> None:
    for webhook in configuration.get("webhooks") or ():
        _default_webhook(webhook)


def _default_mutating(configuration: Object, _context: Context) -> None:
    for webhook in configuration.get("webhooks") or ():
        _default_webhook(webhook)
        webhook.setdefault("reinvocationPolicy", "Never")


def _default_webhook(webhook: Object) -> None:
    webhook.setdefault("failurePolicy", "Fail")
    default_matching(webhook)
    webhook.setdefault("timeoutSeconds", 10)
    default_rules(webhook.get("rules") or ())
    service = (webhook.get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)


def _validate(configuration: Object, context: Context) -> ErrorList:
    errors = _validate_both(configuration, _Rules())
    if not errors:
        context.warnings.extend(static_name_warnings(configuration["metadata"]["name"]))
    return errors


def _validate_both(configuration: Object, rules: _Rules) -> ErrorList:
    errors = meta.validate(configuration["metadata"], names.name_is_dns_subdomain, namespaced=False)
    seen: list[str] = []
    for i, webhook in enumerate(configuration.get("webhooks") or ()):
        path, name = _WEBHOOKS.index(i), webhook.get("name", "")
        errors += _validate_webhook(webhook, path, rules)
        errors += _validate_versions(webhook.get("admissionReviewVersions") or [], path, rules)
        if rules.needs_unique_names and name:
            if name in seen:
                errors.append(field.duplicate(path.child("name"), name))
            seen.append(name)
    return errors


def _validate_webhook(webhook: Mapping[str, Any], path: Path, rules: _Rules) -> ErrorList:
    errors = names.check_fully_qualified_name(path.child("name"), webhook.get("name", ""))
    for i, rule in enumerate(webhook.get("rules") or ()):
        errors += validate_rule(rule, path.child("rules").index(i))
    for key, allowed in (("failurePolicy", FAILURE_POLICIES), ("reinvocationPolicy", REINVOCATION_POLICIES)):
        if webhook.get(key) is not None:
            errors += one_of(webhook[key], allowed, path.child(key))
    errors += validate_match_policy(webhook, path)
    effects, own = webhook.get("sideEffects"), path.child("sideEffects")
    if effects is None:
        errors.append(field.required(own, f"must specify one of {', '.join(rules.side_effects)}"))
    else:
        errors += one_of(effects, rules.side_effects, own)
    timeout = webhook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= _TIMEOUT_MAX:
        detail = f"the timeout value must be between 1 and {_TIMEOUT_MAX} seconds"
        errors.append(field.invalid(path.child("timeoutSeconds"), timeout, detail))
    errors += validate_selectors(webhook, path, allow_invalid_values=rules.allow_invalid_values)
    errors += _validate_client(webhook.get("clientConfig") or {}, path.child("clientConfig"))
    if rules.checks_conditions:
        errors += validate_match_conditions(webhook.get("matchConditions") or (), path.child("matchConditions"))
    return errors


def _validate_client(config: Mapping[str, Any], path: Path) -> ErrorList:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [field.required(path, "exactly one of url or service is required")]
    if url is not None:
        return validate_url(url, path.child("url"))
    assert service is not None
    # Upstream mixes up name and namespace, which shows in which of them is missing.
    swapped = {**service, "name": service.get("namespace", ""), "namespace": service.get("name", "")}
    return validate_service(swapped, path.child("service"))


def _validate_versions(versions: Sequence[str], webhook_path: Path, rules: _Rules) -> ErrorList:
    path, known = webhook_path.child("admissionReviewVersions"), ", ".join(_REVIEW_VERSIONS)
    if not versions:
        return [field.required(path, f"must specify one of {known}")]
    errors: ErrorList = []
    for i, version in enumerate(versions):
        if version in versions[:i]:
            errors.append(field.invalid(path.index(i), version, "duplicate version"))
        else:
            errors += messages(path.index(i), version, names.check_dns1035_label(version))
    if rules.needs_known_version and not any(version in _REVIEW_VERSIONS for version in versions):
        errors.append(field.invalid(path, versions, f"must include at least one of {known}"))
    return errors


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    bump_generation(new, old, "webhooks")


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    webhooks, before = new.get("webhooks") or [], old.get("webhooks") or []
    conditions, known = ([webhook.get("matchConditions") for webhook in each] for each in (webhooks, before))
    versions = [webhook.get("admissionReviewVersions") or [] for webhook in before]
    harmless = all(webhook.get("sideEffects") in _NO_SIDE_EFFECTS for webhook in before)
    rules = _Rules(
        side_effects=_NO_SIDE_EFFECTS if harmless else _SIDE_EFFECTS,
        needs_known_version=all(not each or any(one in _REVIEW_VERSIONS for one in each) for each in versions),
        needs_unique_names=unique([webhook.get("name", "") for webhook in before]),
        checks_conditions=conditions != known,
        allow_invalid_values=any(validate_selectors(webhook, _WEBHOOKS) for webhook in before),
    )
    errors = _validate_both(new, rules)
    if not errors:
        context.warnings.extend(static_name_warnings(new["metadata"]["name"]))
    return errors


VALIDATING_WEBHOOK_CONFIGURATION: Final = Strategy(
    resource="validatingwebhookconfigurations.admissionregistration.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    default=_default_validating,
    prepare=first_generation,
    allow_unconditional_update=False,
)
MUTATING_WEBHOOK_CONFIGURATION: Final = Strategy(
    resource="mutatingwebhookconfigurations.admissionregistration.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    default=_default_mutating,
    prepare=first_generation,
    allow_unconditional_update=False,
)

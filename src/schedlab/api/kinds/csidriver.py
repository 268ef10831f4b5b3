"""CSI drivers.

Mirrors: pkg/registry/storage/csidriver/strategy.go, pkg/apis/storage/{v1/defaults,validation/validation}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import one_of
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_TOKENS_IN_SIGHT: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)
_MODES: Final = ("Persistent", "Ephemeral")
_GROUP_POLICIES: Final = ("File", "None", "ReadWriteOnceWithFSType")
_DEFAULTS: Final[Mapping[str, Any]] = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
    "preventPodSchedulingIfMissing": False,
}
#: Fields that are there only while a feature is on.
_GATES: Final[Mapping[str, str]] = {
    "seLinuxMount": "SELinuxMountReadWriteOncePod",
    "nodeAllocatableUpdatePeriodSeconds": "MutableCSINodeAllocatableCount",
    "serviceAccountTokenInSecrets": "CSIServiceAccountTokenSecrets",
    "preventPodSchedulingIfMissing": "VolumeLimitScaling",
}
_TOKENS_IN_SECRETS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, "
    "set to true to prevent possible logging of tokens in volume attributes"
)
_TOKEN_SECONDS_MIN: Final = 600
_UPDATE_PERIOD_MIN: Final = 10


def _default(driver: Object, context: Context) -> None:
    spec = driver["spec"]
    for key, value in _DEFAULTS.items():
        gate = _GATES.get(key)
        if spec.get(key) is None and (gate is None or context.features.enabled(gate)):
            spec[key] = value
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _prepare(driver: Object, context: Context) -> None:
    _drop_disabled(driver["spec"], {}, context)


def _drop_disabled(spec: Object, old: Mapping[str, Any], context: Context) -> None:
    for key, gate in _GATES.items():
        if not context.features.enabled(gate) and old.get(key) is None:
            spec.pop(key, None)


def _validate(driver: Object, context: Context) -> ErrorList:
    errors = meta.validate(driver["metadata"], names.name_is_dns_subdomain, namespaced=False)
    spec = driver["spec"]
    errors += _validate_spec(spec)
    if not errors and spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None:
        context.warnings.append(_TOKENS_IN_SECRETS)
    return errors


def _validate_spec(spec: Object) -> ErrorList:
    errors: ErrorList = []
    policy = spec.get("fsGroupPolicy")
    if policy is not None:
        errors += one_of(policy, _GROUP_POLICIES, _SPEC.child("fsGroupPolicy"))
    errors += _validate_tokens(spec.get("tokenRequests") or (), _SPEC.child("tokenRequests"))
    for mode in spec.get("volumeLifecycleModes") or ():
        errors += one_of(mode, _MODES, _SPEC.child("volumeLifecycleModes"))
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _UPDATE_PERIOD_MIN:
        detail = f"must be greater than or equal to {_UPDATE_PERIOD_MIN} seconds"
        errors.append(field.invalid(_SPEC.child("nodeAllocatableUpdatePeriodSeconds"), period, detail))
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(field.invalid(_SPEC.child("serviceAccountTokenInSecrets"), in_secrets, detail))
    return errors


def _validate_tokens(tokens: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    audiences: list[str] = []
    for i, token in enumerate(tokens):
        audience, seconds = token.get("audience", ""), token.get("expirationSeconds")
        if audience in audiences:
            errors.append(field.duplicate(path.index(i).child("audience"), audience))
            continue
        audiences.append(audience)
        own = path.index(i).child("expirationSeconds")
        if seconds is not None and seconds < _TOKEN_SECONDS_MIN:
            errors.append(field.invalid(own, seconds, "may not specify a duration less than 10 minutes"))
        if seconds is not None and seconds > 2**32:
            errors.append(field.invalid(own, seconds, "may not specify a duration larger than 2^32 seconds"))
    return errors


def _prepare_update(new: Object, old: Object, context: Context) -> None:
    _drop_disabled(new["spec"], old["spec"], context)
    before, after = ({key: value for key, value in each["spec"].items() if value is not None} for each in (old, new))
    if before != after:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    spec, before = new["spec"], old["spec"]
    errors = meta.validate_update(new["metadata"], old["metadata"]) + _validate_spec(spec)
    for key, shown in (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")):
        errors += meta.validate_immutable(spec.get(key), before.get(key), _SPEC.child(shown))
    tokens = spec.get("tokenRequests")
    if not errors and tokens and tokens != before.get("tokenRequests"):
        context.warnings.extend([_TOKENS_IN_SECRETS] * (spec.get("serviceAccountTokenInSecrets") is None))
    return errors


CSI_DRIVER: Final = Strategy(
    resource="csidrivers.storage.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    default=_default,
    prepare=_prepare,
    allow_unconditional_update=False,
    returns_deleted=True,
)

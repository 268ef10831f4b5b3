"""API services: who serves a group in a version.

Mirrors: staging/src/k8s.io/kube-aggregator/pkg/registry/apiservice/strategy.go,
pkg/apis/apiregistration/{v1/defaults,validation/validation}.go (v1.36)
Differs: they are stored; no request is passed on to another server, and the server does not register its own groups.
"""

from __future__ import annotations

import base64
from typing import Final

from schedlab.api.kinds.plain import status_kept
from schedlab.api.kinds.strategy import RESETS_STATUS, Context, Strategy, UpdateStrategy, keep, keep_spec
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages, required
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import quote

_SPEC: Final = Path("spec")
_HIGHEST_GROUP_PRIORITY: Final = 20_000
_HIGHEST_VERSION_PRIORITY: Final = 1000
_CONDITION_STATUSES: Final = ("True", "False", "Unknown")
#: What a write of the status keeps of metadata.
_KEPT: Final = ("labels", "annotations", "finalizers", "ownerReferences")


def _default(service: Object, _context: Context) -> None:
    # Nothing of this kind is always written.
    for key in ("spec", "status"):
        service.setdefault(key, {})
    reference = service["spec"].get("service")
    if reference is not None:
        reference.setdefault("port", 443)


def _prepare(service: Object, context: Context) -> None:
    service["status"] = {}
    if service["spec"].get("service") is None:
        condition = {
            "type": "Available",
            "status": "True",
            "lastTransitionTime": context.now,
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
        service["status"] = {"conditions": [condition]}


def _validate(service: Object, _context: Context) -> ErrorList:
    spec = service["spec"]
    group, version = spec.get("group") or "", spec.get("version") or ""
    wanted = f"{version}.{group}"

    def check_name(name: str, *, prefix: bool = False) -> list[str]:
        if problems := names.name_is_path_segment(name, prefix=prefix):
            return problems
        return [] if name == wanted else [f'must be `spec.version+"."+spec.group`: {quote(wanted)}']

    errors = meta.validate(service["metadata"], check_name, namespaced=False)
    if group:
        errors += messages(_SPEC.child("group"), group, names.check_dns1123_subdomain(group))
    elif version != "v1":
        detail = "only v1 may have an empty group and it better be legacy kube"
        errors.append(field.required(_SPEC.child("group"), detail))
    errors += messages(_SPEC.child("version"), version, names.check_dns1035_label(version))
    errors += _validate_priority(spec, "groupPriorityMinimum", _HIGHEST_GROUP_PRIORITY)
    errors += _validate_priority(spec, "versionPriority", _HIGHEST_VERSION_PRIORITY)
    return errors + (_validate_local(spec) if spec.get("service") is None else _validate_remote(spec))


def _validate_priority(spec: Object, key: str, highest: int) -> ErrorList:
    priority = spec.get(key, 0)
    if 0 < priority <= highest:
        return []
    return [field.invalid(_SPEC.child(key), priority, f"must be positive and less than {highest}")]


def _validate_local(spec: Object) -> ErrorList:
    errors: ErrorList = []
    bundle = base64.b64decode(spec.get("caBundle") or "")
    if bundle:
        detail = "local APIServices may not have a caBundle"
        errors.append(field.invalid(_SPEC.child("caBundle"), f"{len(bundle)} bytes", detail))
    if spec.get("insecureSkipTLSVerify"):
        detail = "local APIServices may not have insecureSkipTLSVerify"
        errors.append(field.invalid(_SPEC.child("insecureSkipTLSVerify"), True, detail))
    return errors


def _validate_remote(spec: Object) -> ErrorList:
    reference, path = spec["service"], _SPEC.child("service")
    errors = required(reference, path, "namespace", "name")
    port = reference.get("port", 0)
    if problems := names.check_port_number(port):
        errors.append(field.invalid(path.child("port"), port, f"port is not valid: {', '.join(problems)}"))
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        detail = "may not be true if caBundle is present"
        errors.append(field.invalid(_SPEC.child("insecureSkipTLSVerify"), True, detail))
    return errors


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    return meta.validate_update(new["metadata"], old["metadata"]) + _validate(new, context)


def _prepare_status(new: Object, old: Object, _context: Context) -> None:
    keep_spec(new, old)
    for key in _KEPT:
        keep(new["metadata"], old["metadata"], key)


def _validate_status(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    path = Path("status", "conditions")
    for i, condition in enumerate(new["status"].get("conditions") or ()):
        status = condition.get("status", "")
        if status not in _CONDITION_STATUSES:
            errors.append(field.not_supported(path.index(i).child("status"), status, _CONDITION_STATUSES))
    return errors


API_SERVICE: Final = Strategy(
    resource="apiservices.apiregistration.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, status_kept, RESETS_STATUS),
    default=_default,
    prepare=_prepare,
    subresources={"status": UpdateStrategy(_validate_status, _prepare_status, (("spec",), ("metadata",)))},
    allow_unconditional_update=False,
)

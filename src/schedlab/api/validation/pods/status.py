"""Checks of the status of pods.

Mirrors: pkg/apis/core/validation/validation.go (ValidatePodStatusUpdate and around) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.object import Object
from schedlab.api.rules.resource_names import is_native_resource
from schedlab.api.validation import meta
from schedlab.api.validation.common import dns_label, messages
from schedlab.api.validation.pods.changes import validate_metadata_change
from schedlab.api.validation.pods.container_status import validate_container_statuses
from schedlab.api.validation.pods.restarts import may_restart, may_restart_all
from schedlab.api.validation.pods.rules import PodRules, Spec
from schedlab.apimachinery import field, ip, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.quantity import parse_cached

_STATUS: Final = Path("status")
_SYSTEM_CONDITIONS: Final = ("PodScheduled", "Ready", "Initialized")
_NOT_NEGATIVE: Final = "must be a non-negative integer"
_ONE_PER_FAMILY: Final = "may specify no more than one IP for each IP family"
_NO_RESTART: Final = "may not be transitioned to non-terminated state"


def validate_status_update(new: Object, old: Object, rules: PodRules) -> ErrorList:
    errors = validate_metadata_change(new, old, rules, whole=False)
    spec, status, before = new["spec"], new["status"], old["status"]
    errors += _validate_conditions(status.get("conditions") or (), _STATUS.child("conditions"))
    if spec.get("nodeName") != old["spec"].get("nodeName"):
        errors.append(field.forbidden(_STATUS.child("nodeName"), "may not be changed directly"))
    errors += _validate_nomination(status, before, old["spec"], rules)
    if status.get("observedGeneration", 0) < 0:
        own = _STATUS.child("observedGeneration")
        errors.append(field.invalid(own, status["observedGeneration"], _NOT_NEGATIVE))
    quality, old_quality = status.get("qosClass", ""), before.get("qosClass", "")
    errors += meta.validate_immutable(quality, old_quality, _STATUS.child("qosClass"))
    errors += _validate_restarts(status, before, old["spec"], rules)
    errors += _validate_claim_statuses(status, spec)
    if "extendedResourceClaimStatus" in status:
        own = _STATUS.child("extendedResourceClaimStatus")
        errors += _validate_extended_claim(status["extendedResourceClaimStatus"], spec, own)
    errors += _validate_node_claims(status, spec, _STATUS.child("nodeAllocatableResourceClaimStatuses"))
    errors += _validate_addresses(status, before, rules)
    return errors + validate_container_statuses(status, spec, _STATUS, rules)


def _validate_conditions(conditions: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    for i, condition in enumerate(conditions):
        kind, generation = condition.get("type", ""), condition.get("observedGeneration", 0)
        if generation < 0:
            errors.append(field.invalid(path.index(i).child("observedGeneration"), generation, _NOT_NEGATIVE))
        if kind not in _SYSTEM_CONDITIONS and (found := names.check_qualified_name(kind)):
            errors += messages(path.index(i).child("Type"), kind, found)
    return errors


def _validate_nomination(
    status: Mapping[str, Any], before: Mapping[str, Any], old_spec: Spec, rules: PodRules
) -> ErrorList:
    node, path = status.get("nominatedNodeName", ""), _STATUS.child("nominatedNodeName")
    if not node or node == before.get("nominatedNodeName", ""):
        return []
    errors = messages(path, node, names.name_is_dns_subdomain(node))
    if old_spec.get("nodeName") and rules.features.enabled("ClearingNominatedNodeNameAfterBinding"):
        errors.append(field.forbidden(path, "may not be set on pods that are already bound to a node"))
    return errors


# --- Restarts --------------------------------------------------------------------------------------------------------


def _validate_restarts(status: Mapping[str, Any], before: Mapping[str, Any], spec: Spec, rules: PodRules) -> ErrorList:
    """A container that has ended can only run again where its pod restarts it."""
    errors: ErrorList = []
    for key in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        restarted = _restarted(status.get(key) or (), before.get(key) or ())
        for i, name, exit_code in restarted:
            if not _is_allowed(key, name, exit_code, spec, rules):
                errors.append(field.forbidden(_STATUS.child(key).index(i).child("state"), _NO_RESTART))
    return errors


def _restarted(new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]]) -> list[tuple[int, str, int]]:
    """Return position, name and exit code of every container that had ended and now has not."""
    running = [status.get("name", "") for status in new if "terminated" not in (status.get("state") or {})]
    return [
        (i, status["name"], status["state"]["terminated"].get("exitCode", 0))
        for i, status in enumerate(old)
        if "terminated" in (status.get("state") or {}) and status.get("name", "") in running
    ]


def _is_allowed(key: str, name: str, exit_code: int, spec: Spec, rules: PodRules) -> bool:
    if key == "ephemeralContainerStatuses":
        return False
    own = spec.get("containers" if key == "containerStatuses" else "initContainers") or ()
    container = next((container for container in own if container.get("name", "") == name), None)
    features = rules.features
    if features.enabled("ContainerRestartRules"):
        if features.enabled("RestartAllContainersOnContainerExits") and may_restart_all(spec):
            return True
        return container is not None and may_restart(container, spec, exit_code, features)
    policy = spec.get("restartPolicy")
    is_sidecar = key == "initContainerStatuses" and (container or {}).get("restartPolicy") == "Always"
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0) or is_sidecar


# --- Claims ----------------------------------------------------------------------------------------------------------


def _validate_claim_statuses(status: Mapping[str, Any], spec: Spec) -> ErrorList:
    claims = [claim.get("name", "") for claim in spec.get("resourceClaims") or ()]
    errors: ErrorList = []
    seen: list[str] = []
    for i, entry in enumerate(status.get("resourceClaimStatuses") or ()):
        name, claim, own = (
            entry.get("name", ""),
            entry.get("resourceClaimName"),
            _STATUS.child("resourceClaimStatuses").index(i),
        )
        if name not in claims:
            detail = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(field.invalid(own.child("name"), name, detail))
        if name in seen:
            errors.append(field.duplicate(own.child("name"), name))
        seen.append(name)
        if claim is not None:
            errors += messages(own.child("resourceClaimName"), claim, names.name_is_dns_subdomain(claim))
    return errors


def _validate_extended_claim(status: Mapping[str, Any], spec: Spec, path: Path) -> ErrorList:
    """Check the claim that stands for extended resources of the pod."""
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    requests = {container["name"]: container["resources"].get("requests") or {} for container in containers}
    errors: ErrorList = []
    mappings, own = status.get("requestMappings") or (), path.child("requestMappings")
    if not mappings:
        errors.append(field.required(own, "at least one request mapping is required"))
    seen: list[tuple[str, ...]] = []
    for i, mapping in enumerate(mappings):
        keys = ("containerName", "resourceName", "requestName")
        container, resource, request = found = tuple(mapping.get(key, "") for key in keys)
        if container not in requests:
            detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            errors.append(field.invalid(own.index(i).child("containerName"), container, detail))
        elif resource not in requests[container]:
            detail = (
                "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
                "spec.containers.resources.requests"
            )
            errors.append(field.invalid(own.index(i).child("resourceName"), resource, detail))
        errors += dns_label(request, path.child("requestName"))
        if found in seen:
            errors += [field.duplicate(own.index(i).child(key), mapping.get(key, "")) for key in keys]
        seen.append(found)
    name = status.get("resourceClaimName", "")
    target = path.child("resourceClaimName")
    return errors + (messages(target, name, names.name_is_dns_subdomain(name)) if name else [field.required(target)])


def _validate_node_claims(status: Mapping[str, Any], spec: Spec, path: Path) -> ErrorList:
    """Check the claims whose devices stand for resources of the node."""
    known = [
        entry.get("resourceClaimName")
        for entry in (*(spec.get("resourceClaims") or ()), *(status.get("resourceClaimStatuses") or ()))
    ]
    errors: ErrorList = []
    for i, entry in enumerate(status.get("nodeAllocatableResourceClaimStatuses") or ()):
        name, own = entry.get("resourceClaimName", ""), path.index(i)
        if not name:
            errors.append(field.required(own.child("resourceClaimName"), "must not be empty"))
        if name not in known:
            errors.append(field.invalid(own.child("resourceClaimName"), name, "no mapping found in pod reference"))
        for key in ("containers", "resources"):
            if not entry.get(key):
                errors.append(field.required(own.child(key), "must not be empty"))
        for resource, amount in (entry.get("resources") or {}).items():
            target = own.child("resources").key(resource)
            if not is_native_resource(resource):
                errors.append(field.invalid(target, resource, "must be a node allocatable resource name"))
            if parse_cached(amount).sign < 0:
                errors.append(field.invalid(target, amount, "must be non-negative"))
    return errors


# --- Addresses -------------------------------------------------------------------------------------------------------


def _validate_addresses(status: Mapping[str, Any], before: Mapping[str, Any], rules: PodRules) -> ErrorList:
    errors = _validate_family(status, before, "podIPs", "[]core.PodIP", rules)
    of_host = status.get("hostIPs") or ()
    if of_host and status.get("hostIP", "") != of_host[0].get("ip", ""):
        own = _STATUS.child("hostIPs").index(0).child("ip")
        errors.append(field.invalid(own, of_host[0].get("ip", ""), "must be equal to `hostIP`"))
    return errors + _validate_family(status, before, "hostIPs", "[]core.HostIP", rules)


def _validate_family(
    status: Mapping[str, Any], before: Mapping[str, Any], key: str, kind: str, rules: PodRules
) -> ErrorList:
    """Check addresses: one, or one of each family; addresses that were there before are not looked at."""
    entries, path = status.get(key) or (), _STATUS.child(key)
    addresses = [entry.get("ip", "") for entry in entries]
    known = [entry.get("ip", "") for entry in before.get(key) or ()]
    strict = rules.features.enabled("StrictIPCIDRValidation")
    errors: ErrorList = []
    for i, address in enumerate(addresses):
        errors += ip.check_ip_legacy(path.index(i), address, strict=strict, old_values=known)
    if len(addresses) < 2:
        return errors
    parsed = [ip.parse_ip(address) for address in addresses]
    for address, found in zip(addresses, parsed, strict=True):
        if found is None:
            problem = f"failed to check for dual stack with error:invalid IP: {address}"
            errors.append(field.internal_error(path, problem))
            break
    families = dict.fromkeys(found.version for found in parsed if found is not None)
    if None in parsed or len(families) < 2 or len(addresses) > 2:
        errors.append(field.invalid(path, internal_text(kind, entries), _ONE_PER_FAMILY))
    return errors

"""Checks of pod specs: those of pods, and those of the templates in other kinds.

Mirrors: pkg/apis/core/validation/validation.go (ValidatePodSpec, validatePodMetadataAndSpec, ValidatePodCreate,
ValidatePodTemplateSpec) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages
from schedlab.api.validation.pods.annotations import MIRROR, validate_annotations, validate_profiles_match
from schedlab.api.validation.pods.containers import (
    PodFacts,
    validate_containers,
    validate_ephemeral_containers,
    validate_image_text,
    validate_init_containers,
)
from schedlab.api.validation.pods.known_specs import KnownSpecs
from schedlab.api.validation.pods.networking import (
    validate_dns_config,
    validate_host_aliases,
    validate_host_network_ports,
    validate_hostname_override,
)
from schedlab.api.validation.pods.pod_resources import validate_claims, validate_pod_resources
from schedlab.api.validation.pods.rules import PodRules, Spec, each_container
from schedlab.api.validation.pods.scheduling import (
    validate_affinity,
    validate_gates,
    validate_readiness_gates,
    validate_scheduling_group,
    validate_spread_constraints,
    validate_tolerations,
)
from schedlab.api.validation.pods.security import validate_host_users, validate_pod_security
from schedlab.api.validation.pods.volumes import validate_volumes
from schedlab.api.validation.pods.windows import validate_host_processes, validate_os
from schedlab.api.validation.resources import validate_container_requirements
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SPEC: Final = Path("spec")
_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_SECONDS_MAX: Final = 2**31 - 1

_sound_specs: Final = KnownSpecs()


def validate_pod(pod: Object, rules: PodRules) -> ErrorList:
    """Check metadata and spec of a pod."""
    metadata, spec = pod["metadata"], pod["spec"]
    annotations = metadata.get("annotations") or {}
    errors = meta.validate(metadata, names.name_is_dns_subdomain, namespaced=True)
    if annotations:
        errors += validate_annotations(annotations, spec, Path("metadata", "annotations"), rules)
    return errors + _validate_own_spec(spec, metadata, rules)


def _validate_own_spec(spec: Spec, metadata: Mapping[str, Any], rules: PodRules) -> ErrorList:
    """Check the spec of a pod, unless an equal one has been found sound."""
    key = _sound_specs.key(spec, rules)
    if key in _sound_specs:
        return []
    errors = _check_own_spec(spec, metadata, rules)
    if key is not None and not errors:
        _sound_specs.add(key)
    return errors


def _check_own_spec(spec: Spec, metadata: Mapping[str, Any], rules: PodRules) -> ErrorList:
    errors = validate_pod_spec(spec, metadata, _SPEC, rules)
    if not spec.get("serviceAccountName") and (volumes := spec.get("volumes")):
        errors += _validate_no_tokens(volumes)
    for key in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(key) or ()):
            errors += validate_image_text(container, _SPEC.child(key).index(i))
    return errors


def _validate_no_tokens(volumes: list[Mapping[str, Any]]) -> ErrorList:
    """Without a service account there is nothing that a token could stand for."""
    errors: ErrorList = []
    for i, volume in enumerate(volumes):
        for j, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if "serviceAccountToken" in source:
                own = _SPEC.child("volumes").index(i).child("projected", "sources").index(j)
                detail = "must not be specified when serviceAccountName is not set"
                errors.append(field.forbidden(own.child("serviceAccountToken"), detail))
    return errors


def validate_new_pod(pod: Object, rules: PodRules) -> ErrorList:
    """Check a pod that is created."""
    errors = validate_pod(pod, rules)
    spec = pod["spec"]
    if spec.get("ephemeralContainers"):
        errors.append(field.forbidden(_SPEC.child("ephemeralContainers"), "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        errors.append(field.forbidden(_SPEC.child("nodeName"), detail))
    annotations = pod["metadata"].get("annotations")
    return errors + validate_profiles_match(annotations, spec, _SPEC) if annotations else errors


def validate_template(template: Mapping[str, Any], path: Path, rules: PodRules) -> ErrorList:
    """Check the template of a pod inside another kind."""
    metadata, spec = template.get("metadata") or {}, template["spec"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    errors = names.validate_labels(labels, path.child("labels"))
    errors += meta.validate_annotations(annotations, path.child("annotations"))
    errors += validate_annotations(annotations, spec, path.child("annotations"), rules)
    errors += validate_pod_spec(spec, None, path.child("spec"), rules)
    errors += validate_profiles_match(annotations, spec, path.child("spec"))
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        errors.append(field.forbidden(path.child("spec", "ephemeralContainers"), detail))
    return errors


def validate_pod_spec(spec: Spec, metadata: Mapping[str, Any] | None, path: Path, rules: PodRules) -> ErrorList:
    """Check a pod spec; `metadata` is that of the pod, None for templates."""
    metadata = metadata or {}
    grace_period = spec.get("terminationGracePeriodSeconds")
    errors: ErrorList = []
    if grace_period is None:
        errors.append(field.required(path.child("terminationGracePeriodSeconds")))
    volumes, found = validate_volumes(spec.get("volumes") or (), metadata.get("name", ""), path.child("volumes"), rules)
    errors += found
    claims = spec.get("resourceClaims") or ()
    if claims:
        is_mirror = MIRROR in (metadata.get("annotations") or {})
        errors += validate_claims(claims, path.child("resourceClaims"), is_mirror=is_mirror)
    facts = PodFacts(
        rules=rules,
        volumes=volumes,
        claims=tuple(dict.fromkeys(claim["name"] for claim in claims if claim.get("name"))),
        grace_period=grace_period,
        os=(spec.get("os") or {}).get("name", ""),
        restart_policy=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers", True),
    )
    errors += _validate_all_containers(spec, path, facts)
    if spec.get("resources") is not None and rules.features.enabled("PodLevelResources"):
        errors += validate_pod_resources(spec, facts.claims, path.child("resources"))
    errors += validate_host_network_ports(spec, path, rules)
    errors += _validate_choice(spec.get("restartPolicy", ""), _RESTART_POLICIES, path.child("restartPolicy"))
    errors += _validate_choice(spec.get("dnsPolicy", ""), _DNS_POLICIES, path.child("dnsPolicy"))
    errors += names.validate_labels(spec.get("nodeSelector"), path.child("nodeSelector"))
    errors += validate_pod_security(spec, path.child("securityContext"), rules)
    errors += _validate_scheduling(spec, path, rules)
    errors += validate_host_processes(spec, path)
    errors += validate_host_users(spec, path, rules)
    errors += validate_hostname_override(spec, path)
    errors += _validate_simple_fields(spec, path, rules)
    return errors + _validate_file_volumes(spec, path)


def _validate_all_containers(spec: Spec, path: Path, facts: PodFacts) -> ErrorList:
    regular, init = spec.get("containers") or (), spec.get("initContainers") or ()
    errors = validate_containers(regular, path.child("containers"), facts)
    if init:
        errors += validate_init_containers(init, regular, path.child("initContainers"), facts)
    if ephemeral := spec.get("ephemeralContainers"):
        own = path.child("ephemeralContainers")
        errors += validate_ephemeral_containers(ephemeral, (*regular, *init), own, facts)
    return errors


def _validate_choice(value: str, allowed: tuple[str, ...], path: Path) -> ErrorList:
    if value in allowed:
        return []
    return [field.not_supported(path, value, allowed) if value else field.required(path)]


def _validate_scheduling(spec: Spec, path: Path, rules: PodRules) -> ErrorList:
    errors: ErrorList = []
    if affinity := spec.get("affinity"):
        errors += validate_affinity(affinity, path.child("affinity"))
    errors += validate_dns_config(spec, path.child("dnsConfig"), rules)
    if gates := spec.get("readinessGates"):
        errors += validate_readiness_gates(gates, path.child("readinessGates"))
    if gates := spec.get("schedulingGates"):
        errors += validate_gates(gates, path.child("schedulingGates"))
    if constraints := spec.get("topologySpreadConstraints"):
        errors += validate_spread_constraints(constraints, path.child("topologySpreadConstraints"), rules)
    return errors


#: Names in a pod spec that are checked alike, in the order of their errors: before and after the lists between them.
_NAMES_FIRST: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "serviceAccountName": names.name_is_dns_subdomain,
    "nodeName": names.name_is_dns_subdomain,
}
_NAMES_OF_HOST: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "hostname": names.check_dns1123_label,
    "subdomain": names.check_dns1123_label,
}
_NAMES_OF_CLASSES: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "priorityClassName": names.name_is_dns_subdomain,
}


def _validate_names(spec: Spec, checks: Mapping[str, Callable[[str], list[str]]], path: Path) -> ErrorList:
    errors: ErrorList = []
    for key, check in checks.items():
        value = spec.get(key)
        if value and (found := check(value)):
            errors += messages(path.child(key), value, found)
    return errors


def _validate_simple_fields(spec: Spec, path: Path, rules: PodRules) -> ErrorList:
    errors = _validate_names(spec, _NAMES_FIRST, path)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _SECONDS_MAX:
        detail = names.inclusive_range_error(1, _SECONDS_MAX)
        errors.append(field.invalid(path.child("activeDeadlineSeconds"), deadline, detail))
    errors += _validate_names(spec, _NAMES_OF_HOST, path)
    if tolerations := spec.get("tolerations"):
        errors += validate_tolerations(tolerations, path.child("tolerations"), rules)
    if aliases := spec.get("hostAliases"):
        errors += validate_host_aliases(aliases, path.child("hostAliases"), rules)
    errors += _validate_names(spec, _NAMES_OF_CLASSES, path)
    runtime = spec.get("runtimeClassName")
    if runtime is not None:
        errors += messages(path.child("runtimeClassName"), runtime, names.name_is_dns_subdomain(runtime))
    preemption = spec.get("preemptionPolicy")
    if preemption is not None:
        errors += _validate_choice(preemption, _PREEMPTION_POLICIES, path.child("preemptionPolicy"))
    if overhead := spec.get("overhead"):
        errors += validate_container_requirements({"limits": overhead}, (), path.child("overhead"))
    if spec.get("os") is not None:
        errors += validate_os(spec, path)
    if "schedulingGroup" in spec:
        errors += validate_scheduling_group(spec["schedulingGroup"], path.child("schedulingGroup"))
    return errors


def _validate_file_volumes(spec: Spec, path: Path) -> ErrorList:
    """Files with variables must be in volumes that live and die with the pod."""
    errors: ErrorList = []
    volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or ()}
    for container, container_path in each_container(spec, path):
        for i, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            name = reference.get("volumeName", "")
            own = container_path.child("env").index(i).child("valueFrom", "fileKeyRef", "volumeName")
            if name not in volumes:
                errors.append(field.not_found(own, name))
            elif "emptyDir" not in volumes[name]:
                errors.append(field.invalid(own, name, "referenced volume must be of type emptyDir"))
    return errors

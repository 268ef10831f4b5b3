"""Checks of containers: regular, init, ephemeral.

Mirrors: pkg/apis/core/validation/validation.go (validateContainers, validateInitContainers,
validateEphemeralContainers, validateContainerCommon) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from schedlab.api.validation.common import messages, one_of
from schedlab.api.validation.pods.environment import validate_env, validate_env_from
from schedlab.api.validation.pods.handlers import validate_lifecycle, validate_probes
from schedlab.api.validation.pods.mounts import Volumes, validate_mounts
from schedlab.api.validation.pods.rules import PodRules
from schedlab.api.validation.pods.security import validate_container_security
from schedlab.api.validation.pods.volumes import validate_pull_policy
from schedlab.api.validation.resources import validate_container_requirements
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

Container: TypeAlias = Mapping[str, Any]

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_RESIZE_RESOURCES: Final = ("cpu", "memory")
_RESIZE_POLICIES: Final = ("NotRequired", "RestartContainer")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_EXIT_CODE_OPERATORS: Final = ("In", "NotIn")
_RESTART_RULES_MAX: Final = 20
_EXIT_CODES_MAX: Final = 255
_ONLY_SIDECARS: Final = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
#: Fields of a container that an ephemeral one cannot have, in the order of the Go type.
_NOT_IN_EPHEMERAL: Final = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What the checks of a container must know of its pod."""

    rules: PodRules
    volumes: Volumes
    #: Names of the pod's resource claims.
    claims: Collection[str]
    grace_period: int | None
    os: str
    restart_policy: str
    host_users: bool


def validate_containers(containers: Sequence[Container], path: Path, pod: PodFacts) -> ErrorList:
    """Check the regular containers."""
    if not containers:
        return [field.required(path)]
    errors: ErrorList = []
    seen: list[str] = []
    for i, container in enumerate(containers):
        own = path.index(i)
        errors += _validate_common(container, own, pod)
        name = container.get("name", "")
        if name in seen:
            errors.append(field.duplicate(own.child("name"), name))
        seen.append(name)
        errors += _validate_hooks(container, own, pod)
        if not pod.rules.features.enabled("ContainerRestartRules"):
            if "restartPolicy" in container:
                detail = "may not be set for non-init containers"
                errors.append(field.forbidden(own.child("restartPolicy"), detail))
        elif "restartPolicy" in container or "restartPolicyRules" in container:
            errors += _validate_restart_policy(container, own, pod.rules)
    return errors + _validate_host_ports(containers, path)


def validate_init_containers(
    containers: Sequence[Container], regular: Sequence[Container], path: Path, pod: PodFacts
) -> ErrorList:
    """Check the init containers; their names must also differ from those of the regular ones."""
    errors: ErrorList = []
    seen = [container.get("name", "") for container in regular]
    for i, container in enumerate(containers):
        own = path.index(i)
        errors += _validate_common(container, own, pod)
        errors += _validate_init_restart_policy(container, own, pod.rules)
        name = container.get("name", "")
        if name in seen:
            errors.append(field.duplicate(own.child("name"), name))
        elif name:
            seen.append(name)
        errors += _validate_host_ports((container,), path)
        is_sidecar = container.get("restartPolicy") == "Always"
        if is_sidecar:
            errors += _validate_hooks(container, own, pod)
        else:
            hooks = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
            errors += [field.forbidden(own.child(hook), _ONLY_SIDECARS) for hook in hooks if hook in container]
        errors += _validate_init_resize(container, own, pod.rules, is_sidecar=is_sidecar)
    return errors


def _validate_init_resize(container: Container, path: Path, rules: PodRules, *, is_sidecar: bool) -> ErrorList:
    policies = container.get("resizePolicy") or ()
    errors: ErrorList = []
    if policies and not rules.features.enabled("InPlacePodVerticalScaling"):
        errors.append(field.invalid(path.child("resizePolicy"), policies, "must not be set for init containers"))
    for i, policy in enumerate(policies):
        if policy.get("restartPolicy") == "RestartContainer" and not is_sidecar:
            own = path.child("resizePolicy").index(i).child("restartPolicy")
            detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            errors.append(field.invalid(own, "RestartContainer", detail))
    return errors


def validate_ephemeral_containers(
    containers: Sequence[Container], others: Sequence[Container], path: Path, pod: PodFacts
) -> ErrorList:
    """Check the ephemeral containers, which `others` must share no name with."""
    errors: ErrorList = []
    other_names = [container.get("name", "") for container in others]
    seen = list(other_names)
    for i, container in enumerate(containers):
        own, name, target = path.index(i), container.get("name", ""), container.get("targetContainerName", "")
        errors += _validate_common(container, own, pod)
        errors += validate_image_text(container, own)
        if name in seen:
            errors.append(field.duplicate(own.child("name"), name))
        else:
            seen.append(name)
        if target and target not in other_names:
            errors.append(field.not_found(own.child("targetContainerName"), target))
        errors += [field.forbidden(own.child(key), _NOT_EPHEMERAL) for key in _NOT_IN_EPHEMERAL if container.get(key)]
        for j, mount in enumerate(container.get("volumeMounts") or ()):
            given = [key for key in ("subPath", "subPathExpr") if mount.get(key)]
            errors += [field.forbidden(own.child("volumeMounts").index(j).child(key), _NOT_EPHEMERAL) for key in given]
    return errors


def validate_image_text(container: Container, path: Path) -> ErrorList:
    """Check what only whole pods must keep to: templates may hold blanks for others to fill in."""
    image = container.get("image", "")
    if image == image.strip():
        return []
    return [field.invalid(path.child("image"), image, "must not have leading or trailing whitespace")]


def _validate_common(container: Container, path: Path, pod: PodFacts) -> ErrorList:
    """Check what all kinds of containers have."""
    errors: ErrorList = []
    name, policy = container.get("name", ""), container.get("terminationMessagePolicy", "")
    if not name:
        errors.append(field.required(path.child("name")))
    elif found := names.check_dns1123_label(name):
        errors += messages(path.child("name"), name, found)
    if not container.get("image"):
        errors.append(field.required(path.child("image")))
    if policy not in _MESSAGE_POLICIES:
        own = path.child("terminationMessagePolicy")
        errors.append(field.not_supported(own, policy, _MESSAGE_POLICIES) if policy else field.required(own))
    if ports := container.get("ports"):
        errors += _validate_ports(ports, path.child("ports"))
    if variables := container.get("env"):
        errors += validate_env(variables, path.child("env"), pod.rules)
    if sources := container.get("envFrom"):
        errors += validate_env_from(sources, path.child("envFrom"), pod.rules)
    errors += validate_mounts(container, pod.volumes, path)
    errors += validate_pull_policy(container.get("imagePullPolicy", ""), path.child("imagePullPolicy"))
    if resources := container.get("resources"):
        errors += validate_container_requirements(resources, pod.claims, path.child("resources"))
    if policies := container.get("resizePolicy"):
        errors += _validate_resize(policies, path.child("resizePolicy"), pod.restart_policy)
    if context := container.get("securityContext"):
        own = path.child("securityContext")
        errors += validate_container_security(context, own, host_users=pod.host_users)
    return errors


def _validate_hooks(container: Container, path: Path, pod: PodFacts) -> ErrorList:
    errors: ErrorList = []
    if "lifecycle" in container:
        own = path.child("lifecycle")
        errors += validate_lifecycle(container["lifecycle"], pod.os, pod.grace_period, own, pod.rules)
    return errors + validate_probes(container, pod.grace_period, path, pod.rules)


def _validate_ports(ports: Sequence[Mapping[str, Any]], path: Path) -> ErrorList:
    errors: ErrorList = []
    seen: list[str] = []
    for i, port in enumerate(ports):
        name, number, protocol = port.get("name", ""), port.get("containerPort", 0), port.get("protocol", "")
        own = path.index(i)
        if name and (found := names.check_port_name(name)):
            errors += messages(own.child("name"), name, found)
        elif name in seen:
            errors.append(field.duplicate(own.child("name"), name))
        elif name:
            seen.append(name)
        if not number:
            errors.append(field.required(own.child("containerPort")))
        else:
            errors += messages(own.child("containerPort"), number, names.check_port_number(number))
        if host_port := port.get("hostPort"):
            errors += messages(own.child("hostPort"), host_port, names.check_port_number(host_port))
        if not protocol:
            errors.append(field.required(own.child("protocol")))
        else:
            errors += one_of(protocol, _PROTOCOLS, own.child("protocol"))
    return errors


def _validate_host_ports(containers: Sequence[Container], path: Path) -> ErrorList:
    """No two ports may want the same port of the host."""
    errors: ErrorList = []
    taken: list[str] = []
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            wanted = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if wanted in taken:
                errors.append(field.duplicate(path.index(i).child("ports").index(j).child("hostPort"), wanted))
            taken.append(wanted)
    return errors


def _validate_resize(policies: Sequence[Mapping[str, Any]], path: Path, pod_restart_policy: str) -> ErrorList:
    errors: ErrorList = []
    seen: list[str] = []
    for i, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            errors.append(field.duplicate(path.index(i), resource))
        seen.append(resource)
        for value, allowed in ((resource, _RESIZE_RESOURCES), (restart, _RESIZE_POLICIES)):
            if value not in allowed:
                errors.append(field.not_supported(path, value, allowed) if value else field.required(path))
        if pod_restart_policy == "Never" and restart != "NotRequired":
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(field.invalid(path, restart, detail))
    return errors


# --- Restarts --------------------------------------------------------------------------------------------------------


def _validate_init_restart_policy(container: Container, path: Path, rules: PodRules) -> ErrorList:
    policy, restart_rules = container.get("restartPolicy"), container.get("restartPolicyRules")
    if policy is None:
        if not restart_rules:
            return []
        detail = "must specify restartPolicy when restart rules are used"
        return [field.required(path.child("restartPolicy"), detail)]
    if not rules.features.enabled("ContainerRestartRules"):
        return one_of(policy, ("Always",), path.child("restartPolicy"))
    if policy != "Always" or rules.features.enabled("RestartAllContainersOnContainerExits"):
        return _validate_restart_policy(container, path, rules)
    if not restart_rules:
        return []
    detail = "restartPolicyRules are not allowed for init containers with restart policy Always"
    return [field.forbidden(path.child("restartPolicyRules"), detail)]


def _validate_restart_policy(container: Container, path: Path, rules: PodRules) -> ErrorList:
    policy, restart_rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    errors: ErrorList = []
    if policy is not None:
        errors += one_of(policy, _RESTART_POLICIES, path.child("restartPolicy"))
    elif restart_rules:
        detail = "must specify restartPolicy when restart rules are used"
        errors.append(field.required(path.child("restartPolicy"), detail))
    own = path.child("restartPolicyRules")
    if len(restart_rules) > _RESTART_RULES_MAX:
        errors.append(field.too_many(own, len(restart_rules), _RESTART_RULES_MAX))
    for i, rule in enumerate(restart_rules):
        errors += _validate_restart_rule(rule, own.index(i), rules)
    return errors


def _validate_restart_rule(rule: Mapping[str, Any], path: Path, rules: PodRules) -> ErrorList:
    every = ("RestartAllContainers",) if rules.features.enabled("RestartAllContainersOnContainerExits") else ()
    errors = one_of(rule.get("action", ""), ("Restart", *every), path.child("action"))
    codes, own = rule.get("exitCodes"), path.child("exitCodes")
    if codes is None:
        return [*errors, field.required(own, "must be specified")]
    errors += one_of(codes.get("operator", ""), _EXIT_CODE_OPERATORS, own.child("operator"))
    count = len(codes.get("values") or ())
    if count > _EXIT_CODES_MAX:
        errors.append(field.too_many(own.child("values"), count, _EXIT_CODES_MAX))
    return errors

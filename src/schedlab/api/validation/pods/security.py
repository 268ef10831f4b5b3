"""Checks of security contexts of pods and containers.

Mirrors: pkg/apis/core/validation/validation.go (ValidateSecurityContext, validatePodSpecSecurityContext,
validateHostUsers) (v1.36)
Differs: privileged containers are allowed, as they are when kube-apiserver is told to allow them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.internal_form import internal_text
from schedlab.api.validation.common import messages, one_of
from schedlab.api.validation.pods.rules import PodRules, Spec, each_container
from schedlab.api.validation.pods.windows import validate_windows_options
from schedlab.api.validation.volume_sources import descending_path
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_PROFILE_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_PROC_MOUNTS: Final = ("Default", "Unmasked")
_GROUP_CHANGES: Final = ("Always", "OnRootMismatch")
_GROUP_POLICIES: Final = ("Merge", "Strict")
_LABEL_CHANGES: Final = ("MountOption", "Recursive")
_PROFILE_LENGTH_MAX: Final = 4095
_SYSCTL_LENGTH_MAX: Final = 253
_SYSCTL_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = re.compile(rf"^({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}$")
#: Kernel parameters of the namespace of inter-process communication.
_IPC_SYSCTLS: Final = frozenset(
    f"kernel.{name}"
    for name in ("sem", "shm", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "msg", "msgmax", "msgmnb", "msgmni")
)
_NOT_WITH_HOST_USERS: Final = "when `hostUsers` is false"
_CAPABILITY: Final = "CAP_SYS_ADMIN"


def validate_container_security(context: Mapping[str, Any], path: Path, *, host_users: bool) -> ErrorList:
    """Check the security context of a container; `host_users`: the pod has the users of the host."""
    errors = _validate_ids(context, path, ("runAsUser", "runAsGroup"))
    mount = context.get("procMount")
    if mount is not None:
        errors += one_of(mount, _PROC_MOUNTS, path.child("procMount"))
        if host_users and mount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            errors.append(field.invalid(path.child("procMount"), mount, detail))
    errors += _validate_seccomp(context, path)
    if context.get("allowPrivilegeEscalation") is False:
        errors += _validate_no_escalation(context, path)
    if "windowsOptions" in context:
        errors += validate_windows_options(context["windowsOptions"], path.child("windowsOptions"))
    return errors + _validate_app_armor(context, path)


def _validate_no_escalation(context: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    if context.get("privileged"):
        detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errors.append(field.invalid(path, internal_text("core.SecurityContext", context), detail))
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == _CAPABILITY:
            detail = f"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` {_CAPABILITY}"
            errors.append(field.invalid(path, internal_text("core.SecurityContext", context), detail))
    return errors


def _validate_ids(context: Mapping[str, Any], path: Path, keys: tuple[str, ...]) -> ErrorList:
    errors: ErrorList = []
    for key in keys:
        number = context.get(key)
        if number is not None:
            check = names.check_user_id if key == "runAsUser" else names.check_group_id
            errors += messages(path.child(key), number, check(number))
    return errors


def _validate_seccomp(context: Mapping[str, Any], path: Path) -> ErrorList:
    profile = context.get("seccompProfile")
    if profile is None:
        return []
    own = path.child("seccompProfile")
    kind, name = profile.get("type", ""), profile.get("localhostProfile")
    errors: ErrorList = []
    if not kind:
        errors.append(field.required(own.child("type"), "type is required when seccompProfile is set"))
    else:
        errors += one_of(kind, _PROFILE_TYPES, own.child("type"))
    if kind == "Localhost":
        target = own.child("localhostProfile")
        if name is None:
            return [*errors, field.required(target, "must be set when seccomp type is Localhost")]
        return errors + descending_path(name, target)
    if name is not None:
        detail = "can only be set when seccomp type is Localhost"
        errors.append(
            field.invalid(own.child("localhostProfile"), internal_text("core.SeccompProfile", profile), detail)
        )
    return errors


def _validate_app_armor(context: Mapping[str, Any], path: Path) -> ErrorList:
    profile = context.get("appArmorProfile")
    if profile is None:
        return []
    own = path.child("appArmorProfile")
    kind, name = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        return [field.required(own.child("type"), "type is required when appArmorProfile is set")]
    if kind not in _PROFILE_TYPES:
        return [field.not_supported(own.child("type"), kind, _PROFILE_TYPES)]
    if kind != "Localhost":
        detail = "can only be set when AppArmor type is Localhost"
        return [] if name is None else [field.invalid(own.child("localhostProfile"), name, detail)]
    return _validate_app_armor_name(name, own.child("localhostProfile"))


def _validate_app_armor_name(name: str | None, path: Path) -> ErrorList:
    missing = "must be set when AppArmor type is Localhost"
    if not name:
        return [field.required(path, missing)]
    errors: ErrorList = []
    if name.strip() != name:
        errors.append(field.invalid(path, name, "must not be padded with whitespace"))
    if names.byte_length(name) > _PROFILE_LENGTH_MAX:
        errors.append(field.too_long(path, _PROFILE_LENGTH_MAX))
    return errors


def validate_pod_security(spec: Spec, path: Path, rules: PodRules) -> ErrorList:
    """Check the security context of a pod."""
    context = spec.get("securityContext")
    if not context:
        return _validate_shared_processes(spec, path) if spec.get("hostPID") else []
    errors = _validate_ids(context, path, ("fsGroup", "runAsUser", "runAsGroup"))
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        errors += messages(path.child("supplementalGroups").index(i), group, names.check_group_id(group))
    errors += _validate_shared_processes(spec, path)
    if context.get("sysctls"):
        errors += _validate_sysctls(spec, path.child("sysctls"))
    if "fsGroupChangePolicy" in context:
        errors += one_of(context["fsGroupChangePolicy"], _GROUP_CHANGES, path.child("fsGroupChangePolicy"))
    errors += _validate_seccomp(context, path)
    if "windowsOptions" in context:
        errors += validate_windows_options(context["windowsOptions"], path.child("windowsOptions"))
    errors += _validate_app_armor(context, path)
    if "supplementalGroupsPolicy" in context:
        errors += one_of(context["supplementalGroupsPolicy"], _GROUP_POLICIES, path.child("supplementalGroupsPolicy"))
    if "seLinuxChangePolicy" in context:
        allowed = _LABEL_CHANGES if rules.features.enabled("SELinuxMount") else _LABEL_CHANGES[1:]
        errors += one_of(context["seLinuxChangePolicy"], allowed, path.child("seLinuxChangePolicy"))
    return errors


def _validate_shared_processes(spec: Spec, path: Path) -> ErrorList:
    if not spec.get("shareProcessNamespace") or not spec.get("hostPID"):
        return []
    detail = "ShareProcessNamespace and HostPID cannot both be enabled"
    return [field.invalid(path.child("shareProcessNamespace"), True, detail)]


def _validate_sysctls(spec: Spec, path: Path) -> ErrorList:
    errors: ErrorList = []
    seen: list[str] = []
    for i, sysctl in enumerate(spec["securityContext"]["sysctls"]):
        name, own = sysctl.get("name", ""), path.index(i).child("name")
        if not name:
            errors.append(field.required(own))
        elif len(name) > _SYSCTL_LENGTH_MAX or not _SYSCTL.fullmatch(name):
            detail = f"must have at most {_SYSCTL_LENGTH_MAX} characters and match regex {_SYSCTL.pattern}"
            errors.append(field.invalid(own, name, detail))
        elif name in seen:
            errors.append(field.duplicate(own, name))
        for key in ("hostNetwork", "hostIPC"):
            if spec.get(key) and _is_namespaced(name, key):
                errors.append(field.invalid(own, name, f"may not be specified when '{key}' is true"))
        seen.append(name)
    return errors


def _is_namespaced(sysctl: str, key: str) -> bool:
    """Whether a kernel parameter belongs to the namespace that a field shares with the host."""
    name = _with_dots(sysctl).partition("*")[0]
    if key == "hostNetwork":
        return name.startswith("net.")
    return name in _IPC_SYSCTLS or name.startswith("fs.mqueue.")


def _with_dots(sysctl: str) -> str:
    """Return the name of a parameter with dots between its parts, whichever separator it has."""
    first = min((sysctl.find(mark) for mark in "./" if mark in sysctl), default=-1)
    if first < 0 or sysctl[first] == ".":
        return sysctl
    return sysctl.translate(str.maketrans("./", "/."))


def validate_host_users(spec: Spec, path: Path, rules: PodRules) -> ErrorList:
    """Check what cannot be together with users of the pod's own."""
    if spec.get("hostUsers", True):
        return []
    errors: ErrorList = []
    if spec.get("hostNetwork") and not rules.features.enabled("UserNamespacesHostNetworkSupport"):
        errors.append(field.forbidden(path.child("hostNetwork"), _NOT_WITH_HOST_USERS))
    for key in ("HostPID", "HostIPC"):
        if spec.get(f"h{key[1:]}"):
            errors.append(field.forbidden(path.child(key), _NOT_WITH_HOST_USERS))
    for container, own in each_container(spec, path):
        if container.get("volumeDevices"):
            errors.append(field.forbidden(own.child("volumeDevices"), _NOT_WITH_HOST_USERS))
    return errors

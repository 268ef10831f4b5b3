"""Checks of what is special to Windows: user names, host processes, and what a pod of either system cannot have.

Mirrors: pkg/apis/core/validation/validation.go (validateWindowsSecurityContextOptions,
validateWindowsHostProcessPod, validateOS, validateLinux, validateWindows) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.validation.common import messages, one_of
from schedlab.api.validation.pods.rules import Spec, each_container
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_SYSTEMS: Final = ("linux", "windows")
_CREDENTIALS_KIB_MAX: Final = 64
_DOMAIN_LENGTH_MAX: Final = 256
_USER_LENGTH_MAX: Final = 104
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_NET_BIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_USER_FORBIDDEN: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]')

_NOT_ON_WINDOWS: Final = "cannot be set for a windows pod"
#: Fields of security contexts that Windows does not have; fields of the spec are named between them.
_CONTEXT_FIRST: Final = ("appArmorProfile", "seLinuxOptions")
_CONTEXT_MIDDLE: Final = ("seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls")
_CONTEXT_LAST: Final = (
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_CONTAINER_FIELDS: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def validate_windows_options(options: Mapping[str, Any], path: Path) -> ErrorList:
    errors: ErrorList = []
    name, spec, user = (options.get(key) for key in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"))
    if name is not None:
        errors += messages(path.child("gmsaCredentialSpecName"), name, names.check_dns1123_subdomain(name))
    if spec is not None:
        own = path.child("gmsaCredentialSpec")
        if not spec:
            errors.append(field.invalid(own, spec, "gmsaCredentialSpec cannot be an empty string"))
        elif names.byte_length(spec) > _CREDENTIALS_KIB_MAX * 1024:
            errors.append(field.invalid(own, spec, f"gmsaCredentialSpec size must be under {_CREDENTIALS_KIB_MAX} KiB"))
    if user is not None:
        errors += messages(path.child("runAsUserName"), user, _check_user_name(user))
    return errors


def _check_user_name(name: str) -> list[str]:
    if not name:
        return ["runAsUserName cannot be an empty string"]
    if _CONTROL.search(name):
        return ["runAsUserName cannot contain control characters"]
    if name.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    domain, backslash, user = name.rpartition("\\")
    found = []
    if names.byte_length(domain) >= _DOMAIN_LENGTH_MAX:
        found.append(f"runAsUserName's Domain length must be under {_DOMAIN_LENGTH_MAX} characters")
    if backslash and not _NET_BIOS.fullmatch(domain) and not _DOMAIN.fullmatch(domain):
        found.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        found.append("runAsUserName's User cannot be empty")
    elif names.byte_length(user) > _USER_LENGTH_MAX:
        found.append(f"runAsUserName's User length must not be longer than {_USER_LENGTH_MAX} characters")
    if user and not user.strip(". "):
        found.append("runAsUserName's User cannot contain only periods or spaces")
    if _USER_FORBIDDEN.search(user):
        found.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return found


def validate_host_processes(spec: Spec, path: Path) -> ErrorList:
    """Containers that are processes of the host must be all of the pod's, in the host's network."""
    inherited = _host_process(spec)
    errors: ErrorList = []
    are_host_processes: list[bool] = []
    for container, own in each_container(spec, path):
        explicit = _host_process(container)
        if None not in (inherited, explicit) and inherited != explicit:
            target = own.child("securityContext", "windowsOptions", "hostProcess")
            was = str(inherited).lower()
            detail = f"pod hostProcess value must be identical if both are specified, was {was}"
            errors.append(field.invalid(target, explicit, detail))
        are_host_processes.append(bool(inherited if explicit is None else explicit))
    if not any(are_host_processes):
        return errors
    if not all(are_host_processes):
        detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(field.invalid(path, "", detail))
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(field.invalid(path.child("hostNetwork"), False, detail))
    return errors


def _host_process(holder: Mapping[str, Any]) -> bool | None:
    options = (holder.get("securityContext") or {}).get("windowsOptions") or {}
    found: bool | None = options.get("hostProcess")
    return found


def validate_os(spec: Spec, path: Path) -> ErrorList:
    """Check the system that a pod names, and what it cannot have there."""
    os = spec["os"].get("name", "")
    if not os:
        return [field.required(path.child("os", "name"))]
    if os not in _SYSTEMS:
        return one_of(os, _SYSTEMS, path.child("os"))
    return _validate_windows(spec, path) if os == "windows" else _validate_linux(spec, path)


def _validate_linux(spec: Spec, path: Path) -> ErrorList:
    holders = [(spec, path), *each_container(spec, path)]
    return [
        field.forbidden(own.child("securityContext", "windowsOptions"), "windows options cannot be set for a linux pod")
        for holder, own in holders
        if "windowsOptions" in (holder.get("securityContext") or {})
    ]


def _validate_windows(spec: Spec, path: Path) -> ErrorList:
    context, own = spec.get("securityContext") or {}, path.child("securityContext")
    errors = _set(context, _CONTEXT_FIRST, own)
    if "hostUsers" in spec:
        errors.append(field.forbidden(path.child("hostUsers"), _NOT_ON_WINDOWS))
    errors += [field.forbidden(path.child(key), _NOT_ON_WINDOWS) for key in ("hostPID", "hostIPC") if spec.get(key)]
    errors += _set(context, _CONTEXT_MIDDLE, own)
    if "shareProcessNamespace" in spec:
        errors.append(field.forbidden(path.child("shareProcessNamespace"), _NOT_ON_WINDOWS))
    errors += _set(context, _CONTEXT_LAST, own)
    for container, container_path in each_container(spec, path):
        own = container_path.child("securityContext")
        errors += _set(container.get("securityContext") or {}, _CONTAINER_FIELDS, own)
    return errors


def _set(context: Mapping[str, Any], keys: tuple[str, ...], path: Path) -> ErrorList:
    return [field.forbidden(path.child(key), _NOT_ON_WINDOWS) for key in keys if key in context]

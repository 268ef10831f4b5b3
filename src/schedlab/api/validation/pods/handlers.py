"""Checks of probes and of what runs at the start and the end of a container.

Mirrors: pkg/apis/core/validation/validation.go (validateProbe, validateHandler, validateLifecycle) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.validation.common import messages, name, nonnegative, one_of
from schedlab.api.validation.pods.rules import PodRules
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

_ONE_HANDLER: Final = "may not specify more than 1 handler type"
_SCHEMES: Final = ("HTTP", "HTTPS")
_PROBE_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_PROBE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_LIFECYCLE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_PLAIN_SIGNALS: Final = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP "
    "TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
)
_SIGNALS: Final[Mapping[str, tuple[str, ...]]] = {
    "linux": tuple(
        sorted(
            (
                *(f"SIG{signal}" for signal in _PLAIN_SIGNALS.split()),
                *(f"SIGRTMIN+{i}" for i in range(1, 16)),
                *(f"SIGRTMAX-{i}" for i in range(1, 15)),
            )
        )
    ),
    "windows": ("SIGKILL", "SIGTERM"),
}


def validate_probes(container: Mapping[str, Any], grace_period: int | None, path: Path, rules: PodRules) -> ErrorList:
    """Check the three probes of a container that may have them."""
    errors: ErrorList = []
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(key)
        if probe is None:
            continue
        own = path.child(key)
        errors += _validate_probe(probe, grace_period, own, rules)
        seconds = probe.get("terminationGracePeriodSeconds")
        if key == "readinessProbe":
            if seconds is not None:
                detail = "must not be set for readinessProbes"
                errors.append(field.invalid(own.child("terminationGracePeriodSeconds"), seconds, detail))
        elif probe.get("successThreshold", 0) != 1:
            errors.append(field.invalid(own.child("successThreshold"), probe.get("successThreshold", 0), "must be 1"))
    return errors


def _validate_probe(probe: Mapping[str, Any], grace_period: int | None, path: Path, rules: PodRules) -> ErrorList:
    errors = _validate_handler(probe, _PROBE_HANDLERS, grace_period, path, rules)
    errors += nonnegative(probe, path, *_PROBE_NUMBERS)
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        errors.append(field.invalid(path.child("terminationGracePeriodSeconds"), seconds, "must be greater than 0"))
    return errors


def validate_lifecycle(
    lifecycle: Mapping[str, Any], os: str, grace_period: int | None, path: Path, rules: PodRules
) -> ErrorList:
    """Check the hooks of a container; `os` is the system that its pod names, if it does."""
    errors: ErrorList = []
    for key in ("postStart", "preStop"):
        if key in lifecycle:
            errors += _validate_handler(lifecycle[key], _LIFECYCLE_HANDLERS, grace_period, path.child(key), rules)
    signal = lifecycle.get("stopSignal")
    if signal is not None:
        own = path.child("stopSignal")
        if not os:
            errors.append(field.forbidden(own, "may not be set for containers with empty `spec.os.name`"))
        elif os in _SIGNALS:
            errors += one_of(signal, _SIGNALS[os], own)
    return errors


def _validate_handler(
    handler: Mapping[str, Any], kinds: tuple[str, ...], grace_period: int | None, path: Path, rules: PodRules
) -> ErrorList:
    given = [kind for kind in kinds if kind in handler]
    if not given:
        return [field.required(path, "must specify a handler type")]
    first = given[0]
    action, own = handler[first], path.child(first)
    errors = _validate_sleep(action, grace_period, own, rules) if first == "sleep" else _ACTIONS[first](action, own)
    return errors + [field.forbidden(path.child(other), _ONE_HANDLER) for other in given[1:]]


def _validate_exec(action: Mapping[str, Any], path: Path) -> ErrorList:
    return [] if action.get("command") else [field.required(path.child("command"))]


def _validate_http_get(action: Mapping[str, Any], path: Path) -> ErrorList:
    errors = [] if action.get("path") else [field.required(path.child("path"))]
    errors += port_or_name(action.get("port", 0), path.child("port"))
    errors += one_of(action.get("scheme", ""), _SCHEMES, path.child("scheme"))
    for header in action.get("httpHeaders") or ():
        errors += name(header.get("name", ""), names.check_http_header_name, path.child("httpHeaders"))
    return errors


def _validate_port(action: Mapping[str, Any], path: Path) -> ErrorList:
    return port_or_name(action.get("port", 0), path.child("port"))


def port_or_name(port: int | str, path: Path) -> ErrorList:
    """A port by its number, or by the name that a container gives it."""
    found = names.check_port_name(port) if isinstance(port, str) else names.check_port_number(port)
    return messages(path, port, found)


_ACTIONS: Final = {
    "exec": _validate_exec,
    "httpGet": _validate_http_get,
    "tcpSocket": _validate_port,
    "grpc": _validate_port,
}


def _validate_sleep(action: Mapping[str, Any], grace_period: int | None, path: Path, rules: PodRules) -> ErrorList:
    seconds = action.get("seconds", 0)
    if grace_period is None:
        return []
    if rules.features.enabled("PodLifecycleSleepActionAllowZero"):
        if 0 <= seconds <= grace_period:
            return []
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
    else:
        if 0 < seconds <= grace_period:
            return []
        detail = (
            f"must be greater than 0 and less than terminationGracePeriodSeconds ({grace_period}). "
            "Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
        )
    return [field.invalid(path, seconds, detail)]

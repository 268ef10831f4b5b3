"""The command line of a container that runs kube-scheduler.

A container runs it when the program that its command names, or its image if there is no command, is called
kube-scheduler or ends in -kube-scheduler (as courses name images of their own: my-kube-scheduler).

Mirrors: cmd/kube-scheduler/app/options/options.go (v1.36)
Differs: flags without a meaning here are taken and have none.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_PROGRAM: Final = "kube-scheduler"
_SHELLS: Final = ("sh", "bash", "ash")
_VARIABLE: Final = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
#: Flags that take a value, without a meaning here.
_TAKEN: Final = frozenset(
    (
        "allow-metric-labels",
        "allow-metric-labels-manifest",
        "authentication-kubeconfig",
        "authentication-skip-lookup",
        "authentication-token-webhook-cache-ttl",
        "authentication-tolerate-lookup-failure",
        "authorization-always-allow-paths",
        "authorization-kubeconfig",
        "authorization-webhook-cache-authorized-ttl",
        "authorization-webhook-cache-unauthorized-ttl",
        "bind-address",
        "cert-dir",
        "client-ca-file",
        "contention-profiling",
        "disable-http2-serving",
        "disabled-metrics",
        "emulated-version",
        "emulation-forward-compatible",
        "http2-max-streams-per-connection",
        "kube-api-burst",
        "kube-api-content-type",
        "kube-api-qps",
        "leader-elect-resource-lock",
        "log-flush-frequency",
        "log-json-info-buffer-size",
        "log-json-split-stream",
        "log-text-info-buffer-size",
        "log-text-split-stream",
        "logging-format",
        "min-compatibility-version",
        "permit-address-sharing",
        "permit-port-sharing",
        "pod-max-in-unschedulable-pods-duration",
        "profiling",
        "requestheader-allowed-names",
        "requestheader-client-ca-file",
        "requestheader-extra-headers-prefix",
        "requestheader-group-headers",
        "requestheader-uid-headers",
        "requestheader-username-headers",
        "show-hidden-metrics-for-version",
        "tls-cert-file",
        "tls-cipher-suites",
        "tls-min-version",
        "tls-private-key-file",
        "tls-sni-cert-key",
        "vmodule",
    )
)
_SWITCHES: Final = frozenset(
    (
        "authentication-skip-lookup",
        "authentication-tolerate-lookup-failure",
        "contention-profiling",
        "disable-http2-serving",
        "emulation-forward-compatible",
        "leader-elect",
        "log-json-split-stream",
        "log-text-split-stream",
        "permit-address-sharing",
        "permit-port-sharing",
        "profiling",
    )
)
_ELECTION: Final = {
    "leader-elect-lease-duration": "leaseDuration",
    "leader-elect-renew-deadline": "renewDeadline",
    "leader-elect-retry-period": "retryPeriod",
    "leader-elect-resource-name": "resourceName",
    "leader-elect-resource-namespace": "resourceNamespace",
}

_KNOWN: Final = frozenset(
    (*_TAKEN, *_SWITCHES, *_ELECTION, "config", "feature-gates", "kubeconfig", "master", "secure-port", "v")
)


class FlagError(ValueError):
    """A command line that kube-scheduler would refuse, in its words."""


@dataclass(slots=True)
class Command:
    """What the command line says; election holds fields of leaderElection as the configuration file has them."""

    config: str = ""
    kubeconfig: str = ""
    feature_gates: str = ""
    verbosity: int = 0
    secure_port: int = 10259
    election: dict[str, Any] = field(default_factory=dict)


def scheduler_container(spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the container of a pod that runs kube-scheduler, None if there is none."""
    for container in spec.get("containers") or ():
        if arguments(container) is not None:
            found: Mapping[str, Any] = container
            return found
    return None


def arguments(container: Mapping[str, Any]) -> Sequence[str] | None:
    """Return the arguments that a container gives to kube-scheduler, None when it runs something else."""
    command, args = list(container.get("command") or ()), list(container.get("args") or ())
    variables = {one["name"]: one.get("value", "") for one in container.get("env") or () if "name" in one}
    if not command:
        image = str(container.get("image", "")).partition("@")[0]
        name = image.rpartition("/")[2].partition(":")[0]
        return _expanded(args, variables) if _is_scheduler(name) else None
    words = _expanded([*command, *args], variables)
    program = words[0].rpartition("/")[2]
    if program in _SHELLS and len(words) > 2 and words[1] in ("-c", "-ec", "-exc"):
        words = _shell_words(words[2])
        program = words[0].rpartition("/")[2] if words else ""
    return words[1:] if _is_scheduler(program) else None


def _is_scheduler(name: str) -> bool:
    return name == _PROGRAM or name.endswith(f"-{_PROGRAM}")


def _shell_words(script: str) -> list[str]:
    try:
        words = shlex.split(script, comments=True)
    except ValueError:
        return []
    return words[1:] if words and words[0] == "exec" else words


def _expanded(words: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    return [_VARIABLE.sub(lambda match: variables.get(match[1], match[0]), str(word)) for word in words]


def parse(words: Sequence[str]) -> Command:
    """Read the arguments; raises FlagError."""
    command = Command()
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("-") or word == "-":
            raise FlagError(f'"kube-scheduler" does not take any arguments, got [{" ".join((word, *waiting))}]')
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("--"):
            # A short flag may carry its value: -v4, -v=4, -v 4.
            if name[:1] != "v":
                raise FlagError(f"unknown shorthand flag: {name[:1]!r} in {word}")
            name, equals, value = "v", equals or name[1:], value or name[1:]
        if name not in _KNOWN:
            raise FlagError(f"unknown flag: --{name}")
        if not equals:
            if name in _SWITCHES:
                value = "true"
            elif not waiting:
                raise FlagError(f"flag needs an argument: {word}")
            else:
                value = waiting.pop(0)
        _take(command, name, value)
    return command


def _take(command: Command, name: str, value: str) -> None:
    if name == "config":
        command.config = value
    elif name in ("kubeconfig", "master"):
        command.kubeconfig = value if name == "kubeconfig" else command.kubeconfig
    elif name == "feature-gates":
        command.feature_gates = value
    elif name == "v":
        command.verbosity = _number(name, value)
    elif name == "secure-port":
        command.secure_port = _number(name, value)
    elif name == "leader-elect":
        command.election["leaderElect"] = _switch(name, value)
    elif name in _ELECTION:
        command.election[_ELECTION[name]] = value


def _number(name: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        reason = f'strconv.ParseInt: parsing "{value}": invalid syntax'
        raise FlagError(f'invalid argument "{value}" for "--{name}" flag: {reason}') from None


def _switch(name: str, value: str) -> bool:
    if value in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if value in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    reason = f'strconv.ParseBool: parsing "{value}": invalid syntax'
    raise FlagError(f'invalid argument "{value}" for "--{name}" flag: {reason}')

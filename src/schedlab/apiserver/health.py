"""Health: /healthz, /livez, /readyz, each with its checks one by one below it.

Mirrors: staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go and the check names of kube-apiserver (v1.36)
Differs: what upstream checks by calling itself is true here once the process answers; the store and an ongoing stop
are really looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from schedlab.apimachinery import gojson
from schedlab.apiserver.request_info import Query

_STORAGE: Final = ("etcd", "etcd-readiness")
_HOOKS: Final = tuple(
    f"poststarthook/{name}"
    for name in (
        "start-apiserver-admission-initializer",
        "generic-apiserver-start-informers",
        "priority-and-fairness-config-consumer",
        "priority-and-fairness-filter",
        "storage-object-count-tracker-hook",
        "start-apiextensions-informers",
        "start-apiextensions-controllers",
        "crd-informer-synced",
        "start-system-namespaces-controller",
        "peer-endpoint-reconciler-controller",
        "start-cluster-authentication-info-controller",
        "start-kube-apiserver-identity-lease-controller",
        "start-kube-apiserver-identity-lease-garbage-collector",
        "storage-readiness",
        "start-legacy-token-tracking-controller",
        "start-service-ip-repair-controllers",
        "rbac/bootstrap-roles",
        "scheduling/bootstrap-system-priority-classes",
        "priority-and-fairness-config-producer",
        "bootstrap-controller",
        "start-kubernetes-service-cidr-controller",
        "start-kube-aggregator-informers",
        "apiservice-status-local-available-controller",
        "apiservice-status-remote-available-controller",
        "apiservice-registration-controller",
        "apiservice-wait-for-first-sync",
        "apiservice-discovery-controller",
        "kube-apiserver-autoregistration",
    )
)
_LATE_HOOKS: Final = (
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
)
_SERVING: Final = "loopback-serving-certificate"

#: The checks of each endpoint, in the order in which they are listed.
CHECKS: Final = {
    "healthz": ("ping", "log", _SERVING, _STORAGE[0], *_HOOKS, *_LATE_HOOKS),
    "livez": ("ping", "log", _SERVING, _STORAGE[0], *_HOOKS, *_LATE_HOOKS),
    "readyz": ("ping", "log", *_STORAGE, "informer-sync", *_HOOKS, *_LATE_HOOKS, "shutdown"),
}


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """Status code and text."""

    status: int
    text: str


#: Says why a check fails, or "".
Check: TypeAlias = Callable[[], str]


class HealthEndpoints:
    """Endpoints (healthz, livez, readyz), each with its checks by name, in the order in which they are listed."""

    def __init__(self, checks: Mapping[str, Mapping[str, Check]]) -> None:
        self._checks = checks

    def answer(self, path: str, query: Query) -> HealthAnswer | None:
        """Answer a path below one of the endpoints, None when there is no such check."""
        endpoint, _, check = path.strip("/").partition("/")
        checks = self._checks.get(endpoint)
        if checks is None or (check and check not in checks):
            return None
        return _one(checks[check]) if check else _all(endpoint, checks, query)


def _one(check: Check) -> HealthAnswer:
    reason = check()
    return HealthAnswer(500, f"internal server error: {reason}\n") if reason else HealthAnswer(200, "ok")


def _all(endpoint: str, checks: Mapping[str, Check], query: Query) -> HealthAnswer:
    excluded = set(query.get("exclude", ()))
    lines, failed = [], False
    for name, check in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        elif check():
            lines.append(f"[-]{name} failed: reason withheld")
            failed = True
        else:
            lines.append(f"[+]{name} ok")
    unknown = sorted(excluded - set(checks))
    if unknown:
        names = ", ".join(map(gojson.quote, unknown))
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    text = "".join(f"{line}\n" for line in lines)
    if failed:
        return HealthAnswer(500, f"{text}{endpoint} check failed\n")
    return HealthAnswer(200, f"{text}{endpoint} check passed\n" if "verbose" in query else "ok")


class Health(HealthEndpoints):
    """The API server's; `stopping` says whether it is about to end, `storage_works` whether writes can be kept."""

    def __init__(self, stopping: Callable[[], bool], storage_works: Callable[[], bool] = lambda: True) -> None:
        def storage() -> str:
            return "" if storage_works() else "the last write could not be kept"

        real: dict[str, Check] = dict.fromkeys(_STORAGE, storage)
        real["shutdown"] = lambda: "process is shutting down" if stopping() else ""
        super().__init__(
            {endpoint: {name: real.get(name, lambda: "") for name in names} for endpoint, names in CHECKS.items()}
        )

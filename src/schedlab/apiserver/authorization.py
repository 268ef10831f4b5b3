"""May this user do that: the verdict, and the words of a refusal.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/filters/authorization.go,
endpoints/handlers/responsewriters/errors.go, pkg/registry/rbac bootstrap policy for discovery (v1.36)
Differs: nothing in the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from schedlab.apimachinery import gojson
from schedlab.apimachinery.errors import Forbidden, new_forbidden
from schedlab.apimachinery.gvk import GroupResource
from schedlab.apiserver.authentication import ALL_AUTHENTICATED, MASTERS, UserInfo
from schedlab.apiserver.request_info import RequestInfo

_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})

#: What system:public-info-viewer and system:discovery let everybody and every authenticated user read.
PUBLIC_PATHS: Final = frozenset(("/healthz", "/livez", "/readyz", "/version", "/version/"))
DISCOVERY_PATHS: Final = frozenset(("/api", "/apis", "/openapi", *PUBLIC_PATHS))
DISCOVERY_PREFIXES: Final = ("/api/", "/apis/", "/openapi/")
#: What system:basic-user lets every authenticated user create.
SELF_REVIEWS: Final = frozenset(
    (
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
    )
)

#: A ResourceRule or NonResourceRule of authorization.k8s.io as the wire has it.
Rule: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request is allowed; the reason is for the log when it is, for the client when it is not."""

    allowed: bool
    reason: str = ""


class Authorizer(Protocol):
    """Decides about requests."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Decide about one request."""

    def rules(self, user: UserInfo, namespace: str) -> tuple[Sequence[Rule], Sequence[Rule]]:
        """Return what a user may do to resources in a namespace, and to other paths."""


class BasicAuthorizer:
    """Members of system:masters may do everything, everybody else may look at what says nothing of the cluster."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Decide about one request."""
        if MASTERS in user.groups:
            return Verdict(True)
        known = ALL_AUTHENTICATED in user.groups
        if info.is_resource:
            own = info.verb == "create" and (info.group, info.resource) in SELF_REVIEWS
            return Verdict(known and own and not info.subresource)
        if info.verb != "get":
            return Verdict(False)
        public = info.path in PUBLIC_PATHS
        return Verdict(public or (known and _is_discovery(info.path)))

    def rules(self, user: UserInfo, namespace: str) -> tuple[Sequence[Rule], Sequence[Rule]]:  # noqa: ARG002 - protocol
        """Return what a user may do to resources in a namespace, and to other paths."""
        resources: list[Rule] = []
        paths: list[Rule] = []
        if MASTERS in user.groups:
            resources.append({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})
            paths.append({"verbs": ["*"], "nonResourceURLs": ["*"]})
        if ALL_AUTHENTICATED in user.groups:
            for group in sorted({group for group, _ in SELF_REVIEWS}):
                names = sorted(name for owner, name in SELF_REVIEWS if owner == group)
                resources.append({"verbs": ["create"], "apiGroups": [group], "resources": names})
            below = [f"{prefix}*" for prefix in DISCOVERY_PREFIXES]
            paths.append({"verbs": ["get"], "nonResourceURLs": sorted((*DISCOVERY_PATHS, *below))})
        paths.append({"verbs": ["get"], "nonResourceURLs": sorted(PUBLIC_PATHS)})
        return resources, paths


def _is_discovery(path: str) -> bool:
    return path in DISCOVERY_PATHS or path.startswith(DISCOVERY_PREFIXES)


def forbidden(user: UserInfo, info: RequestInfo, reason: str = "") -> Forbidden:
    """The answer to a request that is not allowed."""
    message = _message(user.name, info).translate(_HTML)
    if reason:
        message = f"{message}: {reason}"
    return new_forbidden(GroupResource(info.group, info.resource), info.name, message)


def _message(user: str, info: RequestInfo) -> str:
    if not info.is_resource:
        return f"User {gojson.quote(user)} cannot {info.verb} path {gojson.quote(info.path)}"
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    where = f"in the namespace {gojson.quote(info.namespace)}" if info.namespace else "at the cluster scope"
    return (
        f"User {gojson.quote(user)} cannot {info.verb} resource {gojson.quote(resource)} "
        f"in API group {gojson.quote(info.group)} {where}"
    )

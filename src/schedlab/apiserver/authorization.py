"""May this user do that: the verdict, and the words of a refusal.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/filters/authorization.go,
endpoints/handlers/responsewriters/errors.go, authorization/authorizerfactory/builtin.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from schedlab.apimachinery import gojson
from schedlab.apimachinery.errors import Forbidden, new_forbidden
from schedlab.apimachinery.gvk import GroupResource
from schedlab.apiserver.authentication import MASTERS, UserInfo
from schedlab.apiserver.request_info import RequestInfo

_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})

#: A ResourceRule or NonResourceRule of authorization.k8s.io as the wire has it.
Rule: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request is allowed; the reason is for the log when it is, for the client when it is not."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a user may do to resources in a namespace, and to other paths; `error` says what could not be found out."""

    resources: Sequence[Rule] = ()
    paths: Sequence[Rule] = ()
    error: str = ""


class Authorizer(Protocol):
    """Decides about requests."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Decide about one request."""

    def rules(self, user: UserInfo, namespace: str) -> Rules:
        """Return what a user may do in a namespace."""


class MastersFirst:
    """Members of system:masters may do everything; another authorizer decides about everybody else."""

    def __init__(self, others: Authorizer) -> None:
        self._others = others

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Decide about one request."""
        return Verdict(True) if MASTERS in user.groups else self._others.authorize(user, info)

    def rules(self, user: UserInfo, namespace: str) -> Rules:
        """Return what roles say; that of the masters is one of them."""
        return self._others.rules(user, namespace)


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

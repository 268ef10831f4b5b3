"""Who may ask a scheduler of itself: decided by the API server, in process or by reviews.

Mirrors: the delegating options of staging/src/k8s.io/apiserver/pkg/server/options/{authentication,authorization}.go
(v1.36)
Differs: answers of reviews are not kept; the address of a request is not part of a review.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from schedlab.apimachinery.errors import new_internal_error
from schedlab.apiserver.app import APIServer
from schedlab.apiserver.authentication import ANONYMOUS_USER, UserInfo, unauthorized
from schedlab.apiserver.authorization import forbidden
from schedlab.apiserver.request_info import RequestInfo
from schedlab.client.protocol import Client, Outcome, Write


class OwnAccess:
    """The API server is in this process."""

    def __init__(self, server: APIServer) -> None:
        self._server = server

    async def check(self, authorization: bytes | None, peer: Mapping[str, Any] | None, verb: str, path: str) -> None:
        """See Access."""
        self._server.check(authorization, peer, verb, path)


class ReviewedAccess:
    """The API server is somewhere else; it is asked for a TokenReview and a SubjectAccessReview."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def check(self, authorization: bytes | None, _peer: Mapping[str, Any] | None, verb: str, path: str) -> None:
        """See Access."""
        user = await self._user(authorization)
        spec: dict[str, Any] = {"user": user.name, "groups": list(user.groups), "uid": user.uid}
        spec |= {"extra": {key: list(values) for key, values in user.extra.items()}}
        spec |= {"nonResourceAttributes": {"path": path, "verb": verb}}
        status = await self._review("authorization.k8s.io/v1", "SubjectAccessReview", spec)
        if not status.get("allowed"):
            raise forbidden(user, RequestInfo(path=path, verb=verb), str(status.get("reason", "")))

    async def _user(self, authorization: bytes | None) -> UserInfo:
        scheme, _, token = (authorization or b"").strip().partition(b" ")
        if scheme.lower() != b"bearer" or not token.strip():
            return ANONYMOUS_USER
        spec = {"token": token.strip().decode("latin-1")}
        status = await self._review("authentication.k8s.io/v1", "TokenReview", spec)
        if not status.get("authenticated"):
            raise unauthorized()
        user = status.get("user", {})
        extra = {key: tuple(values) for key, values in user.get("extra", {}).items()}
        return UserInfo(user.get("username", ""), user.get("uid", ""), tuple(user.get("groups", ())), extra)

    async def _review(self, api_version: str, kind: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        answered: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        resource = f"{kind.lower()}s.{api_version.partition('/')[0]}"
        body = {"apiVersion": api_version, "kind": kind, "metadata": {}, "spec": spec}
        self._client.submit(Write("create", resource, "", "", body), answered.set_result)
        outcome = await answered
        if outcome.error is not None or outcome.object is None:
            raise new_internal_error(f"{kind} failed: {outcome.error}")
        found: Mapping[str, Any] = outcome.object.raw.get("status") or {}
        return found

"""Questions that are answered and forgotten: who am I, may I, may they, whose token is this.

Mirrors: pkg/registry/authentication/{selfsubjectreview,tokenreview}, pkg/registry/authorization (v1.36)
Differs: managedFields are not added to the answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import orjson

from schedlab.api.kinds.strategy import Strategy, UpdateStrategy
from schedlab.apimachinery import field, time
from schedlab.apimachinery.errors import new_bad_request, new_invalid
from schedlab.apimachinery.field import ErrorList
from schedlab.apimachinery.gvk import GroupKind
from schedlab.apimachinery.resources import known_resources
from schedlab.apimachinery.schema import schema_for
from schedlab.apiserver.answers import Answer, object_answer
from schedlab.apiserver.authentication import ISSUER, Authenticator, UserInfo
from schedlab.apiserver.authorization import Authorizer
from schedlab.apiserver.negotiation import body_media_type
from schedlab.apiserver.options import read_write_options
from schedlab.apiserver.request import Request
from schedlab.apiserver.request_info import RequestInfo
from schedlab.apiserver.routing import Route
from schedlab.apiserver.writing import decode_checked, schema_of
from schedlab.kernel.clock import Clock
from schedlab.registry.resource import Resource

_ACCESS: Final = "authorization.k8s.io"
_IDENTITY: Final = "authentication.k8s.io"
REVIEWS: Final = (
    f"selfsubjectreviews.{_IDENTITY}",
    f"tokenreviews.{_IDENTITY}",
    f"localsubjectaccessreviews.{_ACCESS}",
    f"selfsubjectaccessreviews.{_ACCESS}",
    f"selfsubjectrulesreviews.{_ACCESS}",
    f"subjectaccessreviews.{_ACCESS}",
)

#: Makes the answer of a review from the user who asks, the namespace of the request and what was sent.
Answerer = Callable[[UserInfo, str, dict[str, Any]], dict[str, Any]]


def unstored(name: str) -> Resource:
    """Return a resource of which no object is ever kept."""
    entry = known_resources().named(name)
    strategy = Strategy(name, lambda _obj, _context: [], UpdateStrategy(lambda _new, _old, _context: []))
    return Resource(entry, strategy, schema_for(entry.group, entry.version, entry.kind))


class ReviewHandlers:
    """Answers reviews."""

    def __init__(self, authenticator: Authenticator, authorizer: Authorizer, clock: Clock) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._clock = clock
        self._answerers: Mapping[str, Answerer] = {
            "SelfSubjectReview": self._self_subject,
            "TokenReview": self._token,
            "LocalSubjectAccessReview": self._local_access,
            "SelfSubjectAccessReview": self._self_access,
            "SelfSubjectRulesReview": self._self_rules,
            "SubjectAccessReview": self._access,
        }

    def find(self, route: Route) -> Callable[[Route, Request], Awaitable[Answer]] | None:
        """Return the handler of a review, None for everything else."""
        return self._create if route.sub is None and route.type.kind in self._answerers else None

    async def _create(self, route: Route, request: Request) -> Answer:
        """Answer a review."""
        form = request.output_form()
        media_type = body_media_type(request.content_type)
        text = await request.body()
        options = read_write_options(request, "CreateOptions")
        decoded = decode_checked(text, media_type, route.type.gvk, schema_of(route), options)
        answer = self._answerers[route.type.kind]
        review = answer(request.user, request.info.namespace, decoded.object)
        head = {"kind": route.type.kind, "apiVersion": route.type.api_version}
        return object_answer(orjson.dumps({**head, **review}), form, 201)

    # --- who ---------------------------------------------------------------------------------------------------------

    def _self_subject(self, user: UserInfo, _namespace: str, _review: dict[str, Any]) -> dict[str, Any]:
        metadata = {"creationTimestamp": time.format_time(self._clock.now_ns())}
        return {"metadata": metadata, "status": {"userInfo": user.to_wire()}}

    def _token(self, _user: UserInfo, _namespace: str, review: dict[str, Any]) -> dict[str, Any]:
        token = review["spec"].get("token", "")
        if not token:
            raise new_bad_request("token is required for TokenReview in authentication")
        found = self._authenticator.token_owner(token.encode(), review["spec"].get("audiences") or (ISSUER,))
        if found is None:
            return {**review, "status": {"user": {}, "error": "invalid bearer token"}}
        owner, audiences = found
        status = {"authenticated": True, "user": owner.to_wire(), "audiences": list(audiences)}
        return {**review, "status": status}

    # --- may they ----------------------------------------------------------------------------------------------------

    def _self_access(self, user: UserInfo, _namespace: str, review: dict[str, Any]) -> dict[str, Any]:
        spec = review["spec"]
        _refuse("SelfSubjectAccessReview", _attribute_errors(spec))
        return {**review, "status": self._decide(user, spec)}

    def _access(self, _user: UserInfo, _namespace: str, review: dict[str, Any]) -> dict[str, Any]:
        spec = review["spec"]
        _refuse("SubjectAccessReview", _attribute_errors(spec) + _subject_errors(spec))
        return {**review, "status": self._decide(_subject(spec), spec)}

    def _local_access(self, _user: UserInfo, namespace: str, review: dict[str, Any]) -> dict[str, Any]:
        spec = review["spec"]
        errors = _attribute_errors(spec) + _subject_errors(spec)
        attributes = spec.get("resourceAttributes") or {}
        if spec.get("nonResourceAttributes"):
            errors.append(field.forbidden("spec.nonResourceAttributes", "disallowed on this kind of request"))
        if attributes.get("namespace", "") != namespace:
            path = "spec.resourceAttributes.namespace"
            errors.append(field.invalid(path, attributes.get("namespace", ""), "must match metadata.namespace"))
        _refuse("LocalSubjectAccessReview", errors)
        return {**review, "status": self._decide(_subject(spec), spec)}

    def _decide(self, user: UserInfo, spec: Mapping[str, Any]) -> dict[str, Any]:
        verdict = self._authorizer.authorize(user, _wanted(spec))
        status: dict[str, Any] = {"allowed": verdict.allowed}
        if verdict.reason:
            status["reason"] = verdict.reason
        return status

    def _self_rules(self, user: UserInfo, _namespace: str, review: dict[str, Any]) -> dict[str, Any]:
        namespace = review["spec"].get("namespace", "")
        if not namespace:
            raise new_bad_request("no namespace on request")
        rules = self._authorizer.rules(user, namespace)
        status = {"resourceRules": list(rules.resources), "nonResourceRules": list(rules.paths), "incomplete": False}
        if rules.error:
            status["evaluationError"] = rules.error
        return {"metadata": {}, "spec": {}, "status": status}


def _wanted(spec: Mapping[str, Any]) -> RequestInfo:
    """Return the request that a review asks about."""
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return RequestInfo(path.get("path", ""), path.get("verb", ""))
    wanted = spec["resourceAttributes"]
    return RequestInfo(
        path="",
        verb=wanted.get("verb", ""),
        is_resource=True,
        group=wanted.get("group", ""),
        version=wanted.get("version", ""),
        namespace=wanted.get("namespace", ""),
        resource=wanted.get("resource", ""),
        subresource=wanted.get("subresource", ""),
        name=wanted.get("name", ""),
    )


def _subject(spec: Mapping[str, Any]) -> UserInfo:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return UserInfo(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _attribute_errors(spec: Mapping[str, Any]) -> ErrorList:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    if resource is not None and path is not None:
        return [
            field.invalid(
                "spec.nonResourceAttributes", path, "cannot be specified in combination with resourceAttributes"
            )
        ]
    if resource is None and path is None:
        return [field.invalid("spec.resourceAttributes", None, detail)]
    return []


def _subject_errors(spec: Mapping[str, Any]) -> ErrorList:
    if spec.get("user") or spec.get("groups"):
        return []
    return [field.invalid("spec.user", "", "at least one of user or group must be specified")]


def _refuse(kind: str, errors: ErrorList) -> None:
    if errors:
        raise new_invalid(GroupKind(_ACCESS, kind), "", errors)

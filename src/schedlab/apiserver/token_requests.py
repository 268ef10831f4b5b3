"""Handler of serviceaccounts/token: a TokenRequest is answered with a token and is not stored.

Mirrors: pkg/registry/core/serviceaccount/storage/token.go, pkg/apis/authentication/validation (v1.36)
Differs: there is no longest lifetime but the one of the API.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import orjson

from schedlab.api.object import StoredObject
from schedlab.apimachinery import field, time
from schedlab.apimachinery.apply.manager import FieldManager
from schedlab.apimachinery.errors import NotFound, new_bad_request, new_conflict, new_invalid
from schedlab.apimachinery.field import FieldError
from schedlab.apimachinery.gvk import GroupResource, GroupVersion, GroupVersionKind, parse_group_version
from schedlab.apiserver.answers import Answer, object_answer
from schedlab.apiserver.authentication import ISSUER
from schedlab.apiserver.negotiation import body_media_type
from schedlab.apiserver.options import read_write_options
from schedlab.apiserver.request import Request
from schedlab.apiserver.routing import Route
from schedlab.apiserver.service_accounts import Binding, ServiceAccountTokens
from schedlab.apiserver.writing import decode_checked, schema_of
from schedlab.kernel.clock import Clock
from schedlab.registry.registry import Registry

_ACCOUNTS: Final = "serviceaccounts"
_LIFETIME_S: Final = 3600
_LIFETIME_S_MIN: Final = 600
_LIFETIME_S_MAX: Final = 1 << 32
#: What kubelets ask for on behalf of pods: their tokens live longer than that, and late use is only warned of.
_KUBELET_LIFETIME_S: Final = 3607
_EXTENDED_LIFETIME_S: Final = 365 * 24 * 3600


class TokenHandlers:
    """Answers requests for tokens."""

    def __init__(self, registry: Registry, tokens: ServiceAccountTokens, clock: Clock) -> None:
        self._registry = registry
        self._tokens = tokens
        self._clock = clock

    def find(self, route: Route) -> Callable[[Route, Request], Awaitable[Answer]] | None:
        """Return the handler, None for everything that asks for no token."""
        asked = route.sub is not None and route.sub.name == "token" and route.type.full_name == _ACCOUNTS
        return self._create if asked else None

    async def _create(self, route: Route, request: Request) -> Answer:
        assert route.sub is not None, "tokens are below accounts"
        form = request.output_form()
        media_type = body_media_type(request.content_type)
        text = await request.body()
        options = read_write_options(request, "CreateOptions")
        gvk, schema = route.sub.gvk, schema_of(route)
        sent = decode_checked(text, media_type, gvk, schema, options).object
        name, namespace = request.info.name, request.info.namespace
        _check_place(sent, gvk, name, namespace)
        account = self._registry.get(_ACCOUNTS, name, namespace)
        given = {key: value for key, value in sent["spec"].items() if value is not None}
        spec = {"expirationSeconds": _LIFETIME_S, **given}
        if error := _lifetime_error(spec["expirationSeconds"]):
            raise new_invalid(gvk.group_kind, "", [error])
        now = time.format_time(self._clock.now_ns())
        managed = FieldManager(gvk, schema, "token").update(
            None, {"kind": gvk.kind, "apiVersion": gvk.api_version, **sent, "spec": spec}, options.manager, now
        )
        binding = self._binding(spec.get("boundObjectRef"), name, namespace)
        answer: dict[str, Any] = {
            "kind": gvk.kind,
            "apiVersion": gvk.api_version,
            "metadata": {
                **managed["metadata"],
                "name": account.name,
                "namespace": account.namespace,
                "uid": account.uid,
                "creationTimestamp": now,
            },
            "spec": {"boundObjectRef": None, **spec, "audiences": spec.get("audiences") or [ISSUER]},
        }
        answer["status"] = self._issue(account, answer["spec"], binding)
        return object_answer(orjson.dumps(answer), form, 201)

    def _issue(self, account: StoredObject, spec: Mapping[str, Any], binding: Binding) -> dict[str, Any]:
        lifetime_s, warn_after_s = spec["expirationSeconds"], None
        if binding.pod is not None and lifetime_s == _KUBELET_LIFETIME_S and set(spec["audiences"]) <= {ISSUER}:
            lifetime_s, warn_after_s = _EXTENDED_LIFETIME_S, lifetime_s
        token = self._tokens.issue(account, spec["audiences"], lifetime_s, binding, warn_after_s)
        expires_ns = self._clock.now_ns() + spec["expirationSeconds"] * time.SECOND
        return {"token": token, "expirationTimestamp": time.format_time(expires_ns)}

    def _binding(self, reference: Mapping[str, str] | None, account: str, namespace: str) -> Binding:
        """Look up what a token shall be bound to."""
        if reference is None:
            return Binding()
        gvk, name = _kind_of(reference), reference.get("name", "")
        if gvk.group or gvk.kind not in {"Pod", "Node", "Secret"}:
            raise new_bad_request(f"cannot bind token to object of type {gvk}")
        if gvk.kind == "Pod":
            bound = self._registry.get("pods", name, namespace)
            binding = self._to_pod(bound, account)
        elif gvk.kind == "Node":
            bound = self._registry.get("nodes", name)
            binding = Binding(node=bound)
        else:
            bound = self._registry.get("secrets", name, namespace)
            binding = Binding(secret=bound)
        wanted = reference.get("uid", "")
        if wanted and wanted != bound.uid:
            raise new_conflict(
                GroupResource(gvk.group, gvk.kind),
                name,
                f"the UID in the bound object reference ({wanted}) does not match the UID in record. "
                "The object might have been deleted and then recreated",
            )
        return binding

    def _to_pod(self, pod: StoredObject, account: str) -> Binding:
        spec = pod.thaw()["spec"]
        if spec.get("serviceAccountName", "") != account:
            raise new_bad_request(
                f'cannot bind token for serviceaccount "{account}" to pod running with different serviceaccount name.'
            )
        node_name = spec.get("nodeName", "")
        try:
            node = self._registry.get("nodes", node_name) if node_name else None
        except NotFound:
            node = None
        return Binding(pod=pod, node=node, node_name=node_name)


def _check_place(sent: Mapping[str, Any], gvk: GroupVersionKind, name: str, namespace: str) -> None:
    """Refuse a request that names another account than its path."""
    metadata = sent["metadata"]
    for member, expected in (("name", name), ("namespace", namespace)):
        given = metadata.get(member, "")
        if given and given != expected:
            detail = f"must match the service account {member} if specified"
            raise new_invalid(gvk.group_kind, name, [field.invalid(f"metadata.{member}", given, detail)])


def _kind_of(reference: Mapping[str, str]) -> GroupVersionKind:
    try:
        version = parse_group_version(reference.get("apiVersion", ""))
    except ValueError:
        version = GroupVersion("", "")
    return version.with_kind(reference.get("kind", ""))


def _lifetime_error(seconds: int) -> FieldError | None:
    path = "spec.expirationSeconds"
    if seconds < _LIFETIME_S_MIN:
        return field.invalid(path, seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LIFETIME_S_MAX:
        return field.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")
    return None

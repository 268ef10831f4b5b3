"""Tokens of service accounts: asked for, used, and refused when what they name is gone."""

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from schedlab.apiserver.app import APIServer
from schedlab.apiserver.authentication import ISSUER, UserInfo
from schedlab.apiserver.certificates import ensure_signing_key
from schedlab.apiserver.service_accounts import Binding, ServiceAccountTokens
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.errors import SchedlabError
from schedlab.registry.registry import Registry
from tests.support.api_server import TOKEN, make_app
from tests.support.asgi import Call, Response, answer

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
DAY_S = 24 * 3600


class Server:
    """A server with the account `robot` and a pod that runs as it."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.app: APIServer
        self.registry: Registry
        self.app, self.registry = make_app(clock=self.clock)
        self.create("serviceaccounts", {"metadata": {"name": "robot"}})
        container = {"name": "c", "image": "registry.example.com/app:1"}
        self.create("pods", {"metadata": {"name": "p"}, "spec": {"containers": [container], **SPEC}})
        self.create("pods", {"metadata": {"name": "other"}, "spec": {"containers": [container]}})

    def create(self, resource: str, obj: Mapping[str, Any], namespace: str = "default") -> None:
        self.registry.create(resource, self.registry.decode(resource, dict(obj)), namespace)

    def call(self, method: str, path: str, body: Any = None, *, token: str = TOKEN) -> Response:
        content = b"" if body is None else orjson.dumps(body)
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json", "user-agent": "me/1"}
        return asyncio.run(answer(self.app, Call(method, path, "", headers, content)))

    def ask(self, spec: Mapping[str, Any] | None = None, account: str = "robot", **metadata: str) -> Response:
        body: dict[str, Any] = {"metadata": metadata} if metadata else {}
        return self.call("POST", f"{ACCOUNTS}/{account}/token", body | ({} if spec is None else {"spec": spec}))

    def token(self, **spec: Any) -> str:
        found: str = self.ask(spec).json["status"]["token"]
        return found

    def review(self, token: str, **spec: Any) -> dict[str, Any]:
        body = {"spec": {"token": token, **spec}}
        found: dict[str, Any] = self.call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body).json["status"]
        return found


LIFETIME = 'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds'
OTHER_UID = (
    'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (1) does not match the UID in '
    "record. The object might have been deleted and then recreated"
)
SPEC = {"serviceAccountName": "robot", "nodeName": "n"}


@pytest.fixture
def server() -> Server:
    return Server()


def claims_of(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    found: dict[str, Any] = orjson.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def test_request_is_answered_with_its_defaults_and_a_token(server: Server) -> None:
    account = server.registry.get("serviceaccounts", "robot", "default")
    asked = server.ask()
    body = asked.json

    assert asked.status == 201
    assert body["kind"] == "TokenRequest"
    assert body["metadata"]["uid"] == account.uid
    assert [entry["fieldsV1"] for entry in body["metadata"]["managedFields"]] == [
        {"f:spec": {"f:expirationSeconds": {}}}
    ]
    assert body["spec"] == {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None}
    claims = claims_of(body["status"]["token"])
    assert claims["sub"] == "system:serviceaccount:default:robot"
    assert claims["exp"] - claims["iat"] == 3600
    assert claims["kubernetes.io"] == {
        "namespace": "default",
        "serviceaccount": {"name": "robot", "uid": account.uid},
    }


def test_token_tells_who_asks(server: Server) -> None:
    """Whoever sends it is the account, in the groups of all accounts and of those of its namespace."""
    token = server.token(boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    who = server.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, token=token)
    pod = server.registry.get("pods", "p", "default")

    user = who.json["status"]["userInfo"]
    assert user["username"] == "system:serviceaccount:default:robot"
    assert user["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    prefix = "authentication.kubernetes.io"
    assert user["extra"][f"{prefix}/pod-uid"] == [pod.uid]
    assert user["extra"][f"{prefix}/node-name"] == ["n"]
    assert server.call("GET", "/api/v1/pods", token=token).status == 403


def test_token_expires(server: Server) -> None:
    token = server.token(expirationSeconds=600)
    assert server.review(token)["authenticated"]
    server.clock.advance_to(server.clock.now_ns() + 600 * SECOND_NS)

    assert server.review(token)["error"] == "invalid bearer token"
    assert server.call("GET", "/api", token=token).status == 401


@pytest.mark.parametrize(("resource", "name"), [("serviceaccounts", "robot"), ("pods", "p")])
def test_token_ends_with_what_it_names(server: Server, resource: str, name: str) -> None:
    token = server.token(boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    assert server.review(token)["authenticated"]
    server.call("DELETE", f"/api/v1/namespaces/default/{resource}/{name}", {"gracePeriodSeconds": 0})

    assert "authenticated" not in server.review(token)


def test_another_account_of_the_same_name_has_other_tokens(server: Server) -> None:
    token = server.token()
    server.call("DELETE", f"{ACCOUNTS}/robot")
    server.create("serviceaccounts", {"metadata": {"name": "robot"}})

    assert "authenticated" not in server.review(token)


def test_audiences_keep_a_token_from_other_readers(server: Server) -> None:
    token = server.token(audiences=["vault", ISSUER])

    assert server.review(token, audiences=["vault", "other"])["audiences"] == ["vault"]
    assert "authenticated" not in server.review(token, audiences=["other"])
    assert server.call("GET", "/api", token=server.token(audiences=["vault"])).status == 401
    assert server.review(TOKEN)["audiences"] == [ISSUER]
    assert "authenticated" not in server.review(TOKEN, audiences=["vault"])


def test_tokens_of_kubelets_live_longer_than_they_say(server: Server) -> None:
    answered = server.ask(
        {"expirationSeconds": 3607, "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}
    )
    claims = claims_of(answered.json["status"]["token"])

    assert claims["exp"] - claims["iat"] == 365 * DAY_S
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        (
            {"expirationSeconds": 5},
            422,
            f"{LIFETIME}: Invalid value: 5: may not specify a duration less than 10 minutes",
        ),
        (
            {"expirationSeconds": 2**32 + 1},
            422,
            f"{LIFETIME}: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds",
        ),
        ({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "nope"}}, 404, 'pods "nope" not found'),
        ({"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": "nope"}}, 404, 'nodes "nope" not found'),
        (
            {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "nope"}},
            404,
            'secrets "nope" not found',
        ),
        (
            {"boundObjectRef": {"kind": "Bogus", "apiVersion": "v1", "name": "p"}},
            400,
            "cannot bind token to object of type /v1, Kind=Bogus",
        ),
        (
            {"boundObjectRef": {"kind": "Bogus", "apiVersion": "a/b/c", "name": "p"}},
            400,
            "cannot bind token to object of type /, Kind=Bogus",
        ),
        (
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "other"}},
            400,
            'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.',
        ),
        (
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "1"}},
            409,
            OTHER_UID,
        ),
    ],
)
def test_bad_requests_are_refused(server: Server, spec: Mapping[str, Any], code: int, message: str) -> None:
    answered = server.ask(spec)

    assert (answered.status, answered.json["message"]) == (code, message)


def test_request_belongs_to_its_path(server: Server) -> None:
    assert server.ask(account="nope").json["message"] == 'serviceaccounts "nope" not found'
    assert server.ask(name="x").json["message"] == (
        'TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "x": '
        "must match the service account name if specified"
    )


@pytest.mark.parametrize("change", ["", "x", "a.b", "a.b.c", "....", "é.é.é"])
def test_forgeries_are_refused(server: Server, change: str) -> None:
    assert "authenticated" not in server.review(change or server.token()[:-4] + "AAAA")


def test_tokens_of_other_keys_are_refused(server: Server) -> None:
    other = ServiceAccountTokens(server.registry, server.clock)
    account = server.registry.get("serviceaccounts", "robot", "default")
    token = other.issue(account, [ISSUER], 3600, Binding())

    assert other.authenticate(token) is not None
    assert "authenticated" not in server.review(token)


def test_others_can_find_the_keys(server: Server) -> None:
    document = server.call("GET", "/.well-known/openid-configuration").json
    keys = server.call("GET", "/openid/v1/jwks")

    assert document["issuer"] == ISSUER
    assert document["jwks_uri"].endswith("/openid/v1/jwks")
    assert keys.header("content-type") == "application/jwk-set+json"
    head = orjson.loads(base64.urlsafe_b64decode(server.token().split(".")[0] + "=="))
    assert [key["kid"] for key in keys.json["keys"]] == [head["kid"]]


def test_key_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "pki"
    made = ensure_signing_key(folder)

    assert ensure_signing_key(folder).public_key() == made.public_key()
    assert (folder / "sa.key").stat().st_mode & 0o777 == 0o600
    (folder / "sa.key").write_text("no key")
    with pytest.raises(SchedlabError, match="cannot be read or made"):
        ensure_signing_key(folder)


def test_user_of_a_token_is_a_user(server: Server) -> None:
    tokens = ServiceAccountTokens(server.registry, server.clock)
    account = server.registry.get("serviceaccounts", "robot", "default")
    found = tokens.authenticate(tokens.issue(account, [ISSUER], 600, Binding()))

    assert found is not None
    assert isinstance(found[0], UserInfo)
    assert found[0].uid == account.uid

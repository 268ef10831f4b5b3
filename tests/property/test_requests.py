"""Whatever is sent to whatever path, the answer is no failure of the server's own."""

import asyncio
import logging
from collections.abc import Iterator
from functools import cache
from urllib.parse import quote

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedlab.apiserver.app import APIServer
from schedlab.registry import Registry
from tests.support.api_server import TOKEN, make_app
from tests.support.asgi import Call, Response, answer

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
#: What a server says of its own failures.
FAILURE = b"its log says why"
DEPTH = 100_000
DEEP = {
    "lists": b"[" * DEPTH,
    "closed lists": b"[" * DEPTH + b"]" * DEPTH,
    "objects": b'{"metadata":' * DEPTH,
    "closed objects": b'{"metadata":' * DEPTH + b"1" + b"}" * DEPTH,
    "spec": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":'
    + b'{"spec":' * DEPTH
    + b"{}"
    + b"}" * DEPTH
    + b"}",
    "YAML": b"a: " + b"[" * DEPTH,
    "YAML blocks": b"- " * DEPTH,
    "YAML references": b"a: &a [x]\n" + b"".join(b"%c: &%c [*%c,*%c]\n" % (i + 1, i + 1, i, i) for i in range(97, 121)),
    "protobuf": b"k8s\x00" + b"\x0a\x7f" * DEPTH,
}
COMMON = ("/api/v1/namespaces/default/pods", "/api/v1/nodes", "/apis/apps/v1/namespaces/default/deployments")


@cache
def served() -> tuple[APIServer, Registry]:
    app, registry = make_app()
    definition = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    name = "customresourcedefinitions.apiextensions.k8s.io"
    registry.create(name, registry.decode(name, definition))
    return app, registry


def send(
    method: str, path: str, body: bytes = b"", content_type: str = JSON, query: str = "", accept: str = ""
) -> Response:
    headers = {"host": "x", "authorization": f"Bearer {TOKEN}", "content-type": content_type}
    if accept:
        headers["accept"] = accept
    return asyncio.run(answer(served()[0], Call(method, path, query, headers, body)))


@pytest.fixture(autouse=True)
def no_failures(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A failure leaves a traceback in the log."""
    with caplog.at_level(logging.ERROR, logger="schedlab.apiserver"):
        yield
    assert [record.getMessage() for record in caplog.records] == []


@cache
def paths() -> tuple[str, ...]:
    """One path of each resource and subresource, and of everything else that is served."""
    found = [*COMMON, "/", "/api", "/apis", "/version", "/metrics", "/openapi/v2", "/openapi/v3/api/v1", "/livez/ping"]
    for entry in served()[1].resources:
        parent = f"{entry.path}/namespaces/default" if entry.namespaced else entry.path
        found += [f"{parent}/{entry.resource}", f"{parent}/{entry.resource}/x"]
        found += [f"{parent}/{entry.resource}/x/{sub.name}" for sub in entry.subresources]
    return tuple(found)


TYPES = st.sampled_from((JSON, YAML, PROTOBUF, *PATCHES, "text/plain", ""))
METHODS = st.sampled_from(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
TEXTS = st.text(max_size=20)
FIELDS = st.sampled_from(
    [
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "status",
        "name",
        "namespace",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
        "generateName",
        "resourceVersion",
        "uid",
        "selector",
        "template",
        "containers",
        "rules",
        "subjects",
        "roleRef",
        "op",
        "path",
        "value",
        "replicas",
        "data",
        "target",
        "limits",
        "requests",
        "resources",
        "ports",
        "versions",
        "names",
        "schema",
        "openAPIV3Schema",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS | TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(METHODS, st.sampled_from(range(400)), TYPES, st.binary(max_size=200), st.text("=&%abc1-_:,;!()", max_size=30))
def test_bytes_are_answered(method: str, number: int, content_type: str, body: bytes, query: str) -> None:
    known = paths()
    found = send(method, known[number % len(known)], body, content_type, query)

    assert FAILURE not in found.body


@given(st.sampled_from(("POST", "PUT", "PATCH")), st.sampled_from(range(400)), TYPES, VALUES)
def test_values_are_answered(method: str, number: int, content_type: str, value: object) -> None:
    known = paths()
    try:
        body = orjson.dumps(value)
    except TypeError:
        return
    found = send(method, known[number % len(known)], body, content_type)

    assert FAILURE not in found.body


@given(st.text(max_size=60), METHODS)
def test_paths_are_answered(path: str, method: str) -> None:
    assert FAILURE not in send(method, f"/{path}").body


@given(
    st.sampled_from(COMMON),
    st.sampled_from(
        [
            "watch",
            "limit",
            "continue",
            "resourceVersion",
            "resourceVersionMatch",
            "fieldSelector",
            "labelSelector",
            "timeoutSeconds",
            "sendInitialEvents",
            "allowWatchBookmarks",
            "dryRun",
            "fieldManager",
            "fieldValidation",
            "propagationPolicy",
            "pretty",
            "includeObject",
            "timeout",
            "gracePeriodSeconds",
        ]
    ),
    st.text("0123456789abcdefghijklmnopqrstuvwxyz=!,()<>%+-_./\"' ", max_size=20),
    st.sampled_from(("GET", "POST", "DELETE")),
)
def test_parameters_are_answered(path: str, name: str, value: str, method: str) -> None:
    if name in ("watch", "sendInitialEvents"):
        return  # they begin what does not end
    assert FAILURE not in send(method, path, b"{}", query=f"{name}={quote(value)}").body


@pytest.mark.parametrize("content_type", [JSON, YAML, PROTOBUF, *PATCHES])
@pytest.mark.parametrize("body", DEEP.values(), ids=DEEP.keys())
def test_deep_nesting_is_refused(body: bytes, content_type: str) -> None:
    """No text makes the server recurse until it breaks, or takes long to be refused."""
    method, path = ("PATCH", f"{COMMON[0]}/x") if content_type in PATCHES else ("POST", COMMON[0])
    found = send(method, path, body, content_type)

    assert 400 <= found.status < 600
    assert FAILURE not in found.body


@given(
    st.sampled_from(("POST", "PUT", "PATCH", "DELETE")),
    st.sampled_from(range(400)),
    st.sampled_from((JSON, YAML, PROTOBUF, *PATCHES)),
    st.sampled_from(sorted(DEEP)),
)
def test_deep_nesting_is_refused_everywhere(method: str, number: int, content_type: str, body: str) -> None:
    known = paths()

    assert FAILURE not in send(method, known[number % len(known)], DEEP[body], content_type).body


SCHEMA = (
    b'{"metadata":{"name":"a.x.y"},"spec":{"group":"x.y","scope":"Cluster","names":{"plural":"a","kind":"A"},"versions":'
    b'[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"p":%b}}}}]}}'
)
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WRONG_TYPES = [
    ("PATCH", "/api/v1/namespaces/default", PATCHES[2], b'{"apiVersion":"","kind":null}', 200),
    ("PATCH", "/api/v1/namespaces/default", PATCHES[2], b'{"apiVersion":"v2","kind":"Other"}', 200),
    ("POST", "/api/v1/namespaces/default/events", JSON, b'{"involvedObject":{"namespace":"default"}}', 422),
    (
        "POST",
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
        JSON,
        b'{"metadata":{"name":"a"},"spec":{}}',
        422,
    ),
    ("POST", DEFINITIONS, JSON, SCHEMA % b'{"items":{"properties":[]}}', 400),
    ("POST", DEFINITIONS, JSON, SCHEMA % b'{"items":[{"not":"x"}]}', 400),
    ("POST", DEFINITIONS, JSON, SCHEMA % b'{"additionalProperties":1}', 400),
    ("POST", DEFINITIONS, JSON, SCHEMA % b'{"dependencies":{"a":[1]}}', 400),
    ("PATCH", "/api/v1/namespaces/default/configmaps/x", PATCHES[3], b'{"apiVersion":["v1"],"kind":1}', 400),
    (
        "PATCH",
        "/api/v1/namespaces/default/configmaps/x",
        PATCHES[3],
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":1}',
        500,
    ),
    ("POST", "/api/v1/namespaces/default/secrets", JSON, b'{"metadata":{"name":"null"},"data":{"a":null}}', 201),
    ("POST", "/apis/apiregistration.k8s.io/v1/apiservices", JSON, b"{}", 422),
    (
        "POST",
        "/apis/example.com/v1/namespaces/default/widgets",
        JSON,
        b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":[]}}',
        422,
    ),
]


@pytest.mark.parametrize(("method", "path", "content_type", "body", "status"), WRONG_TYPES)
def test_values_of_other_types_are_refused(method: str, path: str, content_type: str, body: bytes, status: int) -> None:
    """What has once been a failure is answered as kube-apiserver does."""
    found = send(method, path, body, content_type, "fieldManager=me&dryRun=All")

    assert found.status == status
    assert FAILURE not in found.body

"""Custom resources over HTTP: paths, forms and refusals are those of kube-apiserver."""

import asyncio
from typing import Any

import orjson
import pytest

from tests.support.api_server import TOKEN, make_app
from tests.support.asgi import Call, Loop, Response, answer

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
SPEC = {"type": "object", "properties": {"size": {"type": "integer"}}}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "deprecated": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}},
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
            }
        ],
    },
}
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}}


class Server:
    def __init__(self) -> None:
        self.app, _ = make_app()

    def call(self, method: str, path: str, body: Any = None, query: str = "", **headers: str) -> Response:
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        content = b"" if body is None else orjson.dumps(body)
        call = Call(method, path, query, {"host": "x", "authorization": f"Bearer {TOKEN}", **own}, content)
        return asyncio.run(answer(self.app, call))


@pytest.fixture
def server() -> Server:
    made = Server()
    assert made.call("POST", DEFINITIONS, DEFINITION).status == 201
    return made


def test_discovery_follows_definitions(server: Server) -> None:
    groups = [group["name"] for group in server.call("GET", "/apis").json["groups"]]
    resources = server.call("GET", "/apis/example.com/v1").json["resources"]
    assert "example.com" in groups
    assert (resources[0]["name"], resources[0]["kind"], resources[0]["shortNames"]) == ("widgets", "Widget", ["wd"])

    server.call("DELETE", f"{DEFINITIONS}/widgets.example.com")

    assert server.call("GET", "/apis/example.com/v1").status == 404
    assert server.call("GET", WIDGETS).status == 404


def test_items_of_a_list_say_what_they_are(server: Server) -> None:
    created = server.call("POST", WIDGETS, WIDGET)
    found = server.call("GET", WIDGETS).json

    assert created.header("warning") == '299 - "example.com/v1 Widget is deprecated"'
    assert (found["kind"], found["metadata"]["continue"], found["items"][0]["kind"]) == ("WidgetList", "", "Widget")


def test_columns_are_those_of_the_definition(server: Server) -> None:
    server.call("POST", WIDGETS, WIDGET)
    found = server.call("GET", WIDGETS, accept="application/json;as=Table;v=v1;g=meta.k8s.io").json

    assert [column["name"] for column in found["columnDefinitions"]] == ["Name", "Size"]
    assert found["rows"][0]["cells"] == ["a", 1]


REFUSALS = [
    ("GET", f"{WIDGETS}/a/status", {}, 404, 'widgets.example.com "a" not found'),
    ("POST", f"{WIDGETS}/a", {}, 405, "create is not supported on resources of kind"),
    ("PATCH", f"{WIDGETS}/a", {"content_type": "application/strategic-merge-patch+json"}, 415, "unknown format"),
    ("GET", f"{WIDGETS}/none", {}, 404, 'widgets.example.com "none" not found'),
]


@pytest.mark.parametrize(("method", "path", "headers", "status", "words"), REFUSALS)
def test_refusals(server: Server, method: str, path: str, headers: dict[str, str], status: int, words: str) -> None:
    """The Status names the resource."""
    found = server.call(method, path, {} if method != "GET" else None, **headers)

    assert found.status == status
    assert words in found.json["message"]


def test_paths_that_lead_nowhere_are_not_known(server: Server) -> None:
    for path in ("/apis/example.com/v1/gadgets", "/apis/example.com/v2", "/apis/example.com/v2/widgets"):
        found = server.call("GET", path)
        assert (found.status, found.body) == (404, b"404 page not found\n")


def test_unknown_fields_are_refused_when_asked_for(server: Server) -> None:
    body = {**WIDGET, "spec": {"size": 1, "bogus": 2}}

    found = server.call("POST", WIDGETS, body, "fieldValidation=Strict")

    assert found.status == 400
    assert found.json["message"].endswith('strict decoding error: unknown field "spec.bogus"')
    assert server.call("POST", WIDGETS, body, "fieldValidation=Ignore").json["spec"] == {"size": 1}


def test_openapi_describes_custom_resources(server: Server) -> None:
    """The documents of the group and of the whole hold the schema, with the fields that every object has."""
    index = server.call("GET", "/openapi/v3").json["paths"]
    document = server.call("GET", "/openapi/v3/apis/example.com/v1").json
    whole = server.call("GET", "/openapi/v2").json

    assert "apis/example.com/v1" in index
    schema = document["components"]["schemas"]["com.example.v1.Widget"]
    assert sorted(schema["properties"]) == ["apiVersion", "kind", "metadata", "spec"]
    patch = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
    assert "com.example.v1.WidgetList" in document["components"]["schemas"]
    assert whole["definitions"]["com.example.v1.Widget"]["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "kind": "Widget", "version": "v1"}
    ]


def test_watch_ends_with_its_definition() -> None:
    """What was watched is gone, which its watcher learns first; the stream does not stay open for nothing."""
    made = Server()
    made.call("POST", DEFINITIONS, DEFINITION)
    made.call("POST", WIDGETS, WIDGET)
    headers = {"host": "x", "authorization": f"Bearer {TOKEN}"}
    with Loop() as loop:
        stream = loop.open(made.app, Call("GET", WIDGETS, "watch=true&allowWatchBookmarks=true", headers))
        call = Call("DELETE", f"{DEFINITIONS}/widgets.example.com", headers=headers)
        assert loop.run(answer(made.app, call)).status == 200

        events = [orjson.loads(line)["type"] for chunk in stream for line in chunk.splitlines()]

    assert (events[0], events[-1]) == ("ADDED", "DELETED")

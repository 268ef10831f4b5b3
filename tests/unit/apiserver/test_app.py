"""Every request goes the same way: site, credentials, permission, route, handler, answer."""

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from schedlab.apiserver.app import APIServer, Settings
from schedlab.apiserver.request import BODY_BYTES_MAX
from schedlab.registry import Overlay
from tests.support.api_server import TOKEN, make_app
from tests.support.asgi import Call, Response, answer

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "registry.example.com/app:1"}]},
}
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}


class Server:
    """An application and the administrator who calls it."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.app: APIServer
        self.app, self.registry = make_app(settings=settings)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: str = "",
        headers: Mapping[str, str] | None = None,
        token: str = TOKEN,
    ) -> Response:
        content = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        credentials = {"authorization": f"Bearer {token}"} if token else {}
        call = Call(method, path, query, {"host": "127.0.0.1", **credentials, **(headers or {})}, content)
        return asyncio.run(answer(self.app, call))


@pytest.fixture
def server() -> Server:
    return Server()


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_object_lives_through_all_verbs(server: Server) -> None:
    """Create, read, replace, patch, apply, delete: each answers with the object and its status code."""
    created = server.call("POST", CONFIG_MAPS, config_map("c", a="1"), headers={"user-agent": "me/1"})
    path = f"{CONFIG_MAPS}/c"
    replaced = server.call("PUT", path, config_map("c", a="2"))
    patched = server.call("PATCH", path, {"data": {"b": "3"}}, headers=MERGE)
    applied = server.call(
        "PATCH",
        path,
        config_map("c", z="9"),
        query="fieldManager=x",
        headers=APPLY,
    )
    read = server.call("GET", path)
    deleted = server.call("DELETE", path)

    codes = [one.status for one in (created, replaced, patched, applied, read, deleted)]
    assert codes == [201, 200, 200, 200, 200, 200]
    assert created.json["metadata"]["managedFields"][0]["manager"] == "me"
    assert read.json["data"] == {"a": "2", "b": "3", "z": "9"}
    assert deleted.json["status"] == "Success"
    assert server.call("GET", path).json["message"] == 'configmaps "c" not found'


def test_answers_carry_the_usual_headers(server: Server) -> None:
    """Every answer names its request, forbids caching and tells its flow; a client may name the request."""
    answered = server.call("GET", CONFIG_MAPS, headers={"audit-id": "mine"})

    assert answered.header("audit-id") == "mine"
    assert answered.header("cache-control") == "no-cache, private"
    assert answered.header("content-type") == "application/json"
    assert answered.header("content-length") == str(len(answered.body))
    assert answered.header("x-kubernetes-pf-flowschema-uid")
    assert server.call("GET", "/version").header("audit-id") != server.call("GET", "/version").header("audit-id")


def test_credentials(server: Server) -> None:
    """Nobody is refused by permission, a wrong token by credentials."""
    nobody, wrong = server.call("GET", CONFIG_MAPS, token=""), server.call("GET", CONFIG_MAPS, token="wrong")

    assert (nobody.status, nobody.header("x-content-type-options")) == (403, "nosniff")
    assert 'User "system:anonymous" cannot list resource "configmaps"' in nobody.json["message"]
    assert (wrong.status, wrong.json["message"]) == (401, "Unauthorized")


def test_impersonation(server: Server) -> None:
    """The administrator may speak for others and then has only their rights; others may not."""
    bob = server.call("GET", CONFIG_MAPS, headers={"impersonate-user": "bob"})
    anonymous = server.call("GET", "/version", headers={"impersonate-user": "bob"}, token="")

    assert 'User "bob" cannot list' in bob.json["message"]
    assert anonymous.json["message"] == (
        'users "bob" is forbidden: User "system:anonymous" cannot impersonate resource "users" '
        'in API group "" at the cluster scope'
    )


def test_other_sites_are_kept_out() -> None:
    """A name that is not ours, or a page of another origin, gets nothing, whatever its token."""
    server = Server(Settings(hosts=frozenset(("127.0.0.1", "localhost"))))

    assert server.call("GET", "/version", headers={"host": "evil.example:3131"}).status == 403
    assert server.call("GET", "/version", headers={"origin": "http://evil.example"}).status == 403
    assert server.call("GET", "/version", headers={"host": "localhost:3131"}).status == 200
    assert server.call("GET", "/version", headers={"origin": "http://127.0.0.1"}).status == 200


def test_allowed_origins_may_read() -> None:
    """A web site that is named in the settings gets the answers of CORS, before any credentials."""
    origin = "http://localhost:3000"
    server = Server(Settings(origins=frozenset((origin,))))

    allowed = server.call("GET", CONFIG_MAPS, headers={"origin": origin})
    preflight = server.call("OPTIONS", CONFIG_MAPS, headers={"origin": origin}, token="")
    assert (allowed.status, allowed.header("access-control-allow-origin")) == (200, origin)
    assert (preflight.status, preflight.header("access-control-allow-origin")) == (204, origin)


BAD_BODIES = [
    (b"{", "application/json", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
    (b"a: b: c", "application/yaml", "yaml: mapping values are not allowed in this context"),
    (b"k8s\0\xff", "application/vnd.kubernetes.protobuf", "the object provided is unrecognized"),
    (b"nothing", "application/vnd.kubernetes.protobuf", "expected prefix"),
    (b'{"kind":"Secret","apiVersion":"v1"}', "application/json", "cannot be handled as a ConfigMap"),
    (b'{"metadata":{"name":5}}', "application/json", "cannot unmarshal number into Go struct field"),
    (b"", "application/json", "(<empty>)"),
]


@pytest.mark.parametrize(("body", "content_type", "message"), BAD_BODIES)
def test_bad_bodies(server: Server, body: bytes, content_type: str, message: str) -> None:
    """A body that cannot be read is a BadRequest that says why, and nothing is stored."""
    answered = server.call("POST", CONFIG_MAPS, body, headers={"content-type": content_type})

    assert (answered.status, answered.json["reason"]) == (400, "BadRequest")
    assert message in answered.json["message"]
    assert server.call("GET", CONFIG_MAPS).json["items"] == []


def test_field_validation(server: Server) -> None:
    """Unknown fields warn, are refused, or are passed over, as the client wishes."""
    body = {**config_map("c"), "bogus": 1}
    strict = server.call("POST", CONFIG_MAPS, body, query="fieldValidation=Strict&dryRun=All")
    warned = server.call("POST", CONFIG_MAPS, body, query="dryRun=All")
    ignored = server.call("POST", CONFIG_MAPS, body, query="fieldValidation=Ignore&dryRun=All")

    assert strict.status == 400
    assert strict.json["message"].endswith('strict decoding error: unknown field "bogus"')
    assert (warned.status, warned.header("warning")) == (201, '299 - "unknown field \\"bogus\\""')
    assert (ignored.status, ignored.header("warning")) == (201, "")


def test_repeated_keys_of_yaml_are_warned_of_one_by_one(server: Server) -> None:
    """go-yaml lists them in one text; clients get one header for each."""
    body = b"metadata:\n  name: a\n  name: b\n  name: c\n"
    headers = {"content-type": "application/yaml"}
    answered = server.call("POST", CONFIG_MAPS, body, query="dryRun=All", headers=headers)

    assert [value for name, value in answered.headers if name == "warning"] == [
        '299 - "line 3: key \\"name\\" already set in map"',
        '299 - "line 4: key \\"name\\" already set in map"',
    ]


APPLIED = [
    (b"a: b: c", 400, "error decoding YAML: error converting YAML to JSON: yaml: mapping values are not allowed"),
    (b"[]", 400, "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array"),
    (b'{"a":1,"a":2}', 400, "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"),
]


@pytest.mark.parametrize(("body", "code", "message"), APPLIED)
def test_bad_configurations(server: Server, body: bytes, code: int, message: str) -> None:
    """What an apply sends is YAML, and is refused in its words."""
    query = "fieldManager=m&fieldValidation=Strict"
    answered = server.call("PATCH", f"{CONFIG_MAPS}/c", body, query=query, headers=APPLY)

    assert answered.status == code
    assert answered.json["message"].startswith(message)


def test_body_over_the_limit(server: Server) -> None:
    """More than 3 MiB are refused before they are read to the end, and the connection ends."""
    big = b"x" * (BODY_BYTES_MAX + 1)
    announced = server.call("POST", CONFIG_MAPS, big, headers={"content-length": str(len(big))})
    unannounced = server.call("POST", CONFIG_MAPS, big)

    for answered in (announced, unannounced):
        assert (answered.status, answered.header("connection")) == (413, "close")
        assert answered.json["message"] == "Request entity too large: limit is 3145728"


def test_errors_take_the_form_of_answers(server: Server) -> None:
    """An error is YAML for who accepts YAML, and indented JSON for who accepts only Tables."""
    yaml = server.call("GET", f"{CONFIG_MAPS}/no", headers={"accept": "application/yaml"})
    table = server.call("GET", f"{CONFIG_MAPS}/no", headers=TABLE)

    assert (yaml.status, yaml.header("content-type")) == (404, "application/yaml")
    assert b'\nmessage: configmaps "no" not found\n' in yaml.body
    assert table.body.startswith(b'{\n  "kind": "Status",')


def test_pretty_answers(server: Server) -> None:
    """People get indented JSON, whether they ask for it or come with curl."""
    for query, agent in (("pretty=true", "x"), ("", "curl/8")):
        answered = server.call("GET", "/api/v1/namespaces/default", query=query, headers={"user-agent": agent})

        assert answered.body.startswith(b'{\n  "kind": "Namespace"')
    assert server.call("GET", "/api/v1/namespaces/default").body.startswith(b'{"kind":"Namespace"')


def test_big_answers_are_compressed(server: Server) -> None:
    """Above 128 KiB the answer is gzip for who takes it."""
    server.call("POST", CONFIG_MAPS, config_map("c", a="x" * 200_000))
    headers = {"accept-encoding": "br, gzip"}
    big = server.call("GET", CONFIG_MAPS, headers=headers)

    assert (big.header("content-encoding"), big.header("vary")) == ("gzip", "Accept-Encoding")
    assert len(big.body) < 20_000
    assert server.call("GET", CONFIG_MAPS).header("content-encoding") == ""
    assert server.call("GET", f"{CONFIG_MAPS}/no", headers=headers).header("content-encoding") == ""


def test_forms_that_do_not_fit(server: Server) -> None:
    """A list is no single object and the other way round."""
    one = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    many = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}

    assert server.call("GET", "/api/v1/nodes", headers=one).json["message"] == (
        "you requested PartialObjectMetadata, but the requested object is a list (*core.NodeList)"
    )
    assert server.call("GET", "/api/v1/namespaces/default", headers=many).json["message"] == (
        "you requested PartialObjectMetadataList, but the requested object is not a list (*core.Namespace)"
    )


def test_binding_answers_with_a_status(server: Server) -> None:
    """A pod is bound through its subresource or through the collection of bindings."""
    for name in ("p", "q"):
        server.call("POST", "/api/v1/namespaces/default/pods", {**POD, "metadata": {"name": name}})
    target = {"target": {"kind": "Node", "name": "n"}}
    below = server.call("POST", "/api/v1/namespaces/default/pods/p/binding", {"metadata": {"name": "p"}, **target})
    beside = server.call("POST", "/api/v1/namespaces/default/bindings", {"metadata": {"name": "q"}, **target})

    expected = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    assert (below.json, beside.json) == (expected, expected)
    assert server.call("GET", "/api/v1/namespaces/default/pods/q").json["spec"]["nodeName"] == "n"


def test_containers_cannot_be_entered(server: Server) -> None:
    """A connection is refused for the reason that kube-apiserver would find first, and for ours last."""
    pods = "/api/v1/namespaces/default/pods"
    server.call("POST", pods, {**POD, "metadata": {"name": "free"}})
    server.call("POST", pods, {**POD, "metadata": {"name": "bound"}, "spec": {**POD["spec"], "nodeName": "n"}})
    free, bound, wrong, nobody = (
        server.call("POST", f"{pods}/{name}/exec", query=query)
        for name, query in (("free", ""), ("bound", ""), ("bound", "container=x"), ("no", ""))
    )

    assert (free.status, free.json["message"]) == (400, "pod free does not have a host assigned")
    assert (bound.status, bound.json["reason"]) == (501, "NotImplemented")
    assert wrong.json["message"] == "container x is not valid for pod bound"
    assert nobody.status == 404


LOGS = [
    ("free", "", 204, ""),
    ("bound", "", 200, ""),
    ("bound", "container=x", 400, "container x is not valid for pod bound"),
    ("two", "", 400, "a container name must be specified for pod two, choose one of: [a b]"),
    ("bound", "tailLines=-1", 422, 'PodLogOptions "bound" is invalid: tailLines: Invalid value: -1: '),
    ("bound", "limitBytes=0", 422, 'PodLogOptions "bound" is invalid: limitBytes: Invalid value: 0: '),
    ("bound", "sinceSeconds=0", 422, 'PodLogOptions "bound" is invalid: sinceSeconds: Invalid value: 0: '),
    ("bound", "tailLines=x", 400, "strconv.ParseInt"),
]


@pytest.mark.parametrize(("name", "query", "code", "message"), LOGS)
def test_logs(server: Server, name: str, query: str, code: int, message: str) -> None:
    """A pod that is nowhere has no log; simulated containers write nothing."""
    pods = "/api/v1/namespaces/default/pods"
    container = POD["spec"]["containers"][0]
    specs: dict[str, Any] = {
        "free": POD["spec"],
        "bound": {**POD["spec"], "nodeName": "n"},
        "two": {"containers": [{**container, "name": "a"}, {**container, "name": "b"}]},
    }
    server.call("POST", pods, {**POD, "metadata": {"name": name}, "spec": specs[name]})

    answered = server.call("GET", f"{pods}/{name}/log", query=query)

    assert answered.status == code
    assert message in (answered.json["message"] if code >= 400 else answered.body.decode())


def test_reviews(server: Server) -> None:
    """Who am I, may I, whose token is this: answered and forgotten."""
    group = "/apis/authentication.k8s.io/v1"
    me = server.call("POST", f"{group}/selfsubjectreviews", {})
    token = server.call("POST", f"{group}/tokenreviews", {"spec": {"token": TOKEN}})
    wrong = server.call("POST", f"{group}/tokenreviews", {"spec": {"token": "x"}})
    attributes = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    access = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    may = server.call("POST", access, attributes)
    bob_may = server.call("POST", access, attributes, headers={"impersonate-user": "bob"})

    assert me.json["status"]["userInfo"] == {
        "username": "admin",
        "uid": "admin-uid",
        "groups": ["system:masters", "system:authenticated"],
    }
    assert token.json["status"]["authenticated"]
    assert wrong.json["status"] == {"user": {}, "error": "invalid bearer token"}
    assert (may.json["status"], bob_may.json["status"]) == ({"allowed": True}, {"allowed": False})
    assert server.call("POST", access, {"spec": {}}).status == 422


DOCUMENTS = [
    ("/", 200),
    ("/api", 200),
    ("/api/", 200),
    ("/api/v1", 200),
    ("/api/v2", 404),
    ("/apis/", 200),
    ("/apis/apps", 200),
    ("/apis/apps/v1/", 200),
    ("/apis/apps/v9", 404),
    ("/apis/nope", 404),
    ("/nope", 404),
    ("/version", 200),
    ("/version/more", 404),
    ("/readyz", 200),
    ("/readyz/", 200),
    ("/livez/ping", 200),
    ("/openapi/v2", 200),
    ("/openapi/v3", 200),
    ("/openapi/v3/api/v1", 200),
    ("/openapi/v3/nope", 404),
]


@pytest.mark.parametrize(("path", "code"), DOCUMENTS)
def test_documents(server: Server, path: str, code: int) -> None:
    """What is served besides resources is found, and nothing else is."""
    assert server.call("GET", path).status == code


def test_unchanged_documents_cost_nothing(server: Server) -> None:
    """Aggregated discovery and OpenAPI documents are not sent again to who has them."""
    aggregated = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    first = server.call("GET", "/apis", headers=aggregated)
    tag = {"if-none-match": first.header("etag")}
    assert first.header("content-type") == aggregated["accept"]
    assert first.header("cache-control") == "public"
    assert server.call("GET", "/apis", headers={**aggregated, **tag}).status == 304

    url = server.call("GET", "/openapi/v3").json["paths"]["apis/apps/v1"]["serverRelativeURL"]
    path, _, query = url.partition("?")
    document = server.call("GET", path, query=query)
    assert document.header("cache-control") == "public, immutable"
    assert server.call("GET", path, headers={"if-none-match": document.header("etag")}).status == 304
    moved = server.call("GET", path, query="hash=old")
    assert (moved.status, moved.header("location")) == (301, url)


def test_timeouts_are_durations(server: Server) -> None:
    """What is no duration is refused; a duration changes nothing about an answer that comes at once."""
    assert server.call("GET", CONFIG_MAPS, query="timeout=10s").status == 200
    assert server.call("GET", CONFIG_MAPS, query="timeout=x").json["message"] == (
        'invalid timeout specified in the request URL - time: invalid duration "x"'
    )


def test_failures_of_ours_are_told_without_their_story(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """A bug is an InternalError for the client and a traceback in the log."""
    server.registry.get = None  # type: ignore[method-assign, assignment]
    answered = server.call("GET", f"{CONFIG_MAPS}/c")

    assert (answered.status, answered.json["reason"]) == (500, "InternalError")
    assert "TypeError" not in answered.body.decode()
    assert "TypeError" in caplog.text


def test_metrics_count_what_was_answered(server: Server) -> None:
    server.call("POST", CONFIG_MAPS, config_map("c"), query="dryRun=All")
    server.call("PATCH", f"{CONFIG_MAPS}/c", config_map("c"), query="fieldManager=m", headers=APPLY)
    server.call("GET", f"{CONFIG_MAPS}/nope")
    server.call("GET", CONFIG_MAPS, query="watch=1&resourceVersion=0&timeoutSeconds=1")
    response = server.call("GET", "/metrics")

    where = 'group="",version="v1",resource="configmaps",subresource=""'
    assert response.header("content-type").startswith("text/plain; version=0.0.4")
    lines = response.body.decode().splitlines()
    for verb, dry_run, scope, code in (
        ("POST", "All", "namespace", 201),
        ("APPLY", "", "resource", 201),
        ("GET", "", "resource", 404),
        ("WATCH", "", "namespace", 200),
    ):
        labels = f'verb="{verb}",dry_run="{dry_run}",{where},scope="{scope}",component="apiserver"'
        assert f'apiserver_request_total{{{labels},code="{code}"}} 1' in lines
        assert f"apiserver_request_duration_seconds_count{{{labels}}} 1" in lines
    assert f'apiserver_response_sizes_count{{verb="GET",{where},scope="resource",component="apiserver"}} 1' in lines
    assert f'apiserver_longrunning_requests{{verb="WATCH",{where},scope="namespace",component="apiserver"}} 0' in lines
    assert 'apiserver_watch_events_total{group="",version="v1",resource="configmaps"} 1' in lines
    assert 'apiserver_current_inflight_requests{request_kind="readOnly"} 1' in lines
    assert 'apiserver_current_inflight_requests{request_kind="mutating"} 0' in lines


def test_metrics_do_not_grow_with_paths_that_lead_nowhere(server: Server) -> None:
    before = server.call("GET", "/metrics").body
    server.call("GET", "/api/v1/namespaces/default/inventions/x")
    server.call("GET", "/apis/made.up/v1/things")

    assert server.call("GET", "/metrics").body == before


def test_components_tell_whether_the_store_works(server: Server) -> None:
    listed = server.call("GET", "/api/v1/componentstatuses")
    one = server.call("GET", "/api/v1/componentstatuses/etcd-0")
    unknown = server.call("GET", "/api/v1/componentstatuses/nope")
    table = server.call("GET", "/api/v1/componentstatuses", query="labelSelector=a", headers=TABLE)

    healthy = [{"type": "Healthy", "status": "True", "message": "ok"}]
    assert listed.json["kind"] == "ComponentStatusList"
    assert [(item["metadata"]["name"], item["conditions"]) for item in listed.json["items"]] == [("etcd-0", healthy)]
    assert listed.header("warning") == '299 - "v1 ComponentStatus is deprecated in v1.19+"'
    assert one.json["kind"] == "ComponentStatus"
    assert unknown.json["message"] == "Component not found: nope"
    assert table.json["rows"] == []
    assert server.call("POST", "/api/v1/componentstatuses", {}).status == 405


def test_derived_values_are_seen_wherever_an_object_is_read_and_do_not_come_back(server: Server) -> None:
    def settle(obj: dict[str, Any], _current: object) -> None:
        obj["metadata"].pop("annotations", None)

    overlay = Overlay(lambda stored: stored.with_annotations({"derived": str(stored.revision)}, "derived"), settle)
    server.registry.overlay("configmaps", overlay)
    created = server.call("POST", CONFIG_MAPS, config_map("c"))
    path, revision = f"{CONFIG_MAPS}/c", created.json["metadata"]["resourceVersion"]
    partial = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    partial_list = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    listed = f"fieldSelector=metadata.name%3Dc&resourceVersion={revision}"

    seen = [
        created.json,
        server.call("GET", path).json,
        server.call("GET", path, headers=partial).json,
        server.call("GET", CONFIG_MAPS, query=listed).json["items"][0],
        server.call("GET", CONFIG_MAPS, query=listed, headers=partial_list).json["items"][0],
        server.call("GET", path, headers=TABLE).json["rows"][0]["object"],
    ]
    assert [one["metadata"]["annotations"] for one in seen] == [{"derived": revision}] * len(seen)

    unchanged = server.call("PUT", path, seen[1])

    assert unchanged.json["metadata"]["resourceVersion"] == revision
    stored = server.registry.get("configmaps", "c", "default")
    assert "annotations" not in stored.raw["metadata"]


def test_a_touched_object_has_a_new_revision_and_nothing_else(server: Server) -> None:
    server.call("POST", CONFIG_MAPS, config_map("c"))
    before = server.registry.get("configmaps", "c", "default")
    seen: list[tuple[str, int]] = []
    server.registry.watch("configmaps", before.revision, lambda event: seen.append((event.type, event.revision)))

    server.registry.touch("configmaps", "c", "default")

    after = server.registry.get("configmaps", "c", "default")
    assert after.same_content(before)
    assert seen == [("MODIFIED", after.revision)]
    assert after.revision == before.revision + 1

"""What a request asks for is read from its method, path and query as kube-apiserver reads it."""

import pytest

from schedlab.apiserver.request_info import parse_query, read_request_info

RESOURCE_PATHS = [
    ("GET", "/api/v1/pods", "", "list pods"),
    ("GET", "/api/v1/pods", "watch=1", "watch pods"),
    ("GET", "/api/v1/pods", "watch=false", "list pods"),
    ("GET", "/api/v1/pods", "watch=maybe", "watch pods"),
    ("GET", "/api/v1/pods", "watch", "watch pods"),
    ("GET", "/api/v1/namespaces/a/pods/", "", "list pods in a"),
    ("GET", "/api/v1/namespaces/a/pods/b", "watch=true", "get pods b in a"),
    ("HEAD", "/api/v1/namespaces/a/pods/b", "", "get pods b in a"),
    ("PUT", "/api/v1/namespaces/a/pods/b/status", "", "update pods/status b in a"),
    ("POST", "/api/v1/namespaces/a/pods/b/binding", "", "create pods/binding b in a"),
    ("DELETE", "/api/v1/namespaces/a/pods", "", "deletecollection pods in a"),
    ("DELETE", "/api/v1/namespaces/a/pods/b", "", "delete pods b in a"),
    ("PATCH", "/apis/apps/v1/namespaces/a/deployments/b", "", "patch deployments.apps b in a"),
    ("BREW", "/api/v1/pods", "", " pods"),
    ("GET", "/api/v1/namespaces", "", "list namespaces"),
    ("GET", "/api/v1/namespaces/a", "", "get namespaces a in a"),
    ("PUT", "/api/v1/namespaces/a/finalize", "", "update namespaces/finalize a in a"),
    ("GET", "/api/v1/namespaces/a/nope", "", "list nope in a"),
    ("GET", "/apis/nope/v1/things", "", "list things.nope"),
    ("GET", "/api/v1/watch/namespaces/a/pods/b", "", "watch pods b in a"),
    ("GET", "/api/v1/pods", "fieldSelector=metadata.name%3Db", "list pods b"),
    ("GET", "/api/v1/pods", "fieldSelector=metadata.name%3D..", "list pods"),
    ("GET", "/api/v1/pods", "fieldSelector=metadata.name!%3Db", "list pods"),
    ("GET", "/api/v1/pods", "fieldSelector=nonsense", "list pods"),
]


@pytest.mark.parametrize(("method", "path", "query", "expected"), RESOURCE_PATHS)
def test_resource_paths(method: str, path: str, query: str, expected: str) -> None:
    """Verb, resource, name and namespace come from the path; lists become watches by the query."""
    info = read_request_info(method, path, parse_query(query.encode()))

    resource = (
        info.resource + (f".{info.group}" if info.group else "") + (f"/{info.subresource}" if info.subresource else "")
    )
    name = f" {info.name}" if info.name else ""
    place = f" in {info.namespace}" if info.namespace else ""
    assert f"{info.verb} {resource}{name}{place}" == expected
    assert info.is_resource


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1", "/apis/apps/v1", "/apis/apps", "/healthz"])
def test_other_paths_are_no_resources(path: str) -> None:
    """Everything but the path of a resource is a path of its own, whose verb is the method."""
    info = read_request_info("GET", path, {})

    assert (info.is_resource, info.verb, info.path) == (False, "get", path)


def test_verb_in_path_needs_resource() -> None:
    """A path that ends after `watch` names nothing."""
    with pytest.raises(ValueError, match="unable to determine kind and namespace from url, /api/v1/watch"):
        read_request_info("GET", "/api/v1/watch", {})


def test_query_is_read_as_go_reads_it() -> None:
    """Plus is a space, repeated keys keep all values, broken escapes and semicolons drop their pair."""
    query = parse_query(b"a=1&a=2&b=x+y%2Cz&c&d=%zz&e;f=1&%C3%A9=%C3%A9")

    assert query == {"a": ("1", "2"), "b": ("x y,z",), "c": ("",), "é": ("é",)}

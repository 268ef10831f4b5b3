"""Paths lead to resources and verbs, or to the right one of the many ways of not being found."""

import pytest

from schedlab.apimachinery.errors import StatusError
from schedlab.apiserver.reviews import unstored
from schedlab.apiserver.routing import Router
from tests.unit.apiserver.requests import make_request

NAMES = ("pods", "nodes", "namespaces", "bindings", "deployments.apps", "selfsubjectreviews.authentication.k8s.io")
ROUTER = Router(unstored(name) for name in NAMES)
PATCH = {"content-type": "application/merge-patch+json"}

ROUTES = [
    ("GET", "/api/v1/pods", "pods list"),
    ("GET", "/api/v1/namespaces/a/pods/", "pods list"),
    ("POST", "/api/v1/namespaces/a/pods", "pods create"),
    ("DELETE", "/api/v1/namespaces/a/pods", "pods deletecollection"),
    ("GET", "/api/v1/namespaces/a/pods/b", "pods get"),
    ("PUT", "/api/v1/namespaces/a/pods/b/status", "pods/status update"),
    ("POST", "/api/v1/namespaces/a/pods/b/eviction", "pods/eviction create"),
    ("GET", "/api/v1/namespaces/a/pods/b/proxy/deep/path", "pods/proxy get"),
    ("POST", "/api/v1/namespaces/a/bindings", "bindings create"),
    ("PATCH", "/api/v1/nodes/b", "nodes patch"),
    ("GET", "/api/v1/namespaces/a", "namespaces get"),
    ("PUT", "/api/v1/namespaces/a/finalize", "namespaces/finalize update"),
    ("GET", "/apis/apps/v1/namespaces/a/deployments/b/scale", "deployments.apps/scale get"),
    ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "selfsubjectreviews.authentication.k8s.io create"),
    ("GET", "/api/v1/watch/pods", "pods list"),
    ("GET", "/api/v1/watch/namespaces/a/pods/b", "pods list"),
]


@pytest.mark.parametrize(("method", "path", "expected"), ROUTES)
def test_routes(method: str, path: str, expected: str) -> None:
    """A method on a known path is a verb on a resource or subresource."""
    route = ROUTER.find(make_request(method, path, headers=PATCH))

    assert route is not None
    place = route.type.full_name + (f"/{route.sub.name}" if route.sub is not None else "")
    assert f"{place} {route.verb}" == expected
    assert route.is_watch is ("/watch/" in path)


REFUSED = [
    ("GET", "/api/v2/pods", 404),
    ("GET", "/api/v1/nope", 404),
    ("GET", "/api/v1/namespaces/a/nodes", 404),
    ("GET", "/api/v1/pods/b", 404),
    ("GET", "/api/v1/namespaces/a/pods/b/nope", 404),
    ("GET", "/api/v1/namespaces/a/pods/b/status/c", 404),
    ("GET", "/api/v1/bindings", 404),
    ("GET", "/apis/apps/v9/deployments", 404),
    ("GET", "/api/v1/proxy/pods/b", 404),
    ("POST", "/api/v1/pods", 405),
    ("PUT", "/api/v1/namespaces/a/pods", 405),
    ("POST", "/api/v1/namespaces/a/pods/b", 405),
    ("GET", "/api/v1/namespaces/a/bindings", 405),
    ("DELETE", "/api/v1/namespaces", 405),
    ("GET", "/apis/authentication.k8s.io/v1/selfsubjectreviews", 405),
    ("HEAD", "/api/v1/nodes/b", 405),
    ("BREW", "/api/v1/nodes/b", 405),
    ("POST", "/api/v1/watch/pods", 405),
]


@pytest.mark.parametrize(("method", "path", "code"), REFUSED)
def test_refusals(method: str, path: str, code: int) -> None:
    """Unknown resources are 404, known paths without the method 405, both without details."""
    with pytest.raises(StatusError) as caught:
        ROUTER.find(make_request(method, path))

    assert (caught.value.code, caught.value.status["details"]) == (code, {})


@pytest.mark.parametrize("path", ["/apis/nope/v1/things", "//api/v1/pods"])
def test_foreign_paths(path: str) -> None:
    """A group that nobody serves is not ours to word a Status for."""
    assert ROUTER.find(make_request("GET", path)) is None


def test_routes_check_media_types_first() -> None:
    """A patch of an unknown type and an Accept header that fits nothing are refused by the route."""
    with pytest.raises(StatusError, match="415: Unsupported Media Type"):
        ROUTER.find(make_request("PATCH", "/api/v1/nodes/b", headers={"content-type": "application/json"}))
    with pytest.raises(StatusError, match="406: Not Acceptable"):
        ROUTER.find(make_request("GET", "/api/v1/nodes", headers={"accept": "text/html"}))


@pytest.mark.parametrize(("name", "problem"), [("..", "may not be '..'"), (".", "may not be '.'")])
def test_names_that_are_paths(name: str, problem: str) -> None:
    """A name that walks through folders is refused."""
    with pytest.raises(StatusError) as caught:
        ROUTER.find(make_request("GET", f"/api/v1/nodes/{name}"))

    assert (caught.value.code, caught.value.message) == (400, f'Name parameter invalid: "{name}": {problem}')

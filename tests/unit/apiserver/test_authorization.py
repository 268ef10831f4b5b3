"""Administrators may do everything, everybody else may look at what says nothing of the cluster."""

import pytest

from schedlab.apiserver.authentication import ANONYMOUS_USER, UserInfo
from schedlab.apiserver.authorization import Authorizer, MastersFirst, forbidden
from schedlab.apiserver.rbac import Access, RBACAuthorizer
from schedlab.apiserver.request_info import read_request_info
from tests.support.api_server import make_app

ADMIN = UserInfo("admin", groups=("system:masters", "system:authenticated"))
BOB = UserInfo("bob", groups=("system:authenticated",))
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

VERDICTS = [
    (ADMIN, "DELETE", "/api/v1/nodes", True),
    (ADMIN, "GET", "/metrics", True),
    (BOB, "GET", "/api/v1/nodes", False),
    (BOB, "GET", "/api", True),
    (BOB, "GET", "/apis/apps/v1", True),
    (BOB, "GET", "/openapi/v3", True),
    (BOB, "POST", "/version", False),
    (BOB, "GET", "/metrics", False),
    (BOB, "POST", REVIEW, True),
    (BOB, "GET", REVIEW, False),
    (ANONYMOUS_USER, "POST", REVIEW, False),
    (ANONYMOUS_USER, "GET", "/healthz", True),
    (ANONYMOUS_USER, "GET", "/version", True),
    (ANONYMOUS_USER, "GET", "/api", False),
    (ANONYMOUS_USER, "GET", "/", False),
]


@pytest.fixture(scope="module")
def authorizer() -> Authorizer:
    """What decides in a cluster that has nothing but the default roles."""
    _, registry = make_app()
    return MastersFirst(RBACAuthorizer(Access(registry)))


@pytest.mark.parametrize(("user", "method", "path", "allowed"), VERDICTS)
def test_verdicts(authorizer: Authorizer, user: UserInfo, method: str, path: str, *, allowed: bool) -> None:
    """The default roles for discovery and health hold; everything else is the administrators'."""
    assert authorizer.authorize(user, read_request_info(method, path, {})).allowed is allowed


MESSAGES = [
    ("GET", "/metrics", 'forbidden: User "bob" cannot get path "/metrics"'),
    ("GET", "/<b>", 'forbidden: User "bob" cannot get path "/&lt;b&gt;"'),
    (
        "GET",
        "/api/v1/nodes",
        ('nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the cluster scope'),
    ),
    (
        "PUT",
        "/apis/apps/v1/namespaces/a/deployments/x/scale",
        (
            'deployments.apps "x" is forbidden: User "bob" cannot '
            'update resource "deployments/scale" in API group "apps" in the namespace "a"'
        ),
    ),
]


@pytest.mark.parametrize(("method", "path", "message"), MESSAGES)
def test_messages(method: str, path: str, message: str) -> None:
    """A refusal names user, verb, resource and place, and is no HTML."""
    error = forbidden(BOB, read_request_info(method, path, {}))

    assert (error.code, error.message) == (403, message)


def test_rules_say_what_verdicts_say(authorizer: Authorizer) -> None:
    """What a review of one's rules lists is what is allowed."""
    rules = authorizer.rules(BOB, "a")

    assert {
        "verbs": ["create"],
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["selfsubjectreviews"],
    } in rules.resources
    assert any("/openapi/*" in rule["nonResourceURLs"] for rule in rules.paths)
    assert authorizer.rules(ADMIN, "a").resources[0] == {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}

"""Roles and bindings decide who may do what, from the moment they are written."""

from typing import Any

import pytest

from schedlab.apiserver.authentication import UserInfo
from schedlab.apiserver.rbac import GROUP, Access, RBACAuthorizer, allows
from schedlab.apiserver.request_info import RequestInfo
from schedlab.registry import Registry
from tests.support.api_server import make_app


def wanted(verb: str, resource: str, *, group: str = "", name: str = "", namespace: str = "a") -> RequestInfo:
    plural, _, subresource = resource.partition("/")
    return RequestInfo("", verb, True, group, "v1", namespace, plural, subresource, name)


def rule(verbs: str, resources: str, groups: str = "", names: str = "") -> dict[str, Any]:
    found = {"verbs": verbs.split(), "apiGroups": groups.split(",")}
    return {**found, "resources": resources.split(), "resourceNames": names.split()}


RULES = [
    (rule("get", "pods"), wanted("get", "pods"), True),
    (rule("get", "pods"), wanted("get", "pods/log"), False),
    (rule("get", "*"), wanted("get", "pods/log"), True),
    (rule("get", "*/log"), wanted("get", "pods/log"), True),
    (rule("get", "*/log"), wanted("get", "pods"), False),
    (rule("*", "pods"), wanted("delete", "pods"), True),
    (rule("get", "deployments"), wanted("get", "deployments", group="apps"), False),
    (rule("get", "deployments", "*"), wanted("get", "deployments", group="apps"), True),
    (rule("get", "pods", names="x"), wanted("get", "pods", name="x"), True),
    (rule("get", "pods", names="x"), wanted("get", "pods", name="y"), False),
    (rule("list", "pods", names="x"), wanted("list", "pods"), False),
    ({"verbs": ["get"], "nonResourceURLs": ["/logs/*"]}, RequestInfo("/logs/a", "get"), True),
    ({"verbs": ["get"], "nonResourceURLs": ["/logs"]}, RequestInfo("/logs/a", "get"), False),
    ({"verbs": ["get"], "nonResourceURLs": ["*"]}, RequestInfo("/logs/a", "get"), True),
    ({"verbs": ["get"], "nonResourceURLs": ["*"]}, wanted("get", "pods"), False),
]


@pytest.mark.parametrize(("given", "info", "allowed"), RULES)
def test_rule_is_about_a_request(given: dict[str, Any], info: RequestInfo, *, allowed: bool) -> None:
    """Verb, group, resource, name and path must all fit; a star fits everything."""
    assert allows(given, info) is allowed


@pytest.fixture
def registry() -> Registry:
    return make_app()[1]


def write(registry: Registry, plural: str, obj: dict[str, Any], namespace: str = "") -> None:
    resource = f"{plural}.{GROUP}"
    registry.create(resource, registry.decode(resource, obj), namespace)


def bind(registry: Registry, kind: str, role: str, subjects: list[dict[str, str]], *, cluster: bool = False) -> None:
    reference = {"apiGroup": GROUP, "kind": kind, "name": role}
    obj = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects}
    write(registry, "clusterrolebindings" if cluster else "rolebindings", obj, "" if cluster else "default")


def test_binding_gives_rules_in_its_namespace_only(registry: Registry) -> None:
    authorizer = RBACAuthorizer(Access(registry))
    carol = UserInfo("carol")
    write(registry, "roles", {"metadata": {"name": "r"}, "rules": [rule("get", "pods")]}, "default")
    bind(registry, "Role", "r", [{"kind": "User", "apiGroup": GROUP, "name": "carol"}])

    found = authorizer.authorize(carol, wanted("get", "pods", namespace="default"))

    assert found.allowed
    assert found.reason == 'RBAC: allowed by RoleBinding "b/default" of Role "r" to User "carol"'
    assert not authorizer.authorize(carol, wanted("get", "pods")).allowed
    registry.delete(f"rolebindings.{GROUP}", "b", "default")
    assert not authorizer.authorize(carol, wanted("get", "pods", namespace="default")).allowed


def test_account_without_namespace_is_one_of_the_namespace_of_the_binding(registry: Registry) -> None:
    authorizer = RBACAuthorizer(Access(registry))
    write(registry, "roles", {"metadata": {"name": "r"}, "rules": [rule("get", "pods")]}, "default")
    bind(registry, "Role", "r", [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}])

    found = authorizer.authorize(
        UserInfo("system:serviceaccount:default:robot"), wanted("get", "pods", namespace="default")
    )

    assert found.reason.endswith('to ServiceAccount "robot/default"')


def test_missing_role_is_told(registry: Registry) -> None:
    """Whoever is bound to a role that does not exist learns of it with the refusal."""
    authorizer = RBACAuthorizer(Access(registry))
    bind(registry, "ClusterRole", "nope", [{"kind": "Group", "apiGroup": GROUP, "name": "g"}], cluster=True)
    user = UserInfo("carol", groups=("g",))

    assert authorizer.authorize(user, wanted("get", "pods")).reason == (
        'RBAC: clusterrole.rbac.authorization.k8s.io "nope" not found'
    )
    assert authorizer.rules(user, "a").error == 'clusterrole.rbac.authorization.k8s.io "nope" not found'

"""Nobody gives rights away that they do not have."""

from typing import Any

import pytest

from schedlab.apimachinery.errors import Forbidden
from schedlab.apiserver.rbac import GROUP
from schedlab.registry import Registry, User, WriteOptions
from tests.support.api_server import make_app

CAROL = WriteOptions(user=User("carol", ("g",)))
POD_RULES = {"apiGroups": [""], "resources": ["pods"]}


def write(registry: Registry, plural: str, obj: dict[str, Any], options: WriteOptions, namespace: str = "") -> None:
    resource = f"{plural}.{GROUP}"
    registry.create(resource, registry.decode(resource, obj), namespace, options)


def role(name: str, *rules: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "rules": list(rules)}


def binding(name: str, to: str, user: str = "dave") -> dict[str, Any]:
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": to}
    return {
        "metadata": {"name": name},
        "roleRef": reference,
        "subjects": [{"kind": "User", "apiGroup": GROUP, "name": user}],
    }


@pytest.fixture
def registry() -> Registry:
    """A cluster in which carol may read pods."""
    found = make_app()[1]
    write(found, "clusterroles", role("readers", {**POD_RULES, "verbs": ["get", "list"]}), WriteOptions())
    write(found, "clusterrolebindings", binding("carols", "readers", "carol"), WriteOptions())
    return found


def grant(registry: Registry, verb: str, plural: str, name: str) -> None:
    """Give carol a verb on a role."""
    own = {"apiGroups": [GROUP], "resources": [plural], "resourceNames": [name], "verbs": [verb]}
    write(registry, "clusterroles", role("extra", own), WriteOptions())
    write(registry, "clusterrolebindings", binding("extra", "extra", "carol"), WriteOptions())


def test_own_rights_can_be_given(registry: Registry) -> None:
    write(registry, "clusterroles", role("some", {**POD_RULES, "verbs": ["get"]}), CAROL)
    write(registry, "clusterrolebindings", binding("b", "readers"), CAROL)


def test_rights_of_others_cannot_be_given(registry: Registry) -> None:
    """The refusal lists what is missing, verbs of one resource together."""
    wanted = role(
        "more",
        {**POD_RULES, "verbs": ["get", "update", "delete"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    )

    with pytest.raises(Forbidden) as caught:
        write(registry, "clusterroles", wanted, CAROL)

    assert caught.value.message == (
        'clusterroles.rbac.authorization.k8s.io "more" is forbidden: user "carol" (groups=["g"]) is attempting to grant '
        "RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["update" "delete"]}\n'
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}'
    )


def test_binding_needs_the_rights_of_its_role(registry: Registry) -> None:
    with pytest.raises(Forbidden, match="is attempting to grant RBAC permissions not currently held"):
        write(registry, "clusterrolebindings", binding("b", "cluster-admin"), CAROL)


def test_bind_is_enough(registry: Registry) -> None:
    grant(registry, "bind", "clusterroles", "cluster-admin")

    write(registry, "clusterrolebindings", binding("b", "cluster-admin"), CAROL)


def test_escalate_is_enough_for_changes(registry: Registry) -> None:
    grant(registry, "escalate", "clusterroles", "readers")
    resource = f"clusterroles.{GROUP}"
    wanted = registry.decode(resource, role("readers", {**POD_RULES, "verbs": ["*"]}))

    registry.update(resource, "readers", wanted, options=CAROL)


def test_aggregated_roles_are_for_administrators(registry: Registry) -> None:
    selectors = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}

    with pytest.raises(Forbidden, match="must have cluster-admin privileges to use the aggregationRule"):
        write(registry, "clusterroles", {**role("sum"), "aggregationRule": selectors}, CAROL)


def test_parts_of_the_system_and_masters_may_write_everything(registry: Registry) -> None:
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}

    write(registry, "clusterroles", role("a", everything), WriteOptions())
    write(registry, "clusterroles", role("b", everything), WriteOptions(user=User("admin", ("system:masters",))))

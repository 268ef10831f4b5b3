"""Aggregated cluster roles have the rules of those that they add up."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import ControlPlane

ROLES = "clusterroles.rbac.authorization.k8s.io"
SUM = {"clusterRoleSelectors": [{"matchLabels": {"add": "yes"}}]}


def rule(verb: str) -> dict[str, Any]:
    return {"verbs": [verb], "apiGroups": [""], "resources": ["pods"]}


def role(name: str, *verbs: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"add": "yes"}}, "rules": [rule(verb) for verb in verbs]}


@pytest.fixture
def plane() -> ControlPlane:
    made = ControlPlane("clusterrole-aggregation-controller")
    made.create(ROLES, {"metadata": {"name": "sum"}, "aggregationRule": SUM})
    return made


def rules(plane: ControlPlane) -> Any:
    plane.settle()
    return plane.get(ROLES, "sum").get("rules")


def test_rules_are_added_by_name_and_once(plane: ControlPlane) -> None:
    plane.create(ROLES, role("b", "list", "get"))
    plane.create(ROLES, role("a", "get"))

    assert rules(plane) == [rule("get"), rule("list")]


def test_rules_go_with_their_role(plane: ControlPlane) -> None:
    plane.create(ROLES, role("a", "get"))
    assert rules(plane) == [rule("get")]

    plane.delete(ROLES, "a")

    assert not rules(plane)


def test_sums_of_sums_work(plane: ControlPlane) -> None:
    """What is added up may itself be a sum, as `edit` is a part of `admin`."""
    plane.create(
        ROLES,
        {
            "metadata": {"name": "part", "labels": {"add": "yes"}},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"deep": "yes"}}]},
        },
    )
    plane.create(ROLES, {"metadata": {"name": "deep", "labels": {"deep": "yes"}}, "rules": [rule("watch")]})

    assert rules(plane) == [rule("watch")]

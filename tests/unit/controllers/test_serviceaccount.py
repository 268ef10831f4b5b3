"""Every living namespace has its default service account."""

from __future__ import annotations

import pytest

from tests.support.control_plane import ControlPlane

ACCOUNTS = "serviceaccounts"


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("serviceaccount-controller", "namespace-controller")


def test_new_and_old_namespaces_get_one(plane: ControlPlane) -> None:
    """Those that are there at the start, and those that come."""
    plane.create("namespaces", {"metadata": {"name": "x"}})
    plane.settle()

    assert plane.names(ACCOUNTS, "x") == plane.names(ACCOUNTS, "kube-system") == ["default"]


def test_a_deleted_one_comes_back(plane: ControlPlane) -> None:
    """It is not for users to take away."""
    plane.settle()
    before = plane.get(ACCOUNTS, "default")["metadata"]["uid"]
    plane.delete(ACCOUNTS, "default")
    plane.settle()

    assert plane.get(ACCOUNTS, "default")["metadata"]["uid"] != before


def test_namespaces_on_their_way_out_get_none(plane: ControlPlane) -> None:
    """The account goes with the namespace."""
    plane.create("namespaces", {"metadata": {"name": "x"}})
    plane.settle()
    plane.delete("namespaces", "x")
    plane.settle()

    assert not plane.exists("namespaces", "x")

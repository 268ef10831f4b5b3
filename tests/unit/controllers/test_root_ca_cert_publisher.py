"""Every living namespace has the certificate of the API."""

from __future__ import annotations

import pytest

from tests.support.control_plane import ControlPlane

MAPS, NAME = "configmaps", "kube-root-ca.crt"


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("root-ca-certificate-publisher-controller", "namespace-controller", root_ca="PEM")


def test_namespaces_get_it(plane: ControlPlane) -> None:
    """Those that are there and those that come."""
    plane.create("namespaces", {"metadata": {"name": "x"}})
    plane.settle()

    for namespace in ("x", "kube-system"):
        assert plane.get(MAPS, NAME, namespace)["data"] == {"ca.crt": "PEM"}


def test_it_is_put_right(plane: ControlPlane) -> None:
    """Whoever changes or deletes it finds it again as it was."""
    plane.settle()
    plane.patch(MAPS, NAME, {"data": {"ca.crt": "other", "more": "x"}})
    plane.settle()

    assert plane.get(MAPS, NAME)["data"] == {"ca.crt": "PEM"}
    plane.delete(MAPS, NAME)
    plane.settle()

    assert plane.exists(MAPS, NAME)


def test_namespaces_on_their_way_out_get_none(plane: ControlPlane) -> None:
    """It goes with the namespace."""
    plane.create("namespaces", {"metadata": {"name": "x"}})
    plane.settle()
    plane.delete("namespaces", "x")
    plane.settle()

    assert not plane.exists("namespaces", "x")

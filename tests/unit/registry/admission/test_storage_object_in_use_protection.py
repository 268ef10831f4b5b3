"""Volumes, claims and volume attributes classes are born with a finalizer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.registries import new_registry

CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
VOLUME = {
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/x"},
    }
}


@pytest.mark.parametrize(
    ("resource", "obj", "finalizer"),
    [
        ("persistentvolumeclaims", CLAIM, "kubernetes.io/pvc-protection"),
        ("persistentvolumes", VOLUME, "kubernetes.io/pv-protection"),
        (
            "volumeattributesclasses.storage.k8s.io",
            {"driverName": "d", "parameters": {"a": "b"}},
            "kubernetes.io/vac-protection",
        ),
    ],
)
def test_each_kind_gets_its_finalizer_once(resource: str, obj: dict[str, Any], finalizer: str) -> None:
    """After those that it brings; one that is there already is not added."""
    registry = new_registry()
    for name, present in (("a", []), ("b", ["example.com/mine"]), ("c", [finalizer, "example.com/mine"])):
        metadata: dict[str, Any] = {"name": name, **({"finalizers": present} if present else {})}
        namespace = "default" if resource == "persistentvolumeclaims" else ""
        made = registry.create(resource, registry.decode(resource, {"metadata": metadata, **obj}), namespace)
        expected = present if finalizer in present else [*present, finalizer]

        assert list(made.view.metadata.finalizers) == expected


def test_an_update_may_leave_it_out() -> None:
    """The finalizer is added on creation only."""
    registry = new_registry()
    claim = {"metadata": {"name": "a"}, **CLAIM}
    registry.create("persistentvolumeclaims", registry.decode("persistentvolumeclaims", claim), "default")
    written = registry.patch("persistentvolumeclaims", "a", "merge", {"metadata": {"finalizers": None}}, "default")

    assert written.object.view.metadata.finalizers == ()


def test_it_can_be_switched_off() -> None:
    """As every admission."""
    registry = new_registry(without=("StorageObjectInUseProtection",))
    claim = registry.decode("persistentvolumeclaims", {"metadata": {"name": "a"}, **CLAIM})

    assert registry.create("persistentvolumeclaims", claim, "default").view.metadata.finalizers == ()

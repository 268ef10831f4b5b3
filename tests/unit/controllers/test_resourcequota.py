"""The resource quota controller counts what there is, of resources that were defined later, too."""

from __future__ import annotations

from typing import Any

from tests.support.control_plane import ControlPlane

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
THING = {"apiVersion": "example.com/v1", "kind": "Thing"}


def definition() -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {
        "group": "example.com",
        "names": {"plural": "things", "kind": "Thing"},
        "scope": "Namespaced",
        "versions": [version],
    }
    return {"metadata": {"name": "things.example.com"}, "spec": spec}


def used(plane: ControlPlane) -> Any:
    return (plane.get("resourcequotas", "q").get("status") or {}).get("used")


def test_custom_resources_are_counted_once_they_are_defined() -> None:
    """The quota may be there before the definition; what goes is given back."""
    plane = ControlPlane("resourcequota-controller")
    plane.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"count/things.example.com": "2"}}})
    plane.settle()
    before = used(plane)
    plane.create(DEFINITIONS, definition())
    plane.settle()
    defined = used(plane)
    for name in "ab":
        plane.create("things.example.com", {**THING, "metadata": {"name": name}})
    plane.settle()
    full = used(plane)
    plane.delete("things.example.com", "a")
    plane.settle()

    assert not before
    assert defined == {"count/things.example.com": "0"}
    assert full == {"count/things.example.com": "2"}
    assert used(plane) == {"count/things.example.com": "1"}

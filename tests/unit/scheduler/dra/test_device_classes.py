"""Device classes by name and by the extended resources they stand behind."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from schedlab.api.views.resource import DeviceClass
from schedlab.scheduler.dra.device_classes import DeviceClasses
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import device_class

RESOURCE = "example.com/gpu"


def view(name: str, resource: str | None = RESOURCE, created: str = "2026-01-01T00:00:00Z") -> DeviceClass:
    raw = device_class(name, **({} if resource is None else {"extendedResourceName": resource}))
    raw["metadata"]["creationTimestamp"] = created
    return msgspec.convert(raw, DeviceClass)


def name_of(found: Any) -> str | None:
    return None if found is None else found.metadata.name


def test_names_of_a_class() -> None:
    """Every class has a resource name of its own, and may give another."""
    classes = DeviceClasses()
    classes.observe(None, view("a"))
    classes.observe(None, view("b", None))

    assert name_of(classes.get("b")) == "b"
    assert classes.get("c") is None
    assert name_of(classes.device_class(RESOURCE)) == "a"
    assert name_of(classes.device_class("deviceclass.resource.kubernetes.io/b")) == "b"
    assert classes.device_class("example.com/other") is None


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (view("a"), view("b", created="2026-01-02T00:00:00Z"), "b"),
        (view("b", created="2026-01-02T00:00:00Z"), view("a"), "b"),
        (view("a"), view("b"), "a"),
        (view("b"), view("a"), "a"),
    ],
)
def test_of_two_the_newer_counts(first: DeviceClass, second: DeviceClass, expected: str) -> None:
    """Then the one with the lesser name."""
    classes = DeviceClasses()
    classes.observe(None, first)
    classes.observe(None, second)

    assert name_of(classes.device_class(RESOURCE)) == expected


def test_changes_and_ends() -> None:
    """Names follow the class; a copy does not."""
    classes = DeviceClasses()
    first, second = view("a"), view("a", "example.com/new")
    classes.observe(None, first)
    other = classes.copy()
    classes.observe(first, second)
    assert classes.device_class(RESOURCE) is None
    assert name_of(classes.device_class("example.com/new")) == "a"

    classes.observe(second, None)
    assert classes.get("a") is None
    assert classes.device_class("deviceclass.resource.kubernetes.io/a") is None
    assert name_of(other.device_class(RESOURCE)) == "a"

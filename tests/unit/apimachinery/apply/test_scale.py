"""managedFields of Scale and of the object it is made from."""

from typing import Any

from schedlab.apimachinery.apply import scale

PATHS = {"apps/v1": ("f:spec", "f:replicas"), "apps/v0": None}
T1 = "2026-01-01T00:00:01Z"


def entry(manager: str, operation: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "apps/v1",
        "time": T1,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
BOTH: dict[str, Any] = {"f:spec": {"f:replicas": {}, "f:selector": {}}}
PARENT = [entry("a", "Apply", BOTH), entry("b", "Update", {"f:metadata": {}})]


def test_a_scale_shows_only_who_manages_the_replicas() -> None:
    assert scale.to_scale(PARENT, PATHS) == [entry("a", "Apply", REPLICAS, apiVersion="autoscaling/v1")]


def test_a_manager_that_wrote_the_scale_takes_the_replicas() -> None:
    written = [entry("hpa", "Update", REPLICAS, apiVersion="autoscaling/v1", subresource="scale")]
    got = scale.to_parent(PARENT, written, "apps/v1", PATHS)

    hpa = entry("hpa", "Update", REPLICAS, subresource="scale")
    del hpa["time"]
    assert got == [
        entry("a", "Apply", {"f:spec": {"f:selector": {}}}),
        hpa,
        entry("b", "Update", {"f:metadata": {}}),
    ]


def test_a_manager_that_kept_the_replicas_keeps_its_entry() -> None:
    assert scale.to_parent(PARENT, scale.to_scale(PARENT, PATHS), "apps/v1", PATHS) == PARENT


def test_versions_without_replicas_are_kept_and_unknown_ones_dropped() -> None:
    parent = [
        entry("a", "Update", REPLICAS, apiVersion="apps/v0"),
        entry("b", "Update", REPLICAS, apiVersion="apps/v9"),
    ]

    assert scale.to_scale(parent, PATHS) == []
    assert scale.to_parent(parent, [], "apps/v1", PATHS) == parent[:1]

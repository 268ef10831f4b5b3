"""What a definition defines can be used at once, in all its versions, until the definition goes."""

from typing import Any

import pytest

from schedlab.api.kinds.customresourcedefinition import DEFINITIONS
from schedlab.apimachinery.errors import BadRequest, Conflict, Forbidden, InternalError, Invalid, NotFound
from schedlab.registry import DeleteOptions, Registry, WriteOptions
from tests.support.registries import new_registry

WIDGETS = "widgets.example.com"
SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 1, "default": 3},
        "replicas": {"type": "integer"},
        "mode": {"type": "string"},
    },
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"spec": SPEC, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
}
SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def version(name: str = "v1", **more: Any) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": SCHEMA}, **more}


def definition(
    *versions: dict[str, Any], plural: str = "widgets", kind: str = "Widget", **names: Any
) -> dict[str, Any]:
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": kind, **names},
        "versions": list(versions) or [version()],
    }
    return {"metadata": {"name": f"{plural}.example.com"}, "spec": spec}


def define(registry: Registry, obj: dict[str, Any]) -> None:
    registry.create(DEFINITIONS, registry.decode(DEFINITIONS, obj))


def widget(registry: Registry, name: str = "a", resource: str = WIDGETS, **spec: Any) -> dict[str, Any]:
    wanted = registry.resource(resource).type
    obj = {"kind": wanted.kind, "apiVersion": wanted.api_version, "metadata": {"name": name}, "spec": spec}
    return registry.decode(resource, obj)


def conditions(registry: Registry, name: str = WIDGETS) -> dict[str, tuple[str, str]]:
    status = registry.get(DEFINITIONS, name).raw["status"]
    return {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}


@pytest.fixture
def registry() -> Registry:
    return new_registry()


def test_definition_is_established_and_served_at_once(registry: Registry) -> None:
    heard: list[int] = []
    registry.on_resources(lambda: heard.append(1))

    define(registry, definition())

    assert conditions(registry) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert registry.resources.named(WIDGETS).list_kind == "WidgetList"
    assert heard == [1]
    created = registry.create(WIDGETS, widget(registry), "default")
    assert created.raw["spec"] == {"size": 3}


def test_taken_name_is_not_accepted_until_it_is_free(registry: Registry) -> None:
    """Who comes second waits for the name, and gets it when the first one goes."""
    define(registry, definition())
    define(registry, definition(plural="gadgets", kind="Widget", singular="gadget", listKind="GadgetList"))

    assert conditions(registry, "gadgets.example.com") == {
        "NamesAccepted": ("False", "KindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    with pytest.raises(NotFound):
        registry.list("gadgets.example.com")

    registry.delete(DEFINITIONS, WIDGETS)

    assert conditions(registry, "gadgets.example.com")["Established"] == ("True", "InitialNamesAccepted")
    assert not registry.list("gadgets.example.com").items


def test_versions_show_the_same_objects(registry: Registry) -> None:
    """Without a webhook versions differ in their name; defaults are those of the version that is read."""
    wide = {
        **SCHEMA,
        "properties": {
            "spec": {**SPEC, "properties": {**SPEC["properties"], "hue": {"type": "string", "default": "red"}}}
        },
    }
    define(registry, definition(version(), version("v2", schema={"openAPIV3Schema": wide})))
    registry.create(WIDGETS, widget(registry), "default")

    shown = registry.get("widgets.v2.example.com", "a", "default").raw

    assert shown["apiVersion"] == "example.com/v2"
    assert shown["spec"] == {"size": 3, "hue": "red"}
    changed = {**shown, "spec": {"size": 5}}
    registry.update("widgets.v2.example.com", "a", registry.decode("widgets.v2.example.com", changed), "default")
    assert registry.get(WIDGETS, "a", "default").raw["spec"]["size"] == 5
    assert registry.get(WIDGETS, "a", "default").raw["apiVersion"] == "example.com/v1"


def test_version_that_is_not_served_is_not_there(registry: Registry) -> None:
    define(registry, definition(version(served=False), version("v2")))

    assert [entry.version for entry in registry.resources if entry.group == "example.com"] == ["v2"]


def test_status_is_written_by_its_subresource_only(registry: Registry) -> None:
    define(registry, definition(version(subresources={"status": {}})))
    obj = {**widget(registry), "status": {"phase": "mine"}}
    created = registry.create(WIDGETS, obj, "default")
    assert "status" not in created.raw

    changed = {**created.thaw(), "status": {"phase": "on"}, "spec": {"size": 9}}
    after = registry.update(WIDGETS, "a", changed, "default", subresource="status").object.raw

    assert after["status"] == {"phase": "on"}
    assert after["spec"] == {"size": 3}
    assert after["metadata"]["generation"] == 1
    again = registry.patch(WIDGETS, "a", "merge", {"status": {"phase": "off"}, "spec": {"size": 4}}, "default").object
    assert (again.raw["status"], again.raw["spec"]["size"]) == ({"phase": "on"}, 4)
    assert again.raw["metadata"]["generation"] == 2


def test_scale_reads_and_writes_the_paths_of_the_definition(registry: Registry) -> None:
    define(registry, definition(version(subresources={"scale": SCALE, "status": {}})))
    registry.create(WIDGETS, widget(registry, replicas=2), "default")
    registry.patch(
        WIDGETS, "a", "merge", {"status": {"replicas": 1, "selector": "a=b"}}, "default", subresource="status"
    )

    scale = registry.get(WIDGETS, "a", "default", "scale").raw
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale",
        {"replicas": 2},
        {"replicas": 1, "selector": "a=b"},
    )

    options = WriteOptions(field_manager="hpa")
    registry.patch(WIDGETS, "a", "merge", {"spec": {"replicas": 7}}, "default", options, "scale")

    after = registry.get(WIDGETS, "a", "default").raw
    assert after["spec"]["replicas"] == 7
    owners = [entry["manager"] for entry in after["metadata"]["managedFields"] if entry.get("subresource") == "scale"]
    assert owners == ["hpa"]


def test_scale_of_an_object_without_replicas_is_an_error(registry: Registry) -> None:
    define(registry, definition(version(subresources={"scale": SCALE})))
    registry.create(WIDGETS, widget(registry), "default")

    with pytest.raises(InternalError, match=r'the spec replicas field ".spec.replicas" does not exist'):
        registry.get(WIDGETS, "a", "default", "scale")


def test_update_needs_a_resource_version(registry: Registry) -> None:
    define(registry, definition())
    registry.create(WIDGETS, widget(registry), "default")

    with pytest.raises(Invalid, match=r"metadata.resourceVersion: Invalid value: 0: must be specified for an update"):
        registry.update(WIDGETS, "a", widget(registry, size=4), "default")


def test_unchanged_write_keeps_the_revision(registry: Registry) -> None:
    define(registry, definition())
    created = registry.create(WIDGETS, widget(registry), "default")

    assert registry.patch(WIDGETS, "a", "merge", {"spec": {"size": 3}}, "default").object.revision == created.revision


def test_unchanged_part_may_break_a_stricter_schema(registry: Registry) -> None:
    define(registry, definition())
    registry.create(WIDGETS, widget(registry, size=2), "default")
    stricter = {**SPEC, "properties": {**SPEC["properties"], "size": {"type": "integer", "minimum": 5}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": stricter}}}
    registry.patch(DEFINITIONS, WIDGETS, "merge", {"spec": {"versions": [version(schema=schema)]}})

    registry.patch(WIDGETS, "a", "merge", {"spec": {"mode": "x"}}, "default")

    with pytest.raises(Invalid, match=r"spec.size in body should be greater than or equal to 5"):
        registry.patch(WIDGETS, "a", "merge", {"spec": {"size": 4}}, "default")


def test_definition_waits_for_objects_with_finalizers(registry: Registry) -> None:
    """Objects are deleted with their definition; while one stays nothing new can be made."""
    define(registry, definition())
    obj = widget(registry)
    obj["metadata"]["finalizers"] = ["example.com/mine"]
    registry.create(WIDGETS, obj, "default")
    registry.create(WIDGETS, widget(registry, "b"), "default")

    registry.delete(DEFINITIONS, WIDGETS)

    assert conditions(registry)["Terminating"] == ("True", "InstanceDeletionInProgress")
    assert [one.name for one in registry.list(WIDGETS).items] == ["a"]
    with pytest.raises(Forbidden, match="create not allowed while custom resource definition is terminating"):
        registry.create(WIDGETS, widget(registry, "c"), "default")

    registry.patch(WIDGETS, "a", "merge", {"metadata": {"finalizers": None}}, "default")

    with pytest.raises(NotFound):
        registry.get(DEFINITIONS, WIDGETS)
    with pytest.raises(NotFound):
        registry.list(WIDGETS)


def test_deletion_keeps_preconditions(registry: Registry) -> None:
    define(registry, definition())

    with pytest.raises(Conflict, match="Precondition failed: UID in precondition: other"):
        registry.delete(DEFINITIONS, WIDGETS, options=DeleteOptions(uid="other"))
    registry.delete(DEFINITIONS, WIDGETS, options=DeleteOptions(dry_run=True))
    assert "Terminating" not in conditions(registry)


def test_metadata_of_other_types_is_refused(registry: Registry) -> None:
    define(registry, definition())

    with pytest.raises(Invalid, match="metadata: Invalid value"):
        registry.decode(WIDGETS, {"metadata": {"name": "a", "labels": {"a": 1}}})


def test_no_object_is_no_object(registry: Registry) -> None:
    define(registry, definition())
    registry.create(WIDGETS, widget(registry), "default")

    with pytest.raises((BadRequest, Invalid)):
        registry.patch(WIDGETS, "a", "json", [{"op": "replace", "path": "", "value": [1]}], "default")

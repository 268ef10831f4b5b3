"""A stored object: what goes in comes out, in every form, from the same bytes."""

import gc
import json

import orjson
import pytest

from schedlab.api.object import Object, StoredObject, WatchEvent, join_items
from schedlab.api.views.core import Pod

POD: Object = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p", "namespace": "d", "uid": "u", "labels": {"a": "b"}, "resourceVersion": "1"},
    "spec": {"nodeName": "n"},
}
MANAGED: Object = {**POD, "metadata": {**POD["metadata"], "managedFields": [{"manager": "m"}]}}
BARE: Object = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}}
EMPTY: Object = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}}


def at(obj: Object, revision: int) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}


@pytest.mark.parametrize("obj", [POD, MANAGED, BARE, EMPTY], ids=["plain", "managed fields", "no body", "no metadata"])
def test_whole_object_comes_back_with_its_revision(obj: Object) -> None:
    """The JSON of a version is the object that was encoded, under the revision it was given."""
    stored = StoredObject.encode("any", obj, 7)

    assert orjson.loads(stored.json()) == at(obj, 7)
    assert stored.raw == at(obj, 7)


@pytest.mark.parametrize("obj", [POD, MANAGED, BARE, EMPTY], ids=["plain", "managed fields", "no body", "no metadata"])
@pytest.mark.parametrize("revision", [0, 7])
def test_every_member_is_there_once_in_every_form(obj: Object, revision: int) -> None:
    """A parser would let the last one of two members win, and nobody would notice."""
    stored = StoredObject.encode("any", obj, revision)

    def once(members: list[tuple[str, object]]) -> Object:
        assert len({name for name, _ in members}) == len(members)
        return dict(members)

    for form in (stored.json(), stored.bare_json(), stored.item_json(), stored.metadata_json()):
        json.loads(form, object_pairs_hook=once)
    expected = at(obj, revision)["metadata"] if revision else {**obj["metadata"], "resourceVersion": ""}
    assert {"resourceVersion": "", **json.loads(stored.metadata_json())} == expected


def test_another_form_keeps_metadata_as_it_is() -> None:
    """Kind and apiVersion are part of what is converted; the revision and who manages fields stay."""

    def convert(obj: Object) -> Object:
        assert "metadata" not in obj
        return {"kind": "Other", "apiVersion": "g/v2", "renamed": obj.get("spec")}

    converted = StoredObject.encode("any", MANAGED, 7).converted("others.g", convert)

    assert orjson.loads(converted.json()) == {
        "kind": "Other",
        "apiVersion": "g/v2",
        "metadata": at(MANAGED, 7)["metadata"],
        "renamed": POD["spec"],
    }
    assert (converted.resource, converted.key) == ("others.g", "d/p")
    bare = StoredObject.encode("any", BARE, 7).converted("others.g", lambda obj: obj)
    assert orjson.loads(bare.json()) == at(BARE, 7)


def test_items_are_joined_as_they_are_encoded_alone() -> None:
    """One step for a whole list makes the same bytes, of what was never stored, too."""
    objects = [StoredObject.encode("any", obj, revision) for obj in (POD, MANAGED, BARE, EMPTY) for revision in (0, 7)]

    assert join_items(objects) == b",".join(obj.item_json() for obj in objects)
    assert join_items(objects[1:2]) == objects[1].item_json()
    assert join_items([]) == b""


def test_versions_are_nothing_that_the_garbage_collector_looks_at() -> None:
    """There are hundreds of thousands of them, and each look would make requests wait."""
    stored = StoredObject.encode("any", POD, 7)

    assert not gc.is_tracked(stored)
    assert not gc.is_tracked(WatchEvent("ADDED", stored))


@pytest.mark.parametrize("obj", [POD, MANAGED, BARE])
def test_list_items_carry_no_kind(obj: Object) -> None:
    """An item of a list is the object without kind and apiVersion."""
    item = orjson.loads(StoredObject.encode("any", obj, 7).item_json())

    assert item == {key: value for key, value in at(obj, 7).items() if key not in {"kind", "apiVersion"}}


def test_attributes_come_from_metadata() -> None:
    """Identity is read from metadata, and the key is namespace/name."""
    stored = StoredObject.encode("pods", POD, 7)

    assert (stored.resource, stored.namespace, stored.name, stored.uid, stored.revision) == ("pods", "d", "p", "u", 7)
    assert stored.key == "d/p"
    assert StoredObject.encode("configmaps", BARE, 1).key == "c"
    assert stored.labels == {"a": "b"}


def test_view_is_that_of_the_resource() -> None:
    """A pod is seen as a Pod, and the view is made once."""
    stored = StoredObject.encode("pods", MANAGED, 7)

    assert isinstance(stored.view, Pod)
    assert stored.view is stored.view
    assert stored.view.spec.node_name == "n"
    assert stored.view.metadata.resource_version == "7"


def test_another_revision_shares_content() -> None:
    """The same content under another revision differs in the revision alone, and encoding does not change the dict."""
    stored = StoredObject.encode("pods", MANAGED, 7)
    later = stored.with_revision(9)

    assert later.raw == at(MANAGED, 9)
    assert later.same_content(stored)
    assert not StoredObject.encode("pods", POD, 7).same_content(stored)
    assert MANAGED["metadata"]["resourceVersion"] == "1"


def test_thawed_dicts_are_independent() -> None:
    """What a caller may change is not what readers share."""
    stored = StoredObject.encode("pods", POD, 7)
    stored.thaw()["spec"]["nodeName"] = "other"

    assert stored.raw["spec"]["nodeName"] == "n"


def test_forgotten_forms_are_made_again() -> None:
    """Dropping decoded forms loses nothing."""
    stored = StoredObject.encode("pods", POD, 7)
    before = stored.raw, stored.view
    stored.forget()

    assert (stored.raw, stored.view) == before


def test_managed_fields_are_decoded_once_for_all_that_carry_the_same() -> None:
    entries = [{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]
    one, other = (
        StoredObject.encode("pods", {**POD, "metadata": {"name": name, "managedFields": entries}}, 1).thaw()
        for name in "ab"
    )

    assert one["metadata"]["managedFields"] == entries
    assert one["metadata"]["managedFields"] is other["metadata"]["managedFields"]

"""Laws of field sets, patches and applies, on generated values."""

import copy
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from schedlab.apimachinery import schema, strict
from schedlab.apimachinery.apply import fieldset, typed
from schedlab.apimachinery.apply.fieldset import FieldSet
from schedlab.apimachinery.apply.manager import FieldManager
from schedlab.apimachinery.apply.paths import all_paths
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.patch import merge_patch, strategic

POD = schema.schema_for("", "v1", "Pod")
PODS = FieldManager(GroupVersionKind("", "v1", "Pod"), POD)
NOW = "2026-01-01T00:00:00Z"

ELEMENTS = st.sampled_from(["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'v:"y"'])
FIELD_SETS = st.recursive(
    st.just({}),
    lambda below: st.dictionaries(ELEMENTS, below | below.map(lambda node: {**node, ".": {}} if node else node)),
    max_leaves=8,
).map(lambda node: {key: child for key, child in node.items() if key != "."})

# Empty optional values vanish when an object is stored, so that applying them again is a change, upstream too.
TEXTS = st.sampled_from(["a", "b"])
NAMES = st.sampled_from(["c1", "c2", "c3"])


def unique_by_name(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({item["name"]: item for item in items}.values())


CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={
            "image": TEXTS,
            "args": st.lists(TEXTS, min_size=1, max_size=2),
            "env": st.lists(st.fixed_dictionaries({"name": NAMES, "value": TEXTS}), min_size=1).map(unique_by_name),
        },
    ),
    min_size=1,
    max_size=3,
).map(unique_by_name)
CONFIGS = st.fixed_dictionaries(
    {
        "apiVersion": st.just("v1"),
        "kind": st.just("Pod"),
        "metadata": st.fixed_dictionaries(
            {"name": st.just("p")}, optional={"labels": st.dictionaries(NAMES, TEXTS, min_size=1, max_size=2)}
        ),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "containers": CONTAINERS,
                "nodeName": TEXTS,
                "nodeSelector": st.dictionaries(NAMES, TEXTS, min_size=1, max_size=2),
                "tolerations": st.lists(st.fixed_dictionaries({"key": NAMES}), min_size=1, max_size=2),
            },
        ),
    }
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
JSON_OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)


def paths(fields: FieldSet) -> set[fieldset.Path]:
    return set(fieldset.iterate(fields))


@given(FIELD_SETS, FIELD_SETS)
def test_field_sets_are_sets_of_paths(left: FieldSet, right: FieldSet) -> None:
    """The algebra of trees is that of the paths in them."""
    assert paths(left) | paths(right) == paths(fieldset.union(left, right))
    assert paths(left) & paths(right) == paths(fieldset.intersection(left, right))
    assert paths(left) - paths(right) == paths(fieldset.difference(left, right))


@given(FIELD_SETS)
def test_order_and_reading_do_not_change_a_set(fields: FieldSet) -> None:
    """Canonical form and order are about how a set is written."""
    assert paths(fields) == paths(fieldset.in_order(fields)) == paths(fieldset.read(fields))


@given(CONFIGS, CONFIGS)
def test_comparison_is_empty_exactly_for_equal_objects(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Differences vanish only when decoded objects are equal up to the order of lists that merge by key."""
    comparison = typed.compare(old, new, POD)
    swapped = typed.compare(new, old, POD)

    assert comparison.added == swapped.removed
    assert comparison.removed == swapped.added
    assert comparison.modified == swapped.modified
    if old == new:
        assert not comparison.added
        assert not comparison.modified


@given(CONFIGS, CONFIGS, CONFIGS)
def test_applying_twice_is_applying_once(first: dict[str, Any], second: dict[str, Any], third: dict[str, Any]) -> None:
    """Server-side apply is idempotent, whoever else has applied before."""
    live = stored(PODS.apply(None, first, "a", NOW, force=False))
    live = stored(PODS.apply(live, second, "b", NOW, force=True))
    once = stored(PODS.apply(live, third, "a", NOW, force=True))

    assert once == stored(PODS.apply(once, third, "a", NOW, force=False))


@given(CONFIGS, CONFIGS)
def test_an_applied_configuration_is_in_the_object(first: dict[str, Any], second: dict[str, Any]) -> None:
    """What is applied by force is there afterwards, and owned by the manager."""
    live = stored(PODS.apply(None, first, "a", NOW, force=False))
    got = PODS.apply(live, second, "b", NOW, force=True)

    comparison = typed.compare(strict.restore(copy.deepcopy(second), POD).value, got, POD)
    assert not [path for path in fieldset.iterate(comparison.removed) if path[0] != "f:metadata"]


@given(CONFIGS, CONFIGS)
def test_updating_tracks_the_same_fields_as_comparing(first: dict[str, Any], second: dict[str, Any]) -> None:
    """After an update all owned fields exist, and every changed one belongs to the manager that changed it."""
    live = stored(PODS.update(None, strict.restore(first, POD).value, "a", NOW))
    new = strict.restore(second, POD).value
    got = PODS.update(live, new, "b", NOW)

    present = paths({**all_paths(new, POD)})
    for entry in got["metadata"].get("managedFields", ()):
        assert paths(entry["fieldsV1"]) <= present


def stored(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "uid": "u"}}


def _null_below_list(value: Any, *, below: bool = False) -> bool:
    if isinstance(value, dict):
        return any(_null_below_list(each, below=below) for each in value.values())
    if isinstance(value, list):
        return any(_null_below_list(each, below=True) for each in value)
    return below and value is None


@given(JSON_OBJECTS, JSON_OBJECTS)
def test_a_merge_patch_applied_twice_is_applied_once(document: dict[str, Any], patch: dict[str, Any]) -> None:
    """RFC 7386 patches say what is to be, not what is to change.

    Nulls below a list are another matter: as upstream's library does it, they stay where an object stood before and are
    dropped everywhere else.
    """
    assume(not _null_below_list(patch))
    once = merge_patch.apply(document, patch)

    assert once == merge_patch.apply(once, patch)


@given(CONFIGS, CONFIGS)
def test_a_strategic_patch_without_directives_keeps_what_it_does_not_name(
    live: dict[str, Any], patch: dict[str, Any]
) -> None:
    """Containers merge by name: none that was there is lost, and those of the patch have its values."""
    got = strategic.apply(copy.deepcopy(live), copy.deepcopy(patch), POD)
    names = {one["name"] for one in got["spec"].get("containers", ())}

    for source in (live, patch):
        assert {one["name"] for one in source["spec"].get("containers", ())} <= names


@given(CONFIGS)
def test_decoding_is_idempotent(config: dict[str, Any]) -> None:
    """The canonical form of a canonical form is itself."""
    once = strict.decode(config, POD).value

    assert once == strict.decode(copy.deepcopy(once), POD).value

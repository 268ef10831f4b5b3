"""Strategic merge patch: lists by their keys, directives, refusals."""

import copy
from typing import Any

import pytest

from schedlab.apimachinery import schema
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.patch import strategic


def merge(live: dict[str, Any], patch: dict[str, Any], kind: str = "Pod", group: str = "") -> dict[str, Any]:
    return strategic.apply(copy.deepcopy(live), copy.deepcopy(patch), schema.schema_for(group, "v1", kind))


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


def names(items: list[dict[str, Any]], key: str = "name") -> list[Any]:
    return [item[key] for item in items]


TWO = [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]


@pytest.mark.parametrize(
    ("patch", "want"),
    [
        ([{"name": "b", "image": "2"}], [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]),
        ([{"name": "c", "image": "3"}], [{"name": "c", "image": "3"}, *TWO]),
        ([{"name": "a", "$patch": "delete"}], [TWO[1]]),
        ([{"name": "zz", "$patch": "delete"}], TWO),
        ([{"$patch": "replace"}, {"name": "x"}], [{"name": "x"}]),
        ([{"name": "a", "image": None}], [{"name": "a"}, TWO[1]]),
        ([{"name": "b"}, {"name": "a", "image": "9"}], [{"name": "b", "image": "1"}, {"name": "a", "image": "9"}]),
        ([], TWO),
    ],
    ids=str,
)
def test_containers_merge_by_name(patch: list[dict[str, Any]], want: list[dict[str, Any]]) -> None:
    assert want == merge(spec(containers=TWO), spec(containers=patch))["spec"]["containers"]


def test_new_elements_come_first_and_others_keep_their_place() -> None:
    live = [{"containerPort": 80}, {"containerPort": 81}]
    got = merge(
        spec(containers=[{"name": "a", "ports": live}]),
        spec(containers=[{"name": "a", "ports": [{"containerPort": 82}, {"containerPort": 81, "name": "w"}]}]),
    )

    assert names(got["spec"]["containers"][0]["ports"], "containerPort") == [82, 80, 81]


def test_lists_without_a_strategy_are_replaced() -> None:
    got = merge(spec(tolerations=[{"key": "a"}]), spec(tolerations=[{"key": "b"}]))

    assert got == spec(tolerations=[{"key": "b"}])


def test_sets_of_scalars_are_joined() -> None:
    got = merge({"metadata": {"finalizers": ["a", "b"]}}, {"metadata": {"finalizers": ["b", "c"]}})

    assert sorted(got["metadata"]["finalizers"]) == ["a", "b", "c"]


def test_values_can_be_deleted_from_sets_of_scalars() -> None:
    got = merge(
        {"metadata": {"finalizers": ["a", "b", "c"]}}, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "z"]}}
    )

    assert got == {"metadata": {"finalizers": ["b", "c"]}}


def test_deleting_from_a_list_that_is_not_there_changes_nothing() -> None:
    got = merge({"metadata": {"name": "x"}}, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}})

    assert got == {"metadata": {"name": "x"}}


@pytest.mark.parametrize(
    ("directive", "want"),
    [({"$patch": "replace", "c": "3"}, {"c": "3"}), ({"$patch": "delete"}, {}), ({"a": None, "c": "3"}, {"c": "3"})],
    ids=str,
)
def test_directives_on_maps(directive: dict[str, Any], want: dict[str, str]) -> None:
    got = merge({"metadata": {"labels": {"a": "1"}}}, {"metadata": {"labels": directive}})

    assert want == got["metadata"]["labels"]


def test_a_field_that_is_only_a_directive_is_dropped() -> None:
    assert merge(spec(), spec(affinity={"$patch": "delete"})) == spec()


def test_nulls_of_new_values_are_dropped() -> None:
    assert merge({}, spec(affinity={"podAffinity": None, "nodeAffinity": {}})) == spec(affinity={"nodeAffinity": {}})


def test_retain_keys_drops_the_fields_it_does_not_name() -> None:
    live = spec(strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})
    got = merge(live, spec(strategy={"$retainKeys": ["type"], "type": "Recreate"}), "Deployment", "apps")

    assert got == spec(strategy={"type": "Recreate"})


def test_retain_keys_works_inside_elements_of_a_list() -> None:
    live = spec(volumes=[{"name": "v", "emptyDir": {}}])
    change = {"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}

    assert merge(live, spec(volumes=[change])) == spec(volumes=[{"name": "v", "hostPath": {"path": "/x"}}])


def test_a_field_with_the_replace_strategy_is_replaced() -> None:
    live = spec(selector={"matchLabels": {"a": "1"}})
    got = merge(live, spec(selector={"matchLabels": {"b": "2"}}), "PodDisruptionBudget", "policy")

    assert got == spec(selector={"matchLabels": {"b": "2"}})


def test_element_order_is_enforced_with_live_elements_between() -> None:
    live = spec(containers=[{"name": "a"}, {"name": "live"}, {"name": "b"}])
    order = [{"name": "b"}, {"name": "c"}, {"name": "a"}]
    got = merge(live, {"spec": {"$setElementOrder/containers": order, "containers": [{"name": "c"}]}})

    assert names(got["spec"]["containers"]) == ["live", "b", "c", "a"]


def test_element_order_alone_reorders_the_list() -> None:
    live = spec(containers=[{"name": "a"}, {"name": "b"}])
    got = merge(live, {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}})

    assert names(got["spec"]["containers"]) == ["b", "a"]


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        (
            spec(containers=[{"image": "x"}]),
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            spec(containers=[{"$patch": "delete", "image": "x"}]),
            500,
            "map: map[$patch:delete image:x] does not contain declared merge key: name",
        ),
        (spec(containers=[{"$patch": "merge"}]), 500, "merging lists cannot yet be specified in the patch"),
        (spec(containers=[{"$patch": "bogus"}]), 500, "unknown patch type: bogus in map: map[$patch:bogus]"),
        ({"metadata": {"labels": {"$patch": "bogus"}}}, 500, "unknown patch type: bogus in map: map[$patch:bogus]"),
        (spec(containers=[{"name": "a"}, "x"]), 500, None),
        ({"spec": {"$retainKeys": ["containers"], "nodeName": "x"}}, 400, "invalid patch format of retainKeys"),
        ({"spec": {"$retainKeys": "x"}}, 400, "invalid patch format of retainKeys"),
        ({"$deleteFromPrimitiveList": ["x"]}, 400, "invalid patch format of primitive list"),
        ({"$setElementOrder": ["x"]}, 400, "invalid patch format of setElementOrder list"),
        (
            {"spec": {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b"}]}},
            500,
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
        ),
        ({"spec": {"$setElementOrder/containers": "x"}}, 500, "expected a []interface {}, but received a string"),
    ],
    ids=str,
)
def test_malformed_patches_are_refused_in_the_servers_words(
    patch: dict[str, Any], code: int, message: str | None
) -> None:
    live = {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{"name": "a"}]}}

    with pytest.raises(StatusError) as caught:
        merge(live, patch)
    assert code == caught.value.code
    if message is not None:
        assert message == caught.value.message


def test_merging_into_an_unknown_field_names_the_struct() -> None:
    with pytest.raises(StatusError, match='unable to find api field in struct PodSpec for the json field "bogus"'):
        merge(spec(bogus={"a": 1}), spec(bogus={"a": 2}))


def test_unknown_fields_that_are_new_are_left_to_the_decoder() -> None:
    assert merge(spec(), spec(bogus={"a": 2})) == spec(bogus={"a": 2})


def test_repeated_scalars_are_dropped_as_upstream_drops_them() -> None:
    got = merge({"metadata": {"finalizers": ["a"]}}, {"metadata": {"finalizers": ["b", "b", "a", "c"]}})

    assert sorted(got["metadata"]["finalizers"]) == ["a", "b", "c"]

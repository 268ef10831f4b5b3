"""Requests: who owns what after creates, updates and applies; conflicts, force, pruning."""

from typing import Any

import pytest

from schedlab.apimachinery import schema
from schedlab.apimachinery.apply import fieldset
from schedlab.apimachinery.apply.manager import LAST_APPLIED, FieldManager, default_manager
from schedlab.apimachinery.errors import BadRequest, Conflict, StatusError
from schedlab.apimachinery.gvk import GroupVersionKind

T1, T2 = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"


def manager(kind: str, *, group: str = "", subresource: str = "", ignored: tuple[str, ...] = ()) -> FieldManager:
    gvk = GroupVersionKind(group, "v1", kind)
    fields = {gvk.api_version: fieldset.of_paths([(name,) for name in ignored])} if ignored else {}
    return FieldManager(gvk, schema.schema_for(*gvk), subresource, fields)


CONFIG_MAPS = manager("ConfigMap")
PODS = manager("Pod", ignored=("status",))
POD_STATUS = manager("Pod", subresource="status", ignored=("spec",))
DEPLOYMENTS = manager("Deployment", group="apps", ignored=("status",))


def config_map(**data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}


def with_uid(obj: dict[str, Any]) -> dict[str, Any]:
    """What the registry adds when it stores an object."""
    return {**obj, "metadata": {**obj["metadata"], "uid": "u", "resourceVersion": "1"}}


def owners(obj: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{one['manager']}/{one['operation']}" + (f"/{one['subresource']}" if "subresource" in one else ""): one[
            "fieldsV1"
        ]
        for one in obj["metadata"].get("managedFields", ())
    }


# --- creates and updates --------------------------------------------------------------------------------------------


def test_a_create_owns_all_it_sets_but_not_what_identifies_the_object() -> None:
    got = CONFIG_MAPS.update(None, config_map(a="1"), "m", T1)

    assert got["metadata"]["managedFields"] == [
        {
            "manager": "m",
            "operation": "Update",
            "apiVersion": "v1",
            "time": T1,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
        }
    ]


def test_structs_that_are_always_there_are_not_owned_themselves() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": "1"}},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {}, "ports": [{"containerPort": 80}]}],
            "tolerations": [{"key": "k"}],
            "securityContext": {},
        },
        "status": {"phase": "Pending"},
    }

    assert owners(PODS.update(None, pod, "m", T1)) == {
        "m/Update": {
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {
                "f:containers": {
                    'k:{"name":"c"}': {
                        ".": {},
                        "f:image": {},
                        "f:name": {},
                        "f:ports": {
                            ".": {},
                            'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                        },
                        "f:resources": {},
                    }
                },
                "f:securityContext": {},
                "f:tolerations": {},
            },
        }
    }


def test_an_update_takes_what_it_changes_from_the_others() -> None:
    live = with_uid(CONFIG_MAPS.update(None, config_map(a="1", b="1"), "first", T1))
    got = CONFIG_MAPS.update(live, config_map(a="2", b="1"), "second", T2)

    assert owners(got) == {
        "first/Update": {"f:data": {".": {}, "f:b": {}}},
        "second/Update": {"f:data": {"f:a": {}}},
    }
    assert [one["time"] for one in got["metadata"]["managedFields"]] == [T1, T2]


def test_an_update_that_changes_nothing_leaves_everything_as_it_was() -> None:
    live = with_uid(CONFIG_MAPS.update(None, config_map(a="1"), "first", T1))

    assert CONFIG_MAPS.update(live, live, "second", T2) == live


def test_removed_fields_belong_to_nobody() -> None:
    live = with_uid(CONFIG_MAPS.update(None, config_map(a="1", b="1"), "first", T1))

    assert owners(CONFIG_MAPS.update(live, config_map(a="1"), "second", T2)) == {
        "first/Update": {"f:data": {".": {}, "f:a": {}}}
    }


def test_a_subresource_has_an_entry_of_its_own_and_cannot_own_what_it_resets() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n"}, "status": {}}
    live = with_uid(PODS.update(None, pod, "m", T1))
    new = {**live, "spec": {"nodeName": "other"}, "status": {"phase": "Running"}}

    assert owners(POD_STATUS.update(live, new, "kubelet", T2)) == {
        "m/Update": {"f:spec": {"f:nodeName": {}}},
        "kubelet/Update/status": {"f:status": {"f:phase": {}}},
    }


def test_an_object_without_managed_fields_stays_untracked() -> None:
    live = with_uid(config_map(a="1"))

    assert owners(CONFIG_MAPS.update(live, config_map(a="2"), "m", T1)) == {}


def test_an_object_created_without_fields_is_not_tracked() -> None:
    empty = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}

    assert owners(CONFIG_MAPS.update(None, empty, "m", T1)) == {}


@pytest.mark.parametrize("reset", [[], [{}]])
def test_a_request_may_reset_managed_fields(reset: list[Any]) -> None:
    live = with_uid(CONFIG_MAPS.update(None, config_map(a="1"), "first", T1))
    new = config_map(a="2")
    new["metadata"]["managedFields"] = reset

    assert owners(CONFIG_MAPS.update(live, new, "second", T2)) == {}


def test_a_request_may_rewrite_managed_fields() -> None:
    live = with_uid(CONFIG_MAPS.update(None, config_map(a="1"), "first", T1))
    new = config_map(a="1")
    entry = {**live["metadata"]["managedFields"][0], "manager": "other"}
    new["metadata"]["managedFields"] = [entry]

    assert list(owners(CONFIG_MAPS.update(live, new, "second", T2))) == ["other/Update"]


def test_managed_fields_that_cannot_be_read_are_ignored() -> None:
    live = with_uid(CONFIG_MAPS.update(None, config_map(a="1"), "first", T1))
    new = config_map(a="1")
    new["metadata"]["managedFields"] = [{"manager": "x"}]

    assert list(owners(CONFIG_MAPS.update(live, new, "second", T2))) == ["first/Update"]


def test_the_objects_given_stay_as_they_were() -> None:
    live = with_uid(CONFIG_MAPS.update(None, config_map(a="1"), "first", T1))
    new = config_map(a="2")

    CONFIG_MAPS.update(live, new, "second", T2)

    assert new == config_map(a="2")
    assert owners(live) == {"first/Update": {"f:data": {".": {}, "f:a": {}}}}


# --- applies --------------------------------------------------------------------------------------------------------


def apply(live: dict[str, Any] | None, config: dict[str, Any], who: str, *, force: bool = False) -> dict[str, Any]:
    return with_uid(CONFIG_MAPS.apply(live, config, who, T2, force=force))


def test_an_apply_creates_and_owns_its_leaves() -> None:
    got = apply(None, config_map(a="1"), "m")

    assert got["data"] == {"a": "1"}
    assert owners(got) == {"m/Apply": {"f:data": {"f:a": {}}}}


def test_fields_that_are_no_longer_applied_are_removed() -> None:
    live = apply(None, config_map(a="1", b="1"), "m")
    got = apply(live, config_map(a="1"), "m")

    assert got["data"] == {"a": "1"}
    assert owners(got) == {"m/Apply": {"f:data": {"f:a": {}}}}


def test_fields_that_another_manager_owns_too_stay() -> None:
    live = apply(apply(None, config_map(a="1", b="1"), "m"), config_map(b="1"), "other")
    got = apply(live, config_map(a="1"), "m")

    assert got["data"] == {"a": "1", "b": "1"}
    assert owners(got) == {"m/Apply": {"f:data": {"f:a": {}}}, "other/Apply": {"f:data": {"f:b": {}}}}


def test_applying_the_same_again_changes_nothing() -> None:
    live = apply(None, config_map(a="1"), "m")

    assert CONFIG_MAPS.apply(live, config_map(a="1"), "m", "2026-02-02T00:00:00Z", force=False) == live


@pytest.mark.parametrize(
    ("config", "message", "causes"),
    [
        (
            config_map(a="2"),
            'Apply failed with 1 conflict: conflict with "m": .data.a',
            [(".data.a", 'conflict with "m"')],
        ),
        (
            config_map(a="2", b="2"),
            'Apply failed with 2 conflicts: conflicts with "m":\n- .data.a\n- .data.b',
            [(".data.a", 'conflict with "m"'), (".data.b", 'conflict with "m"')],
        ),
    ],
)
def test_changing_what_another_manager_applies_is_a_conflict(
    config: dict[str, Any], message: str, causes: list[tuple[str, str]]
) -> None:
    live = apply(None, config_map(a="1", b="1"), "m")

    with pytest.raises(Conflict) as caught:
        apply(live, config, "other")
    assert message == caught.value.message
    assert causes == [(cause["field"], cause["message"]) for cause in caught.value.causes]


def test_conflicts_with_several_managers_name_them_all() -> None:
    live = apply(apply(None, config_map(a="1"), "m"), config_map(b="1"), "n")
    live = CONFIG_MAPS.update(live, {**live, "data": {**live["data"], "c": "1"}}, "updater", T1)

    with pytest.raises(Conflict) as caught:
        apply(live, config_map(a="2", b="2", c="2"), "other")
    assert caught.value.message == (
        'Apply failed with 3 conflicts: conflicts with "m":\n- .data.a\nconflicts with "n":\n- .data.b\n'
        'conflicts with "updater" using v1:\n- .data.c'
    )


def test_force_takes_the_fields() -> None:
    live = apply(None, config_map(a="1", b="1"), "m")
    got = apply(live, config_map(a="2"), "other", force=True)

    assert got["data"] == {"a": "2", "b": "1"}
    assert owners(got) == {"m/Apply": {"f:data": {"f:b": {}}}, "other/Apply": {"f:data": {"f:a": {}}}}


def test_applying_the_value_that_is_there_shares_the_field() -> None:
    live = apply(None, config_map(a="1"), "m")
    got = apply(live, config_map(a="1"), "other")

    assert owners(got) == {"m/Apply": {"f:data": {"f:a": {}}}, "other/Apply": {"f:data": {"f:a": {}}}}


def test_what_an_untracked_object_has_belongs_to_before_first_apply() -> None:
    live = with_uid(config_map(a="1", b="1"))
    got = apply(live, config_map(a="1"), "m")

    assert owners(got) == {
        "before-first-apply/Update": {"f:data": {".": {}, "f:a": {}, "f:b": {}}},
        "m/Apply": {"f:data": {"f:a": {}}},
    }


def test_list_elements_are_merged_and_removed_by_their_keys() -> None:
    def deployment(*containers: dict[str, str]) -> dict[str, Any]:
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "x"},
            "spec": {"template": {"spec": {"containers": list(containers)}}},
        }

    a, b = {"name": "a", "image": "1"}, {"name": "b", "image": "1"}
    live = with_uid(DEPLOYMENTS.apply(None, deployment(a, b), "m", T1, force=False))
    live = with_uid(DEPLOYMENTS.apply(live, deployment({"name": "c", "image": "1"}), "n", T1, force=False))
    got = DEPLOYMENTS.apply(live, deployment(b), "m", T2, force=False)

    containers = got["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in containers] == ["b", "c"]


def test_null_in_a_configuration_owns_the_field() -> None:
    got = apply(None, {**config_map(), "data": None}, "m")

    assert "data" not in got
    assert owners(got) == {"m/Apply": {"f:data": {}}}


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        (
            {**config_map(), "dat": {}},
            500,
            "failed to create typed patch object (/x; /v1, Kind=ConfigMap): .dat: field not declared in schema",
        ),
        ({**config_map(), "kind": "Secret"}, 400, "invalid object type: /v1, Kind=Secret"),
        ({**config_map(), "apiVersion": "apps/v1"}, 400, "invalid object type: apps/v1, Kind=ConfigMap"),
        (
            {**config_map(), "metadata": {"name": "x", "managedFields": []}},
            400,
            "metadata.managedFields must be nil",
        ),
    ],
)
def test_configurations_that_are_refused(config: dict[str, Any], code: int, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        apply(None, config, "m")

    assert (code, message) == (caught.value.code, caught.value.message)
    assert isinstance(caught.value, BadRequest) is (code == 400)


def test_values_that_only_their_own_decoder_refuses_are_refused_after_the_merge() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "d"},
        "spec": {"overhead": {"cpu": "x"}},
    }

    with pytest.raises(StatusError) as caught:
        PODS.apply(None, pod, "m", T1, force=False)
    assert caught.value.code == 500
    assert caught.value.message.startswith(
        "failed to convert new object (d/p; /v1, Kind=Pod) to proper version: "
        "unable to convert unstructured object to /v1, Kind=Pod: quantities must match"
    )


# --- kubectl's own annotation ---------------------------------------------------------------------------------------


def client_side_applied(**data: str) -> dict[str, Any]:
    config = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1"}}'
    obj = config_map(**data)
    obj["metadata"]["annotations"] = {LAST_APPLIED: config}
    return with_uid(CONFIG_MAPS.update(None, obj, "kubectl-client-side-apply", T1))


def test_kubectl_may_take_over_what_its_annotation_shows_to_be_its_own() -> None:
    got = apply(client_side_applied(a="1", b="1"), config_map(a="2"), "kubectl")

    assert got["data"] == {"a": "2", "b": "1"}
    assert got["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"x"}}\n'
    )


def test_kubectl_conflicts_over_fields_that_its_annotation_does_not_show() -> None:
    live = client_side_applied(a="1", b="1")

    with pytest.raises(Conflict) as caught:
        apply(live, config_map(a="2", b="2"), "kubectl")
    assert caught.value.message == (
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.b'
    )


def test_other_managers_do_not_read_kubectls_annotation() -> None:
    with pytest.raises(Conflict):
        apply(client_side_applied(a="1"), config_map(a="2"), "m")


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "user_agent", "name"),
    [
        ("m", "agent/1", "m"),
        ("", "kubectl/v1.36 (linux)", "kubectl"),
        ("", "no-slash", "no-slash"),
        ("", "a\tb\x00c/1", "abc"),
        ("", "é" * 100, "é" * 64),
    ],
)
def test_a_request_without_a_manager_takes_its_user_agent(given: str, user_agent: str, name: str) -> None:
    assert name == default_manager(given, user_agent)


def test_a_request_without_any_name_is_managed_by_unknown() -> None:
    assert list(owners(CONFIG_MAPS.update(None, config_map(a="1"), "", T1))) == ["unknown/Update"]

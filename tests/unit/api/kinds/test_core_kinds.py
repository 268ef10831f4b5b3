"""What is wrong with new and changed objects of the core kinds, and what becomes of them before they are stored."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, create_errors, defaulted, stored, update_errors

UPPER = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"


def named(**fields: Any) -> Object:
    return {"metadata": {"name": "x"}, **fields}


def within(**fields: Any) -> Object:
    return {"metadata": {"name": "x", "namespace": "n"}, **fields}


# --- Namespaces ------------------------------------------------------------------------------------------------------


def test_a_namespace_gets_its_label_finalizer_and_phase() -> None:
    made = stored("namespaces", named())
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["status"] == {"phase": "Active"}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ({"metadata": {"name": "a.b"}}, ['metadata.name: Invalid value: "a.b": must not contain dots']),
        (
            {"metadata": {"name": "a", "finalizers": ["plain"]}},
            [
                (
                    'metadata.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully '
                    "qualified"
                )
            ],
        ),
    ],
)
def test_namespaces(obj: Object, expected: list[str]) -> None:
    assert create_errors("namespaces", obj) == expected


def test_a_namespace_is_terminating_only_while_it_is_deleted() -> None:
    old = stored("namespaces", named())
    assert update_errors("namespaces", old, changed(old, "status.phase", "Terminating"), "status") == [
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    ]


# --- Configuration ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"data": {"a.b": "1"}}, []),
        ({"data": {"..": "1"}}, ["data[..]: Invalid value: \"..\": must not be '..'"]),
        (
            {"data": {"a": "1"}, "binaryData": {"a": "YQ=="}},
            ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
        ),
        ({"data": {"a": "x" * (1024 * 1024 + 1)}}, ["[]: Too long: may not be more than 1048576 bytes"]),
    ],
)
def test_config_maps(fields: Object, expected: list[str]) -> None:
    assert create_errors("configmaps", within(**fields)) == [text.replace("[]: ", ": ", 1) for text in expected]


def test_what_is_immutable_stays() -> None:
    old = stored("configmaps", within(data={"a": "1"}, immutable=True))
    denied = "Forbidden: field is immutable when `immutable` is set"
    assert update_errors("configmaps", old, changed(old, "data.a", "2")) == [f"data: {denied}"]
    assert update_errors("configmaps", old, changed(old, "immutable", None)) == [f"immutable: {denied}"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"type": "kubernetes.io/basic-auth"}, ["data[username]: Required value", "data[password]: Required value"]),
        ({"type": "kubernetes.io/tls", "data": {"tls.crt": "YQ=="}}, ["data[tls.key]: Required value"]),
        ({"type": "kubernetes.io/ssh-auth"}, ["data[ssh-privatekey]: Required value"]),
        (
            {"type": "kubernetes.io/service-account-token"},
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
        ({"type": "kubernetes.io/dockercfg", "data": {".dockercfg": "e30="}}, []),
    ],
)
def test_secrets(fields: Object, expected: list[str]) -> None:
    assert create_errors("secrets", within(**fields)) == expected


def test_secrets_have_a_type_and_take_plain_texts() -> None:
    made = stored("secrets", within(stringData={"a": "b"}))
    assert (made["type"], made["data"]) == ("Opaque", {"a": "Yg=="})
    assert (
        update_errors("secrets", made, changed(made, "type", "x"))[0] == 'type: Invalid value: "x": field is immutable'
    )


# --- Nodes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, []),
        ({"spec": {"taints": [{"key": "a"}]}}, ["metadata.taints[0].effect: Required value"]),
        (
            {
                "spec": {
                    "taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule", "value": "b"}]
                }
            },
            [
                (
                    'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: taints '
                    "must be unique by key and effect pair"
                )
            ],
        ),
        ({"spec": {"podCIDR": "10.0.0.0/24"}}, []),
        (
            {"spec": {"podCIDRs": ["10.0.0.0/24", "10.1.0.0/24"]}},
            [
                'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one CIDR for each IP family'
            ],
        ),
        (
            {"status": {"capacity": {"cpu": "-1"}}},
            [
                'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
                'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
            ],
        ),
    ],
)
def test_nodes(fields: Object, expected: list[str]) -> None:
    assert create_errors("nodes", named(**fields)) == expected


def test_what_a_node_was_given_stays() -> None:
    old = stored("nodes", named(spec={"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "providerID": "p"}))
    assert update_errors("nodes", old, changed(old, "spec.providerID", "q")) == [
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid'
    ]
    other = changed(changed(old, "spec.podCIDR", "10.1.0.0/24"), "spec.podCIDRs", ["10.1.0.0/24"])
    assert update_errors("nodes", old, other) == [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'
    ]


# --- Volumes ---------------------------------------------------------------------------------------------------------


def volume(**spec: Any) -> Object:
    return named(
        spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/d"}, **spec}
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"accessModes": []}, ["accessModes: Required value"]),
        (
            {"accessModes": ["ReadWriteOncePod", "ReadOnlyMany"]},
            ["accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
        ),
        ({"capacity": {"storage": "0"}}, ['capacity[storage]: Invalid value: "0": must be greater than zero']),
        ({"nfs": {"server": "s", "path": "/p"}}, ["nfs: Forbidden: may not specify more than 1 volume type"]),
        ({"hostPath": None}, [": Required value: must specify a volume type"]),
        (
            {"hostPath": None, "local": {"path": "/d"}},
            ["nodeAffinity: Required value: Local volume requires node affinity"],
        ),
        ({"hostPath": None, "csi": {"driver": "d"}}, ["csi.volumeHandle: Required value"]),
        (
            {"persistentVolumeReclaimPolicy": "X"},
            ['persistentVolumeReclaimPolicy: Unsupported value: "X": supported values: "Delete", "Recycle", "Retain"'],
        ),
        ({"nodeAffinity": {}}, ["nodeAffinity.required: Required value: must specify required node constraints"]),
    ],
)
def test_persistent_volumes(spec: Object, expected: list[str]) -> None:
    found = create_errors("persistentvolumes", volume(**spec))
    assert found == [f"spec{text}" if text.startswith(":") else f"spec.{text}" for text in expected]


def test_where_a_volume_is_stays() -> None:
    old = stored("persistentvolumes", volume())
    assert update_errors("persistentvolumes", old, changed(old, "spec.hostPath.path", "/e"))[0].startswith(
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n@@ -2,7 +2,7 @@\n"
    )
    assert update_errors("persistentvolumes", old, changed(old, "spec.capacity.storage", "2Gi")) == []


def test_labels_in_the_affinity_of_a_volume_may_get_their_new_names() -> None:
    def affinity(key: str) -> Object:
        expression = {"key": key, "operator": "In", "values": ["a"]}
        return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}

    old = stored("persistentvolumes", volume(nodeAffinity=affinity("failure-domain.beta.kubernetes.io/zone")))
    same = changed(old, "spec.nodeAffinity", affinity("topology.kubernetes.io/zone"))
    assert update_errors("persistentvolumes", old, same) == []
    shown = '{"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"z","Operator":"In","Values":["a"]}],"MatchFields":null}]}}'
    assert update_errors("persistentvolumes", old, changed(old, "spec.nodeAffinity", affinity("z"))) == [
        f"nodeAffinity: Invalid value: {shown}: field is immutable, except for updating from beta label to GA"
    ]


def claim(**spec: Any) -> Object:
    return within(spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"accessModes": []}, ["accessModes: Required value: at least 1 access mode is required"]),
        ({"resources": {}}, ["resources[storage]: Required value"]),
        ({"volumeMode": "X"}, ['volumeMode: Unsupported value: "X": supported values: "Block", "Filesystem"']),
        (
            {"dataSource": {"kind": "PersistentVolumeClaim"}},
            ["dataSource.name: Required value", "dataSourceRef.name: Required value"],
        ),
    ],
)
def test_claims(spec: Object, expected: list[str]) -> None:
    assert create_errors("persistentvolumeclaims", claim(**spec)) == [f"spec.{text}" for text in expected]


def test_sources_of_claims_say_the_same_twice() -> None:
    made = stored("persistentvolumeclaims", claim(dataSource={"kind": "PersistentVolumeClaim", "name": "c"}))
    assert made["spec"]["dataSourceRef"] == {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "c"}
    made = stored("persistentvolumeclaims", claim(dataSource={"kind": "Other", "name": "c", "apiGroup": "g"}))
    assert "dataSource" not in made["spec"]


def test_bound_claims_grow_and_nothing_else() -> None:
    old = stored("persistentvolumeclaims", claim(volumeName="v"))
    old["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    assert update_errors("persistentvolumeclaims", old, changed(old, "spec.resources.requests.storage", "2Gi")) == []
    assert update_errors("persistentvolumeclaims", old, changed(old, "spec.resources.requests.storage", "1Mi")) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]
    found = update_errors("persistentvolumeclaims", old, changed(old, "spec.volumeName", "w"))
    assert found[0].startswith("spec: Forbidden: spec is immutable after creation except resources.requests and")
    assert '- "VolumeName": "v",\n+ "VolumeName": "w",\n' in found[0]


# --- Events and leases -----------------------------------------------------------------------------------------------


def test_an_event_is_in_the_namespace_of_what_it_is_about() -> None:
    event = within(involvedObject={"kind": "Pod", "namespace": "other", "name": "p"})
    assert create_errors("events", event) == [
        'involvedObject.namespace: Invalid value: "other": does not match event.namespace'
    ]


def test_an_event_of_the_new_form_has_a_time_and_who_reports_it() -> None:
    event = within(regarding={"kind": "Pod", "namespace": "n", "name": "p"}, reason="r", action="a", type="Normal")
    found = create_errors("events.events.k8s.io", event)
    assert "eventTime: Required value" in found


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"leaseDurationSeconds": 0}, ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"]),
        ({"leaseTransitions": -1}, ["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"]),
    ],
)
def test_leases(spec: Object, expected: list[str]) -> None:
    assert create_errors("leases.coordination.k8s.io", within(spec=spec)) == expected


def test_defaults_are_filled_in_once() -> None:
    """An object with its defaults gets no others."""
    for resource, obj in (
        ("nodes", named()),
        ("services", within(spec={"ports": [{"port": 1}]})),
        ("persistentvolumes", volume()),
    ):
        once = defaulted(resource, obj)
        assert defaulted(resource, once) == once

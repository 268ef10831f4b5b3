"""What is wrong with objects of the storage, scheduling and policy groups."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, context, create_errors, stored, strategy, update_errors


def named(**fields: Any) -> Object:
    return {"metadata": {"name": "x"}, **fields}


STORAGE_CLASS = "storageclasses.storage.k8s.io"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"provisioner": "p"}, []),
        ({}, ["provisioner: Required value"]),
        ({"provisioner": "p", "parameters": {"": "a"}}, ['parameters: Invalid value: "": field can not be empty.']),
        (
            {"provisioner": "p", "reclaimPolicy": "Recycle"},
            ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
        ),
        (
            {
                "provisioner": "p",
                "allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": ["b", "b"]}]}],
            },
            ['allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "b"'],
        ),
        (
            {"provisioner": "p", "allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": ["b"]}]}] * 2},
            ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'],
        ),
    ],
)
def test_storage_classes(fields: Object, expected: list[str]) -> None:
    assert create_errors(STORAGE_CLASS, named(**fields)) == expected


def test_storage_classes_keep_what_volumes_were_made_by() -> None:
    old = stored(STORAGE_CLASS, named(provisioner="p", parameters={"a": "b"}))
    assert (old["reclaimPolicy"], old["volumeBindingMode"]) == ("Delete", "Immediate")
    assert update_errors(STORAGE_CLASS, old, changed(old, "parameters.a", "c")) == [
        'parameters: Invalid value: {"a":"c"}: field is immutable'
    ]
    assert update_errors(STORAGE_CLASS, old, changed(old, "allowVolumeExpansion", True)) == []


def test_csi_nodes_list_each_driver_once() -> None:
    drivers = [{"name": "d", "nodeID": "n"}, {"name": "d", "nodeID": "n"}]
    assert create_errors("csinodes.storage.k8s.io", named(spec={"drivers": drivers})) == [
        'spec.drivers[1].name: Duplicate value: "d"'
    ]
    assert create_errors(
        "csinodes.storage.k8s.io", named(spec={"drivers": [{"name": "d", "allocatable": {"count": -1}}]})
    ) == [
        "spec.drivers[0].nodeID: Required value",
        "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
    ]


CSI_DRIVER = "csidrivers.storage.k8s.io"


def test_csi_drivers_have_all_their_defaults() -> None:
    made = stored(CSI_DRIVER, named())
    assert made["spec"]["volumeLifecycleModes"] == ["Persistent"]
    assert made["spec"]["fsGroupPolicy"] == "ReadWriteOnceWithFSType"
    assert create_errors(CSI_DRIVER, named()) == []
    assert create_errors(CSI_DRIVER, named(spec={"tokenRequests": [{"audience": "a"}, {"audience": "a"}]})) == [
        'spec.tokenRequests[1].audience: Duplicate value: "a"'
    ]


def test_tokens_of_csi_drivers_better_be_secret() -> None:
    within = context()
    strategy(CSI_DRIVER).validate(
        stored(CSI_DRIVER, named(spec={"tokenRequests": [{"audience": "a"}]}), within), within
    )
    assert within.warnings[0].startswith("spec.serviceAccountTokenInSecrets is unset;")


def test_storage_capacities() -> None:
    resource = "csistoragecapacities.storage.k8s.io"
    obj = {"metadata": {"name": "x", "namespace": "n"}, "storageClassName": "c", "capacity": "-1"}
    assert create_errors(resource, obj) == ['capacity: Invalid value: "-1": must be greater than or equal to 0']


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}, []),
        (
            {"attacher": "a", "nodeName": "n", "source": {}},
            ["spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName"],
        ),
        ({"nodeName": "n", "source": {"persistentVolumeName": "v"}}, ["spec.attacher: Required value"]),
    ],
)
def test_volume_attachments(spec: Object, expected: list[str]) -> None:
    assert create_errors("volumeattachments.storage.k8s.io", named(spec=spec)) == expected


PRIORITY_CLASS = "priorityclasses.scheduling.k8s.io"


def test_priority_classes_of_users_stay_below_those_of_the_system() -> None:
    assert create_errors(PRIORITY_CLASS, named(value=1_000_000_000)) == []
    assert create_errors(PRIORITY_CLASS, named(value=1_000_000_001))[0].startswith(
        "value: Forbidden: maximum allowed value"
    )
    system = {"metadata": {"name": "system-x"}, "value": 1}
    assert create_errors(PRIORITY_CLASS, system)[0].startswith(
        "metadata.name: Forbidden: priority class names with 'system-' prefix"
    )


def test_priority_classes_keep_value_and_policy() -> None:
    old = stored(PRIORITY_CLASS, named(value=1))
    assert update_errors(PRIORITY_CLASS, old, changed(old, "value", 2)) == [
        "value: Forbidden: may not be changed in an update."
    ]
    assert update_errors(PRIORITY_CLASS, old, changed(old, "preemptionPolicy", "Never")) == [
        'preemptionPolicy: Invalid value: "Never": field is immutable'
    ]


BUDGET = "poddisruptionbudgets.policy"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"maxUnavailable": 1}, []),
        ({"minAvailable": "110%"}, ['spec.minAvailable: Invalid value: "110%": must not be greater than 100%']),
        ({"minAvailable": -1}, ["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"unhealthyPodEvictionPolicy": "X"},
            [
                'spec.unhealthyPodEvictionPolicy: Unsupported value: "X": supported values: "AlwaysAllow", "IfHealthyBudget"'
            ],
        ),
    ],
)
def test_disruption_budgets(spec: Object, expected: list[str]) -> None:
    obj = {"metadata": {"name": "x", "namespace": "n"}, "spec": spec}
    assert create_errors(BUDGET, obj) == expected


def test_a_disruption_budget_says_one_of_two_numbers() -> None:
    obj = {"metadata": {"name": "x", "namespace": "n"}, "spec": {"minAvailable": 1, "maxUnavailable": 1}}
    assert create_errors(BUDGET, obj)[0].endswith("minAvailable and maxUnavailable cannot be both set")

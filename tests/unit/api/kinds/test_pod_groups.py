"""Pod groups, and the workloads whose templates they are made from."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import changed, context, create_errors, stored, strategy, update_errors

GROUP = "podgroups.scheduling.k8s.io"
WORKLOAD = "workloads.scheduling.k8s.io"
GANG = {"gang": {"minCount": 3}}
ALL = context(
    GenericWorkload=True, TopologyAwareWorkloadScheduling=True, GangScheduling=True, WorkloadAwarePreemption=True
)


def group(**spec: Any) -> Object:
    return {"metadata": {"name": "g", "namespace": "n"}, "spec": {"schedulingPolicy": GANG, **spec}}


def workload(*templates: Object, **spec: Any) -> Object:
    return {"metadata": {"name": "w", "namespace": "n"}, "spec": {"podGroupTemplates": list(templates), **spec}}


def template(name: str = "t", **fields: Any) -> Object:
    return {"name": name, "schedulingPolicy": GANG, **fields}


def reference(**names: str) -> Object:
    return {"workload": {"workloadName": "w", "podGroupTemplateName": "t", **names}}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (group(), []),
        (group(schedulingPolicy={"basic": {}}), []),
        (group(podGroupTemplateRef=reference()), []),
        (group(schedulingConstraints={"topology": [{"key": "rack"}]}), []),
        (
            group(schedulingPolicy={}),
            ['spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`'],
        ),
        (
            group(schedulingPolicy={"basic": {}, **GANG}),
            [
                (
                    'spec.schedulingPolicy: Invalid value: "{`basic`, `gang`}": '
                    "exactly one of `basic`, `gang` is required, but multiple fields are set"
                ),
            ],
        ),
        (group(schedulingPolicy={"gang": {}}), ["spec.schedulingPolicy.gang.minCount: Required value"]),
        (
            group(schedulingPolicy={"gang": {"minCount": -1}}),
            ["spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than zero"],
        ),
        (
            group(podGroupTemplateRef=reference(workloadName="")),
            ["spec.podGroupTemplateRef.workload.workloadName: Required value"],
        ),
        (
            group(podGroupTemplateRef={}),
            ['spec.podGroupTemplateRef: Invalid value: "": must specify one of: `workload`'],
        ),
        (
            group(schedulingConstraints={"topology": [{"key": "a"}, {"key": ""}]}),
            [
                "spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item",
                "spec.schedulingConstraints.topology[1].key: Required value",
            ],
        ),
        (
            group(disruptionMode="Never"),
            ['spec.disruptionMode: Unsupported value: "Never": supported values: "Pod", "PodGroup"'],
        ),
    ],
)
def test_groups_are_checked(obj: Object, expected: list[str]) -> None:
    assert create_errors(GROUP, obj, ALL) == expected


def test_fields_of_gates_that_are_off_are_dropped() -> None:
    obj = group(schedulingConstraints={"topology": [{"key": "rack"}]}, disruptionMode="PodGroup", priority=5)

    assert stored(GROUP, obj, context(GenericWorkload=True))["spec"] == {
        "podGroupTemplateRef": None,
        "schedulingPolicy": GANG,
    }
    made = stored(WORKLOAD, workload(template(disruptionMode="Pod")), context(GenericWorkload=True))
    assert made["spec"]["podGroupTemplates"] == [template(schedulingConstraints=None)]


def test_disruption_mode_has_a_default() -> None:
    assert stored(GROUP, group(), ALL)["spec"]["disruptionMode"] == "Pod"


def test_a_group_never_changes_but_for_its_status() -> None:
    old = stored(GROUP, group(), ALL)

    assert update_errors(GROUP, old, changed(old, "metadata.labels", {"a": "b"}), within=ALL) == []
    assert update_errors(GROUP, old, changed(old, "spec.schedulingPolicy.gang.minCount", 2), within=ALL) == [
        'spec.schedulingPolicy: Invalid value: {"gang":{"minCount":2}}: field is immutable'
    ]
    condition = {
        "type": "PodGroupScheduled",
        "status": "Maybe",
        "reason": "R",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    assert update_errors(GROUP, old, changed(old, "status.conditions", [condition]), "status", ALL) == [
        'status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"'
    ]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (workload(template(), template("u"), controllerRef={"kind": "Job", "name": "j", "apiGroup": "batch"}), []),
        (workload(), ["spec.podGroupTemplates: Required value: must have at least one item"]),
        (
            workload(*(template(f"t{i}") for i in range(9))),
            ["spec.podGroupTemplates: Too many: 9: must have at most 8 items"],
        ),
        (workload(template(), template()), ['spec.podGroupTemplates[1]: Duplicate value: "t"']),
        (
            workload(template(""), controllerRef={"kind": "", "name": "a/b"}),
            [
                "spec.controllerRef.kind: Required value",
                "spec.controllerRef.name: Invalid value: \"a/b\": may not contain '/'",
                "spec.podGroupTemplates[0].name: Required value",
            ],
        ),
    ],
)
def test_workloads_are_checked(obj: Object, expected: list[str]) -> None:
    assert create_errors(WORKLOAD, obj, ALL) == expected


def test_templates_of_a_workload_never_change() -> None:
    old = stored(WORKLOAD, workload(template()), ALL)

    [error] = update_errors(WORKLOAD, old, changed(old, "spec.podGroupTemplates.0.name", "x"), within=ALL)
    assert error.startswith("spec.podGroupTemplates: Invalid value: ")
    assert error.endswith(": field is immutable")


def test_both_are_served_with_the_gate_only() -> None:
    assert strategy(GROUP).feature == strategy(WORKLOAD).feature == "GenericWorkload"

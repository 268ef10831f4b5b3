"""Horizontal pod autoscalers in both of their versions."""

from typing import Any

import pytest

from schedlab.api.kinds.horizontalpodautoscaler_v1 import from_v2, to_v2
from schedlab.api.object import Object
from tests.support.kinds import changed, create_errors, decoded, defaulted, stored, strategy, update_errors

SCALER = "horizontalpodautoscalers.autoscaling"
OLD_SCALER = "horizontalpodautoscalers.v1.autoscaling"
TARGET = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
AVERAGE = {"type": "AverageValue", "averageValue": "1"}


def scaler(**spec: Any) -> Object:
    known = {"scaleTargetRef": TARGET, "maxReplicas": 3}
    return {"metadata": {"name": "x", "namespace": "n"}, "spec": {**known, **spec}}


def metric(**fields: Any) -> Object:
    return scaler(metrics=[fields])


def resource(name: str = "cpu", **target: Any) -> Object:
    return metric(type="Resource", resource={"name": name, "target": target})


def behavior(**rules: Any) -> Object:
    return scaler(behavior={"scaleUp": rules})


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (scaler(), []),
        (
            scaler(minReplicas=0),
            [
                "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
                (
                    "spec.metrics: Forbidden: must specify at least one Object or External metric to "
                    "support scaling to zero replicas"
                ),
            ],
        ),
        (scaler(minReplicas=4), ["spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"]),
        (
            scaler(maxReplicas=0),
            [
                "spec.maxReplicas: Required value: must be set and greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
            ],
        ),
        (
            scaler(scaleTargetRef={}),
            [
                "spec.scaleTargetRef.kind: Required value",
                "spec.scaleTargetRef.name: Required value",
                'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
            ],
        ),
        (
            scaler(scaleTargetRef={"kind": "a/b", "name": "."}),
            [
                "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
                "spec.scaleTargetRef.name: Invalid value: \".\": may not be '.'",
                'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
            ],
        ),
        (
            metric(type="x"),
            [
                (
                    'spec.metrics[0].type: Unsupported value: "x": supported values: '
                    '"ContainerResource", "External", "Object", "Pods", "Resource"'
                ),
                (
                    'spec.metrics[0].type: Unsupported value: "x": supported values: '
                    '"ContainerResource", "External", "Object", "Pods", "Resource"'
                ),
            ],
        ),
        (
            metric(type="Resource"),
            ["spec.metrics[0].resource: Required value: must populate information for the given metric source"],
        ),
        (
            metric(
                type="Pods",
                pods={"metric": {"name": "m"}, "target": AVERAGE},
                resource={"name": "cpu", "target": AVERAGE},
            ),
            ["spec.metrics[0].resource: Forbidden: must populate the given metric source only"],
        ),
        (resource(type="Utilization", averageUtilization=50), []),
        (
            resource(type="Utilization"),
            [
                (
                    "spec.metrics[0].resource.target.averageUtilization: Required value: must set either "
                    "a target raw value or a target utilization"
                )
            ],
        ),
        (
            resource(type="Utilization", averageUtilization=0),
            ["spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0"],
        ),
        (
            resource(type="AverageValue", averageValue="0"),
            ['spec.metrics[0].resource.target.averageValue: Invalid value: "0": must be positive'],
        ),
        (
            resource(type="x"),
            [
                (
                    'spec.metrics[0].resource.target.type: Invalid value: "x": must be either '
                    "Utilization, Value, or AverageValue"
                ),
                (
                    "spec.metrics[0].resource.target.averageUtilization: Required value: must set either "
                    "a target raw value or a target utilization"
                ),
            ],
        ),
        (
            resource("", type="AverageValue", averageValue="1"),
            ["spec.metrics[0].resource.name: Required value: must specify a resource name"],
        ),
        (
            metric(type="Pods", pods={"metric": {}, "target": {"type": "Value", "value": "1"}}),
            [
                "spec.metrics[0].pods.metric.name: Required value: must specify a metric name",
                (
                    "spec.metrics[0].pods.target.averageValue: Required value: must specify a positive "
                    "target averageValue"
                ),
            ],
        ),
        (
            metric(
                type="Object",
                object={"metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}, "describedObject": TARGET},
            ),
            [],
        ),
        (
            metric(
                type="Object", object={"metric": {"name": "a/b"}, "target": {"type": "Value"}, "describedObject": {}}
            ),
            [
                "spec.metrics[0].object.describedObject.kind: Required value",
                "spec.metrics[0].object.describedObject.name: Required value",
                "spec.metrics[0].object.metric.name: Invalid value: \"a/b\": may not contain '/'",
                (
                    "spec.metrics[0].object.target.averageValue: Required value: must set either a "
                    "target value or averageValue"
                ),
            ],
        ),
        (
            metric(
                type="External",
                external={"metric": {"name": "m"}, "target": {"type": "Value", "value": "1", "averageValue": "1"}},
            ),
            [
                (
                    "spec.metrics[0].external.target.value: Forbidden: may not set both a target value "
                    "for metric and a per-pod target"
                )
            ],
        ),
        (
            metric(type="ContainerResource", containerResource={"name": "cpu", "container": "", "target": AVERAGE}),
            ["spec.metrics[0].containerResource.container: Required value: must specify a container"],
        ),
    ],
)
def test_autoscalers(obj: Object, expected: list[str]) -> None:
    assert create_errors(SCALER, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (behavior(), []),
        (
            behavior(stabilizationWindowSeconds=3601),
            [
                (
                    "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less "
                    "than or equal to 3600"
                )
            ],
        ),
        (
            behavior(selectPolicy="x"),
            [
                (
                    'spec.behavior.scaleUp.selectPolicy: Unsupported value: "x": supported values: '
                    '"Disabled", "Max", "Min"'
                )
            ],
        ),
        (behavior(policies=[]), []),
        (
            behavior(policies=[{"type": "x", "value": 1, "periodSeconds": 1}]),
            ['spec.behavior.scaleUp.policies[0].type: Unsupported value: "x": supported values: "Percent", "Pods"'],
        ),
        (
            behavior(policies=[{"type": "Pods", "value": 0, "periodSeconds": 1801}]),
            [
                "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
                (
                    "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less "
                    "than or equal to 1800"
                ),
            ],
        ),
    ],
)
def test_behaviors(obj: Object, expected: list[str]) -> None:
    assert create_errors(SCALER, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("spec.maxReplicas", 5, "", []),
        (
            "spec.maxReplicas",
            0,
            "",
            [
                "spec.maxReplicas: Required value: must be set and greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
            ],
        ),
        (
            "status",
            {"currentReplicas": -1, "desiredReplicas": -1},
            "status",
            [
                "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0",
                "status.desiredReplicas: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
    ],
)
def test_updates_of_autoscalers(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(SCALER, scaler())
    assert update_errors(SCALER, old, changed(old, path, value), subresource) == expected


def test_an_autoscaler_looks_at_the_cpu_by_default() -> None:
    spec = stored(SCALER, scaler())["spec"]
    assert spec["minReplicas"] == 1
    assert spec["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
    ]


def test_a_behavior_is_completed() -> None:
    rules = stored(SCALER, behavior())["spec"]["behavior"]
    assert rules["scaleUp"] == {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    }
    assert rules["scaleDown"]["policies"] == [{"type": "Percent", "value": 100, "periodSeconds": 15}]


def test_the_old_version_names_the_cpu_in_a_field_of_its_own() -> None:
    old = defaulted(OLD_SCALER, scaler(targetCPUUtilizationPercentage=50))
    new = to_v2(old)
    assert new["spec"]["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
    ]
    assert from_v2(new)["spec"] == old["spec"]


def test_the_old_version_keeps_what_it_has_no_field_for_in_annotations() -> None:
    target = {"type": "AverageValue", "averageValue": "1"}
    new = stored(SCALER, scaler(metrics=[{"type": "Pods", "pods": {"metric": {"name": "m"}, "target": target}}]))
    old = from_v2(new)
    assert "autoscaling.alpha.kubernetes.io/metrics" in old["metadata"]["annotations"]
    assert "metrics" not in old["spec"]
    assert to_v2(decoded(OLD_SCALER, old))["spec"]["metrics"] == new["spec"]["metrics"]


def test_behavior_and_conditions_survive_the_old_version() -> None:
    condition = {"type": "AbleToScale", "status": "True", "reason": "r", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    new = stored(SCALER, behavior(stabilizationWindowSeconds=5))
    new["status"] = {"currentMetrics": None, "desiredReplicas": 2, "conditions": [condition]}
    back = to_v2(decoded(OLD_SCALER, from_v2(new)))
    assert back["spec"]["behavior"] == new["spec"]["behavior"]
    assert back["status"]["conditions"] == [condition]


def test_the_old_version_is_checked_as_the_new_one() -> None:
    assert create_errors(OLD_SCALER, scaler(targetCPUUtilizationPercentage=0)) == [
        "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0"
    ]
    assert strategy(OLD_SCALER).conversion is not None

"""Autoscalers scale what they name by what its pods use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import Object, template
from tests.support.usage import Metered

AUTOSCALERS, SETS = "horizontalpodautoscalers.autoscaling", "replicasets.apps"
PERIOD = 15


class Setting(Metered):
    """A ReplicaSet whose pods run and use what `use` says."""

    def __init__(self, replicas: int = 2, **options: Any) -> None:
        super().__init__("replicaset-controller", "horizontal-pod-autoscaler-controller", **options)
        spec = template()
        spec["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1", "memory": "1Gi"}}
        selector = {"matchLabels": {"app": "a"}}
        self.plane.create(
            SETS, {"metadata": {"name": "web"}, "spec": {"replicas": replicas, "selector": selector, "template": spec}}
        )
        self.plane.settle()

    def autoscale(self, *metrics: Object, name: str = "web", **spec: Any) -> None:
        """Store an autoscaler of the set."""
        target = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}
        body = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 10, "metrics": list(metrics), **spec}
        self.plane.create(AUTOSCALERS, {"metadata": {"name": name}, "spec": body})

    def use(self, cpu: str) -> None:
        """Let every container use so much CPU."""
        if self.plane.exists("clusterresourceusages.kwok.x-k8s.io", "all"):
            self.plane.delete("clusterresourceusages.kwok.x-k8s.io", "all")
        self.say_for_all("all", {"usage": {"cpu": {"value": cpu}, "memory": {"value": "512Mi"}}})

    def run(self, seconds: float) -> None:
        """Let time pass; new pods start at once."""
        for _ in range(int(seconds)):
            for pod in self.plane.pods():
                if pod["status"]["phase"] == "Pending":
                    if not pod["spec"].get("nodeName"):
                        self.plane.run_pods([pod])
                    self.start(pod["metadata"]["name"])
            self.plane.run_for(1)

    @property
    def replicas(self) -> int:
        found: int = self.plane.get(SETS, "web")["spec"]["replicas"]
        return found

    @property
    def status(self) -> Object:
        found: Object = self.plane.get(AUTOSCALERS, "web")["status"]
        return found

    def messages(self, reason: str) -> list[str]:
        """Return the messages of the events with that reason, oldest first."""
        return [message for told, _, message in self.plane.messages() if told == reason]

    def condition(self, kind: str) -> tuple[str, str]:
        """Return status and reason of a condition."""
        found = next(each for each in self.status["conditions"] if each["type"] == kind)
        return found["status"], found["reason"]


def cpu(**target: Any) -> Object:
    """Return a metric for the CPU of the pods."""
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


HALF = cpu(type="Utilization", averageUtilization=50)


def test_up_and_down() -> None:
    """As fast as the usage asks for it up, down only after five minutes."""
    setting = Setting()
    setting.use("1")
    setting.autoscale(HALF)
    setting.run(60)

    above = "cpu resource utilization (percentage of request) above target"

    assert setting.messages("SuccessfulRescale") == [f"New size: {size}; reason: {above}" for size in (4, 8, 10)]
    assert setting.status["currentMetrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 100, "averageValue": "1"}}}
    ]
    setting.use("100m")
    setting.run(240)
    before = setting.replicas
    setting.run(600)

    assert before > setting.replicas == 1
    assert setting.condition("AbleToScale")[0] == "True"
    assert setting.messages("SuccessfulRescale")[-1] == "New size: 1; reason: All metrics below target"


def test_the_same_runs_are_the_same() -> None:
    """On the virtual clock nothing depends on chance."""
    stories = []
    for _ in range(2):
        setting = Setting()
        setting.say_for_all("all", {"usage": {"cpu": {"expression": "Rand() * 2.0"}}})
        setting.autoscale(HALF)
        setting.run(400)
        stories.append(setting.plane.messages())

    assert stories[0] == stories[1]
    assert any(reason == "SuccessfulRescale" for reason, _, _ in stories[0])


@pytest.mark.parametrize(
    ("replicas", "limits", "wanted", "message"),
    [
        (5, {"maxReplicas": 3}, 3, "New size: 3; reason: Current number of replicas above Spec.MaxReplicas"),
        (1, {"minReplicas": 2}, 2, "New size: 2; reason: Current number of replicas below Spec.MinReplicas"),
    ],
)
def test_limits(replicas: int, limits: Object, wanted: int, message: str) -> None:
    """They hold whatever is used."""
    setting = Setting(replicas)
    setting.autoscale(HALF, **limits)
    setting.run(16)

    assert (setting.replicas, setting.messages("SuccessfulRescale")) == (wanted, [message])


def test_nothing_is_something() -> None:
    """A target without replicas is left alone."""
    setting = Setting(0)
    setting.autoscale(HALF)
    setting.run(16)

    assert (setting.replicas, setting.condition("ScalingActive")) == (0, ("False", "ScalingDisabled"))


def test_containers_and_averages() -> None:
    """The metric that asks for most is taken."""
    setting = Setting()
    setting.use("1")
    container = {"name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 40}}
    setting.autoscale(
        {"type": "ContainerResource", "containerResource": container}, cpu(type="AverageValue", averageValue="2")
    )
    setting.run(31)
    container_status, pod_status = setting.status["currentMetrics"]

    assert setting.messages("SuccessfulRescale")[0].startswith("New size: 4; "), "no more than the double at once"
    assert container_status["containerResource"]["container"] == "c"
    assert pod_status["resource"]["current"] == {"averageValue": "1"}
    assert setting.condition("ScalingLimited") == ("True", "ScaleUpLimit")
    assert any("cpu container resource utilization" in text for _, _, text in setting.plane.messages())


def test_behavior() -> None:
    """Policies and windows of the autoscaler count in place of the general ones."""
    setting = Setting()
    setting.use("1")
    up = {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}
    setting.autoscale(HALF, behavior={"scaleUp": up, "scaleDown": {"selectPolicy": "Disabled"}})
    setting.run(50)
    first = setting.replicas
    setting.run(60)
    second = setting.replicas
    setting.use("10m")
    setting.run(700)

    assert (first, second) == (3, 4)
    assert setting.replicas >= second, "never down"


def test_tolerance() -> None:
    """An autoscaler may have its own."""
    setting = Setting()
    setting.use("600m")
    setting.autoscale(HALF, behavior={"scaleUp": {"tolerance": "0.3"}})
    setting.run(60)

    assert setting.replicas == 2


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ({"kind": "ReplicaSet", "name": "gone", "apiVersion": "apps/v1"}, 'replicasets.apps "gone" not found'),
        ({"kind": "Thing", "name": "web", "apiVersion": "apps/v1"}, 'no matches for kind "Thing" in group "apps"'),
        (
            {"kind": "DaemonSet", "name": "web", "apiVersion": "apps/v1"},
            "the server could not find the requested resource",
        ),
    ],
)
def test_targets_that_cannot_be_scaled(target: Object, text: str) -> None:
    """The condition and an event say why; the autoscaler goes on looking."""
    setting = Setting()
    setting.autoscale(HALF, scaleTargetRef=target)
    setting.run(16)
    (condition,) = setting.status["conditions"]

    assert (condition["type"], condition["status"], condition["reason"]) == ("AbleToScale", "False", "FailedGetScale")
    assert condition["message"] == f"the HPA controller was unable to get the target's current scale: {text}"
    assert ("FailedGetScale", "web", text) in setting.plane.messages()
    setting.plane.patch(
        AUTOSCALERS, "web", {"spec": {"scaleTargetRef": {"kind": "ReplicaSet", "name": "web", "apiVersion": "apps/v1"}}}
    )
    setting.run(16)

    assert setting.condition("AbleToScale")[0] == "True"


METRIC = {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}}
ABOUT = {"describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"}}


@pytest.mark.parametrize(
    ("metric", "reason", "text"),
    [
        ({"type": "Pods", "pods": METRIC}, "FailedGetPodsMetric", "unable to get metric m: unable to fetch"),
        ({"type": "Object", "object": {**METRIC, **ABOUT}}, "FailedGetObjectMetric", "m: Service on default s/unable"),
        ({"type": "External", "external": METRIC}, "FailedGetExternalMetric", "metric default/m/nil: unable to fetch"),
        (HALF, "FailedGetResourceMetric", "no metrics returned from resource metrics API"),
    ],
)
def test_metrics_that_cannot_be_had(metric: Object, reason: str, text: str) -> None:
    """As in a cluster without adapters, or before anything was measured."""
    setting = Setting()
    setting.autoscale(metric)
    setting.plane.run_for(16)

    assert setting.condition("ScalingActive") == ("False", reason)
    assert any(told == reason and text in message for told, _, message in setting.plane.messages())
    assert any(
        message.startswith("invalid metrics (1 invalid out of 1), first error is: failed to get")
        for told, _, message in setting.plane.messages()
        if told == "FailedComputeMetricsReplicas"
    )


def test_one_metric_that_fails() -> None:
    """Others still let pods be added, but none be taken away."""
    setting = Setting()
    setting.use("1")
    setting.autoscale({"type": "Pods", "pods": METRIC}, HALF)
    setting.run(40)
    grown = setting.replicas
    setting.use("1m")
    setting.run(400)

    assert grown == setting.replicas == 8
    assert setting.condition("ScalingActive") == ("False", "FailedGetPodsMetric")


def test_two_for_the_same_pods() -> None:
    """Neither does anything."""
    setting = Setting()
    setting.use("1")
    setting.autoscale(HALF)
    setting.autoscale(HALF, name="other")
    setting.run(40)
    text = "pods by selector app=a are controlled by multiple HPAs: [{web default} {other default}]"
    assert setting.condition("ScalingActive") == ("False", "AmbiguousSelector")
    assert text in setting.messages("AmbiguousSelector")


def test_conflicts_and_deletions() -> None:
    """An autoscaler that goes is forgotten; one that comes again begins anew."""
    setting = Setting()
    setting.use("1")
    setting.autoscale(HALF)
    setting.run(20)
    setting.plane.delete(AUTOSCALERS, "web")
    setting.run(40)
    quiet = setting.plane.registry.revision
    setting.plane.run_for(100)

    assert setting.plane.registry.revision == quiet
    setting.autoscale(HALF)
    setting.run(40)

    assert setting.status["desiredReplicas"] == setting.replicas

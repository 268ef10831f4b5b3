"""CronJobs, autoscalers and quotas as time goes by, whatever users and other writers do to them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.property.controllers import (
    MACHINE_SETTINGS,
    ControllersMachine,
    active,
    names,
    owner_of,
    pod_spec,
    policies,
    selecting,
)
from tests.support.control_plane import ControlPlane, Object
from tests.support.usage import Metered

CRON_JOBS, JOBS, SETS = "cronjobs.batch", "jobs.batch", "replicasets.apps"
AUTOSCALERS, QUOTAS = "horizontalpodautoscalers.autoscaling", "resourcequotas"


def check_cron_job(machine: ControllersMachine, found: Object, _mine: Sequence[Object]) -> None:
    """No more jobs are kept than asked for, none runs, and it knows."""
    uid, spec = found["metadata"]["uid"], found["spec"]
    jobs = [job for job in machine.plane.all(JOBS) if owner_of(job).get("uid") == uid]
    times = [job["metadata"]["name"] for job in jobs]

    assert len(jobs) <= spec["successfulJobsHistoryLimit"] + spec["failedJobsHistoryLimit"]
    assert len(times) == len(set(times)), "each moment has one job"
    assert not found["status"].get("active")
    assert all(any(each["status"] == "True" for each in job["status"]["conditions"]) for job in jobs)


def check_set(_machine: ControllersMachine, found: Object, mine: Sequence[Object]) -> None:
    """A ReplicaSet has its pods."""
    assert len(active(mine)) == found["spec"]["replicas"]


def check_autoscaler(machine: ControllersMachine, found: Object, _mine: Sequence[Object]) -> None:
    """Its target is within its limits, and it says what it found."""
    spec, status = found["spec"], found["status"]
    target = machine.plane.get(SETS, "web") if machine.plane.exists(SETS, "web") else None
    (able,) = [each for each in status["conditions"] if each["type"] == "AbleToScale"]
    if target is None:
        assert (able["status"], able["reason"]) == ("False", "FailedGetScale")
    elif target["spec"]["replicas"]:
        assert spec["minReplicas"] <= target["spec"]["replicas"] <= spec["maxReplicas"]
        assert able["status"] == "True"


def check_quota(machine: ControllersMachine, found: Object, _mine: Sequence[Object]) -> None:
    """It counts what there is."""
    counted = {"pods": len(active(machine.plane.all("pods"))), "count/jobs.batch": len(machine.plane.all(JOBS))}

    assert found["status"]["used"] == {key: str(number) for key, number in counted.items()}


class TimeMachine(ControllersMachine):
    """Things that happen by themselves; they are stopped before anything is checked."""

    controllers = (
        "garbage-collector-controller",
        "job-controller",
        "cronjob-controller",
        "ttl-after-finished-controller",
        "replicaset-controller",
        "horizontal-pod-autoscaler-controller",
        "resourcequota-controller",
    )
    resources = (CRON_JOBS, JOBS, SETS, AUTOSCALERS, QUOTAS)
    checks = {
        "CronJob": check_cron_job,
        "ReplicaSet": check_set,
        "HorizontalPodAutoscaler": check_autoscaler,
        "ResourceQuota": check_quota,
    }

    def _make_plane(self, seed: int) -> ControlPlane:
        self.metered = Metered(*self.controllers, seed=seed)
        return self.metered.plane

    def state(self) -> object:
        """An autoscaler without a target tells of it again and again; its events do not count."""
        found = [each["metadata"] for resource in (*self.resources, "pods") for each in self.plane.all(resource)]
        return [(each["uid"], each["resourceVersion"]) for each in found]

    def settle(self) -> None:
        """Stop the clocks first."""
        for name in self.plane.names(CRON_JOBS):
            self.patch(CRON_JOBS, name, {"spec": {"suspend": True}})
        super().settle()

    @rule(
        name=names,
        policy=st.sampled_from(["Allow", "Forbid", "Replace"]),
        keep=st.integers(0, 2),
        deadline=st.sampled_from([None, 20]),
        ttl=st.sampled_from([None, 30]),
    )
    def create_cron_job(self, name: str, policy: str, keep: int, deadline: int | None, ttl: int | None) -> None:
        pod = {"spec": {"restartPolicy": "Never", **pod_spec()["spec"]}}
        job: Object = {"template": pod} if ttl is None else {"template": pod, "ttlSecondsAfterFinished": ttl}
        spec: Object = {
            "schedule": "* * * * *",
            "concurrencyPolicy": policy,
            "successfulJobsHistoryLimit": keep,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {"spec": job},
        }
        self.create(CRON_JOBS, name, spec if deadline is None else {**spec, "startingDeadlineSeconds": deadline})

    @rule(name=names, suspended=st.booleans())
    def suspend(self, name: str, suspended: bool) -> None:  # noqa: FBT001
        self.patch(CRON_JOBS, name, {"spec": {"suspend": suspended}})

    @rule(minutes=st.integers(1, 5))
    def minutes_pass(self, minutes: int) -> None:
        for _ in range(minutes):
            self.plane.run_for(60)
            self.work()

    @rule(replicas=st.integers(0, 4))
    def create_set(self, replicas: int) -> None:
        spec = selecting("web")
        spec["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        self.create(SETS, "web", {"replicas": replicas, **spec})

    @rule(name=names, least=st.integers(1, 2), more=st.integers(0, 3))
    def create_autoscaler(self, name: str, least: int, more: int) -> None:
        # Two of them would fight about the set.
        if self.plane.names(AUTOSCALERS):
            return
        target = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}
        metric = {
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
        }
        spec = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": least + more, "metrics": [metric]}
        self.create(AUTOSCALERS, name, spec)

    @rule(cpu=st.sampled_from(["10m", "500m", "2"]))
    def use(self, cpu: str) -> None:
        resource = "clusterresourceusages.kwok.x-k8s.io"
        usage = {"usages": [{"usage": {"cpu": {"value": cpu}}}]}
        self.create(resource, "all", usage)
        self.patch(resource, "all", {"spec": usage})

    @rule(name=names)
    def create_quota(self, name: str) -> None:
        self.create(QUOTAS, name, {"hard": {"pods": "20", "count/jobs.batch": "10"}})

    @rule(resource=st.sampled_from([CRON_JOBS, JOBS, SETS, AUTOSCALERS, QUOTAS]), name=names, policy=policies)
    def delete(self, resource: str, name: str, policy: str) -> None:
        found = self.plane.names(resource)
        if found:
            chosen = name if name in found else found[0]
            self.attempt(lambda: self.plane.delete(resource, chosen, policy))


TestTime = TimeMachine.TestCase
TestTime.settings = MACHINE_SETTINGS

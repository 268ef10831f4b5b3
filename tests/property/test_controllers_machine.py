"""Deployments, ReplicaSets and Jobs, whatever users and other writers do to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    positions,
    selecting,
)
from tests.support.control_plane import Object

DEPLOYMENTS, SETS, JOBS = "deployments.apps", "replicasets.apps", "jobs.batch"
TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"

INDEXED_ONLY = ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy")

kinds = st.sampled_from([DEPLOYMENTS, SETS, JOBS])
job_fields = st.fixed_dictionaries(
    {},
    optional={
        "suspend": st.booleans(),
        "backoffLimit": st.integers(0, 2),
        "activeDeadlineSeconds": st.sampled_from([1, 100]),
        "backoffLimitPerIndex": st.integers(0, 1),
        "maxFailedIndexes": st.integers(0, 1),
        "successPolicy": st.sampled_from(
            [{"rules": [{"succeededCount": 1}]}, {"rules": [{"succeededIndexes": "0", "succeededCount": 1}]}]
        ),
        "podReplacementPolicy": st.sampled_from(["Failed", "TerminatingOrFailed"]),
        "ttlSecondsAfterFinished": st.sampled_from([0, 1000]),
        "podFailurePolicy": st.sampled_from(["Ignore", "Count", "FailJob"]).map(
            lambda action: {
                "rules": [{"action": action, "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
            }
        ),
    },
)


def check_set(_machine: Any, found: Object, mine: Sequence[Object]) -> None:
    """A ReplicaSet has as many pods as it asks for, and keeps no stranger."""
    wanted = found["spec"]["replicas"]
    selected = found["spec"]["selector"]["matchLabels"].items()

    assert len(active(mine)) == wanted
    assert all(selected <= pod["metadata"]["labels"].items() for pod in active(mine))
    assert found["status"]["replicas"] == found["status"].get("availableReplicas", 0) == wanted


def check_deployment(machine: ControllersMachine, found: Object, mine: Sequence[Object]) -> None:
    """All replicas of a Deployment are in the set of its template."""
    uid, wanted = found["metadata"]["uid"], found["spec"]["replicas"]
    sets = [each for each in machine.plane.all(SETS) if owner_of(each).get("uid") == uid]
    status = found["status"]

    assert mine == []
    assert sum(each["spec"]["replicas"] for each in sets) == wanted or found["spec"].get("paused")
    assert status["observedGeneration"] == found["metadata"]["generation"]
    if not found["spec"].get("paused"):
        assert [each["spec"]["replicas"] for each in sets if each["spec"]["replicas"]] == [wanted] * bool(wanted)
        assert status.get("updatedReplicas", 0) == status.get("availableReplicas", 0) == wanted
        assert status.get("unavailableReplicas", 0) == 0


def check_job(_machine: Any, found: Object, mine: Sequence[Object]) -> None:
    """A Job ends unless it is held, every end is counted once, and no index is done twice."""
    status, spec = found["status"], found["spec"]
    ended = [each["type"] for each in status.get("conditions", ()) if each["status"] == "True"]

    assert not any(TRACKING in pod["metadata"].get("finalizers", ()) for pod in mine)
    assert status["uncountedTerminatedPods"] == {}
    assert active(mine) == []
    if "Complete" in ended:
        assert status["succeeded"] >= spec["completions"] or "SuccessCriteriaMet" in ended
    elif "Failed" not in ended:
        assert spec.get("suspend") or not spec["parallelism"]
    if spec["completionMode"] == "Indexed":
        done = [pod["metadata"]["annotations"][INDEX] for pod in mine if pod["status"]["phase"] == "Succeeded"]
        assert len(done) == len(set(done))


class WorkloadsMachine(ControllersMachine):
    """Workloads that share pods by their labels."""

    controllers = ("garbage-collector-controller", "replicaset-controller", "deployment-controller", "job-controller")
    resources = (DEPLOYMENTS, SETS, JOBS)
    checks = {"Deployment": check_deployment, "ReplicaSet": check_set, "Job": check_job}

    @rule(
        name=names,
        replicas=st.integers(0, 4),
        surge=st.sampled_from([0, 1, "25%"]),
        recreate=st.booleans(),
        more=st.fixed_dictionaries(
            {},
            optional={
                "paused": st.booleans(),
                "minReadySeconds": st.sampled_from([0, 20]),
                "progressDeadlineSeconds": st.sampled_from([30, 600]),
                "revisionHistoryLimit": st.integers(0, 2),
            },
        ),
    )
    def create_deployment(
        self,
        name: str,
        replicas: int,
        surge: int | str,
        recreate: bool,  # noqa: FBT001
        more: Object,
    ) -> None:
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1}}
        strategy = {"type": "Recreate"} if recreate else rolling
        self.create(DEPLOYMENTS, name, {"replicas": replicas, "strategy": strategy, **more, **selecting(f"d{name}")})

    @rule(name=names, replicas=st.integers(0, 4))
    def create_set(self, name: str, replicas: int) -> None:
        self.create(SETS, name, {"replicas": replicas, **selecting(f"s{name}")})

    @rule(
        name=names, completions=st.integers(1, 4), parallelism=st.integers(0, 3), indexed=st.booleans(), more=job_fields
    )
    def create_job(
        self,
        name: str,
        completions: int,
        parallelism: int,
        indexed: bool,  # noqa: FBT001
        more: Object,
    ) -> None:
        pod = {"spec": {"restartPolicy": "Never", **pod_spec()["spec"]}}
        mode = "Indexed" if indexed else "NonIndexed"
        spec = {"completions": completions, "parallelism": parallelism, "completionMode": mode, "template": pod}
        self.create(JOBS, name, spec | {key: more[key] for key in more if indexed or key not in INDEXED_ONLY})

    @rule(resource=kinds, name=names, size=st.integers(0, 4))
    def scale(self, resource: str, name: str, size: int) -> None:
        self.patch(resource, name, {"spec": {"parallelism" if resource == JOBS else "replicas": size}})

    @rule(name=names, image=st.sampled_from(["i", "j", "k"]))
    def roll_out(self, name: str, image: str) -> None:
        self.patch(DEPLOYMENTS, name, {"spec": {"template": pod_spec(image)}})

    @rule(resource=st.sampled_from([DEPLOYMENTS, JOBS]), name=names, stopped=st.booleans())
    def pause(self, resource: str, name: str, stopped: bool) -> None:  # noqa: FBT001
        self.patch(resource, name, {"spec": {"suspend" if resource == JOBS else "paused": stopped}})

    @rule(resource=kinds, name=names, policy=policies)
    def delete(self, resource: str, name: str, policy: str) -> None:
        self.attempt(lambda: self.plane.delete(resource, name, policy))

    @rule(position=positions, app=st.sampled_from(["sa", "sb", "x"]))
    def relabel_pod(self, position: int, app: str) -> None:
        for pod in self.chosen(position):
            self.plane.patch("pods", pod["metadata"]["name"], {"metadata": {"labels": {"app": app}}})

    @rule(position=positions)
    def disown_pod(self, position: int) -> None:
        for pod in self.chosen(position):
            self.plane.patch("pods", pod["metadata"]["name"], {"metadata": {"ownerReferences": None}})

    @rule(app=st.sampled_from(["sa", "sb"]))
    def create_stray(self, app: str) -> None:
        self.plane.create("pods", {"metadata": {"generateName": "stray-", "labels": {"app": app}}, **pod_spec()})

    @rule(name=names, kept=st.booleans())
    def create_dependent_of_nobody(self, name: str, kept: bool) -> None:  # noqa: FBT001
        """One of the owners is not there; the other is, or there is none."""
        owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": "nobody"}]
        if kept:
            owners += [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": each["metadata"]["uid"]}
                for each in self.plane.all(SETS)[:1]
            ]
        metadata = {"generateName": "dependent-", "ownerReferences": owners, "labels": {"app": "dependent"}}
        self.plane.create("pods", {"metadata": metadata, **pod_spec()})

    @rule(resource=st.sampled_from([DEPLOYMENTS, SETS]), name=names)
    def spoil_status(self, resource: str, name: str) -> None:
        status = {"replicas": 9, "readyReplicas": 9, "availableReplicas": 9, "observedGeneration": 1}
        self.attempt(lambda: self.plane.patch(resource, name, {"status": status}, subresource="status"))


TestWorkloads = WorkloadsMachine.TestCase
TestWorkloads.settings = MACHINE_SETTINGS

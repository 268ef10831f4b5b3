"""Whatever users and other writers do to workloads, the controllers bring the cluster to what is asked for.

No pod is leaked, doubled or held back; conflicts, and objects that vanish between two writes, only cost time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from schedlab.apimachinery.errors import StatusError
from schedlab.client.inprocess import InProcessClient
from schedlab.client.protocol import Completion, Write
from tests.support.control_plane import ControlPlane, Object, template

DEPLOYMENTS, SETS, JOBS = "deployments.apps", "replicasets.apps", "jobs.batch"
TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
ROUNDS_MAX = 60
CONTROLLERS = ("garbage-collector-controller", "replicaset-controller", "deployment-controller", "job-controller")

names = st.sampled_from(["a", "b"])
kinds = st.sampled_from([DEPLOYMENTS, SETS, JOBS])
policies = st.sampled_from(["Background", "Foreground", "Orphan"])
positions = st.integers(0, 9)


class Meddler(InProcessClient):
    """The controllers' client; now and then somebody else is faster."""

    def __init__(self, plane: ControlPlane) -> None:
        super().__init__(plane.registry, "kube-controller-manager")
        self._plane = plane
        self.changes = 0
        self.deletions = 0

    def submit(self, write: Write, done: Completion | None = None) -> None:
        """Change or delete the object first, as often as asked for."""
        if write.name and write.resource != "events" and write.verb in ("update", "patch", "delete"):
            with contextlib.suppress(StatusError):
                self._meddle(write)
        super().submit(write, done)

    def _meddle(self, write: Write) -> None:
        if self.changes:
            self.changes -= 1
            note = {"metadata": {"annotations": {"meddled": str(self.changes)}}}
            self._plane.patch(write.resource, write.name, note, write.namespace)
        elif self.deletions:
            self.deletions -= 1
            self._plane.delete(write.resource, write.name, "Background", namespace=write.namespace)


class ControllersMachine(RuleBasedStateMachine):
    """Random writes; what has to hold is checked when everything has come to rest."""

    @initialize(seed=st.integers(0, 99))
    def begin(self, seed: int) -> None:
        self.plane = ControlPlane(*CONTROLLERS, seed=seed)
        self.meddler = Meddler(self.plane)
        self.plane.drive_through(self.meddler)

    # --- Users -------------------------------------------------------------------------------------------------------

    @rule(name=names, replicas=st.integers(0, 4), surge=st.sampled_from([0, 1, "25%"]), recreate=st.booleans())
    def create_deployment(self, name: str, replicas: int, surge: int | str, recreate: bool) -> None:  # noqa: FBT001
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1}}
        strategy = {"type": "Recreate"} if recreate else rolling
        self._create(DEPLOYMENTS, name, {"replicas": replicas, "strategy": strategy, **_selecting(f"d{name}")})

    @rule(name=names, replicas=st.integers(0, 4))
    def create_set(self, name: str, replicas: int) -> None:
        self._create(SETS, name, {"replicas": replicas, **_selecting(f"s{name}")})

    @rule(name=names, completions=st.integers(1, 4), parallelism=st.integers(1, 3), indexed=st.booleans())
    def create_job(self, name: str, completions: int, parallelism: int, indexed: bool) -> None:  # noqa: FBT001
        pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
        mode = "Indexed" if indexed else "NonIndexed"
        spec = {"completions": completions, "parallelism": parallelism, "completionMode": mode, "template": pod}
        self._create(JOBS, name, spec)

    @rule(resource=kinds, name=names, size=st.integers(0, 4))
    def scale(self, resource: str, name: str, size: int) -> None:
        self._patch(resource, name, {"spec": {"parallelism" if resource == JOBS else "replicas": size}})

    @rule(name=names, image=st.sampled_from(["i", "j", "k"]))
    def roll_out(self, name: str, image: str) -> None:
        self._patch(
            DEPLOYMENTS, name, {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}
        )

    @rule(resource=st.sampled_from([DEPLOYMENTS, JOBS]), name=names, stopped=st.booleans())
    def pause(self, resource: str, name: str, stopped: bool) -> None:  # noqa: FBT001
        self._patch(resource, name, {"spec": {"suspend" if resource == JOBS else "paused": stopped}})

    @rule(resource=kinds, name=names, policy=policies)
    def delete(self, resource: str, name: str, policy: str) -> None:
        self._try(lambda: self.plane.delete(resource, name, policy))

    @rule(position=positions)
    def delete_pod(self, position: int) -> None:
        for pod in self._chosen(position):
            self.plane.delete("pods", pod["metadata"]["name"])

    @rule(position=positions, app=st.sampled_from(["sa", "sb", "x"]))
    def relabel_pod(self, position: int, app: str) -> None:
        for pod in self._chosen(position):
            self.plane.patch("pods", pod["metadata"]["name"], {"metadata": {"labels": {"app": app}}})

    @rule(position=positions)
    def disown_pod(self, position: int) -> None:
        for pod in self._chosen(position):
            self.plane.patch("pods", pod["metadata"]["name"], {"metadata": {"ownerReferences": None}})

    @rule(app=st.sampled_from(["sa", "sb"]))
    def create_stray(self, app: str) -> None:
        self.plane.create("pods", {"metadata": {"generateName": "stray-", "labels": {"app": app}}, **_pod()})

    # --- Others ------------------------------------------------------------------------------------------------------

    @rule(changes=st.integers(0, 3), deletions=st.integers(0, 1))
    def meddle(self, changes: int, deletions: int) -> None:
        self.meddler.changes, self.meddler.deletions = changes, deletions

    @rule()
    def kubelets_work(self) -> None:
        self._work()

    @rule(position=positions)
    def pod_fails(self, position: int) -> None:
        for pod in self._chosen(position):
            self.plane.finish(pod["metadata"]["name"], "Failed")

    @rule(seconds=st.sampled_from([0, 1, 5, 60]))
    def time_passes(self, seconds: int) -> None:
        self.plane.run_for(seconds)

    @rule()
    def come_to_rest(self) -> None:
        self._settle()
        self._check()

    def teardown(self) -> None:
        if hasattr(self, "plane"):
            self._settle()
            self._check()

    # --- Rest --------------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        self.meddler.changes = self.meddler.deletions = 0
        for _ in range(ROUNDS_MAX):
            before = self.plane.registry.revision
            self._work()
            self.plane.run_for(700)
            if self.plane.registry.revision == before:
                return
        raise AssertionError(f"no rest: {self.plane.messages()[-5:]}")

    def _work(self) -> None:
        """Be scheduler and kubelets: everything runs, pods of Jobs succeed, deleted pods go."""
        plane = self.plane
        plane.settle()
        plane.run_pods()
        for pod in plane.pods():
            if _owner(pod).get("kind") == "Job" and pod["status"]["phase"] == "Running":
                plane.finish(pod["metadata"]["name"])
        for pod in plane.all("pods"):
            if "deletionTimestamp" in pod["metadata"] and pod["status"]["phase"] in ("Pending", "Running"):
                plane.finish(pod["metadata"]["name"], "Failed")
        plane.end_pods()
        plane.settle()

    def _check(self) -> None:
        owners = {
            found["metadata"]["uid"]: found for kind in (DEPLOYMENTS, SETS, JOBS) for found in self.plane.all(kind)
        }
        pods = self.plane.all("pods")
        assert not any(part.ready() for part in self.plane.parts.values())
        for obj in (*pods, *owners.values()):
            assert "deletionTimestamp" not in obj["metadata"], "is held back"
            for reference in obj["metadata"].get("ownerReferences", ()):
                assert reference["uid"] in owners, "outlived its owner"
        for found in owners.values():
            mine = [pod for pod in pods if _owner(pod).get("uid") == found["metadata"]["uid"]]
            _CHECKS[found["kind"]](found, mine, list(owners.values()))

    # --- Attempts ----------------------------------------------------------------------------------------------------

    def _create(self, resource: str, name: str, spec: Object) -> None:
        self._try(lambda: self.plane.create(resource, {"metadata": {"name": name}, "spec": spec}))

    def _patch(self, resource: str, name: str, patch: Object) -> None:
        self._try(lambda: self.plane.patch(resource, name, patch))

    def _chosen(self, position: int) -> list[Object]:
        pods = self.plane.pods()
        return [pods[position % len(pods)]] if pods else []

    @staticmethod
    def _try(action: Any) -> None:
        """Do what may be refused: names are taken, objects are not there."""
        with contextlib.suppress(StatusError):
            action()


def _pod() -> Object:
    return {"spec": template()["spec"]}


def _selecting(app: str) -> Object:
    return {"selector": {"matchLabels": {"app": app}}, "template": template({"app": app})}


def _owner(pod: Object) -> Object:
    references = pod["metadata"].get("ownerReferences", ())
    return next((dict(each) for each in references if each.get("controller")), {})


def _active(pods: Sequence[Object]) -> list[Object]:
    return [pod for pod in pods if pod["status"]["phase"] in ("Pending", "Running")]


def _check_set(found: Object, mine: Sequence[Object], _owners: Sequence[Object]) -> None:
    wanted = found["spec"]["replicas"]
    selected = found["spec"]["selector"]["matchLabels"].items()

    assert len(_active(mine)) == wanted, "has as many pods as it asks for"
    assert all(selected <= pod["metadata"]["labels"].items() for pod in _active(mine)), "keeps no stranger"
    assert found["status"]["replicas"] == found["status"].get("availableReplicas", 0) == wanted


def _check_deployment(found: Object, mine: Sequence[Object], owners: Sequence[Object]) -> None:
    uid, wanted = found["metadata"]["uid"], found["spec"]["replicas"]
    sets = [each for each in owners if _owner(each).get("uid") == uid]
    status = found["status"]

    assert mine == []
    assert sum(each["spec"]["replicas"] for each in sets) == wanted or found["spec"].get("paused")
    assert status["observedGeneration"] == found["metadata"]["generation"]
    if not found["spec"].get("paused"):
        assert [each["spec"]["replicas"] for each in sets if each["spec"]["replicas"]] == [wanted] * bool(wanted)
        assert status.get("updatedReplicas", 0) == status.get("availableReplicas", 0) == wanted
        assert status.get("unavailableReplicas", 0) == 0


def _check_job(found: Object, mine: Sequence[Object], _owners: Sequence[Object]) -> None:
    status, spec = found["status"], found["spec"]
    ended = [each["type"] for each in status.get("conditions", ()) if each["status"] == "True"]

    assert not any(TRACKING in pod["metadata"].get("finalizers", ()) for pod in mine), "every end is counted"
    assert status["uncountedTerminatedPods"] == {}
    if "Complete" in ended:
        assert status["succeeded"] >= spec["completions"]
        assert _active(mine) == []
    elif "Failed" in ended:
        assert _active(mine) == []
    else:
        assert spec.get("suspend") or not spec["parallelism"], "ends unless it is held"
        assert _active(mine) == []
    if spec["completionMode"] == "Indexed":
        done = [pod["metadata"]["annotations"][INDEX] for pod in mine if pod["status"]["phase"] == "Succeeded"]
        assert len(done) == len(set(done)), "no index is done twice"


_CHECKS = {"Deployment": _check_deployment, "ReplicaSet": _check_set, "Job": _check_job}

TestControllers = ControllersMachine.TestCase
TestControllers.settings = settings(
    max_examples=20, stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)

"""What machines over controllers share: users and other writers who get in their way, kubelets, rest, and what then holds.

Whatever happens, the controllers bring the cluster to what is asked for: nothing is leaked, doubled or held back, and
conflicts, and objects that vanish between two writes, only cost time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.time import format_time
from schedlab.client.inprocess import InProcessClient
from schedlab.client.protocol import Completion, Write
from tests.support.control_plane import ControlPlane, Object, template

ROUNDS_MAX = 60

names = st.sampled_from(["a", "b"])
policies = st.sampled_from(["Background", "Foreground", "Orphan"])
positions = st.integers(0, 9)
MACHINE_SETTINGS = settings(
    # A machine takes as long as five other examples; `thorough` asks for more of both.
    max_examples=settings().max_examples // 5,
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


class Meddler(InProcessClient):
    """The controllers' client; now and then somebody else is faster."""

    def __init__(self, plane: ControlPlane) -> None:
        super().__init__(plane.registry, "kube-controller-manager")
        self._plane = plane
        self.changes = 0
        self.deletions = 0
        #: The names of what somebody else has deleted.
        self.deleted: list[str] = []

    def submit(self, write: Write, done: Completion | None = None) -> None:
        """Change or delete the object first, as often as asked for."""
        if write.name and write.resource not in ("events", "nodes") and write.verb in ("update", "patch", "delete"):
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
            self.deleted.append(write.name)
            self._plane.delete(write.resource, write.name, "Background", namespace=write.namespace)


class ControllersMachine(RuleBasedStateMachine):
    """Random writes; what has to hold is checked when everything has come to rest."""

    #: The controllers that run, and the resources of which nothing may be left over.
    controllers: ClassVar[Sequence[str]] = ()
    resources: ClassVar[Sequence[str]] = ()
    #: What has to hold for an object, with the pods that it controls, by its kind.
    checks: ClassVar[Mapping[str, Callable[[Any, Object, Sequence[Object]], None]]] = {}

    @initialize(seed=st.integers(0, 99))
    def begin(self, seed: int) -> None:
        self.plane = self._make_plane(seed)
        self.meddler = Meddler(self.plane)
        self.plane.drive_through(self.meddler)
        self._addresses: dict[str, str] = {}
        self.prepare()

    def _make_plane(self, seed: int) -> ControlPlane:
        return ControlPlane(*self.controllers, seed=seed)

    def prepare(self) -> None:
        """Make what is there from the start."""

    # --- Everybody ---------------------------------------------------------------------------------------------------

    @rule(position=positions)
    def delete_pod(self, position: int) -> None:
        for pod in self.chosen(position):
            self.plane.delete("pods", pod["metadata"]["name"])

    @rule(position=positions)
    def pod_fails(self, position: int) -> None:
        for pod in self.chosen(position):
            self.plane.finish(pod["metadata"]["name"], "Failed")

    @rule(changes=st.integers(0, 3), deletions=st.integers(0, 1))
    def meddle(self, changes: int, deletions: int) -> None:
        self.meddler.changes, self.meddler.deletions = changes, deletions

    @rule()
    def kubelets_work(self) -> None:
        self.work()

    @rule(seconds=st.sampled_from([0, 1, 5, 60]))
    def time_passes(self, seconds: int) -> None:
        self.plane.run_for(seconds)

    @rule()
    def come_to_rest(self) -> None:
        self.settle()
        self.check()

    def teardown(self) -> None:
        if hasattr(self, "plane"):
            self.settle()
            self.check()

    # --- Rest --------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let everybody else rest until the controllers do, too."""
        self.meddler.changes = self.meddler.deletions = 0
        for _ in range(ROUNDS_MAX):
            before = self.state()
            self.work()
            self.plane.run_for(700)
            if self.state() == before:
                return
        raise AssertionError(f"no rest: {self.plane.messages()[-5:]}")

    def state(self) -> object:
        """Return what does not change any more when everything rests."""
        return self.plane.registry.revision

    def work(self) -> None:
        """Be scheduler and kubelets: everything runs, pods of Jobs succeed, deleted pods go."""
        plane = self.plane
        plane.settle()
        for pod in plane.pods():
            self.run_pod(pod)
        for pod in plane.pods():
            if owner_of(pod).get("kind") == "Job" and pod["status"]["phase"] == "Running":
                plane.finish(pod["metadata"]["name"])
        for pod in plane.all("pods"):
            if "deletionTimestamp" in pod["metadata"] and pod["status"]["phase"] in ("Pending", "Running"):
                plane.finish(pod["metadata"]["name"], "Failed")
        plane.end_pods()
        plane.settle()

    def run_pod(self, pod: Object) -> None:
        """Bind a pod that waits and make it ready."""
        name = pod["metadata"]["name"]
        if pod.get("status", {}).get("phase") not in (None, "Pending"):
            return
        if not pod["spec"].get("nodeName"):
            node = self.node_for(pod)
            if not node:
                return
            binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
            self.plane.registry.bind(name, self.plane.registry.decode("pods", binding, "binding"), "default")
        now = format_time(self.plane.clock.now_ns())
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
        number = len(self._addresses)
        address = self._addresses.setdefault(
            pod["metadata"]["uid"], f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        )
        status = {
            "phase": "Running",
            "startTime": now,
            "conditions": [ready],
            "podIP": address,
            "podIPs": [{"ip": address}],
        }
        self.plane.patch("pods", name, {"status": status}, subresource="status")

    def node_for(self, _pod: Object) -> str:
        """Return the node for a pod, nothing if there is none."""
        return "n1"

    def may_stay(self, _obj: Object) -> bool:
        """Whether an object that is being deleted has a reason to be there still."""
        return False

    def check(self) -> None:
        """What holds whenever everything rests."""
        found = [each for resource in self.resources for each in self.plane.all(resource)]
        pods = self.plane.all("pods")
        uids = {each["metadata"]["uid"] for each in (*found, *pods)}
        assert not any(part.ready() for part in self.plane.parts.values())
        for obj in (*pods, *found):
            assert "deletionTimestamp" not in obj["metadata"] or self.may_stay(obj), "is held back"
            for reference in obj["metadata"].get("ownerReferences", ()):
                assert reference["uid"] in uids, f"{obj['metadata']['name']} outlived its {reference['kind']}"
        for obj in found:
            check = self.checks.get(obj["kind"])
            if check is not None:
                check(self, obj, [pod for pod in pods if owner_of(pod).get("uid") == obj["metadata"]["uid"]])

    # --- Attempts ----------------------------------------------------------------------------------------------------

    def create(self, resource: str, name: str, spec: Object, **metadata: Any) -> None:
        """Store an object, unless its name is taken."""
        self.attempt(lambda: self.plane.create(resource, {"metadata": {"name": name, **metadata}, "spec": spec}))

    def patch(self, resource: str, name: str, patch: Object) -> None:
        """Change an object, if it is there."""
        self.attempt(lambda: self.plane.patch(resource, name, patch))

    def chosen(self, position: int) -> Iterator[Object]:
        """Return one of the pods, if there are any."""
        pods = self.plane.pods()
        if pods:
            yield pods[position % len(pods)]

    @staticmethod
    def attempt(action: Callable[[], Any]) -> None:
        """Do what may be refused: names are taken, objects are not there."""
        with contextlib.suppress(StatusError):
            action()


def pod_spec(image: str = "i") -> Object:
    """Return the spec of a pod."""
    return {"spec": {"containers": [{"name": "c", "image": image}]}}


def selecting(app: str) -> Object:
    """Return the selector and the template of a workload."""
    return {"selector": {"matchLabels": {"app": app}}, "template": template({"app": app})}


def owner_of(obj: Object) -> Object:
    """Return the reference to the controller of an object."""
    references = obj["metadata"].get("ownerReferences", ())
    return next((dict(each) for each in references if each.get("controller")), {})


def active(pods: Sequence[Object]) -> list[Object]:
    """Return the pods that have not ended."""
    return [pod for pod in pods if pod["status"]["phase"] in ("Pending", "Running")]

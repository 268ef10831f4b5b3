"""A registry with controllers on a virtual clock, for tests: no scheduler and no kubelet unless a test plays them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from schedlab.apimachinery.errors import NotFound
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.time import format_time
from schedlab.client.effects import Part
from schedlab.client.informers import Informers
from schedlab.client.inprocess import InProcessClient
from schedlab.client.protocol import Client
from schedlab.client.resource_metrics import ResourceMetrics
from schedlab.cluster.driver import BatchDriver, Engine
from schedlab.controllers.framework.controller import ControllerContext
from schedlab.controllers.registry import CONTROLLERS, DRIVERS
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import DeleteOptions, Registry, bootstrap
from schedlab.registry.admission.plugins import DEFAULT_NAMES
from schedlab.store import Store
from tests.support.registries import provide_accounts

Object = dict[str, Any]


class ControlPlane:
    """An API and the named controllers."""

    def __init__(
        self,
        *names: str,
        seed: int = 1,
        features: FeatureGates | None = None,
        root_ca: str = "",
        registry: Registry | None = None,
        before: Callable[[ControlPlane], ResourceMetrics] | None = None,
    ) -> None:
        """Start controllers, on the objects of another registry if one is given.

        `before` runs when everything but the controllers is there, and says who measures usage for them.
        """
        self.clock = VirtualClock()
        random = SeededRandom(seed)
        gates = FeatureGates.default() if features is None else features
        if registry is None:
            self.registry = provide_accounts(
                Registry(Store(), self.clock, random.split("registry"), gates, admission=_answered(names))
            )
            bootstrap(self.registry)
        else:
            self.registry = registry
        self.client = InProcessClient(self.registry, "kube-controller-manager")
        self.informers = Informers(self.client)
        context = ControllerContext(
            informers=self.informers,
            clock=self.clock,
            random=random.split("controllers"),
            features=gates,
            resources=tuple(self.registry.resources),
            root_ca=root_ca,
            metrics=None if before is None else before(self),
        )
        engine = Engine()
        self.parts: dict[str, Part] = {name: {**CONTROLLERS, **DRIVERS}[name](context) for name in names}
        for part in self.parts.values():
            engine.add(part, self.client)
        self.driver = BatchDriver(engine, self.clock)
        if registry is None and "serviceaccount-controller" not in names:
            # Pods are not let in without it.
            self.create("serviceaccounts", {"metadata": {"name": "default"}, "automountServiceAccountToken": False})

    def drive_through(self, client: Client) -> None:
        """Let the controllers write through another client."""
        engine = Engine()
        for part in self.parts.values():
            engine.add(part, client)
        self.driver = BatchDriver(engine, self.clock)

    # --- Time --------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let everything that is due now happen."""
        self.driver.settle()

    def run_for(self, seconds: float) -> None:
        """Let time pass."""
        self.driver.run_for(int(seconds * SECOND_NS))

    # --- Writing -----------------------------------------------------------------------------------------------------

    def create(self, resource: str, obj: Object, namespace: str = "default") -> Object:
        """Store an object."""
        namespace = namespace if self.registry.resource(resource).namespaced else ""
        return self.registry.create(resource, self.registry.decode(resource, obj), namespace).thaw()

    def node(self, name: str, **labels: str) -> None:
        """Store a node that has come up."""
        self.create("nodes", {"metadata": {"name": name, "labels": labels}})
        # As node-lifecycle does when the kubelet has reported.
        self.patch("nodes", name, {"spec": {"taints": None}})

    def patch(
        self, resource: str, name: str, patch: Object, namespace: str = "default", subresource: str = ""
    ) -> Object:
        """Change an object by a merge patch."""
        namespace = namespace if self.registry.resource(resource).namespaced else ""
        written = self.registry.patch(resource, name, "merge", patch, namespace, subresource=subresource)
        return written.object.thaw()

    def delete(
        self,
        resource: str,
        name: str,
        policy: str | None = None,
        *,
        grace_s: int | None = None,
        namespace: str = "default",
    ) -> None:
        """Delete an object."""
        namespace = namespace if self.registry.resource(resource).namespaced else ""
        options = DeleteOptions(propagation_policy=policy, grace_period_seconds=grace_s)
        self.registry.delete(resource, name, namespace, options)

    # --- Reading -----------------------------------------------------------------------------------------------------

    def get(self, resource: str, name: str, namespace: str = "default") -> Object:
        """Return an object."""
        namespace = namespace if self.registry.resource(resource).namespaced else ""
        return self.registry.get(resource, name, namespace).thaw()

    def exists(self, resource: str, name: str, namespace: str = "default") -> bool:
        """Whether there is such an object."""
        try:
            self.get(resource, name, namespace)
        except NotFound:
            return False
        return True

    def all(self, resource: str, namespace: str = "default") -> list[Object]:
        """Return all objects of a resource."""
        namespace = namespace if self.registry.resource(resource).namespaced else ""
        return [item.thaw() for item in self.registry.list(resource, namespace).items]

    def names(self, resource: str, namespace: str = "default") -> list[str]:
        """Return the names of all objects of a resource."""
        return [item["metadata"]["name"] for item in self.all(resource, namespace)]

    def pods(self) -> list[Object]:
        """Return the pods that are not being deleted."""
        return [pod for pod in self.all("pods") if "deletionTimestamp" not in pod["metadata"]]

    def messages(self) -> list[tuple[str, str, str]]:
        """Return reason, object and message of the events so far, oldest first."""
        events = sorted(self.all("events"), key=lambda event: event["metadata"]["name"].rpartition(".")[2])
        return [(each["reason"], each["involvedObject"]["name"], each["message"]) for each in events]

    # --- The kubelet's part --------------------------------------------------------------------------------------------

    def run_pods(self, pods: Iterable[Object] | None = None, node: str = "n1") -> None:
        """Bind pods, all that wait unless some are named, and make them ready."""
        for pod in self.pods() if pods is None else pods:
            name, status = pod["metadata"]["name"], pod.get("status", {})
            if status.get("phase") not in (None, "Pending"):
                continue
            if not pod["spec"].get("nodeName"):
                binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
                self.registry.bind(name, self.registry.decode("pods", binding, "binding"), "default")
            now = format_time(self.clock.now_ns())
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
            self.patch("pods", name, {"status": {"phase": "Running", "conditions": [ready]}}, subresource="status")

    def end_pods(self) -> None:
        """Let go the pods that are being deleted."""
        for pod in self.all("pods"):
            if "deletionTimestamp" in pod["metadata"]:
                self.delete("pods", pod["metadata"]["name"], grace_s=0)

    def finish(self, name: str, phase: str = "Succeeded", **status: Any) -> None:
        """Let a pod end; a kubelet never leaves one ready that does not run."""
        unready = {"type": "Ready", "status": "False", "lastTransitionTime": format_time(self.clock.now_ns())}
        told = {"conditions": [unready], **status, "phase": phase}
        self.patch("pods", name, {"status": told}, subresource="status")


def _answered(controllers: Iterable[str]) -> list[str]:
    """Return the default admission without what only a missing controller would answer: taints of new nodes."""
    unanswered = "" if "node-lifecycle-controller" in controllers else "TaintNodesByCondition"
    return [name for name in DEFAULT_NAMES if name != unanswered]


def template(labels: dict[str, str] | None = None, **spec: Any) -> Object:
    """Return a pod template with one container."""
    return {
        "metadata": {"labels": labels or {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }

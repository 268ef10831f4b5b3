"""DaemonSets, services and budgets on nodes that come and go, whatever users and other writers do to them."""

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
    pod_spec,
    policies,
    positions,
    selecting,
)
from tests.support.control_plane import Object

DAEMONS, SETS, BUDGETS = "daemonsets.apps", "replicasets.apps", "poddisruptionbudgets.policy"
SLICES = "endpointslices.discovery.k8s.io"
MIRRORED_BY = "endpointslicemirroring-controller.k8s.io"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
SERVICE_NAME = "kubernetes.io/service-name"

nodes = st.sampled_from(["n1", "n2", "n3"])


def check_daemons(machine: NodesMachine, found: Object, mine: Sequence[Object]) -> None:
    """Each node that fits has one pod of the newest template, and no other node has any."""
    selector = found["spec"]["template"]["spec"].get("nodeSelector", {})
    wanted = [
        node["metadata"]["name"]
        for node in machine.plane.all("nodes")
        if selector.items() <= node["metadata"].get("labels", {}).items() and not node["spec"].get("taints")
    ]
    revision = str(found["metadata"]["generation"])

    assert sorted(pod["spec"].get("nodeName", "") for pod in active(mine)) == sorted(wanted)
    assert found["status"]["desiredNumberScheduled"] == found["status"]["numberReady"] == len(wanted)
    if found["spec"]["updateStrategy"]["type"] == "RollingUpdate" and wanted:
        assert found["status"].get("updatedNumberScheduled", 0) == len(wanted), revision


def check_set(_machine: Any, found: Object, mine: Sequence[Object]) -> None:
    """A ReplicaSet has its pods, on nodes that are there."""
    assert len(active(mine)) == found["spec"]["replicas"]


def check_service(machine: NodesMachine, found: Object, _mine: Sequence[Object]) -> None:
    """The ready pods of a service are its endpoints, once, in both forms."""
    name, spec = found["metadata"]["name"], found["spec"]
    slices = [
        each for each in machine.plane.all(SLICES) if each["metadata"].get("labels", {}).get(SERVICE_NAME) == name
    ]
    if not spec.get("selector"):
        assert all(each["metadata"]["labels"][MANAGED_BY] == MIRRORED_BY for each in slices)
        return
    pods = [
        pod
        for pod in active(machine.plane.pods())
        if spec["selector"].items() <= pod["metadata"].get("labels", {}).items()
    ]
    wanted = sorted(pod["status"]["podIP"] for pod in pods if pod["status"].get("podIP"))
    own = [each for each in slices if each["metadata"]["labels"][MANAGED_BY] != MIRRORED_BY]
    sliced = [address for each in own for endpoint in each["endpoints"] or () for address in endpoint["addresses"]]
    subsets = machine.plane.get("endpoints", name).get("subsets") or ()

    assert sorted(sliced) == wanted
    assert own, "there is a slice even without endpoints"
    assert sorted(each["ip"] for subset in subsets for each in subset.get("addresses", ())) == wanted


def check_budget(machine: NodesMachine, found: Object, _mine: Sequence[Object]) -> None:
    """As many pods are healthy as run, and as many may go as are not needed."""
    selected = found["spec"]["selector"]["matchLabels"].items()
    healthy = len(
        [pod for pod in active(machine.plane.pods()) if selected <= pod["metadata"].get("labels", {}).items()]
    )
    status = found["status"]

    assert status["currentHealthy"] == healthy
    assert status["disruptionsAllowed"] == max(0, healthy - found["spec"]["minAvailable"])


class NodesMachine(ControllersMachine):
    """Three nodes at most; pods of ReplicaSets run on any of them."""

    controllers = (
        "garbage-collector-controller",
        "daemonset-controller",
        "replicaset-controller",
        "pod-garbage-collector-controller",
        "taint-eviction-controller",
        "disruption-controller",
        "endpoints-controller",
        "endpointslice-controller",
        "endpointslice-mirroring-controller",
        "ttl-controller",
    )
    resources = (DAEMONS, "controllerrevisions.apps", SETS, BUDGETS, "services", "endpoints", SLICES)
    checks = {
        "DaemonSet": check_daemons,
        "ReplicaSet": check_set,
        "Service": check_service,
        "PodDisruptionBudget": check_budget,
    }

    def prepare(self) -> None:
        # Somewhere pods can always run.
        self.plane.node("n0")

    def node_for(self, pod: Object) -> str:
        """Return the node that a daemon is meant for, else one that has no taints."""
        there = {node["metadata"]["name"]: node for node in self.plane.all("nodes")}
        terms = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
        required = terms.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", ())
        for term in required:
            for each in term.get("matchFields", ()):
                return str(each["values"][0]) if each["values"][0] in there else ""
        free = [name for name, node in there.items() if not node["spec"].get("taints")]
        return str(max(free))

    @rule(name=nodes, fast=st.booleans())
    def add_node(self, name: str, fast: bool) -> None:  # noqa: FBT001
        labels = {"disk": "ssd"} if fast else {}
        self.attempt(lambda: self.plane.node(name, **labels))

    @rule(name=nodes)
    def delete_node(self, name: str) -> None:
        self.attempt(lambda: self.plane.delete("nodes", name))

    @rule(name=nodes, label=st.sampled_from(["ssd", None]))
    def label_node(self, name: str, label: str | None) -> None:
        self.patch("nodes", name, {"metadata": {"labels": {"disk": label}}})

    @rule(name=nodes, tainted=st.booleans())
    def taint_node(self, name: str, tainted: bool) -> None:  # noqa: FBT001
        self.patch("nodes", name, {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}] if tainted else None}})

    @rule(name=names, surge=st.booleans(), picky=st.booleans())
    def create_daemons(self, name: str, surge: bool, picky: bool) -> None:  # noqa: FBT001
        bounds = {"maxSurge": 1, "maxUnavailable": 0} if surge else {"maxUnavailable": 1}
        spec = selecting(f"d{name}")
        if picky:
            spec["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
        strategy = {"type": "RollingUpdate", "rollingUpdate": bounds}
        self.create(DAEMONS, name, {"updateStrategy": strategy, **spec})

    @rule(name=names, image=st.sampled_from(["i", "j", "k"]))
    def roll_out(self, name: str, image: str) -> None:
        self.patch(DAEMONS, name, {"spec": {"template": pod_spec(image)}})

    @rule(name=names, replicas=st.integers(0, 3))
    def create_set(self, name: str, replicas: int) -> None:
        self.create(SETS, name, {"replicas": replicas, **selecting(f"s{name}")})

    @rule(name=names, replicas=st.integers(0, 3))
    def scale(self, name: str, replicas: int) -> None:
        self.patch(SETS, name, {"spec": {"replicas": replicas}})

    @rule(name=names, app=st.sampled_from(["da", "db", "sa", None]))
    def create_service(self, name: str, app: str | None) -> None:
        selector = {} if app is None else {"app": app}
        self.create("services", name, {"selector": selector, "ports": [{"port": 80}]})

    @rule(name=names, app=st.sampled_from(["da", "sa", "sb"]))
    def point_elsewhere(self, name: str, app: str) -> None:
        self.patch("services", name, {"spec": {"selector": {"app": app}}})

    @rule(name=names)
    def create_endpoints(self, name: str) -> None:
        subset = {"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}
        endpoints = {"metadata": {"name": name}, "subsets": [subset]}
        self.attempt(lambda: self.plane.create("endpoints", endpoints))

    @rule(position=positions)
    def delete_slice(self, position: int) -> None:
        slices = self.plane.names(SLICES)
        if slices:
            self.plane.delete(SLICES, slices[position % len(slices)])

    @rule(name=names, least=st.integers(0, 2))
    def create_budget(self, name: str, least: int) -> None:
        self.create(BUDGETS, name, {"minAvailable": least, "selector": {"matchLabels": {"app": f"s{name}"}}})

    @rule(resource=st.sampled_from([DAEMONS, SETS, BUDGETS, "services"]), name=names, policy=policies)
    def delete(self, resource: str, name: str, policy: str) -> None:
        self.attempt(lambda: self.plane.delete(resource, name, policy))


TestNodes = NodesMachine.TestCase
TestNodes.settings = MACHINE_SETTINGS

"""Clusters that are full, made at once: pods that are on nodes already, and beside them pods that wait, each for reasons of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from schedlab.api.object import StoredObject
from schedlab.apimachinery.features import FeatureGates
from schedlab.cluster.cluster import Cluster, ClusterSettings, new_node
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.randomness import SeededRandom
from schedlab.store.backend import MemoryBackend, Snapshot

Json = dict[str, Any]

#: One node is to have no more pods than that.
_PODS_PER_NODE_MAX: Final = 1_000
#: So many apps have mixed pods, each with a disruption budget of its own.
_APPS: Final = 40
_PRIORITIES: Final = ("low", "middle", "high")
_ZONE: Final = "topology.kubernetes.io/zone"
_HOSTNAME: Final = "kubernetes.io/hostname"
_RUNS: Final = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
_CREATED: Final = "2026-01-01T00:00:00Z"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


class Load(NamedTuple):
    """Who is on the nodes, by number and turn; how much of CPU (milli) and memory (MiB) a node has left; what else there is.

    waiting: the pods that wait, by what they ask: `requests` of their one container and further fields of their spec; `labels`.
    """

    placed: Callable[[int, int], Json]
    room: tuple[int, int]
    beside: Callable[[Cluster], list[tuple[str, Json]]]
    waiting: Mapping[str, Json]
    gates: str = ""


class _Filled(MemoryBackend):
    """A back end that has kept a cluster."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self._snapshot = snapshot

    def load(self) -> Snapshot:
        """See Backend."""
        return self._snapshot


def filled(load: Load, nodes: int, pods: int) -> Cluster:
    """Return a running cluster: so many pods in turn on so many nodes, which have room for no pod that waits."""
    objects: list[StoredObject] = []

    def keep(resource: str, obj: Json) -> None:
        obj["metadata"] |= {"uid": f"{resource}-{len(objects)}", "creationTimestamp": _CREATED}
        objects.append(StoredObject.encode(resource, obj, len(objects) + 2))

    taken = [[0, 0, 0] for _ in range(nodes)]
    for number in range(pods):
        pod = load.placed(number, number // nodes)
        requests = pod["spec"]["containers"][0]["resources"]["requests"]
        amounts = taken[number % nodes]
        amounts[0] += int(requests["cpu"].removesuffix("m"))
        amounts[1] += int(requests["memory"].removesuffix("Mi"))
        amounts[2] += 1
        pod["metadata"]["namespace"] = "default"
        pod["spec"] |= {"nodeName": f"node-{number % nodes}", "schedulerName": "default-scheduler"}
        keep("pods", {"apiVersion": "v1", "kind": "Pod", **pod, "status": _RUNS})
    for number, amounts in enumerate(taken):
        keep("nodes", _node(number, load.room, amounts))
    clock = VirtualClock()
    settings = ClusterSettings(annotations="off", history=20_000, feature_gates=FeatureGates.parse(load.gates))
    backend = _Filled(Snapshot(len(objects) + 1, tuple(objects)))
    cluster = Cluster(clock, SeededRandom(1), settings, backend=backend)
    cluster.start()
    driver = BatchDriver(cluster.engine, clock)
    _create(cluster, load.beside(cluster))
    driver.run_for(60 * SECOND_NS)
    _create(cluster, [("pods", _waiting(name, wish)) for name, wish in load.waiting.items()])
    driver.run_for(2 * SECOND_NS)
    return cluster


def _create(cluster: Cluster, objects: Iterable[tuple[str, Json]]) -> None:
    for resource, obj in objects:
        body = cluster.registry.decode(resource, obj)
        cluster.registry.create(resource, body, obj["metadata"].get("namespace", ""))


def check(nodes: int, pods: int) -> None:
    """Raise SchedlabError for numbers of which no cluster can be made."""
    if nodes < 1:
        raise SchedlabError(f"{nodes} nodes are too few", hint="give one node or more")
    if pods < 0:
        raise SchedlabError(f"there cannot be {pods} pods", hint="give a number of pods that is not negative")
    if pods > nodes * _PODS_PER_NODE_MAX:
        raise SchedlabError(
            f"{pods} pods are more than {nodes} node(s) can have",
            hint=f"give {_PODS_PER_NODE_MAX} pods per node at most",
        )


def _node(number: int, room: tuple[int, int], taken: list[int]) -> Json:
    """Return a node with so much room beside what its pods take; one in fifty is cordoned."""
    node = new_node(number)
    cpu, memory, pods = taken
    size = {"cpu": f"{cpu + room[0]}m", "memory": f"{memory + room[1]}Mi", "pods": str(max(110, pods + 10))}
    node["spec"] = {"unschedulable": True} if number % 50 == 0 else {}
    node["status"] = {"capacity": size, "allocatable": size}
    return node


def pod_name(question: str) -> str:
    """Return the name of a pod that waits."""
    return question.replace(",", "").replace(" ", "-")


def _waiting(name: str, wish: Json) -> Json:
    spec = {key: value for key, value in wish.items() if key not in ("requests", "labels", "ports")}
    container = {"name": "c", "image": "i", "resources": {"requests": wish["requests"]}, "ports": wish.get("ports", [])}
    metadata = {"name": pod_name(name), "namespace": "default", "labels": wish.get("labels", {})}
    return {"metadata": metadata, "spec": {**spec, "containers": [container]}}


def _pod(name: str, cpu: int, memory: int, **spec: Any) -> Json:
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


# --- Equal pods ------------------------------------------------------------------------------------------------------

_EQUAL: Final = Load(
    placed=lambda number, _turn: _pod(f"p{number}", 1500, 2048),
    room=(1000, 44 * 1024),
    beside=lambda _cluster: [],
    waiting={
        "large": {"requests": {"cpu": "2500m"}},
        "large, two resources": {"requests": {"cpu": "2500m", "memory": "60Gi"}},
        "too large": {"requests": {"cpu": "10k"}},
        "picky": {"requests": {"cpu": "500m"}, "nodeSelector": {"disk": "ssd"}},
        "picky and large": {"requests": {"cpu": "2"}, "nodeSelector": {"disk": "ssd"}},
    },
)


# --- Mixed pods ------------------------------------------------------------------------------------------------------


def _mixed(number: int, turn: int) -> Json:
    """Return one of many apps' pods; those of an app are alike in labels and priority, no two in what they ask for."""
    dice = SeededRandom(number)
    app = f"app-{dice.below(_APPS)}"
    selector = {"matchLabels": {"app": app}}
    pod = _pod(f"p{number}", 50 + dice.below(400), 64 + dice.below(2000))
    pod["metadata"] |= {"labels": {"app": app}, "ownerReferences": [_owner(app)]}
    spec = pod["spec"]
    spec["priority"] = 100 * dice.below(len(_PRIORITIES))
    spec["tolerations"] = [{"operator": "Exists"}] if dice.below(3) == 0 else []
    term = {"topologyKey": (_HOSTNAME, _ZONE)[dice.below(2)], "labelSelector": selector}
    match dice.below(4):
        case 0:
            constraint = {"maxSkew": 2, "topologyKey": _ZONE, "labelSelector": selector}
            when = ("DoNotSchedule", "ScheduleAnyway")[dice.below(2)]
            spec["topologySpreadConstraints"] = [{**constraint, "whenUnsatisfiable": when}]
        case 1:
            spec["affinity"] = {"podAffinity": {_PREFERRED: [{"weight": 5, "podAffinityTerm": term}]}}
        case 2:
            spec["affinity"] = {"podAntiAffinity": {_PREFERRED: [{"weight": 5, "podAffinityTerm": term}]}}
    if number % 50 == 7:
        # They keep everybody with this label away from their nodes.
        pod["metadata"]["labels"] = {"app": "alone"}
        alone = {"topologyKey": _HOSTNAME, "labelSelector": {"matchLabels": {"app": "alone"}}}
        spec["affinity"] = {"podAntiAffinity": {_REQUIRED: [alone]}}
    spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}] if turn == 0 else []
    return pod


def _owner(app: str) -> Json:
    return {"apiVersion": "example.com/v1", "kind": "App", "name": app, "uid": app, "controller": True}


def _beside(cluster: Cluster) -> list[tuple[str, Json]]:
    """Return budgets, priority classes, four devices of every node, claims, a volume in a zone, and a gang."""
    found: list[tuple[str, Json]] = []
    for value, word in enumerate(_PRIORITIES):
        for name, policy in ((word, "PreemptLowerPriority"), (f"quiet-{word}", "Never")):
            found.append(
                (
                    "priorityclasses.scheduling.k8s.io",
                    {"metadata": {"name": name}, "value": 100 * value, "preemptionPolicy": policy},
                )
            )
    pods = cluster.informers.lister("pods").list()
    for app, count in Counter(pod.metadata.labels["app"] for pod in pods).items():
        spec: Json = {"minAvailable": max(0, count - len(found) % 4), "selector": {"matchLabels": {"app": app}}}
        found.append(("poddisruptionbudgets.policy", _in_default(app, spec)))
    found.append(("deviceclasses.resource.k8s.io", {"metadata": {"name": "gpu"}, "spec": {}}))
    devices = [{"name": f"d{number}", "attributes": {"size": {"string": "small"}}} for number in range(4)]
    for node in (node.metadata.name for node in cluster.informers.lister("nodes").list()):
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "example.com", "nodeName": node, "pool": pool, "devices": devices}
        found.append(("resourceslices.resource.k8s.io", {"metadata": {"name": node}, "spec": spec}))
    wish = {"deviceClassName": "gpu", "allocationMode": "ExactCount"}
    large = [{"cel": {"expression": 'device.attributes["example.com"].size == "large"'}}]
    for name, exactly in (("eight", {**wish, "count": 8}), ("big", {**wish, "count": 1, "selectors": large})):
        request = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        found.append(("resourceclaims.resource.k8s.io", _in_default(name, request)))
    found += [("persistentvolumeclaims", _claim("nowhere", "")), ("persistentvolumeclaims", _claim("far", "far"))]
    found.append(("persistentvolumes", _volume("far", "far")))
    found.append(("podgroups.scheduling.k8s.io", _in_default("gang", {"schedulingPolicy": {"gang": {"minCount": 2}}})))
    return found


def _in_default(name: str, spec: Json) -> Json:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


def _claim(name: str, volume: str) -> Json:
    size = {"requests": {"storage": "1Gi"}}
    claim = _in_default(name, {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": size})
    if volume:
        claim["spec"]["volumeName"] = volume
    return claim


def _volume(name: str, claim: str) -> Json:
    """Return a volume of a zone that no node is in."""
    elsewhere = {"matchExpressions": [{"key": _ZONE, "operator": "In", "values": ["elsewhere"]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "claimRef": {"namespace": "default", "name": claim},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [elsewhere]}},
    }
    return {"metadata": {"name": name}, "spec": spec}


def _spread(app: str, topology_key: str) -> Json:
    constraint = {"maxSkew": 1, "topologyKey": topology_key, "whenUnsatisfiable": "DoNotSchedule"}
    return {**constraint, **_selecting(app)}


def _selecting(app: str) -> Json:
    return {"labelSelector": {"matchLabels": {"app": app}}}


def _claims(name: str) -> list[Json]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]


_SMALL: Final = {"requests": {"cpu": "100m"}}
_ANYBODY: Final = {
    "topologyKey": _HOSTNAME,
    "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
}
_MIXED: Final = Load(
    placed=_mixed,
    room=(1000, 4 * 1024),
    beside=_beside,
    gates="GenericWorkload=true,GangScheduling=true",
    waiting={
        "large": {"requests": {"cpu": "1200m"}},
        "large, two resources": {"requests": {"cpu": "1500m", "memory": "6Gi"}},
        "large, many victims": {"requests": {"cpu": "3200m"}},
        "too large": {"requests": {"cpu": "10k"}},
        "picky": {**_SMALL, "nodeSelector": {"disk": "ssd"}},
        "picky and large": {"requests": {"cpu": "2"}, "nodeSelector": {"disk": "ssd"}},
        "cordoned": {**_SMALL, "nodeSelector": {_HOSTNAME: "node-0"}},
        "spread": {
            "requests": {"cpu": "1200m"},
            "labels": {"app": "app-1"},
            "topologySpreadConstraints": [_spread("app-1", _HOSTNAME), _spread("app-1", _ZONE)],
        },
        "port": {**_SMALL, "ports": [{"containerPort": 80, "hostPort": 8080}]},
        "apart from all": {**_SMALL, "affinity": {"podAntiAffinity": {_REQUIRED: [_ANYBODY]}}},
        "apart from those that keep apart": {
            "requests": {"cpu": "1200m"},
            "labels": {"app": "alone"},
            "affinity": {"podAntiAffinity": {_REQUIRED: [{"topologyKey": _HOSTNAME, **_selecting("alone")}]}},
        },
        "beside others, and large": {
            "requests": {"cpu": "1200m"},
            "affinity": {"podAffinity": {_REQUIRED: [{"topologyKey": _HOSTNAME, **_selecting("alone")}]}},
        },
        "devices": {**_SMALL, "resourceClaims": [{"name": "d", "resourceClaimName": "eight"}]},
        "devices of a kind": {**_SMALL, "resourceClaims": [{"name": "d", "resourceClaimName": "big"}]},
        "volume": {**_SMALL, "volumes": _claims("nowhere")},
        "volume elsewhere": {**_SMALL, "volumes": _claims("far")},
        "gang": {"requests": {"cpu": "1200m"}, "schedulingGroup": {"podGroupName": "gang"}},
        "nothing helps": {
            "requests": {"cpu": "10k"},
            "nodeSelector": {"disk": "ssd"},
            "resourceClaims": [{"name": "d", "resourceClaimName": "eight"}],
        },
    },
)

LOADS: Final[Mapping[str, Load]] = {"equal": _EQUAL, "mixed": _MIXED}

"""A snapshot that is taken, and loaded into an empty cluster, loses no object and changes no decision."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schedlab.mirror.snapshot import check, export, load
from tests.property.clusters import NODE_LABELS, POD_LABELS, constraints, few, objects, optional, pod_affinities
from tests.support.clusters import Lab

#: What each cluster gives its objects itself: identity, times and addresses.
OWN = {
    *("uid", "resourceVersion", "managedFields", "generation", "observedGeneration", "creationTimestamp"),
    *("startTime", "startedAt", "lastTransitionTime", "lastPhaseTransitionTime", "podIP", "podIPs"),
}
RESULTS = ("filter-result", "finalscore-result", "postfilter-result")
PREFIX = "kube-scheduler-simulator.sigs.k8s.io/"
CLASSES = ("low", "high")

nodes = objects(
    labels=NODE_LABELS,
    cpu=st.sampled_from(("1", "2", "4")),
    taints=few(objects(key=st.sampled_from(("t", "u")), effect=st.sampled_from(("NoSchedule", "PreferNoSchedule"))), 1),
    unschedulable=optional(st.just(True)),
)
pods = objects(
    labels=POD_LABELS,
    cpu=st.sampled_from(("100m", "700m", "1500m")),
    namespace=st.sampled_from(("default", "shop")),
    priorityClassName=optional(st.sampled_from(CLASSES)),
    nodeSelector=optional(st.just({"zone": "a"})),
    tolerations=few(objects(key=st.sampled_from(("t", "u")), operator=st.just("Exists"))),
    topologySpreadConstraints=optional(st.lists(constraints, min_size=1, max_size=1)),
    affinity=optional(objects(podAffinity=optional(pod_affinities), podAntiAffinity=optional(pod_affinities))),
    claim=optional(st.sampled_from(("bound", "waiting"))),
)


def add_volumes(lab: Lab, namespace: str) -> None:
    """Create a claim whose volume is there and one whose volume is made for its first pod."""
    storage = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteMany"]}
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteMany"],
        "hostPath": {"path": "/v"},
        "claimRef": {"namespace": namespace, "name": "bound"},
    }
    lab.create("persistentvolumes", {"metadata": {"name": f"v-{namespace}"}, "spec": volume})
    for name, spec in (
        ("bound", {**storage, "storageClassName": "", "volumeName": f"v-{namespace}"}),
        ("waiting", {**storage, "storageClassName": "made"}),
    ):
        lab.create("persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec}, namespace)


def add_pod(lab: Lab, name: str, drawn: dict[str, Any]) -> None:
    """Create a pod with what was drawn for it."""
    spec = {key: value for key, value in drawn.items() if key not in ("labels", "cpu", "namespace", "claim")}
    spec["containers"] = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": drawn["cpu"]}}}]
    if "claim" in drawn:
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": drawn["claim"]}}]
    pod = {"metadata": {"name": name, "labels": drawn["labels"]}, "spec": spec}
    lab.create("pods", pod, drawn["namespace"])


def drawn_cluster(draw_nodes: list[dict[str, Any]], draw_pods: list[dict[str, Any]]) -> Lab:
    """Return a cluster with all kinds that a snapshot holds, whose pods have had time to be placed."""
    lab = Lab()
    lab.create("namespaces", {"metadata": {"name": "shop", "labels": {"team": "shop"}}})
    for number, name in enumerate(CLASSES):
        lab.create("priorityclasses.scheduling.k8s.io", {"metadata": {"name": name}, "value": number})
    made = {
        "metadata": {"name": "made"},
        "provisioner": "example.com/disk",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    lab.create("storageclasses.storage.k8s.io", made)
    for number, node in enumerate(draw_nodes):
        amounts = {"cpu": node["cpu"], "memory": "8Gi", "pods": "10"}
        status = {"capacity": amounts, "allocatable": amounts}
        spec = {key: node[key] for key in ("taints", "unschedulable") if key in node}
        metadata = {"name": f"n{number}", "labels": {**node["labels"], "kubernetes.io/hostname": f"n{number}"}}
        lab.create("nodes", {"metadata": metadata, "spec": spec, "status": status})
    for namespace in ("default", "shop"):
        add_volumes(lab, namespace)
    lab.run()
    for number, pod in enumerate(draw_pods):
        add_pod(lab, f"p{number}", pod)
        lab.run()
    return lab


def exported(lab: Lab) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(export(lab.registry, {}))
    return document


def without_own(value: Any) -> Any:
    """Return what of a snapshot is the same in every cluster that holds it; conditions have no order."""
    if isinstance(value, list):
        return [without_own(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: without_own(each) for key, each in value.items() if key not in OWN}
    if isinstance(kept.get("spec"), dict) and "containers" in kept["spec"] and not kept["spec"].get("nodeName"):
        # A pod that waits was tried when there was less; the copy tries it when everything is there.
        annotations = kept["metadata"].pop("annotations", {})
        kept["metadata"]["annotations"] = {k: v for k, v in annotations.items() if not k.startswith(PREFIX)}
        for condition in kept["status"].get("conditions", {}).values():
            condition.pop("message", None)
    if isinstance(kept.get("conditions"), list):
        kept["conditions"] = {condition["type"]: condition for condition in kept["conditions"]}
    return kept


def decision(lab: Lab, name: str, namespace: str) -> dict[str, Any]:
    """Return what every plugin said of every node for a pod."""
    annotations = lab.registry.get("pods", name, namespace).view.metadata.annotations
    return {key: json.loads(annotations.get(PREFIX + key) or "null") for key in RESULTS}


@given(st.lists(nodes, min_size=1, max_size=4), st.lists(pods, max_size=5), pods)
def test_round_trip(some_nodes: list[dict[str, Any]], some_pods: list[dict[str, Any]], last: dict[str, Any]) -> None:
    lab = drawn_cluster(some_nodes, some_pods)
    document = exported(lab)
    copy = Lab()

    loaded = load(copy.registry, check(document))

    assert loaded.problems == []
    copy.run()
    assert without_own(exported(copy)) == without_own(document)
    for each in (lab, copy):
        add_pod(each, "last", last)
        each.run()
    assert decision(copy, "last", last["namespace"]) == decision(lab, "last", last["namespace"])

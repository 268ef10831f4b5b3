"""Stages of the API are played on pods, nodes and any other object; what goes wrong is told on the Stage."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.stage_loading import load_stages
from schedlab.kernel.randomness import SeededRandom
from schedlab.kubelet.stages.definition import STAGES
from tests.support.lab import Lab

Object = dict[str, Any]


def label(key: str) -> Object:
    return {"matchLabels": {key: "yes"}}


def test_stage_that_matches_goes_before_the_built_in_life() -> None:
    lab = Lab()
    ready = {
        "matchLabels": {"slow": "yes"},
        "matchExpressions": [{"key": ".status.phase", "operator": "In", "values": ["Pending"]}],
    }
    lab.stage(
        "slow-ready",
        selector=ready,
        delay={"durationMilliseconds": 5000},
        next={
            "statusTemplate": 'phase: Running\npodIP: {{ PodIPWith .spec.nodeName false .metadata.uid "" "" | Quote }}'
        },
    )
    lab.pod("slow", {"slow": "yes"})
    lab.pod("quick")
    lab.run(4)
    assert (lab.phase("slow"), lab.phase("quick")) == ("Pending", "Running")

    lab.run(2)
    assert lab.phase("slow") == "Running"
    assert lab.get("pods", "slow")["status"]["podIP"].startswith("10.0.")


def test_stages_with_the_names_of_the_built_in_life_take_its_place() -> None:
    lab = Lab()
    lab.stage("pod-ready", selector=label("mine"), next={"statusTemplate": "phase: Running"})
    lab.pod("mine", {"mine": "yes"})
    lab.pod("other")
    lab.run(60)
    assert (lab.phase("mine"), lab.phase("other")) == ("Running", "Pending")

    # Without the Stage the pod that waited goes on.
    lab.registry.delete(STAGES, "pod-ready")
    lab.run(1)
    assert lab.phase("other") == "Running"


def test_general_set_takes_pods_through_all_steps() -> None:
    lab = Lab("general")
    lab.pod(
        "p",
        annotations={"pod-create.stage.kwok.x-k8s.io/delay": "2s", "pod-create.stage.kwok.x-k8s.io/jitter-delay": "2s"},
        spec={"initContainers": [{"name": "i", "image": "i"}]},
    )
    lab.run(1.5)
    assert "podIP" not in lab.get("pods", "p")["status"]
    lab.run(1)
    assert lab.get("pods", "p")["status"]["initContainerStatuses"][0]["state"] == {
        "waiting": {"reason": "PodInitializing"}
    }
    assert lab.events("Pod", "p") == ["Scheduled", "Created"]

    lab.run(20)
    status = lab.get("pods", "p")["status"]
    assert status["phase"] == "Running"
    assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    assert "running" not in status["initContainerStatuses"][0]["state"]
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "PodScheduled": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
    }

    lab.registry.delete("pods", "p", "default")
    lab.run(40)
    assert lab.pods() == []


def test_general_set_completes_pods_of_jobs() -> None:
    lab = Lab("general")
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    lab.registry.create(
        "jobs.batch",
        lab.registry.decode("jobs.batch", {"metadata": {"name": "j"}, "spec": {"template": template}}),
        "default",
    )
    lab.run(30)

    [pod] = (pod.raw for pod in lab.registry.list("pods").items)
    assert pod["status"]["phase"] == "Succeeded"
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"


def test_chaos_set_fails_pods_and_nodes_that_ask_for_it() -> None:
    lab = Lab("chaos")
    prefix = "stage.kwok.x-k8s.io"
    lab.pod("ok")
    lab.pod(
        "fails",
        {f"pod-container-running-failed.{prefix}": "true"},
        annotations={f"pod-container-running-failed.{prefix}/exit-code": "42"},
    )
    lab.pod(
        "init",
        {f"pod-init-container-running-failed.{prefix}": "true"},
        spec={"initContainers": [{"name": "i", "image": "i"}]},
    )
    lab.pod(
        "loops",
        {f"pod-crash-loop.{prefix}": "true"},
        annotations={f"pod-crash-loop.{prefix}/delay": "1s", f"pod-crash-loop.{prefix}/jitter-delay": "1s"},
    )
    lab.pod("pulls", {f"pod-image-pull-back-off.{prefix}": "true"})
    lab.run(10)

    assert [lab.phase(name) for name in ("ok", "fails", "init", "loops", "pulls")] == [
        "Running",
        "Failed",
        "Failed",
        "Running",
        "Pending",
    ]
    assert lab.get("pods", "fails")["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 42
    loops = lab.get("pods", "loops")["status"]["containerStatuses"][0]
    assert loops["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert loops["restartCount"] >= 3
    assert (
        lab.get("pods", "pulls")["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"
    )

    wanted = {
        "labels": {f"node-not-ready.{prefix}": "true"},
        "annotations": {f"node-not-ready.{prefix}/type": "MemoryPressure"},
    }
    lab.registry.patch("nodes", "node-0", "merge", {"metadata": wanted})
    lab.run(3)
    assert lab.node_conditions("node-0")["Ready"] == "False"
    assert lab.node_conditions("node-0")["MemoryPressure"] == "True"
    assert {taint["key"] for taint in lab.get("nodes", "node-0")["spec"]["taints"]} >= {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/memory-pressure",
    }

    # Without the label the node is as well as before.
    lab.registry.patch("nodes", "node-0", "merge", {"metadata": {"labels": {f"node-not-ready.{prefix}": None}}})
    lab.run(3)
    assert lab.node_conditions("node-0")["Ready"] == "True"
    assert "taints" not in lab.get("nodes", "node-0")["spec"]


def test_node_initialize_of_users_makes_nodes_ready() -> None:
    lab = Lab()
    conditions = "conditions:\n{{ range NodeConditions }}\n- {type: {{ .type }}, status: {{ .status | Quote }}, reason: {{ .reason }}, lastTransitionTime: {{ Now | Quote }}}\n{{ end }}"
    addresses = "\naddresses: [{type: InternalIP, address: {{ NodeIP | Quote }}}, {type: Hostname, address: {{ NodeName | Quote }}}]\nallocatable: {cpu: 2}"
    selector = {
        "matchExpressions": [
            {
                "key": '.status.conditions.[] | select( .type == "Ready" ) | .status',
                "operator": "NotIn",
                "values": ["True"],
            }
        ]
    }
    lab.stage(
        "node-initialize",
        "Node",
        selector=selector,
        delay={"durationMilliseconds": 3000},
        next={"statusTemplate": conditions + addresses},
    )
    lab.create("nodes", "mine")
    lab.run(2)
    assert "conditions" not in lab.get("nodes", "mine").get("status", {})
    lab.run(2)

    assert lab.node_conditions("mine")["NetworkUnavailable"] == "False"
    assert lab.get("nodes", "mine")["status"]["addresses"][1] == {"type": "Hostname", "address": "mine"}
    assert lab.node_conditions("node-0")["Ready"] == "True"


def test_any_kind_can_have_stages() -> None:
    lab = Lab()
    lab.stage(
        "copy",
        "ConfigMap",
        selector=label("copy"),
        steps=[
            {"apply": {"template": "{apiVersion: v1, kind: Secret, metadata: {name: '{{ .metadata.name }}'}}"}},
            {"delete": True},
        ],
    )
    lab.create("configmaps", "a", labels={"copy": "yes"})
    lab.create("configmaps", "b")
    lab.run(1)

    assert "a" in [each.name for each in lab.registry.list("secrets", "default").items]
    assert [each.name for each in lab.registry.list("configmaps", "default").items] == ["b", "kube-root-ca.crt"]


def test_delay_begins_anew_when_the_object_changes_and_ends_when_it_matches_no_more() -> None:
    lab = Lab()
    lab.stage(
        "late",
        "ConfigMap",
        selector=label("late"),
        delay={"durationMilliseconds": 3000},
        steps=[{"patch": {"template": "data: {done: 'yes'}"}}],
    )
    lab.create("configmaps", "m", labels={"late": "yes"})
    lab.run(2)
    lab.registry.patch("configmaps", "m", "merge", {"data": {"x": "1"}}, "default")
    lab.run(2)
    assert "done" not in lab.get("configmaps", "m")["data"]
    lab.registry.patch("configmaps", "m", "merge", {"metadata": {"labels": None}}, "default")
    lab.run(10)
    assert "done" not in lab.get("configmaps", "m")["data"]


def test_broken_stage_is_told_of_on_itself_and_blocks_nothing() -> None:
    lab = Lab()
    lab.stage("broken", next={"statusTemplate": "phase: {{ nope }}"})
    lab.pod("p")
    lab.run(1)

    assert lab.phase("p") == "Running"
    assert lab.conditions("broken") == {
        "Ready": ("False", "BrokenTemplate", 'spec.next.statusTemplate: line 1: function "nope" not defined')
    }
    assert lab.events("Stage", "broken") == ["BrokenTemplate"]

    # Mended, it is played.
    lab.stage("broken", selector=label("x"), next={"statusTemplate": "phase: Failed"})
    lab.run(1)
    assert lab.conditions("broken")["Ready"][:2] == ("True", "Loaded")


def test_stage_that_fails_for_an_object_is_told_of_and_leaves_the_object_to_the_built_in_life() -> None:
    lab = Lab()
    lab.stage("fails", selector=label("x"), next={"statusTemplate": "phase: {{ index .spec.containers 9 }}"})
    lab.pod("p", {"x": "yes"})
    lab.run(1)

    assert lab.phase("p") == "Running"
    assert lab.conditions("fails")["Failing"] == (
        "True",
        "StepFailed",
        "pods default/p: step 1: line 1: index: index out of range: 9",
    )
    assert lab.events("Stage", "fails") == ["StepFailed"]


def test_refused_patch_is_told_of() -> None:
    lab = Lab()
    lab.stage(
        "refused", selector=label("x"), steps=[{"patch": {"template": "spec: {containers: [{name: c, image: ''}]}"}}]
    )
    lab.pod("p", {"x": "yes"})
    lab.run(1)

    assert lab.conditions("refused")["Failing"][1] == "StepFailed"
    assert 'Pod "p" is invalid' in lab.conditions("refused")["Failing"][2]


def test_stage_that_matches_nothing_says_so_after_a_minute() -> None:
    lab = Lab()
    lab.stage("idle", selector=label("never"))
    lab.pod("p")
    lab.run(59)
    assert "Matched" not in lab.conditions("idle")
    lab.run(2)
    assert lab.conditions("idle")["Matched"] == (
        "False",
        "NeverMatched",
        "its selector has matched nothing of kind Pod in 60s",
    )
    assert lab.events("Stage", "idle") == ["NeverMatched"]

    lab.pod("q", {"never": "yes"})
    lab.run(1)
    assert lab.conditions("idle")["Matched"] == ("True", "Matched", "first matched pods default/q")


def test_stage_that_loops_is_told_of_and_slowed_down() -> None:
    lab = Lab()
    lab.stage(
        "loop",
        "ConfigMap",
        selector=label("loop"),
        steps=[
            {"patch": {"template": "data: {count: '{{ add (default 0 (get (default dict .data) \"count\")) 1 }}'}"}}
        ],
    )
    lab.create("configmaps", "m", labels={"loop": "yes"})
    lab.pod("p")
    lab.run(0)

    assert lab.get("configmaps", "m")["data"] == {"count": "50"}
    assert lab.phase("p") == "Running"
    assert lab.conditions("loop")["Looping"][:2] == ("True", "Looping")
    assert lab.events("Stage", "loop") == ["Looping"]
    lab.run(3600)
    assert int(lab.get("configmaps", "m")["data"]["count"]) < 65


def test_claim_that_a_stage_matches_is_left_alone_by_the_provisioner() -> None:
    """Those of KWOK's volumes make the volume themselves; a Stage that fails does not keep the volume away."""
    lab = Lab()
    lab.create("storageclasses.storage.k8s.io", "kept", provisioner="kwok.x-k8s.io/volume")
    matches = {"matchExpressions": [{"key": ".spec.volumeName", "operator": "DoesNotExist"}]}
    volume = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: 'of-{{ .metadata.name }}'}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  storageClassName: kept
  hostPath: {path: /staged}
  claimRef: {namespace: default, name: '{{ .metadata.name }}', uid: '{{ .metadata.uid }}'}
"""
    lab.stage("pvc-provision", "PersistentVolumeClaim", selector=matches, steps=[{"apply": {"template": volume}}])

    def claim(name: str) -> Object:
        resources = {"requests": {"storage": "1Gi"}}
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "kept", "resources": resources}
        lab.create("persistentvolumeclaims", name, spec=spec)
        lab.run(20)
        return lab.get("persistentvolumes", lab.get("persistentvolumeclaims", name)["spec"]["volumeName"])

    assert claim("a")["spec"]["hostPath"]["path"] == "/staged"
    assert "Failing" not in lab.conditions("pvc-provision")

    lab.stage("pvc-provision", "PersistentVolumeClaim", selector=matches, steps=[{"apply": {"template": "{{ fail }}"}}])
    assert claim("b")["spec"]["hostPath"]["path"].startswith("/var/lib/volumes/pvc-")
    assert lab.conditions("pvc-provision")["Failing"][:2] == ("True", "StepFailed")


@pytest.mark.parametrize("place", ["weightFrom", "durationFrom"])
@pytest.mark.parametrize("source", ["0.0 / 0.0", "1.0 / 0.0", "true"])
def test_expression_without_a_number_is_told_on_the_stage(place: str, source: str) -> None:
    lab = Lab()
    given: Object = {place: {"cel": {"expression": source}}}
    deed = {"patch": {"root": "metadata", "template": "labels: {odd: done}"}}
    lab.stage("odd", selector=label("odd"), steps=[deed], **(given if place == "weightFrom" else {"delay": given}))
    lab.pod("p", labels={"odd": "yes"})
    lab.run(5)

    assert lab.conditions("odd")["Failing"][:2] == ("True", "StepFailed")


def test_stage_for_a_kind_that_comes_later_is_played_then() -> None:
    lab = Lab()
    lab.registry.apply(
        STAGES,
        "late",
        {
            "apiVersion": "kwok.x-k8s.io/v1alpha1",
            "kind": "Stage",
            "metadata": {"name": "late"},
            "spec": {
                "resourceRef": {"apiGroup": "a.b/v1", "kind": "Thing"},
                "selector": {},
                "steps": [{"patch": {"template": "spec: {done: true}"}}],
            },
        },
    )
    lab.run(0)
    assert lab.conditions("late")["Ready"] == (
        "False",
        "UnknownKind",
        "spec.resourceRef: no kind 'Thing' in 'a.b/v1' is served",
    )

    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    names = {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"}
    lab.create(
        "customresourcedefinitions.apiextensions.k8s.io",
        "things.a.b",
        spec={"group": "a.b", "names": names, "scope": "Cluster", "versions": [version]},
    )
    lab.registry.create("things.a.b", {"apiVersion": "a.b/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {}})
    lab.run(0)

    assert lab.get("things.a.b", "t")["spec"] == {"done": True}
    assert lab.conditions("late")["Ready"][0] == "True"


def test_stages_are_read_anew_by_a_cluster_that_goes_on() -> None:
    lab = Lab("chaos")
    again = Cluster(lab.clock, SeededRandom(1), ClusterSettings(stages=load_stages(("chaos",))))

    assert [each.name for each in again.registry.list(STAGES).items] == [
        each.name for each in lab.registry.list(STAGES).items
    ]

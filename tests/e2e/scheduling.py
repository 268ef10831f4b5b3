"""What a scheduler does, as cases that are true of whoever schedules: in the cluster's process, alone, or in a pod.

Each case gets a cluster without nodes and pods, and kubectl. It makes what it needs and says what must come of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tests.support.processes import Control, pod, until

Case = Callable[[Control], None]

#: Nodes with this label are those of the suite's surroundings; they are tainted.
KEEP: Final = "keep"
_TAINTED: Final = "node(s) had untolerated taint(s)"
_FULL: Final = {"Insufficient cpu": 1}


def node(name: str, cpu: str = "4", taints: Sequence[dict[str, str]] = (), **labels: str) -> dict[str, Any]:
    size = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": {"taints": list(taints)} if taints else {},
        "status": {"capacity": size, "allocatable": size},
    }


def labelled(made: dict[str, Any], **labels: str) -> dict[str, Any]:
    made["metadata"]["labels"] = labels
    return made


def places(control: Control) -> dict[str, str]:
    return {name: found["spec"].get("nodeName", "") for name, found in control.pods().items()}


def placed(control: Control, **expected: str) -> None:
    """Wait until these pods are where they must be; `_` in a name stands for `-`."""
    wanted = {name.replace("_", "-"): where for name, where in expected.items()}
    until(lambda: wanted.items() <= places(control).items(), str(wanted))


def unschedulable(control: Control, name: str, reasons: Mapping[str, int]) -> None:
    """Wait until all nodes have turned a pod down, so many for each reason; preemption's words are set aside."""
    kept = len(control.get("nodes", "-l", KEEP)["items"])
    counts = {**reasons, **({_TAINTED: reasons.get(_TAINTED, 0) + kept} if kept else {})}
    histogram = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    turned_down(control, name, f"0/{sum(counts.values())} nodes are available: {histogram}.")


def turned_down(control: Control, name: str, message: str) -> None:
    """Wait until a pod has been turned down with words that begin so."""

    def told() -> bool:
        conditions = control.pods()[name].get("status", {}).get("conditions", ())
        found = [one for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False"]
        return bool(found) and found[0]["reason"] == "Unschedulable" and found[0]["message"].startswith(message)

    until(told, message)


def events(control: Control, name: str, reason: str) -> list[Mapping[str, Any]]:
    found = control.get("events")["items"]
    return [one for one in found if one["involvedObject"]["name"] == name and one["reason"] == reason]


# --- Cases -----------------------------------------------------------------------------------------------------------


def the_emptier_node_is_preferred(control: Control) -> None:
    control.apply(node("a"), node("b"), pod("busy", "3", nodeName="a"))
    until(lambda: places(control).get("busy") == "a", "the busy node")
    control.apply(pod("p", "500m"))
    placed(control, p="b")


def a_node_selector_is_obeyed(control: Control) -> None:
    control.apply(node("a"), node("b", disk="ssd"), pod("p", nodeSelector={"disk": "ssd"}))
    placed(control, p="b")


def a_required_affinity_is_obeyed_and_a_preferred_one_preferred(control: Control) -> None:
    wants = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["east", "west"]}]}
    likes = {"weight": 100, "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["west"]}]}}
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [wants]},
        "preferredDuringSchedulingIgnoredDuringExecution": [likes],
    }
    control.apply(node("a", zone="east"), node("b", zone="west"), node("c", zone="south"))
    control.apply(pod("p", affinity={"nodeAffinity": affinity}))
    placed(control, p="b")


def a_taint_keeps_pods_away_until_they_tolerate_it(control: Control) -> None:
    control.apply(node("a", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]), pod("p"))
    unschedulable(control, "p", {_TAINTED: 1})
    control.apply(pod("q", tolerations=[{"key": "k", "operator": "Exists"}]))
    placed(control, q="a", p="")


def a_pod_without_room_waits_for_a_node(control: Control) -> None:
    control.apply(node("a", "1"), pod("p", "2"))
    unschedulable(control, "p", _FULL)
    control.apply(node("b", "4"))
    placed(control, p="b")


def a_pod_without_room_waits_for_another_to_go(control: Control) -> None:
    control.apply(node("a", "2"), pod("first", "2"))
    placed(control, first="a")
    control.apply(pod("second", "2"))
    unschedulable(control, "second", _FULL)
    control("delete", "pod", "first", "--grace-period=1")
    placed(control, second="a")


def a_cordoned_node_takes_nothing(control: Control) -> None:
    control.apply(node("a"))
    control("cordon", "a")
    control.apply(pod("p"))
    unschedulable(control, "p", {"node(s) were unschedulable": 1})
    control("uncordon", "a")
    placed(control, p="a")


def a_host_port_is_given_once(control: Control) -> None:
    port = {"ports": [{"containerPort": 80, "hostPort": 8080}]}
    control.apply(node("a"), pod("p", container=port))
    placed(control, p="a")
    control.apply(pod("q", container=port))
    unschedulable(control, "q", {"node(s) didn't have free ports for the requested pod ports": 1})


def pods_keep_apart_and_together(control: Control) -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    together = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    control.apply(node("a"), node("b"), labelled(pod("one", affinity=apart), app="a"))
    until(lambda: places(control)["one"] != "", "the first")
    first = places(control)["one"]
    control.apply(pod("beside", affinity=together), labelled(pod("two", affinity=apart), app="a"))
    placed(control, beside=first, two="a" if first == "b" else "b")
    control.apply(labelled(pod("three", affinity=apart), app="a"))
    unschedulable(control, "three", {"node(s) didn't match pod anti-affinity rules": 2})


def pods_spread_over_zones(control: Control) -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    control.apply(node("a", zone="east"), node("b", zone="east"), node("c", zone="west"))
    names = [f"p-{number}" for number in range(4)]
    for name in names:
        control.apply(labelled(pod(name, topologySpreadConstraints=[constraint]), app="a"))
        until(lambda name=name: places(control)[name] != "", name)  # type: ignore[misc]
    found = places(control)
    assert sum(found[name] == "c" for name in names) == 2


def the_more_important_pod_takes_the_place_of_others(control: Control) -> None:
    control.apply(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000},
        node("a", "2"),
        pod("low", "2", terminationGracePeriodSeconds=1),
    )
    placed(control, low="a")
    control.apply(pod("high", "2", priorityClassName="high"))
    placed(control, high="a")
    assert "low" not in control.pods()
    assert "Preempted by pod" in events(control, "low", "Preempted")[0]["message"]


def a_disruption_budget_turns_preemption_to_another_node(control: Control) -> None:
    control.apply(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000},
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "keep"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}},
        },
        node("a", "2"),
        node("b", "2"),
        labelled(pod("kept", "2", nodeName="a"), app="kept"),
        labelled(pod("other", "2", nodeName="b"), app="other"),
    )
    until(lambda: all(one["status"].get("phase") == "Running" for one in control.pods().values()), "running pods")
    until(lambda: control.get("pdb", "keep")["status"].get("currentHealthy") == 1, "the budget's status")
    control.apply(pod("high", "2", priorityClassName="high"))
    placed(control, high="b", kept="a")


def a_gated_pod_waits_for_its_gate(control: Control) -> None:
    control.apply(node("a"), pod("p", schedulingGates=[{"name": "example.com/wait"}]))

    def gated() -> bool:
        conditions = control.pods()["p"].get("status", {}).get("conditions", ())
        return any(one["type"] == "PodScheduled" and one["reason"] == "SchedulingGated" for one in conditions)

    until(gated, "the condition SchedulingGated")
    assert places(control)["p"] == ""
    control("patch", "pod", "p", "--type=json", '-p=[{"op":"remove","path":"/spec/schedulingGates"}]')
    placed(control, p="a")


def a_volume_waits_for_its_first_consumer(control: Control) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "late",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    control.apply(node("a"), pod("p", volumes=[volume]))
    kept = len(control.get("nodes", "-l", KEEP)["items"])
    message = f'0/{1 + kept} nodes are available: persistentvolumeclaim "data" not found.'
    turned_down(control, "p", message)
    control.apply(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "late"},
            "provisioner": "example.com/disks",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        claim,
    )
    placed(control, p="a")
    assert control.get("pvc", "data")["status"]["phase"] == "Bound"
    assert control.get("pvc", "data")["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "a"


def a_device_is_given_to_one_claim(control: Control) -> None:
    slice_ = {
        "driver": "gpu.example.com",
        "nodeName": "b",
        "pool": {"name": "b", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0"}],
    }
    request = {"name": "one", "exactly": {"deviceClassName": "gpu"}}
    expression = {"cel": {"expression": "device.driver == 'gpu.example.com'"}}
    control.apply(
        node("a"),
        node("b"),
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "gpus"}, "spec": slice_},
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "gpu"},
            "spec": {"selectors": [expression]},
        },
        *(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": name},
                "spec": {"devices": {"requests": [request]}},
            }
            for name in ("first", "second")
        ),
        pod("p", resourceClaims=[{"name": "g", "resourceClaimName": "first"}]),
    )
    placed(control, p="b")
    status = control.get("resourceclaim", "first")["status"]
    assert status["allocation"]["devices"]["results"][0]["device"] == "gpu-0"
    assert status["reservedFor"][0]["name"] == "p"
    control.apply(pod("q", resourceClaims=[{"name": "g", "resourceClaimName": "second"}]))
    unschedulable(control, "q", {"cannot allocate all claims": 2})


def replicas_of_a_deployment_are_spread(control: Control) -> None:
    control.apply(
        *(node(name) for name in "abc"),
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": 6,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod("web")["spec"]},
            },
        },
    )
    until(lambda: sorted(places(control).values()) == [*"aabbcc"], "two replicas on each node")
    control("delete", "deployment", "web", "--cascade=foreground")


def its_events_tell_what_happened(control: Control) -> None:
    # Events come late: pods of other cases must not have the same names.
    control.apply(node("a", "1"), pod("told"))
    placed(control, told="a")
    control.apply(pod("refused", "2"))
    unschedulable(control, "refused", _FULL)
    until(lambda: bool(events(control, "told", "Scheduled")), "the event of the placed pod")
    until(lambda: bool(events(control, "refused", "FailedScheduling")), "the event of the other")
    (scheduled,), failed = events(control, "told", "Scheduled"), events(control, "refused", "FailedScheduling")
    assert scheduled["message"] == "Successfully assigned default/told to a"
    assert "1 Insufficient cpu" in failed[0]["message"]
    assert {one["reportingComponent"] for one in (scheduled, *failed)} == {"default-scheduler"}


def pods_of_another_scheduler_are_left_alone(control: Control) -> None:
    control.apply(node("a"), pod("other", schedulerName="somebody"), pod("p"))
    placed(control, p="a")
    assert places(control)["other"] == ""
    assert "conditions" not in control.pods()["other"].get("status", {})


def a_pod_that_comes_back_under_its_name_is_a_new_one(control: Control) -> None:
    control.apply(node("a", "1"), pod("p", "2"))
    unschedulable(control, "p", _FULL)
    control("delete", "pod", "p")
    control.apply(pod("p", "500m"))
    placed(control, p="a")


CASES: Final[tuple[Case, ...]] = (
    the_emptier_node_is_preferred,
    a_node_selector_is_obeyed,
    a_required_affinity_is_obeyed_and_a_preferred_one_preferred,
    a_taint_keeps_pods_away_until_they_tolerate_it,
    a_pod_without_room_waits_for_a_node,
    a_pod_without_room_waits_for_another_to_go,
    a_cordoned_node_takes_nothing,
    a_host_port_is_given_once,
    pods_keep_apart_and_together,
    pods_spread_over_zones,
    the_more_important_pod_takes_the_place_of_others,
    a_disruption_budget_turns_preemption_to_another_node,
    a_gated_pod_waits_for_its_gate,
    a_volume_waits_for_its_first_consumer,
    a_device_is_given_to_one_claim,
    replicas_of_a_deployment_are_spread,
    its_events_tell_what_happened,
    pods_of_another_scheduler_are_left_alone,
    a_pod_that_comes_back_under_its_name_is_a_new_one,
)

"""Pods live as their annotations say: pulls, crashes, probes, run times, deadlines, with the kubelet's events."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.views.core import Node
from schedlab.kubelet.admission import NodeAccount
from schedlab.kubelet.resize import judge
from tests.support.lab import Lab, Object

PREFIX = "kubelet.schedlab.dev/"
MIB = 1 << 20


def life(**keys: str) -> dict[str, str]:
    """Return annotations: start_delay='2s' for start-delay, run_time__a='1s' for run-time of container a."""
    return {PREFIX + key.replace("__", ".").replace("_", "-"): value for key, value in keys.items()}


def containers(lab: Lab, name: str, key: str = "containerStatuses") -> list[Object]:
    found: list[Object] = lab.get("pods", name)["status"][key]
    return found


def state(lab: Lab, name: str) -> str:
    """Return what the first container does, with the reason."""
    [(kind, told)] = containers(lab, name)[0]["state"].items()
    return f"{kind} {told.get('reason', '')}".strip()


def conditions(lab: Lab, name: str) -> dict[str, tuple[str, str]]:
    return {
        each["type"]: (each["status"], each.get("message", ""))
        for each in lab.get("pods", name)["status"]["conditions"]
    }


def test_pod_without_annotations_runs_at_once_and_tells_nothing() -> None:
    lab = Lab()
    lab.pod("p")
    lab.run(0)

    assert lab.phase("p") == "Running"
    assert lab.told("p") == []


@pytest.mark.parametrize("keys", [{}, life(run_time="1h")], ids=["at-once", "by-steps"])
def test_pod_that_was_made_with_a_node_is_scheduled_too(keys: dict[str, str]) -> None:
    """Nobody has bound it, so the kubelet says so."""
    lab = Lab()
    lab.pod("p", annotations=keys, spec={"nodeName": "node-0"})
    lab.run(0)

    assert lab.phase("p") == "Running"
    assert conditions(lab, "p")["PodScheduled"] == ("True", "")


def test_image_is_pulled_at_the_bandwidth_of_the_node_one_after_the_other() -> None:
    lab = Lab(nodes=1, image_bandwidth=100 * MIB)
    lab.pod("a", annotations=life(image_size="200Mi"), spec={"containers": [{"name": "c", "image": "big:1"}]})
    lab.run(0)
    assert (lab.phase("a"), state(lab, "a")) == ("Pending", "waiting ContainerCreating")
    lab.pod("b", spec={"containers": [{"name": "c", "image": "other:1"}]})
    lab.run(2)
    assert lab.phase("a") == "Running"
    assert lab.told("a") == [
        ("Pulling", 'Pulling image "big:1"', 1),
        (
            "Pulled",
            f'Successfully pulled image "big:1" in 2s (2s including waiting). Image size: {200 * MIB} bytes.',
            1,
        ),
        ("Created", "Container created", 1),
        ("Started", "Container started", 1),
    ]
    lab.run(1)
    assert (
        lab.told("b")[1][1]
        == f'Successfully pulled image "other:1" in 1s (3s including waiting). Image size: {100 * MIB} bytes.'
    )

    # What is there needs no pull, and the node says what is there.
    lab.pod("c", annotations=life(start_delay="1s"), spec={"containers": [{"name": "c", "image": "big:1"}]})
    lab.run(1)
    assert lab.told("c")[0] == (
        "Pulled",
        'Container image "big:1" already present on machine and can be accessed by the pod',
        1,
    )
    assert lab.get("nodes", "node-0")["status"]["images"] == [
        {"names": ["big:1"], "sizeBytes": 200 * MIB},
        {"names": ["other:1"], "sizeBytes": 100 * MIB},
    ]


def test_node_annotation_sets_its_bandwidth() -> None:
    lab = Lab(nodes=1)
    lab.registry.patch("nodes", "node-0", "merge", {"metadata": {"annotations": life(image_bandwidth="10Mi")}})
    lab.pod("p", annotations=life(image_size="50Mi"))
    lab.run(4)
    assert lab.phase("p") == "Pending"
    lab.run(1)
    assert lab.phase("p") == "Running"


def test_pull_that_fails_backs_off_and_succeeds_in_the_end() -> None:
    lab = Lab()
    lab.pod("p", annotations=life(pull_errors="2", pull_error_message="no such host"))
    lab.run(0.5)
    assert state(lab, "p") == "waiting ErrImagePull"
    lab.run(1)
    waiting = containers(lab, "p")[0]["state"]["waiting"]
    assert waiting == {
        "reason": "ImagePullBackOff",
        "message": 'Back-off pulling image "i": ErrImagePull: no such host',
    }
    lab.run(10)
    assert state(lab, "p") == "waiting ErrImagePull"
    lab.run(25)

    assert lab.phase("p") == "Running"
    told = {reason: (message, count) for reason, message, count in lab.told("p")}
    assert ("Failed", 'Failed to pull image "i": no such host', 2) in lab.told("p")
    assert ("Failed", "Error: ErrImagePull", 2) in lab.told("p")
    assert ("Failed", "Error: ImagePullBackOff", 2) in lab.told("p")
    assert told["BackOff"] == ('Back-off pulling image "i"', 2)


def test_image_that_must_not_be_pulled_is_missing() -> None:
    lab = Lab()
    lab.pod(
        "p",
        annotations=life(image_size="1Mi"),
        spec={"containers": [{"name": "c", "image": "i", "imagePullPolicy": "Never"}]},
    )
    lab.run(0)

    assert state(lab, "p") == "waiting ErrImageNeverPull"
    assert lab.told("p")[0] == ("ErrImageNeverPull", 'Container image "i" is not present with pull policy of Never', 1)


def test_container_that_crashes_is_restarted_at_once_then_after_10_20_40_seconds() -> None:
    lab = Lab()
    lab.pod("p", annotations=life(run_time="1s", exit_code="3"))
    restarts = []
    for _ in range(100):
        lab.run(1)
        restarts.append(containers(lab, "p")[0]["restartCount"])

    begun = [
        second for second, (before, now) in enumerate(zip([0, *restarts], restarts, strict=False), 1) if now > before
    ]
    assert begun == [1, 12, 33, 74]
    status = containers(lab, "p")[0]
    uid = lab.get("pods", "p")["metadata"]["uid"]
    assert status["state"]["waiting"] == {
        "reason": "CrashLoopBackOff",
        "message": f"back-off 1m20s restarting failed container=c pod=p_default({uid})",
    }
    assert (status["lastState"]["terminated"]["exitCode"], status["lastState"]["terminated"]["reason"]) == (3, "Error")
    assert lab.phase("p") == "Running"
    assert conditions(lab, "p")["Ready"] == ("False", "containers with unready status: [c]")
    assert ("BackOff", f"Back-off restarting failed container c in pod p_default({uid})", 4) in lab.told("p")


@pytest.mark.parametrize(
    ("policy", "codes", "phase", "restarts"),
    [
        ("Never", "0", "Succeeded", 0),
        ("Never", "1", "Failed", 0),
        ("OnFailure", "0", "Succeeded", 0),
        ("OnFailure", "1,1,0", "Succeeded", 2),
        ("Always", "0", "Running", 2),
    ],
)
def test_restart_policy_decides_what_follows_an_exit(policy: str, codes: str, phase: str, restarts: int) -> None:
    lab = Lab()
    lab.pod("p", annotations=life(run_time="1s", exit_code=codes), spec={"restartPolicy": policy})
    lab.run(30)

    assert lab.phase("p") == phase
    assert containers(lab, "p")[0]["restartCount"] == restarts


def test_pod_that_has_ended_frees_what_it_used() -> None:
    lab = Lab(nodes=1)
    full = {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "4"}}}],
        "restartPolicy": "Never",
    }
    lab.pod("first", annotations=life(run_time="uniform(3s, 5s)"), spec=full)
    lab.run(0)
    lab.pod("second", spec=full)
    lab.run(1)
    assert (lab.phase("first"), lab.phase("second")) == ("Running", "Pending")
    lab.run(5)

    assert (lab.phase("first"), lab.phase("second")) == ("Succeeded", "Running")


def test_init_containers_run_one_after_the_other_and_sidecars_stay() -> None:
    lab = Lab()
    init = [
        {"name": "a", "image": "i"},
        {"name": "s", "image": "i", "restartPolicy": "Always"},
        {"name": "b", "image": "i"},
    ]
    keys = life(run_time__a="2s", exit_code__a="1,0", started_after__s="3s", run_time__b="2s", run_time__c="10s")
    lab.pod("p", annotations=keys, spec={"initContainers": init, "restartPolicy": "OnFailure"})

    def told() -> list[str]:
        return [
            "".join(each["state"]) for each in (*containers(lab, "p", "initContainerStatuses"), *containers(lab, "p"))
        ]

    lab.run(1)
    assert told() == ["running", "waiting", "waiting", "waiting"]
    assert conditions(lab, "p")["Initialized"] == ("False", "containers with incomplete status: [a s b]")
    lab.run(4)
    assert told() == ["terminated", "running", "waiting", "waiting"]
    assert containers(lab, "p", "initContainerStatuses")[0]["restartCount"] == 1
    lab.run(3)
    assert told() == ["terminated", "running", "running", "waiting"]
    lab.run(2)
    assert told() == ["terminated", "running", "terminated", "running"]
    assert conditions(lab, "p")["Ready"][0] == "True"
    lab.run(10)
    assert told() == ["terminated"] * 4
    assert lab.phase("p") == "Succeeded"


def test_init_container_that_fails_for_good_fails_the_pod() -> None:
    lab = Lab()
    keys = life(run_time__a="1s", exit_code__a="7")
    lab.pod("p", annotations=keys, spec={"initContainers": [{"name": "a", "image": "i"}], "restartPolicy": "Never"})
    lab.run(2)

    assert lab.phase("p") == "Failed"
    assert conditions(lab, "p")["ContainersReady"][0] == "False"
    assert state(lab, "p") == "waiting PodInitializing"


def test_probes_make_a_container_ready_late_unready_and_restart_it() -> None:
    lab = Lab()
    lab.pod("late", annotations=life(started_after="2s", ready_after="3s"))
    lab.pod(
        "probed",
        annotations=life(start_delay="0s"),
        spec={
            "containers": [
                {"name": "c", "image": "i", "readinessProbe": {"initialDelaySeconds": 4, "tcpSocket": {"port": 80}}}
            ]
        },
    )
    lab.pod("unready", annotations=life(unready_after="6s"))
    lab.pod("unhealthy", annotations=life(liveness_fails_after="6s"))
    lab.run(1)
    assert [containers(lab, name)[0][key] for name in ("late", "probed") for key in ("started", "ready")] == [
        False,
        False,
        True,
        False,
    ]
    lab.run(4.5)
    assert [containers(lab, name)[0]["ready"] for name in ("late", "probed", "unready", "unhealthy")] == [True] * 4
    lab.run(1)

    assert not containers(lab, "unready")[0]["ready"]
    assert lab.told("unready")[-1] == ("Unhealthy", "Readiness probe failed: simulated", 1)
    assert containers(lab, "unhealthy")[0]["restartCount"] == 1
    assert containers(lab, "unhealthy")[0]["lastState"]["terminated"]["exitCode"] == 137
    assert ("Killing", "Container c failed liveness probe, will be restarted", 1) in lab.told("unhealthy")


def test_deadline_ends_pods_of_both_lives() -> None:
    lab = Lab()
    lab.pod("quick", spec={"activeDeadlineSeconds": 5})
    lab.pod("slow", annotations=life(run_time="never"), spec={"activeDeadlineSeconds": 5})
    lab.run(6)

    for name in ("quick", "slow"):
        status = lab.get("pods", name)["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
        assert status["message"] == "Pod was active on the node longer than the specified deadline"
        assert lab.told(name)[-1][0] == "DeadlineExceeded"


def test_deletion_waits_for_containers_that_take_time_to_stop_and_kills_them_after_the_grace_period() -> None:
    lab = Lab()
    lab.pod("quick")
    lab.pod("slow", annotations=life(shutdown_time="5s"))
    lab.pod("stuck", annotations=life(shutdown_time="10m"), spec={"terminationGracePeriodSeconds": 8})
    lab.run(1)
    for name in ("quick", "slow", "stuck"):
        lab.registry.delete("pods", name, "default")
    lab.run(1)
    assert lab.pods() == ["slow", "stuck"]
    assert lab.told("slow")[-1] == ("Killing", "Stopping container c", 1)
    lab.run(5)
    assert lab.pods() == ["stuck"]
    lab.run(3)
    assert lab.pods() == []


@pytest.mark.parametrize(
    "keys",
    [life(start_delay="1h"), life(pull_errors="always"), life(run_time__i="1h")],
    ids=["begins", "pulls", "inits"],
)
def test_deletion_of_a_pod_whose_container_has_never_run(keys: dict[str, str]) -> None:
    """It used to be asked again and again at that very moment."""
    lab = Lab()
    lab.pod("p", annotations=keys, spec={"initContainers": [{"name": "i", "image": "i"}]})
    lab.run(5)
    assert lab.phase("p") == "Pending"
    lab.registry.delete("pods", "p", "default")
    lab.run(1)
    assert lab.pods() == []


def test_annotation_that_cannot_be_read_is_told_and_does_not_count() -> None:
    lab = Lab()
    lab.pod("p", annotations=life(run_time="soon", nonsense="1", ready_after__x="1s", exit_code="256"))
    lab.run(1)

    assert lab.phase("p") == "Running"
    told = [message for reason, message, _ in lab.told("p") if reason == "InvalidAnnotation"]
    assert [text.partition(": ")[2].partition(",")[0] for text in told] == [
        "'256' is not a list of numbers from 0 to 255",
        "'nonsense' is not one of start-delay",
        "'soon' is no duration like 90s or 1h30m",
        "the pod has no container 'x'",
    ]


def test_life_goes_on_after_a_restart_of_the_process() -> None:
    """What a new process finds in the statuses is where the containers are."""
    lab = Lab()
    lab.pod("p", annotations=life(run_time="20s", exit_code="1"))
    lab.run(15)
    before = containers(lab, "p")[0]
    lab.restart()
    lab.run(1)
    assert containers(lab, "p")[0]["state"] == before["state"]
    lab.run(6)
    assert containers(lab, "p")[0]["restartCount"] == 1


def test_restart_is_counted_when_it_happens_though_another_process_ended_the_run() -> None:
    lab = Lab()
    lab.pod("p", annotations=life(run_time="1s", exit_code="1"))
    lab.run(5)
    waiting = containers(lab, "p")[0]
    assert (waiting["restartCount"], waiting["state"]["waiting"]["reason"]) == (1, "CrashLoopBackOff")

    lab.restart()
    lab.run(10)

    assert containers(lab, "p")[0]["restartCount"] == 2


# --- changes of a running pod ------------------------------------------------------------------------------------------


def resized(lab: Lab, name: str, **requests: str) -> None:
    spec = {"containers": [{"name": "c", "resources": {"requests": requests}}]}
    lab.registry.patch("pods", name, "strategic", {"spec": spec}, "default", subresource="resize")
    lab.run(0)


def burstable(cpu: str, **more: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    return {"containers": [{"name": "c", "image": "i", "resources": resources, **more}]}


@pytest.mark.parametrize("keys", [{}, {"run_time": "never"}])
def test_resize_is_granted_when_the_node_has_room(keys: dict[str, str]) -> None:
    lab = Lab(nodes=1)
    lab.pod("p", annotations=life(**keys), spec=burstable("1"))
    lab.run(1)
    resized(lab, "p", cpu="3")

    status = containers(lab, "p")[0]
    assert status["allocatedResources"] == {"cpu": "3", "memory": "1Gi"}
    assert status["resources"] == {"requests": {"cpu": "3", "memory": "1Gi"}}
    assert (status["restartCount"], lab.get("pods", "p")["status"]["observedGeneration"]) == (0, 2)
    assert [reason for reason, _, _ in lab.told("p")][-2:] == ["ResizeStarted", "ResizeCompleted"]
    assert (
        lab.told("p")[-1][1]
        == 'Pod resize completed: {"containers":[{"name":"c","resources":{"requests":{"cpu":"3","memory":"1Gi"}}}],"generation":2}'
    )


def test_resize_that_does_not_fit_waits_until_it_does() -> None:
    lab = Lab(nodes=1)
    lab.pod("p", spec=burstable("1"))
    lab.pod("other", spec=burstable("2"))
    lab.run(1)
    resized(lab, "p", cpu="3")
    pending = next(each for each in lab.get("pods", "p")["status"]["conditions"] if each["type"] == "PodResizePending")
    assert (pending["status"], pending["reason"]) == ("True", "Deferred")
    assert pending["message"] == "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
    assert lab.told("p")[-1][0] == "ResizeDeferred"
    assert containers(lab, "p")[0]["allocatedResources"]["cpu"] == "1"

    lab.registry.delete("pods", "other", "default")
    lab.run(1)
    assert containers(lab, "p")[0]["allocatedResources"]["cpu"] == "3"
    assert "PodResizePending" not in conditions(lab, "p")


def test_resize_beyond_a_node_that_has_shrunk_is_infeasible() -> None:
    """The API server refuses what a node could never give; a node may have less by the time its kubelet looks."""
    lab = Lab(nodes=1)
    lab.pod("p", spec=burstable("5"))
    pod = lab.registry.get("pods", "p", "default")
    node: Node = lab.registry.get("nodes", "node-0").view
    verdict = judge(pod.view, pod.raw, node, NodeAccount())

    assert (verdict.reason, verdict.message) == (
        "Infeasible",
        "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000",
    )


def test_container_whose_policy_says_so_is_restarted_by_a_resize() -> None:
    lab = Lab(nodes=1)
    policy = [
        {"resourceName": "cpu", "restartPolicy": "RestartContainer"},
        {"resourceName": "memory", "restartPolicy": "NotRequired"},
    ]
    lab.pod("p", spec=burstable("1", resizePolicy=policy))
    lab.run(1)
    resized(lab, "p", memory="2Gi")
    assert containers(lab, "p")[0]["restartCount"] == 0
    resized(lab, "p", cpu="2")
    assert containers(lab, "p")[0]["restartCount"] == 1


@pytest.mark.parametrize("keys", [{}, {"run_time": "never"}])
def test_another_image_restarts_the_container(keys: dict[str, str]) -> None:
    lab = Lab()
    lab.pod("p", annotations=life(**keys))
    lab.run(1)
    lab.registry.patch("pods", "p", "strategic", {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}, "default")
    lab.run(1)

    status = containers(lab, "p")[0]
    assert (status["image"], status["restartCount"], "running" in status["state"]) == ("i:2", 1, True)
    assert ("Killing", "Container c definition changed, will be restarted", 1) in lab.told("p")


@pytest.mark.parametrize("keys", [{}, life(run_time="1h")], ids=["at-once", "by-steps"])
def test_container_that_is_added_for_debugging_runs_until_its_pod_ends(keys: dict[str, str]) -> None:
    """`kubectl debug` waits for it."""
    lab = Lab()
    lab.pod("p", annotations=keys, spec={"activeDeadlineSeconds": 60})
    lab.run(1)
    added = {"name": "debugger", "image": "busybox", "targetContainerName": "c"}
    pod = lab.get("pods", "p")
    body = {**pod, "spec": {**pod["spec"], "ephemeralContainers": [added]}}
    lab.registry.update("pods", "p", lab.registry.decode("pods", body), "default", subresource="ephemeralcontainers")
    lab.run(1)

    [container] = containers(lab, "p", "ephemeralContainerStatuses")
    assert (container["name"], container["image"]) == ("debugger", "busybox")
    assert "running" in container["state"]
    lab.run(60)
    assert list(containers(lab, "p", "ephemeralContainerStatuses")[0]["state"]) == ["terminated"]

"""Jobs make pods until enough have succeeded or too many have failed, and count each exactly once."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.time import format_time
from tests.support.control_plane import ControlPlane, Object

JOBS = "jobs.batch"
TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"


def job(restart_policy: str = "Never", **spec: Any) -> Object:
    template = {"spec": {"restartPolicy": restart_policy, "containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": "j"}, "spec": {"template": template, **spec}}


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("job-controller", "ttl-after-finished-controller", "garbage-collector-controller")


def start(plane: ControlPlane, **spec: Any) -> None:
    plane.create(JOBS, job(**spec))
    plane.run_for(2)


def waiting(plane: ControlPlane) -> list[Object]:
    return [pod for pod in plane.pods() if pod["status"]["phase"] == "Pending"]


def end(plane: ControlPlane, phase: str = "Succeeded", count: int = 1, code: int = 1) -> None:
    """Let pods that have not ended do so."""
    for pod in waiting(plane)[:count]:
        terminated = {"exitCode": 0 if phase == "Succeeded" else code, "finishedAt": format_time(plane.clock.now_ns())}
        status = {"name": "c", "image": "", "imageID": "", "ready": False, "restartCount": 0}
        plane.finish(
            pod["metadata"]["name"], phase, containerStatuses=[{**status, "state": {"terminated": terminated}}]
        )
    plane.run_for(3)


def status(plane: ControlPlane) -> Object:
    return dict(plane.get(JOBS, "j")["status"])


def conditions(plane: ControlPlane) -> list[tuple[str, str]]:
    return [(each["type"], each.get("reason", "")) for each in status(plane).get("conditions", ())]


def indexes(plane: ControlPlane) -> list[int]:
    return sorted(int(pod["metadata"]["annotations"][INDEX]) for pod in waiting(plane))


def test_pods_up_to_parallelism(plane: ControlPlane) -> None:
    """Each pod carries the finalizer that keeps it until it is counted."""
    start(plane, completions=5, parallelism=2)

    assert [TRACKING in pod["metadata"]["finalizers"] for pod in plane.pods()] == [True, True]
    assert {key: value for key, value in status(plane).items() if key != "startTime"} == {
        "active": 2,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }


def test_completion(plane: ControlPlane) -> None:
    """Pods are counted and let go; the Job says that it will end, then that it has."""
    start(plane, completions=3, parallelism=2)
    end(plane, count=2)
    between = status(plane)["succeeded"], len(waiting(plane))
    end(plane)
    done = status(plane)

    assert between == (2, 1)
    assert conditions(plane) == [("SuccessCriteriaMet", "CompletionsReached"), ("Complete", "CompletionsReached")]
    assert (done["succeeded"], "active" in done, "completionTime" in done) == (3, False, True)
    assert [pod["metadata"].get("finalizers") for pod in plane.pods()] == [None] * 3
    assert ("Completed", "j", "Job completed") in plane.messages()


def test_failures_delay_the_next_pod(plane: ControlPlane) -> None:
    """Ten seconds after the first failure, twenty after the second."""
    start(plane)
    end(plane, "Failed")
    plane.run_for(5)
    early = len(plane.pods())
    plane.run_for(5)
    second = len(plane.pods())
    end(plane, "Failed")
    plane.run_for(14)
    third = len(plane.pods())
    plane.run_for(10)

    assert (early, second, third, len(plane.pods())) == (1, 2, 2, 3)


def test_backoff_limit(plane: ControlPlane) -> None:
    """Too many failures end the Job, and the pods that still run."""
    start(plane, backoffLimit=0, completions=2, parallelism=2)
    end(plane, "Failed")

    assert conditions(plane) == [("FailureTarget", "BackoffLimitExceeded"), ("Failed", "BackoffLimitExceeded")]
    assert (status(plane)["failed"], len(plane.pods())) == (2, 1)
    assert ("BackoffLimitExceeded", "j", "Job has reached the specified backoff limit") in plane.messages()


def test_restarts_count_against_the_limit(plane: ControlPlane) -> None:
    """Containers that restart in place fail a Job with restartPolicy OnFailure."""
    plane.create(JOBS, job("OnFailure", backoffLimit=2))
    plane.run_for(2)
    name = plane.pods()[0]["metadata"]["name"]
    restarted = {"name": "c", "image": "", "imageID": "", "ready": True, "restartCount": 2, "state": {"running": {}}}
    plane.finish(name, "Running", containerStatuses=[restarted])
    plane.run_for(3)

    assert conditions(plane)[0] == ("FailureTarget", "BackoffLimitExceeded")


def test_active_deadline(plane: ControlPlane) -> None:
    """A Job that takes too long fails; pods that were stopped count as failed."""
    start(plane, activeDeadlineSeconds=10)
    plane.run_for(12)
    plane.end_pods()
    plane.run_for(3)

    assert conditions(plane) == [("FailureTarget", "DeadlineExceeded"), ("Failed", "DeadlineExceeded")]
    assert (status(plane)["failed"], plane.all("pods")) == (1, [])


def test_the_end_waits_for_terminating_pods(plane: ControlPlane) -> None:
    """A Job has not failed before its last pod is gone."""
    start(plane, activeDeadlineSeconds=10)
    plane.run_pods()
    plane.run_for(12)
    held = conditions(plane), status(plane)["terminating"]
    plane.end_pods()
    plane.run_for(3)

    assert held == ([("FailureTarget", "DeadlineExceeded")], 1)
    assert conditions(plane)[-1] == ("Failed", "DeadlineExceeded")


def test_suspend_and_resume(plane: ControlPlane) -> None:
    """Suspended, a Job has no pods and no start time."""
    start(plane)
    plane.patch(JOBS, "j", {"spec": {"suspend": True}})
    plane.run_for(2)
    suspended = conditions(plane), plane.pods(), "startTime" in status(plane)
    plane.patch(JOBS, "j", {"spec": {"suspend": False}})
    plane.run_for(2)

    assert suspended == ([("Suspended", "JobSuspended")], [], False)
    assert conditions(plane) == [("Suspended", "JobResumed")]
    assert (len(plane.pods()), "startTime" in status(plane)) == (1, True)
    assert status(plane).get("failed") is None


def test_parallelism_can_shrink(plane: ControlPlane) -> None:
    """Pods that are too many go without being counted."""
    start(plane, completions=5, parallelism=3)
    plane.patch(JOBS, "j", {"spec": {"parallelism": 1}})
    plane.run_for(2)

    assert len(plane.all("pods")) == 1
    assert status(plane)["active"] == 1


def test_without_completions_one_success_is_enough(plane: ControlPlane) -> None:
    """A work queue: when one has succeeded no new ones are made, and the others may finish."""
    start(plane, parallelism=2, completions=None)
    end(plane)
    between = conditions(plane), len(waiting(plane))
    end(plane)

    assert between == ([], 1)
    assert conditions(plane)[-1] == ("Complete", "CompletionsReached")


def test_indexed_pods(plane: ControlPlane) -> None:
    """Each has its index as annotation, label, host name and variable."""
    start(plane, completions=3, parallelism=2, completionMode="Indexed")
    pod = next(pod for pod in plane.pods() if pod["metadata"]["annotations"][INDEX] == "1")
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}

    assert indexes(plane) == [0, 1]
    assert pod["metadata"]["name"].startswith("j-1-")
    assert (pod["metadata"]["labels"][INDEX], pod["spec"]["hostname"]) == ("1", "j-1")
    assert pod["spec"]["containers"][0]["env"] == [{"name": "JOB_COMPLETION_INDEX", "valueFrom": source}]


def test_indexes_are_completed(plane: ControlPlane) -> None:
    """The status lists them; failed ones are made again."""
    start(plane, completions=3, parallelism=3, completionMode="Indexed")
    end(plane, count=2)
    between = status(plane)["completedIndexes"]
    end(plane, "Failed")
    plane.run_for(12)
    end(plane)

    assert len(between.split(",")) == 2
    assert (status(plane)["completedIndexes"], status(plane)["succeeded"], status(plane)["failed"]) == ("0-2", 3, 1)
    assert conditions(plane)[-1] == ("Complete", "CompletionsReached")


def test_backoff_limit_per_index(plane: ControlPlane) -> None:
    """An index fails for itself; the others go on, and the Job has failed in the end."""
    start(plane, completions=2, parallelism=2, completionMode="Indexed", backoffLimitPerIndex=0)
    end(plane, "Failed")
    between = status(plane)["failedIndexes"], len(waiting(plane))
    end(plane)

    assert between[1] == 1
    assert {between[0], status(plane)["completedIndexes"]} == {"0", "1"}
    assert conditions(plane) == [("FailureTarget", "FailedIndexes"), ("Failed", "FailedIndexes")]


def test_retries_per_index_are_counted_on_pods(plane: ControlPlane) -> None:
    """The next pod of an index knows how often it has failed; the last failed one is kept until then."""
    start(plane, completions=1, completionMode="Indexed", backoffLimitPerIndex=2)
    end(plane, "Failed")
    kept = [TRACKING in pod["metadata"].get("finalizers", ()) for pod in plane.pods()]
    plane.run_for(12)

    assert kept == [True]
    assert waiting(plane)[0]["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"


def test_max_failed_indexes(plane: ControlPlane) -> None:
    """More failed indexes than allowed end the Job at once."""
    start(plane, completions=4, parallelism=4, completionMode="Indexed", backoffLimitPerIndex=0, maxFailedIndexes=1)
    end(plane, "Failed", count=2)

    assert conditions(plane)[0] == ("FailureTarget", "MaxFailedIndexesExceeded")


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"succeededIndexes": "0-1"}, [("SuccessCriteriaMet", "SuccessPolicy"), ("Complete", "SuccessPolicy")]),
        ({"succeededIndexes": "0-2"}, []),
        (
            {"succeededIndexes": "0-2", "succeededCount": 2},
            [("SuccessCriteriaMet", "SuccessPolicy"), ("Complete", "SuccessPolicy")],
        ),
        ({"succeededCount": 3}, []),
    ],
)
def test_success_policy(plane: ControlPlane, rule: Object, expected: list[tuple[str, str]]) -> None:
    """Some indexes may be enough; what still runs is stopped."""
    start(plane, completions=4, parallelism=4, completionMode="Indexed", successPolicy={"rules": [rule]})
    for pod in waiting(plane):
        if pod["metadata"]["annotations"][INDEX] in ("0", "1"):
            plane.finish(pod["metadata"]["name"])
    plane.run_for(3)
    plane.end_pods()
    plane.run_for(3)

    assert conditions(plane) == expected


FAIL_42 = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
IGNORE_7 = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}}


@pytest.mark.parametrize(
    ("code", "expected", "failed"),
    [(42, [("FailureTarget", "PodFailurePolicy"), ("Failed", "PodFailurePolicy")], 1), (7, [], None), (1, [], 1)],
)
def test_pod_failure_policy(
    plane: ControlPlane, code: int, expected: list[tuple[str, str]], failed: int | None
) -> None:
    """A failure may end the Job, or not count at all."""
    start(plane, podFailurePolicy={"rules": [FAIL_42, IGNORE_7]})
    end(plane, "Failed", code=code)

    assert conditions(plane) == expected
    assert status(plane).get("failed") == failed


def test_terminating_pods_are_replaced_when_they_have_failed(plane: ControlPlane) -> None:
    """With podReplacementPolicy Failed, a successor waits for the end of the pod."""
    start(plane, podReplacementPolicy="Failed")
    plane.run_pods()
    name = plane.pods()[0]["metadata"]["name"]
    plane.delete("pods", name)
    plane.run_for(3)
    early = len(waiting(plane)), status(plane)["terminating"]
    plane.finish(name, "Failed")
    plane.run_for(15)

    assert early == (0, 1)
    assert (len(waiting(plane)), status(plane)["failed"]) == (1, 1)


def test_deleted_pods_count_as_failed(plane: ControlPlane) -> None:
    """By default a pod that somebody deletes is counted and replaced."""
    start(plane)
    plane.delete("pods", plane.pods()[0]["metadata"]["name"])
    plane.run_for(15)

    assert (status(plane)["failed"], len(waiting(plane))) == (1, 1)


def test_orphans_lose_the_finalizer(plane: ControlPlane) -> None:
    """Pods of a Job that is gone are not held back by it."""
    start(plane)
    plane.delete(JOBS, "j", "Orphan")
    plane.run_for(3)
    (pod,) = plane.pods()

    assert "finalizers" not in pod["metadata"]
    assert "ownerReferences" not in pod["metadata"]


def test_background_deletion_leaves_no_pods(plane: ControlPlane) -> None:
    """The finalizer does not keep what nobody counts any more."""
    start(plane, parallelism=2, completions=2)
    plane.delete(JOBS, "j", "Background")
    plane.run_for(5)

    assert plane.all("pods") == []


def test_matching_orphans_are_adopted_and_tracked(plane: ControlPlane) -> None:
    """With a selector of one's own, pods that are there already count."""
    template = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    plane.create("pods", {"metadata": {"name": "early", "labels": {"app": "a"}}, "spec": template["spec"]})
    spec = {"template": template, "selector": {"matchLabels": {"app": "a"}}, "manualSelector": True}
    plane.create(JOBS, {"metadata": {"name": "j"}, "spec": spec})
    plane.run_for(3)

    assert plane.names("pods") == ["early"]
    assert plane.get("pods", "early")["metadata"]["finalizers"] == [TRACKING]


def test_jobs_of_other_controllers_are_left_alone(plane: ControlPlane) -> None:
    """A Job may name who looks after it."""
    start(plane, managedBy="example.com/other")

    assert plane.pods() == []


def test_time_to_live(plane: ControlPlane) -> None:
    """A finished Job is deleted some seconds later."""
    start(plane, ttlSecondsAfterFinished=10)
    end(plane)
    plane.run_for(4)
    there = plane.exists(JOBS, "j")
    plane.run_for(10)

    assert (there, plane.exists(JOBS, "j")) == (True, False)

"""CronJobs start Jobs when they are due, under the virtual clock as on the wall."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.control_plane import ControlPlane, Object

CRONS = "cronjobs.batch"
JOBS = "jobs.batch"


def cron_job(schedule: str = "* * * * *", **spec: Any) -> Object:
    pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    template = {"metadata": {"labels": {"l": "v"}}, "spec": {"template": pod}}
    return {"metadata": {"name": "c"}, "spec": {"schedule": schedule, "jobTemplate": template, **spec}}


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane("cronjob-controller", "job-controller", "garbage-collector-controller")


def status(plane: ControlPlane) -> Object:
    return dict(plane.get(CRONS, "c").get("status", {}))


def end_jobs(plane: ControlPlane, phase: str = "Succeeded") -> None:
    for pod in plane.pods():
        if pod["status"]["phase"] == "Pending":
            plane.finish(pod["metadata"]["name"], phase)
    plane.run_for(3)


def reasons(plane: ControlPlane) -> list[str]:
    return [reason for reason, name, _ in plane.messages() if name == "c"]


def test_a_job_when_it_is_due(plane: ControlPlane) -> None:
    """Its name carries the minute, its annotation the time; the CronJob knows that it runs."""
    plane.create(CRONS, cron_job())
    plane.run_for(59)
    early = plane.all(JOBS)
    plane.run_for(3)
    (job,) = plane.all(JOBS)
    (active,) = status(plane)["active"]

    assert early == []
    assert job["metadata"]["name"] == f"c-{1_767_225_600 // 60 + 1}"
    assert job["metadata"]["annotations"] == {"batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T00:01:00Z"}
    assert job["metadata"]["labels"]["l"] == "v"
    assert (active["name"], active["uid"]) == (job["metadata"]["name"], job["metadata"]["uid"])
    assert status(plane)["lastScheduleTime"] == "2026-01-01T00:01:00Z"
    assert reasons(plane) == ["SuccessfulCreate"]


def test_time_zones(plane: ControlPlane) -> None:
    """Nine in Berlin is eight in UTC in winter."""
    plane.create(CRONS, cron_job("0 9 * * *", timeZone="Europe/Berlin"))
    plane.run_for(8 * 3600 + 1)
    (job,) = plane.all(JOBS)

    assert list(job["metadata"]["annotations"].values()) == ["2026-01-01T09:00:00+01:00"]


def test_completed_jobs_are_noted_and_old_ones_deleted(plane: ControlPlane) -> None:
    """Three successful and one failed Job are kept unless something else is said."""
    plane.create(CRONS, cron_job(successfulJobsHistoryLimit=2))
    for _ in range(4):
        plane.run_for(57)
        plane.run_for(3)
        end_jobs(plane)
    finished = [job for job in plane.all(JOBS) if "completionTime" in job["status"]]

    assert len(finished) == 2
    assert status(plane)["lastSuccessfulTime"] == max(job["status"]["completionTime"] for job in finished)
    assert {"SawCompletedJob", "SuccessfulDelete"} <= set(reasons(plane))


@pytest.mark.parametrize(
    ("policy", "running", "reason"),
    [("Allow", 3, "SuccessfulCreate"), ("Forbid", 1, "JobAlreadyActive"), ("Replace", 1, "SuccessfulDelete")],
)
def test_concurrency(plane: ControlPlane, policy: str, running: int, reason: str) -> None:
    """What happens when the last Job still runs."""
    plane.create(CRONS, cron_job(concurrencyPolicy=policy))
    plane.run_for(190)

    assert len(plane.all(JOBS)) == len(status(plane)["active"]) == running
    assert reason in reasons(plane)


def test_suspended(plane: ControlPlane) -> None:
    """Nothing starts; resumed, the newest missed time does."""
    plane.create(CRONS, cron_job(suspend=True))
    plane.run_for(200)
    held = plane.all(JOBS)
    plane.patch(CRONS, "c", {"spec": {"suspend": False}})
    plane.run_for(1)

    assert held == []
    assert status(plane)["lastScheduleTime"] == "2026-01-01T00:03:00Z"


def test_starting_deadline(plane: ControlPlane) -> None:
    """A time that is too long ago is not made up for."""
    plane.create(CRONS, cron_job("0 * * * *", suspend=True, startingDeadlineSeconds=60))
    plane.run_for(3600 + 120)
    plane.patch(CRONS, "c", {"spec": {"suspend": False}})
    plane.run_for(1)

    assert plane.all(JOBS) == []


def test_new_schedule_is_followed_from_now_on(plane: ControlPlane) -> None:
    """A changed schedule is planned anew."""
    plane.create(CRONS, cron_job("0 0 1 1 *"))
    plane.run_for(30)
    plane.patch(CRONS, "c", {"spec": {"schedule": "*/5 * * * *"}})
    plane.run_for(300)

    assert len(plane.all(JOBS)) == 1


def test_jobs_of_a_user_are_told(plane: ControlPlane) -> None:
    """A Job that claims the CronJob as its owner was not started by it."""
    uid = plane.create(CRONS, cron_job("0 0 1 1 *"))["metadata"]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": uid, "controller": True}
    spec = cron_job()["spec"]["jobTemplate"]["spec"]
    plane.create(JOBS, {"metadata": {"name": "manual", "ownerReferences": [owner]}, "spec": spec})
    plane.run_for(1)

    assert "UnexpectedJob" in reasons(plane)


def test_vanished_jobs_are_told(plane: ControlPlane) -> None:
    """A Job that somebody deletes is taken off the list."""
    plane.create(CRONS, cron_job())
    plane.run_for(61)
    plane.patch(CRONS, "c", {"spec": {"suspend": True}})
    plane.delete(JOBS, plane.names(JOBS)[0], "Background")
    plane.run_for(3)

    assert "MissingJob" in reasons(plane)
    assert "active" not in status(plane)


def test_deleted_with_everything(plane: ControlPlane) -> None:
    """Jobs and pods go with their CronJob."""
    plane.create(CRONS, cron_job())
    plane.run_for(61)
    plane.delete(CRONS, "c", "Background")
    plane.run_for(5)

    assert plane.all(JOBS) == plane.all("pods") == []


def test_never_due(plane: ControlPlane) -> None:
    """A schedule without a date is told once, not for ever."""
    plane.create(CRONS, cron_job("0 0 30 2 *"))
    plane.run_for(1)

    assert reasons(plane) == ["InvalidSchedule"]

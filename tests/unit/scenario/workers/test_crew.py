"""Workers make runs side by side; one that raises, dies or takes too long fails alone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from typing import Any

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.sweeps.task import Task
from schedlab.scenario.workers.crew import Crew
from schedlab.scenario.workers.local import LocalEngine


def work(task: Task) -> Mapping[str, Any]:
    """Do what the document says."""
    match task.document:
        case "raise":
            raise ValueError("too much")
        case "mistake":
            raise SchedlabError("is not there", location="x.yaml")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "leave":
            os._exit(3)
        case "sleep":
            time.sleep(600)
    return {"pid": os.getpid(), "seed": task.seed}


class Unusable:
    """Work that no worker can take over."""

    def __call__(self, task: Task) -> Mapping[str, Any]:
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (5,)


def run(*documents: str, workers: int = 2, timeout_s: float | None = None) -> dict[int, tuple[str, Mapping[str, Any]]]:
    tasks = [Task(str(seed), "", {}, seed, document) for seed, document in enumerate(documents)]
    with Crew(LocalEngine(work), workers, timeout_s) as crew:
        return {task.seed: (state, result) for task, state, result in crew.run(tasks)}


def test_every_run_is_made_once_by_as_many_workers_as_are_wanted() -> None:
    found = run(*[""] * 12)

    assert [state for state, _ in found.values()] == ["finished"] * 12
    assert sorted(result["seed"] for _, result in found.values()) == [*range(12)]
    assert len({result["pid"] for _, result in found.values()}) <= 2
    assert os.getpid() not in {result["pid"] for _, result in found.values()}


def test_runs_that_go_wrong_fail_alone() -> None:
    found = run("", "raise", "die", "mistake", "leave", "", "sleep", "", timeout_s=5)

    assert [found[number][0] for number in (0, 5, 7)] == ["finished"] * 3
    assert found[1][1]["reason"].startswith("ValueError: too much (test_crew.py:")
    assert found[2][1]["reason"] == "its process was killed by SIGKILL, perhaps for lack of memory"
    assert found[3][1]["reason"] == "x.yaml: is not there"
    assert found[4][1]["reason"] == "its process ended with exit code 3"
    assert found[6][1]["reason"] == "took longer than 5s"
    assert all(found[number][0] == "failed" for number in (1, 2, 3, 4, 6))


def test_workers_that_cannot_begin_are_told_and_not_tried_for_ever() -> None:
    told = pytest.raises(SchedlabError, match="a worker cannot begin: its process ended with exit code 5")
    with Crew(LocalEngine(Unusable()), 1) as crew, told:
        list(crew.run([Task("1", "", {}, 1, "")]))


def test_workers_stay_for_more_runs() -> None:
    with Crew(LocalEngine(work), 1) as crew:
        pids = [result["pid"] for seed in (1, 2) for _, _, result in crew.run([Task(str(seed), "", {}, seed, "")])]

    assert pids[0] == pids[1]


def test_nothing_to_do_is_done_at_once() -> None:
    assert run() == {}

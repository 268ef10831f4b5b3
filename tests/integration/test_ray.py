"""A sweep on a Ray of two workers comes to what the processes of this machine come to, and fails as they do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.scenario.sweeps.files import write_sweep
from tests.unit.scenario.test_comparing import SCENARIO


def run(file: Path, folder: str, *arguments: str) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
    """Run a sweep in a process of its own: Ray stays in the process that has begun it."""
    done = subprocess.run(
        [sys.executable, "-m", "schedlab", "sweep", file, "-d", file.parent / folder, "-o", "json", *arguments],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.stdout, done.stderr
    lines = (file.parent / folder / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [{**json.loads(line), "seconds": 0} for line in lines]
    return done.returncode, json.loads(done.stdout), sorted(rows, key=lambda row: str(row["id"]))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_ray_comes_to_what_local_processes_come_to(tmp_path: Path) -> None:
    """The file that the scenario names is sent along; a run that takes too long fails alone on both."""
    trace = SCENARIO.replace("{poisson: 1/s}", "{trace: ../t.csv}").replace("  count: 6\n", "")
    (tmp_path / "t.csv").write_text("at\n1\n2\n3\n", encoding="utf-8")
    (tmp_path / "deep").mkdir()
    body = (
        "timeout: 8s\nseeds: 1..2\nconfigs: [{name: default}, packing.yaml]\nparameters:\n"
        '- {name: arrivals, path: "loads[w].arrivals", values: [{trace: ../t.csv}, {poisson: 5000/s}]}\n'
    )
    file = write_sweep(tmp_path / "deep", body, trace)

    code, local, local_rows = run(file, "local", "--workers", "2")
    ray_code, on_ray, ray_rows = run(file, "ray", "--workers", "2", "--engine", "ray")

    assert (code, ray_code) == (1, 1)
    assert on_ray == local
    assert ray_rows == local_rows
    assert sum(row["state"] == "finished" for row in ray_rows) == 4
    assert {row["reason"] for row in ray_rows if row["state"] == "failed"} == {"took longer than 8s"}

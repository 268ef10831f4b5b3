"""The same manifests under the virtual clock give the same objects and records, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.batch_run import digest, run_shop

ROOT = Path(__file__).resolve().parents[2]


def test_two_runs_with_one_seed_are_equal() -> None:
    assert digest(run_shop(7)) == digest(run_shop(7))


def test_seed_decides_uids() -> None:
    assert digest(run_shop(7)) != digest(run_shop(8))


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_hash_seed_of_the_process_changes_nothing(hash_seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.batch_run", "7"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.strip() == digest(run_shop(7))


def test_run_does_what_the_example_says() -> None:
    cluster = run_shop(1)
    pods = {pod.metadata.name: pod for pod in cluster.informers.lister("pods").list()}

    assert len(pods) == 39
    assert [name for name, pod in pods.items() if pod.status.phase != "Running"] == ["recommender-0"]
    assert pods["db-3"].spec.node_name == "a-data-1"

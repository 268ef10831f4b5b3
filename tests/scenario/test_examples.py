"""Every example runs, what it asserts holds, and it gives the recorded digest whatever the process and the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module

import pytest

from tests.scenario.example_runs import DIGESTS, EXAMPLES

ROOT = EXAMPLES.parents[1]


def removable_features() -> str:
    """The features of this machine that numpy uses where they are there, and can do without."""
    numpy_core = import_module("numpy._core._multiarray_umath")
    features = numpy_core.__cpu_features__
    return " ".join(name for name in numpy_core.__cpu_dispatch__ if features.get(name))


@pytest.mark.parametrize(
    ("hash_seed", "without_features"), [("0", False), ("12345", True)], ids=["plain", "other hash seed, plain numpy"]
)
def test_examples_give_their_recorded_digests(hash_seed: str, *, without_features: bool) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    if without_features:
        environment["NPY_DISABLE_CPU_FEATURES"] = removable_features()
    done = subprocess.run(
        [sys.executable, "-m", "tests.scenario.example_runs"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(DIGESTS.read_text(encoding="utf-8")), (
        "see tests/scenario/example_runs.py"
    )

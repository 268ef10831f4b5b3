"""Decisions equal kube-scheduler's, leaf by leaf, as the referee judges them.

The data is not part of the repository. A missing folder is a failure: a parity that was not looked at is not known.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.parity import places
from tests.parity.families import LONG, REQUIRED

_ROOT = Path(__file__).resolve().parents[2]


def _run(corpus: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.parity.run", "--judge", str(places.judge()), "--corpus", str(corpus)]
    return subprocess.run([*command, *arguments], cwd=_ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "family",
    [pytest.param(family, marks=pytest.mark.long if family in LONG else ()) for family in REQUIRED],
)
def test_family_is_equal(family: str) -> None:
    """Every case of a required family equals the recorded decisions in every leaf."""
    run = _run(places.CORPUS, "--family", family)

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("mode", ["--arrays", "--full"])
@pytest.mark.parametrize("family", ["preemption", "preemptmixed", "configmixed"])
def test_modes_change_no_decision(family: str, mode: str) -> None:
    """Array forms of dry runs and records of every verdict leave every decision as it is."""
    run = _run(places.CORPUS, "--family", family, mode)

    assert run.returncode == 0, run.stdout + run.stderr

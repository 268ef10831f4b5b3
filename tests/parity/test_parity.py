"""Decisions equal kube-scheduler's, leaf by leaf, as the referee judges them.

The data is not part of the repository. A missing folder is a failure: a parity that was not looked at is not known.
The families that were selected are run together, once, and each test looks at its own line of the judge's verdict.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parity import places
from tests.parity.families import REQUIRED

_ROOT = Path(__file__).resolve().parents[2]
_VERDICT = re.compile(r"^(\w+): (\d+) of (\d+) cases equal", re.MULTILINE)


def _run(corpus: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.parity.run", "--judge", str(places.judge()), "--corpus", str(corpus)]
    return subprocess.run([*command, *arguments], cwd=_ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def verdict(request: pytest.FixtureRequest) -> subprocess.CompletedProcess[str]:
    """What the runner says of the required families, as far as this run asks for them."""
    names = [item.name for item in request.session.items if _is_family_test(item)]
    asked = [name.partition("[")[2].removesuffix("]") for name in names]
    return _run(places.CORPUS, *(argument for family in asked for argument in ("--family", family)))


def _is_family_test(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and item.originalname == test_family_is_equal.__name__


@pytest.mark.timeout(300)  # the first of them waits for all
@pytest.mark.parametrize("required", REQUIRED)
def test_family_is_equal(required: str, verdict: subprocess.CompletedProcess[str]) -> None:
    """Every case of a required family equals the recorded decisions in every leaf."""
    counts = {family: (equal, total) for family, equal, total in _VERDICT.findall(verdict.stdout)}

    assert required in counts, verdict.stdout + verdict.stderr
    equal, total = counts[required]
    assert equal == total, verdict.stdout + verdict.stderr


def test_reports_are_equal() -> None:
    """Every public bug report comes out as kube-scheduler has it."""
    run = _run(places.REPORTS)

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_decisions_are_the_same_when_equal_pods_share_nothing() -> None:
    """All families once more, without what makes scheduling fast."""
    run = _run(places.CORPUS, "--alone")

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("mode", ["--arrays", "--scalar", "--full", "--counted", "--alone"])
def test_modes_change_no_decision(mode: str) -> None:
    """Array forms of dry runs, scalar forms alone, records of every verdict, metrics, pods that share nothing."""
    families = ("preemption", "preemptmixed", "configmixed")

    run = _run(places.CORPUS, mode, *(argument for family in families for argument in ("--family", family)))

    assert run.returncode == 0, run.stdout + run.stderr

"""One suite of scheduling for all ways in which a scheduler runs: in process, alone over HTTP, in a pod.

The one alone has no more rights than the two roles of a scheduler; the one in a pod is the Deployment of the guide.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.e2e.scheduling import CASES, KEEP, Case, node
from tests.support.processes import Control, Copy
from tools.refresh_readme import ROOT, simulator

# Processes start, and a busy machine takes its time.
pytestmark = pytest.mark.timeout(300)


@contextmanager
def _in_process(_: Path) -> Iterator[Control]:
    with simulator(Path(sys.executable).parent) as environment:
        yield Control(environment)


@contextmanager
def _alone(folder: Path) -> Iterator[Control]:
    with simulator(Path(sys.executable).parent, "--no-scheduler") as environment:
        control = Control(environment)
        kubeconfig = control.account(folder / "kubeconfig")
        with Copy("alone", folder, environment, "--kubeconfig", str(kubeconfig), "--no-leader-elect") as copy:
            yield control
            assert copy.process.poll() is None, copy.log()
            assert "forbidden" not in copy.log()


@contextmanager
def _in_a_pod(_: Path) -> Iterator[Control]:
    objects = list(yaml.safe_load_all((ROOT / "examples/schedulers/my-scheduler.yaml").read_text()))
    for made in objects:
        if made["kind"] == "ConfigMap":
            config = yaml.safe_load(made["data"]["my-scheduler-config.yaml"])
            config["profiles"] = [{"schedulerName": "default-scheduler"}]
            made["data"]["my-scheduler-config.yaml"] = yaml.safe_dump(config)
        if made["kind"] == "Deployment":
            # There is no scheduler yet that could place the scheduler.
            made["spec"]["template"]["spec"] |= {"nodeName": "home", "tolerations": [{"operator": "Exists"}]}
    with simulator(Path(sys.executable).parent, "--no-scheduler") as environment:
        control = Control(environment)
        home = node("home", taints=[{"key": "home", "effect": "NoSchedule"}], **{KEEP: ""})
        control.apply(home, *objects)
        control("rollout", "status", "-n", "kube-system", "deployment/my-scheduler", "--timeout=60s")
        yield control


_WAYS = {"in process": _in_process, "alone": _alone, "in a pod": _in_a_pod}


@pytest.fixture(scope="module", params=_WAYS)
def scheduled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Control]:
    """A cluster in which somebody schedules, and kubectl for it."""
    with _WAYS[request.param](tmp_path_factory.mktemp("scheduler")) as control:
        yield control


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_scheduling(scheduled: Control, case: Case) -> None:
    try:
        case(scheduled)
    finally:
        _empty(scheduled)


def _empty(control: Control) -> None:
    control("delete", "deployments,pods,pvc,resourceclaims,pdb,events", "--all", "--force", "--grace-period=0")
    control("delete", "pv,resourceslices,deviceclasses,storageclasses", "--all")
    control("delete", "priorityclass", "high", "--ignore-not-found")
    control("delete", "nodes", "-l", f"!{KEEP}")

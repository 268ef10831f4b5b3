"""A Scenario of KEP-140 in a living cluster: applied and watched with the real kubectl, broken off by a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_data_dir import Lab
from tests.unit.scenario.test_live_scenarios import API_VERSION, NODE, create, done, pod

pytestmark = pytest.mark.parametrize("kubectl", ["1.37"], indirect=True)  # what is tested is on the other side


def scenario(name: str, *operations: dict[str, Any]) -> str:
    return json.dumps(
        {"apiVersion": API_VERSION, "kind": "Scenario", "metadata": {"name": name}, "spec": {"operations": operations}}
    )


def test_kubectl_runs_one_and_a_restart_breaks_another_off(tmp_path: Path, kubectl: Path) -> None:
    lab = Lab(tmp_path, kubectl)
    with lab.up():
        lab.kubectl("apply", "-f", "-", text=scenario("s", create(1, NODE), create(1, pod("a")), done(1)))
        lab.kubectl("wait", "scenario/s", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=40s")
        assert lab.kubectl("get", "nodes", "-o", "name").stdout == "node/one\n"
        assert lab.kubectl("get", "scenarios").stdout.split()[:7] == [
            "NAME",
            "PHASE",
            "STEP",
            "MESSAGE",
            "AGE",
            "s",
            "Succeeded",
        ]
        status = json.loads(lab.kubectl("get", "scenario", "s", "-o", "json").stdout)["status"]
        assert [one["step"]["minor"] for one in status["scenarioResult"]["timeline"]["1"]] == [0, 1, 2, 3]
        assert "createOperation" in lab.kubectl("explain", "scenario.spec.operations").stdout

        wrong = scenario("wrong", {"step": 1, "fly": {}})
        assert 'unknown field "spec.operations[0].fly"' in lab.kubectl("apply", "-f", "-", text=wrong, code=1).stderr
        lab.kubectl("apply", "-f", "-", text=scenario("broken-off", create(1, NODE), create(2, pod("b")), done(2)))
        lab.kubectl("wait", "scenario/broken-off", "--for=jsonpath={.status.phase}=Running", "--timeout=20s")
    with lab.up():
        lab.kubectl("wait", "scenario/broken-off", "--for=jsonpath={.status.phase}=Failed", "--timeout=20s")
        said = lab.kubectl("get", "scenario", "broken-off", "-o", "jsonpath={.status.message}").stdout
        assert said == "the controller restarted while the Scenario was running"

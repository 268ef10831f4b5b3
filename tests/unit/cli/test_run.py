"""`schedlab run` says what came out, writes its tables, and ends with the code that says how it went."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from schedlab.cli import main
from tests.scenario.example_runs import EXAMPLES
from tests.unit.scenario.test_comparing import PACKING

SCENARIO = """\
apiVersion: schedlab.dev/v1alpha1
kind: Scenario
cluster:
  nodes: [{count: 1}]
  pods: [{count: 5, template: {spec: {containers: [{name: a, image: a, resources: {requests: {cpu: "1"}}}]}}}]
stop: {at: 10m}
assertions:
- {metric: pods_pending, atMost: PENDING}
"""


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["run", *arguments])
    code = ended.value.code
    assert isinstance(code, int)
    return code


@pytest.mark.parametrize(("pending", "code", "word"), [(1, 0, "holds"), (0, 1, "FAILS")])
def test_exit_code_says_whether_assertions_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pending: int, code: int, word: str
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SCENARIO.replace("PENDING", str(pending)), encoding="utf-8")

    assert run(str(file)) == code

    told = capsys.readouterr().out
    assert f"{word}        pods_pending <= {pending}: it is 1" in told
    assert "5 created, 4 scheduled" in told
    assert "scheduler service time zero: waits are those of a scheduler that takes no time" in told
    assert "default/pods-0-4: 0/1 nodes are available: 1 Insufficient cpu." in told


def test_mistake_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SCENARIO, encoding="utf-8")

    assert run(str(file)) == 2
    assert capsys.readouterr().err == f"error: {file}:8: assertions[0].atMost: is 'PENDING', not a number\n"


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_tables_are_written(tmp_path: Path, form: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SCENARIO.replace("PENDING", "1"), encoding="utf-8")
    folder = tmp_path / "out" / "deep"

    assert run(str(file), "-d", str(folder), "--tables", form, "-o", "json", "--seed", "3") == 0

    summary = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert summary["seed"] == 3
    assert summary["metrics"]["pods_pending"] == 1
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["run.json", f"pending.{form}", f"pods.{form}", f"series.{form}"]
    )
    if form == "csv":
        with (folder / "pods.csv").open(encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        assert [row["attempts"] for row in rows][:4] == ["1"] * 4
    if form == "json":
        assert json.loads((folder / "series.json").read_text(encoding="utf-8"))[-1]["pending"] == 1


def test_interrupted_run_leaves_a_readable_part(tmp_path: Path) -> None:
    """Ctrl-C in a scenario that would take minutes: what had happened is told and written."""
    file = tmp_path / "s.yaml"
    pods = "[{runTime: 1m, template: {spec: {containers: [{name: a, image: a}]}}}]"
    (tmp_path / "objects").mkdir()
    (tmp_path / "objects" / "torn.yaml").write_text("a: [", encoding="utf-8")
    load = f"loads: [{{name: w, arrivals: {{every: 100ms}}, pods: {pods}}}]"
    file.write_text(
        f"apiVersion: schedlab.dev/v1alpha1\nkind: Scenario\ncluster: {{files: [objects], nodes: [{{count: 9}}]}}\n{load}\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "schedlab", "run", str(file), "-d", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("warning: "), "it says so when the run begins"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)

    assert process.returncode == 130, error
    assert "it was interrupted" in out
    assert "interrupted: what is told is what had happened until then" in error
    summary = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert summary["ended"] == "interrupted"
    assert (tmp_path / "out" / "pods.csv").read_text(encoding="utf-8").startswith("namespace,pod,")


def test_another_configuration_and_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--config` takes the place of the scenario's own; `--html` tells in one page that needs nothing else."""
    file, packing, report = tmp_path / "s.yaml", tmp_path / "packing.yaml", tmp_path / "report.html"
    file.write_text(SCENARIO.replace("PENDING", "1"), encoding="utf-8")
    packing.write_text(PACKING, encoding="utf-8")

    assert run(str(file), "--config", str(packing), "--html", str(report)) == 0

    assert f"scheduler configuration {packing}" in capsys.readouterr().out
    page = report.read_text(encoding="utf-8")
    assert "pods_pending &lt;= 1" in page
    assert "0/1 nodes are available: 1 Insufficient cpu." in page
    assert "<svg" in page
    assert "<script" not in page


def test_a_scenario_of_the_kep_takes_no_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = EXAMPLES / "kep-140.yaml"

    assert run(str(file), "--config", str(tmp_path / "any.yaml")) == 2
    assert "such a file has its scheduler configuration in it" in capsys.readouterr().err


def test_one_report_is_of_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cases.yaml"
    case = (EXAMPLES / "scheduler-perf.yaml").read_text(encoding="utf-8")
    copied = case.replace("scheduler-perf/", f"{EXAMPLES}/scheduler-perf/")
    file.write_text(copied + copied[copied.index("\n- name:") :].replace("- name: ", "- name: Second", 1), "utf-8")

    assert run(str(file), "--html", str(tmp_path / "report.html")) == 2
    assert "one report cannot tell of 2 runs" in capsys.readouterr().err

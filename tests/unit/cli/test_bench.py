"""`schedlab bench`: choosing, telling, JSON lines, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedlab import cli
from schedlab.scheduler_perf import machine


@pytest.fixture(autouse=True)
def _calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "calibrate", lambda: 16.4)


def _exit_code(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["bench", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_run_is_told_and_appended_as_json_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "runs.jsonl"

    code = _exit_code(["SchedulingBasic/5Nodes", "--repeat", "3", "--output", str(output), "--annotations", "full"])

    told = capsys.readouterr().out
    lines = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert code == 0
    assert "SchedulingBasic/5Nodes:" in told
    assert "median of 3" in told
    assert [line["workload"] for line in lines] == ["SchedulingBasic/5Nodes"] * 3
    assert lines[0]["machine"]["cores"] >= 1
    assert lines[0]["annotations"] == "full"
    assert lines[0]["ratio"] is None


def test_parameter_and_ratio(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ratio is told only for a workload at its own size."""
    params = ["--param", "initNodes=5", "--param", "initPods=1", "--param", "measurePods=4"]

    code = _exit_code(["SchedulingBasic", *params, "--profile", "--whole", "--output", str(tmp_path / "runs.jsonl")])

    line = json.loads((tmp_path / "runs.jsonl").read_text(encoding="utf-8"))
    assert code == 0
    assert line["pods"] == 4
    assert line["ratio"] is None
    assert "us  create pods" in capsys.readouterr().out


def test_too_slow_ends_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code(["SchedulingBasic/5Nodes", "--min-pods-per-s", "1e9"]) == 1
    assert "slower than the 1000000000 pods/s asked for" in capsys.readouterr().out


def test_missed_threshold_of_a_file_ends_with_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "- name: Mine\n  workloadTemplate:\n  - {opcode: createNodes, count: 2}\n"
        "  - {opcode: createPods, count: 3, collectMetrics: true}\n"
        "  workloads:\n  - {name: w, threshold: 1000000}\n",
        encoding="utf-8",
    )

    assert _exit_code(["--file", str(path), "Mine"]) == 1
    assert "misses its threshold" in capsys.readouterr().out


def test_workloads_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code(["--list"]) == 0
    assert "SchedulingBasic/5000Nodes  [performance, growth]" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Nonsense"], "there is no test case 'Nonsense'"),
        (["SchedulingBasic/7Nodes"], "has no workload '7Nodes'"),
        (["--label", "none"], "no workload has the label 'none'"),
        (["SchedulingBasic/5Nodes", "--param", "initNodes"], "'initNodes' is no NAME=NUMBER"),
        (["SchedulingBasic/5Nodes", "--param", "other=1"], "other are defined but unused"),
        (["SchedulingBasic/5Nodes", "--repeat", "0"], "0 runs measure nothing"),
        (["SchedulingBasic/5Nodes", "--profile", "--mode", "live"], "a live run has no profile"),
        (["SchedulingBasic/5Nodes", "--processes", "2"], "a batch run is one process"),
        (["--file", "none.yaml"], "No such file"),
    ],
)
def test_bad_input_ends_with_two(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err

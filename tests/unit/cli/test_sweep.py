"""`schedlab sweep` tells what came out, goes on where it was killed, and says by its exit code whether all went well."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from schedlab.cli import main
from tests.unit.scenario.sweeps.files import SWEEP, write_sweep
from tests.unit.scenario.test_comparing import SCENARIO


def sweep(file: Path, *arguments: str) -> int:
    workers = () if "--workers" in arguments else ("--workers", "2")
    with pytest.raises(SystemExit) as ended:
        main(["sweep", str(file), *workers, *arguments])
    code = ended.value.code
    assert isinstance(code, int)
    return code


def begin(file: Path) -> subprocess.Popen[str]:
    """Start a sweep in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "schedlab", "sweep", str(file), "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_runs(folder: Path, count: int) -> None:
    file, until_s = folder / "runs.jsonl", time.monotonic() + 60
    while not file.exists() or file.read_bytes().count(b"\n") < count:
        assert time.monotonic() < until_s, "no runs are written"
        time.sleep(0.01)


def ids(folder: Path) -> list[str]:
    return [json.loads(line)["id"] for line in (folder / "runs.jsonl").read_text(encoding="utf-8").splitlines()]


def test_table_and_files_tell_every_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_sweep(tmp_path, SWEEP + "metrics: [nodes_used_max]\n")

    assert sweep(file) == 0

    told = capsys.readouterr()
    assert "4 points, 8 runs" in told.out
    assert "  packing.yaml  4                       2     2\n" in told.out
    assert "digest sha256:" in told.out
    assert "8 runs in " in told.err
    with (tmp_path / "sweep.results" / "runs.csv").open(encoding="utf-8") as rows:
        assert [row["nodes_used_max"] for row in csv.DictReader(rows)] == ["3.0"] * 2 + ["4.0"] * 2 + ["2.0"] * 4

    assert sweep(file, "-o", "json", "--tables", "parquet") == 0

    again = capsys.readouterr()
    assert "0 runs in " in again.err
    assert "8 were there already" in again.err
    found = json.loads(again.out)
    assert found["digest"] in told.out
    assert [point["metrics"]["nodes_used_max"] for point in found["points"]] == [3, 4, 2, 2]
    assert (tmp_path / "sweep.results" / "runs.parquet").exists()


def test_run_that_takes_too_long_fails_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = 'timeout: 6s\nparameters: [{name: pods, path: "loads[w].count", values: [1, 2000000, 2]}]\n'
    file = write_sweep(tmp_path, body, SCENARIO.replace("1/s", "1000/s"))

    assert sweep(file) == 1

    told = capsys.readouterr().out
    assert "1 run failed\n  seed 1, the scenario's own, pods 2000000: took longer than 6s\n" in told
    assert "digest none" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--workers", "-1"), "--workers: -1 workers do nothing"),
        (("--ray-address", "auto"), "--ray-address: is of no use to the local engine"),
        (("--directory", "sweep.yaml"), "cannot be used"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert sweep(write_sweep(tmp_path), *arguments) == 2
    assert message in capsys.readouterr().err


def test_missing_ray_is_told_with_the_command_that_installs_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "schedlab.scenario.sweeps.on_ray", raising=False)

    assert sweep(write_sweep(tmp_path), "--engine", "ray") == 2

    told = capsys.readouterr().err
    assert "--engine ray: ray is not installed\nhint: install it: pip install 'schedlab[ray]'" in told
    assert not (tmp_path / "sweep.results").exists()


def test_killed_sweep_loses_only_runs_in_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_sweep(tmp_path, SWEEP.replace("1..2", "1..20"))
    folder = tmp_path / "sweep.results"
    first = begin(file)
    wait_for_runs(folder, 5)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    with (folder / "runs.jsonl").open("ab") as out:
        out.write(b'{"id": "half')
    before = len(ids_of_whole_lines(folder))

    assert sweep(file, "-o", "json") == 0

    told = capsys.readouterr()
    assert json.loads(told.out)["known"] == before
    assert f"{80 - before} runs in " in told.err
    assert set(Counter(ids(folder)).values()) == {1}
    assert len(ids(folder)) == 80


def ids_of_whole_lines(folder: Path) -> list[bytes]:
    return [*(folder / "runs.jsonl").read_bytes().splitlines(keepends=True)][:-1]


def test_ctrl_c_leaves_what_was_finished(tmp_path: Path) -> None:
    file = write_sweep(tmp_path, SWEEP.replace("1..2", "1..500"))
    folder = tmp_path / "sweep.results"
    running = begin(file)
    wait_for_runs(folder, 3)
    # As a terminal does it: the workers hear of it, too.
    os.killpg(running.pid, signal.SIGINT)
    told, errors = running.communicate(timeout=60)

    assert running.returncode == 130
    over = len(ids(folder))
    assert f"interrupted: {over} of 2000 runs are told" in errors
    assert "Traceback" not in errors
    assert "digest none" in told
    with (folder / "runs.csv").open(encoding="utf-8") as rows:
        assert len([*csv.DictReader(rows)]) == over

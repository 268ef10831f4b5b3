"""`schedlab tune` finds the best configuration of a toy, the same one every time, and goes on where it was stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from schedlab.cli import main
from tests.unit.cli.test_compare import Page
from tests.unit.scenario.test_comparing import PACKING, SCENARIO


def tune(folder: Path, *arguments: str, scenario: str = SCENARIO) -> int:
    (folder / "s.yaml").write_text(scenario, encoding="utf-8")
    workers = () if "--workers" in arguments else ("--workers", "1")
    with pytest.raises(SystemExit) as ended:
        main(["tune", str(folder / "s.yaml"), *workers, *arguments])
    code = ended.value.code
    assert isinstance(code, int)
    return code


def found_by(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


NODES = ("--minimize", "nodes_used_max", "--maximize", "requested_mean.cpu")


def test_known_optimum_is_found_and_its_configuration_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Six pods of 1 CPU and 8Gi on nodes of 4 CPU and 32Gi: packed they need two nodes, the default spreads them."""
    report = tmp_path / "report.html"

    assert tune(tmp_path, *NODES, "--trials", "12", "-o", "json", "--html", str(report)) == 0

    found = found_by(capsys)
    [default] = found["baselines"]
    assert default["name"] == "the default profile"
    assert default["results"][0] == 4
    [name] = found["front"]
    best = next(one for one in found["trials"] if one["name"] == name)
    assert best["results"][0] == 2
    page = Page(report.read_text(encoding="utf-8"))
    assert {"svg", "circle", "rect", "table"} <= set(page.tags)
    assert not {"script", "link", "img"} & set(page.tags)

    configuration = yaml.safe_load(Path(best["file"]).read_text(encoding="utf-8"))
    assert configuration["kind"] == "KubeSchedulerConfiguration"
    with pytest.raises(SystemExit):
        main(["compare", str(tmp_path / "s.yaml"), "--config", best["file"], "--jobs", "1", "-o", "json"])
    compared = found_by(capsys)
    assert compared["metrics"]["nodes_used_max"]["values"] == [[4], [2]]


def test_same_seed_tries_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = (*NODES, "--trials", "11", "-o", "json")
    results = []
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert tune(tmp_path, *options, "-d", str(tmp_path / name), "--sampler-seed", seed) == 0
        trials = found_by(capsys)["trials"]
        results.append([(one["name"], one["values"], one["results"]) for one in trials])

    assert results[0] == results[1]
    assert results[0] != results[2]


def test_stopped_search_goes_on_as_if_it_had_not_been(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = (*NODES, "-o", "json")
    assert tune(tmp_path, *options, "--trials", "12", "-d", str(tmp_path / "whole")) == 0
    whole = found_by(capsys)
    stopped = tmp_path / "stopped"
    command = [sys.executable, "-m", "schedlab", "tune", str(tmp_path / "s.yaml"), *options]
    running = subprocess.Popen([*command, "--workers", "1", "--trials", "200", "-d", str(stopped)])
    until_s = time.monotonic() + 90
    while not (stopped / "runs.jsonl").exists() or (stopped / "runs.jsonl").read_bytes().count(b"\n") < 6:
        assert time.monotonic() < until_s, "no runs are written"
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    lines = (stopped / "runs.jsonl").read_bytes().splitlines(keepends=True)

    assert tune(tmp_path, *options, "--trials", "12", "-d", str(stopped)) == 0

    assert [one["values"] for one in found_by(capsys)["trials"]] == [one["values"] for one in whole["trials"]]
    after = (stopped / "runs.jsonl").read_bytes().splitlines()
    ids = [json.loads(line)["id"] for line in after]
    assert len(set(ids)) == len(ids)
    assert after[: len(lines) - 1] == [line.strip() for line in lines[:-1]]


def test_only_what_is_given_is_searched_and_own_configuration_is_a_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "packing.yaml").write_text(PACKING, encoding="utf-8")
    scenario = SCENARIO.replace("cluster:", "schedulerConfig: packing.yaml\ncluster:")
    options = ("--minimize", "nodes_used_max", "--weight", "ImageLocality=1..2", "--trials", "3")

    assert tune(tmp_path, *options, scenario=scenario) == 0

    told = capsys.readouterr().out
    assert "  the scenario's own   2 (-2)\n  the default profile  4\n" in told
    assert "the default profile: beaten" in told
    assert f"{tmp_path / 's.tuning' / 'configuration-1.yaml'}: the scenario's own\n" in told


def test_time_ends_a_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(tmp_path, "--minimize", "nodes_used_max", "--time", "1s") == 0

    assert "configurations tried" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ((), "--minimize, --maximize: nothing is searched for", "--minimize wait_p99"),
        (("--minimize", "wait_p9"), "--minimize: there is no metric wait_p9", "did you mean wait_p99?"),
        (("--minimize", "cost", "--maximize", "cost"), "--maximize: cost is there twice", ""),
        (("--minimize", "cost", "--weight", "Nope=0..3"), "--weight Nope: schedulerConfig: ", "plugins are"),
        (("--minimize", "cost", "--weight", "NodeAffinity"), "--weight: '' names no numbers", "NodeAffinity=0..10"),
        (("--minimize", "cost", "--weight", "NodeAffinity=3..1"), "--weight: '3..1' names no numbers", ""),
        (("--minimize", "cost", "--percentage", "0..101"), "--percentage: '0..101' names no numbers", "10..100"),
        (("--minimize", "cost", "--strategy", "Best"), "--strategy", ""),
        (("--minimize", "cost", "--trials", "0"), "--trials: 0 trials find nothing", "1 or more"),
        (("--minimize", "cost", "--time", "soon"), "--time: ", "90s"),
        (("--minimize", "cost", "--seeds", "x"), "--seeds: 'x' names no seeds", ""),
        (("--minimize", "requested_mean.gpu"), "requested_mean.gpu was not measured", "schedlab run"),
    ],
)
def test_mistakes_are_told_before_anything_is_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str, hint: str
) -> None:
    assert tune(tmp_path, *arguments) == 2

    told = capsys.readouterr().err
    assert message in told
    assert hint in told


def test_missing_optuna_is_told_with_the_command_that_installs_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(sys.modules, "schedlab.scenario.sweeps.tuning", raising=False)

    assert tune(tmp_path, "--minimize", "cost") == 2

    told = capsys.readouterr().err
    assert "optuna is not installed\nhint: install it: pip install 'schedlab[tune]'" in told

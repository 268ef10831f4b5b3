"""A trace becomes a folder that `schedlab run` takes; every pod comes and ends when the trace says."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.cli import main
from schedlab.scenario.experiment import Experiment
from schedlab.scenario.file import read_scenario
from schedlab.scenario.results import Run
from tests.unit.traces import samples

FILES = {
    "alibaba-gpu-2023": (samples.ALIBABA_PODS, samples.ALIBABA_NODES),
    "google-2011": (samples.GOOGLE_TASKS, samples.GOOGLE_MACHINES),
    "azure-2019": (samples.AZURE_MACHINES, None),
    "csv": (samples.JOBS, samples.HOSTS),
}


def convert(folder: Path, form: str, *more: str) -> int:
    pods, nodes = FILES[form]
    (folder / "pods.in").write_text(pods)
    (folder / "mapping.yaml").write_text(samples.MAPPING)
    arguments = ["--pods", str(folder / "pods.in"), "--output", str(folder / "out"), *more]
    if nodes is not None:
        (folder / "nodes.in").write_text(nodes)
        arguments += ["--nodes", str(folder / "nodes.in")]
    if form == "csv":
        arguments += ["--mapping", str(folder / "mapping.yaml")]
    with pytest.raises(SystemExit) as exit_:
        main(["import-trace", form, *arguments])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def run(folder: Path) -> Run:
    return Experiment(read_scenario(folder / "out" / "scenario.yaml")).run()


@pytest.mark.parametrize(
    ("form", "created", "finished"),
    [("alibaba-gpu-2023", 4, 3), ("google-2011", 3, 2), ("azure-2019", 3, 0), ("csv", 2, 1)],
)
def test_what_is_written_runs(form: str, created: int, finished: int, tmp_path: Path) -> None:
    assert convert(tmp_path, form) == 0
    result = run(tmp_path)

    assert result.problems == []
    if form == "azure-2019":
        # Plain nodes of 4 cores stand where the trace has none: only the small machine fits.
        assert (result.metrics["pods_created"], result.metrics["pods_pending"]) == (3, 2)
        return
    assert (result.metrics["pods_created"], result.metrics["pods_finished"]) == (created, finished)
    assert result.metrics["pods_pending"] == 0


def test_pods_go_where_their_models_are_and_share_gpus(tmp_path: Path) -> None:
    convert(tmp_path, "alibaba-gpu-2023")
    rows = {str(row["pod"]).rpartition("/")[2]: row for row in run(tmp_path).pods}

    assert rows["openb-pod-0001"]["node"] == "openb-node-0001"
    assert rows["openb-pod-0004"]["node"] == "openb-node-0002"


def test_a_limit_keeps_the_first(tmp_path: Path) -> None:
    assert convert(tmp_path, "alibaba-gpu-2023", "--limit", "2") == 0
    assert run(tmp_path).metrics["pods_created"] == 2


@pytest.mark.parametrize(
    ("form", "more", "words"),
    [
        ("azure-2019", ["--nodes", "x"], "azure-2019 has no nodes"),
        ("azure-2019", ["--mapping", "x"], "azure-2019 needs no mapping"),
        ("google-2011", ["--largest-memory", "much"], "--largest-memory"),
        ("csv", ["--limit", "0"], "0 pods are no trace"),
    ],
)
def test_mistakes(form: str, more: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert(tmp_path, form, *more) == 2
    assert words in capsys.readouterr().err

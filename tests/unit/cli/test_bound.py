"""`schedlab bound`: of files, of the end of a scenario, of the running cluster; what it prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from schedlab.cli.bound import bound_text
from schedlab.testing import make_node, make_pod
from tests.unit.cli.test_plan import Asked, asked, run

pytest.importorskip("ortools")
__all__ = ["asked"]


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    nodes = [make_node(name).capacity(cpu="4", memory="8Gi", pods="9").dict() for name in ("a", "b")]
    pods = [make_pod(f"p{number}").req(cpu="1").dict() for number in range(4)]
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all([*nodes, *pods]))
    return file


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    objects = [make_pod(f"p{number}").req(cpu="3").dict() for number in range(3)]
    body = {
        "apiVersion": "schedlab.dev/v1alpha1",
        "kind": "Scenario",
        "cluster": {"nodes": [{"count": 2}], "objects": objects},
    }
    file = tmp_path / "s.yaml"
    file.write_text(yaml.safe_dump(body))
    return file


def test_of_files(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "bound", "nodes", "--from", cluster)

    assert code == 0
    assert out.startswith(
        "The scheduler uses 2 of 2 nodes for 4 pods; 1 are enough, and no scheduler can use fewer.\n\n"
        "4 pods of 1 kind and 2 nodes of 1 kind, every node by itself\ncounted   requests of every resource"
    )


def test_of_the_end_of_a_scenario(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "bound", "pods", "--scenario", scenario, "--seed", "3", "-o", "json")
    answer = json.loads(out)

    assert (code, answer["pods"], answer["achieved"], answer["bound"]) == (0, 3, 2, 2)


def test_of_the_running_cluster(asked: Asked, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "bound", "pods", "--time-limit", "5s", "-o", "json")

    assert asked == [("POST", "/api/v1/bound", {"goal": "pods", "timeLimit": 5})]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("zones",), "zones"),
        (("nodes", "--seed", "1"), "only a scenario has a seed"),
        (("nodes", "--from", "x", "--scenario", "s.yaml"), "a scenario has its own cluster"),
        (("nodes", "--scenario", "none.yaml"), "none.yaml"),
        (("nodes", "--scenario", "examples/scenarios/scheduler-perf.yaml"), "is a file of scheduler_perf"),
        (("nodes", "--from", "examples/shop", "--time-limit", "soon"), "--time-limit"),
        (("nodes", "--from", "examples/shop", "--time-limit", "0s"), "is no time to search"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "bound", *arguments)

    assert (code, words in err, "Traceback" in err) == (2, True, False)


ANSWER: dict[str, Any] = {
    "goal": "nodes", "pods": 300, "nodes": 50, "groups": 12, "classes": 3, "achieved": 41, "bound": 38, "best": 39,
    "proven": False, "exact": True, "repeatable": True, "modelled": ["requests"], "left_out": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (
            {},
            [
                "The scheduler uses 41 of 50 nodes for 300 pods; no scheduler can use fewer than 38.",
                "A placement on 39 nodes that meets what is counted is known.",
                "What is best lies between 38 and 39: a gap of 2.6%.",
            ],
        ),
        (
            {"best": 41, "bound": 41, "proven": True},
            ["The scheduler uses 41 of 50 nodes for 300 pods; no scheduler can use fewer."],
        ),
        (
            {"best": 38, "proven": True, "left_out": ["volumes"]},
            [
                "The scheduler uses 41 of 50 nodes for 300 pods; no scheduler can use fewer than 38.",
                "A placement on 38 nodes that meets what is counted is known.",
                "left out  volumes",
            ],
        ),
        (
            {"goal": "pods", "achieved": 290, "bound": 295, "best": 290, "exact": False, "repeatable": False},
            [
                "The scheduler has placed 290 of 300 pods; no scheduler can place more than 295.",
                "What is best lies between 290 and 295: a gap of 1.7%.",
                "300 pods of 12 kinds and 50 nodes of 3 kinds, equal nodes together: there are too many for each by itself",
                "The search was ended before its time: another time it may come farther.",
            ],
        ),
    ],
)
def test_text(change: dict[str, Any], lines: list[str]) -> None:
    text = bound_text({**ANSWER, **change})

    assert [line for line in text.splitlines() if line in lines] == lines

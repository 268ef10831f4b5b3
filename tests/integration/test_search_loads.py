"""The clusters on which searches are measured can be made of any number of nodes and pods, and are as full as they say."""

from __future__ import annotations

import pytest

from bench.whatif.__main__ import main
from bench.whatif.loads import LOADS, filled, pod_name


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize(("nodes", "pods"), [(1, 30), (4, 45), (60, 200)])
def test_every_pod_that_is_asked_about_waits(load: str, nodes: int, pods: int) -> None:
    cluster = filled(LOADS[load], nodes, pods)

    found = cluster.informers.lister("pods").list()
    placed = {pod.metadata.name: pod.spec.node_name for pod in found}
    assert len(placed) == pods + len(LOADS[load].waiting)
    assert [question for question in LOADS[load].waiting if placed[pod_name(question)]] == []
    assert {pod.status.phase for pod in found} == {"Running", "Pending"}
    budgets = cluster.informers.lister("poddisruptionbudgets.policy").list()
    assert any(budget.status.disruptions_allowed for budget in budgets) == (load == "mixed")


@pytest.mark.parametrize(
    ("numbers", "told"),
    [(["0", "5"], "0 nodes are too few"), (["3", "--", "-1"], "there cannot be -1"), (["2", "2001"], "2001 pods are")],
)
def test_senseless_numbers_are_refused(numbers: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(numbers) == 2

    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith(f"error: {told}")
    assert hint.startswith("hint: give")

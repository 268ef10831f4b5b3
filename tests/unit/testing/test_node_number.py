"""The example plugin keeps the contract and does what the tutorial says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedlab.cluster.plugin_loading import load_plugin
from schedlab.testing import check_plugin, make_node, make_pod
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile

ENTRY = load_plugin(f"{Path(__file__).resolve().parents[3] / 'examples/plugins/node_number.py'}:NodeNumber")


@pytest.mark.parametrize("args", [None, {"reverse": True}])
def test_it_keeps_the_contract(args: Any) -> None:
    check_plugin(ENTRY, args=args)


@pytest.mark.parametrize(
    ("pod", "reverse", "scores"),
    [
        ("web-3", False, {"node-3": 10, "node-13": 10, "node-4": 0, "nodes": 0}),
        ("web-3", True, {"node-3": 0, "node-13": 0, "node-4": 10, "nodes": 0}),
        ("web", False, {"node-3": 0, "node-13": 0, "node-4": 0, "nodes": 0}),
        ("web", True, {"node-3": 0, "node-13": 0, "node-4": 0, "nodes": 0}),
    ],
)
def test_scores(pod: str, reverse: bool, scores: dict[str, int]) -> None:  # noqa: FBT001 - a column of a table
    config = profile(*BASIC_PLUGINS, "NodeNumber", pluginConfig=[{"name": "NodeNumber", "args": {"reverse": reverse}}])
    cluster = FakeCluster(configuration(config), registry={"NodeNumber": ENTRY})
    cluster.add(*(make_node(name).capacity(pods="9") for name in scores))

    cluster.schedule(make_pod(pod))

    record = cluster.observer.cycles[0]
    assert record.score is not None
    row = record.score.plugins.index("NodeNumber")
    names = [record.node_names[at] for at in record.score.rows.tolist()]
    assert dict(zip(names, record.score.final[row].tolist(), strict=True)) == scores

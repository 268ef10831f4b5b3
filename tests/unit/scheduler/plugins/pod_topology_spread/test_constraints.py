"""Which nodes count for a constraint."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schedlab.api.rules.node_affinity import required_node_affinity
from schedlab.apimachinery.selectors import everything
from schedlab.scheduler.plugins.pod_topology_spread.constraints import Constraint
from schedlab.testing.builders import make_node, make_pod

POD = make_pod("p").node_selector({"disk": "ssd"}).view()
HONEST = Constraint(1, "zone", everything(), 1, honor_affinity=True, honor_taints=True)


@pytest.mark.parametrize(
    ("constraint", "counts"),
    [
        (HONEST, (False, True)),
        (replace(HONEST, honor_affinity=False), (True, True)),
    ],
)
def test_nodes_that_the_pod_does_not_choose_count_only_when_affinity_is_ignored(
    constraint: Constraint, counts: tuple[bool, bool]
) -> None:
    nodes = (make_node("spinning").view(), make_node("quick").labels({"disk": "ssd"}).view())

    assert counts == tuple(
        constraint.counts_node(node, required_node_affinity(POD), POD.spec.tolerations, comparison=False)
        for node in nodes
    )

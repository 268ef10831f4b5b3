"""Why a pod is not on the node that it has in the real cluster."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.mirror.comparing import why_not
from tests.support.clusters import Lab


def _lab(**spec: Any) -> Lab:
    lab = Lab(nodes=2)
    lab.run()
    lab.create_pod("p", **spec)
    lab.run()
    return lab


@pytest.mark.parametrize(
    ("spec", "node", "why"),
    [
        ({"nodeSelector": {"kubernetes.io/hostname": "node-0"}}, "node-1", "NodeAffinity: "),
        ({}, "elsewhere", "the node was not here"),
    ],
)
def test_the_plugin_that_kept_it_away_is_named(spec: dict[str, Any], node: str, why: str) -> None:
    assert why_not(_lab(**spec).cluster.log, "default", "p", node).startswith(why)


def test_equal_points_are_luck() -> None:
    lab = _lab()
    (there,) = {"node-0", "node-1"} - {lab.nodes_of_pods()["p"]}

    assert why_not(lab.cluster.log, "default", "p", there) == "as many points: luck decided"


def test_fewer_points_are_those_of_a_plugin() -> None:
    lab = Lab(nodes=2)
    lab.run()
    lab.create_pod("big", nodeName="node-0")
    lab.run()
    lab.create_pod("p")
    lab.run()

    assert why_not(lab.cluster.log, "default", "p", "node-0").startswith("fewer points: NodeResources")


def test_a_pod_that_nobody_tried_has_no_reason() -> None:
    assert why_not(Lab().cluster.log, "default", "p", "n") == "no attempt is recorded"

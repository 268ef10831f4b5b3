"""The GPU fragmentation of a node is what the FGD paper's cases say, weighed by how often each shape of pods comes."""

from __future__ import annotations

import pytest

from schedlab.scenario.fragmentation import Shapes
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.testing.builders import PodBuilder, make_node, make_pod, make_table

GPU = "nvidia.com/gpu"
MILLI = "alibabacloud.com/gpu-milli"


NAMES = {"whole": GPU, "milli": MILLI, "cpu": "cpu"}


def pod(name: str, **requests: str) -> PodBuilder:
    return make_pod(name).req({NAMES[key]: value for key, value in requests.items()})


def table(*, cpu: str, gpus: dict[str, str], placed: PodBuilder | None = None) -> NodeTable:
    node = make_node("n").capacity({"cpu": cpu, "memory": "64Gi", "pods": "110", **gpus})
    return make_table(node, pods=[] if placed is None else [placed.node("n")])


@pytest.mark.parametrize(
    ("shapes", "cpu", "gpus", "placed", "expected"),
    [
        ([{"cpu": "1", "whole": "1"}], "8", {GPU: "4"}, None, 0.0),
        ([{"cpu": "9", "whole": "1"}], "8", {GPU: "4"}, None, 1.0),
        ([{"cpu": "1", "whole": "5"}], "8", {GPU: "4"}, None, 1.0),
        ([{"cpu": "1"}], "8", {GPU: "4"}, None, 1.0),
        ([{"cpu": "1"}, {"cpu": "1", "whole": "1"}], "8", {GPU: "4"}, None, 0.5),
        # 2.5 GPUs are free: a pod of whole ones cannot use the half, one of 600 thousandths neither, one of 500 can.
        ([{"cpu": "1", "milli": "2000"}], "8", {MILLI: "4000"}, "1500", 0.2),
        ([{"cpu": "1", "milli": "600"}], "8", {MILLI: "4000"}, "1500", 0.2),
        ([{"cpu": "1", "milli": "500"}], "8", {MILLI: "4000"}, "1500", 0.0),
    ],
)
def test_share_of_free_gpus_that_cannot_be_used(
    shapes: list[dict[str, str]], cpu: str, gpus: dict[str, str], placed: str | None, expected: float
) -> None:
    seen = Shapes()
    for number, requests in enumerate(shapes):
        seen.count(pod(f"p{number}", **requests).obj())
    there = None if placed is None else pod("there", milli=placed)

    assert seen.fragmentation(table(cpu=cpu, gpus=gpus, placed=there)) == pytest.approx(expected)


def test_nothing_is_fragmented_without_free_gpus() -> None:
    seen = Shapes()
    seen.count(pod("p", cpu="1").obj())

    assert seen.fragmentation(table(cpu="8", gpus={})) is None

"""NodeResourcesFit: the scoring strategies."""

from collections.abc import Sequence

import pytest

from schedlab.scheduler.config.args import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from schedlab.scheduler.plugins.node_resources.fit import ENTRY
from schedlab.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.scheduler.plugins.plugin_bench import PluginBench

POD = make_pod().req(cpu="1", memory="2Gi")
GPU = "example.com/gpu"
EMPTY = make_node("empty").capacity(cpu="4", memory="10Gi", pods="10")
HALF = make_node("half").capacity(cpu="4", memory="10Gi", pods="10")
FULL = make_node("full").capacity(cpu="1", memory="1Gi", pods="10")
NOTHING = make_node("nothing")
OTHERS = (make_pod("other").node("half").req(cpu="1", memory="3Gi"),)
CPU_AND_MEMORY = (("cpu", 1), ("memory", 1))


def strategy(
    kind: str, resources: Sequence[tuple[str, int]] = CPU_AND_MEMORY, shape: Sequence[tuple[int, int]] = ()
) -> NodeResourcesFitArgs:
    points = [UtilizationShapePoint(utilization=utilization, score=score) for utilization, score in shape]
    return NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy(
            type=kind,
            resources=[ResourceSpec(name=name, weight=weight) for name, weight in resources],
            requested_to_capacity_ratio=RequestedToCapacityRatioParam(shape=points) if points else None,
        )
    )


def scores(args: NodeResourcesFitArgs | None, pod: PodBuilder = POD, *nodes: NodeBuilder) -> list[int] | None:
    chosen = nodes or (EMPTY, HALF, FULL, NOTHING)
    placed = OTHERS if HALF in chosen else ()
    return PluginBench(ENTRY, *chosen, pods=placed, args=args).score(pod)


def test_least_allocated_is_the_default_and_prefers_free_nodes() -> None:
    """(75 + 80) / 2, (50 + 50) / 2, (0 + 0) / 2: what does not fit scores nothing."""
    assert scores(None) == scores(strategy("LeastAllocated")) == [77, 50, 0, 0]


def test_most_allocated_prefers_full_nodes() -> None:
    """Defaults may ask for more than there is; that counts as full."""
    assert scores(strategy("MostAllocated")) == [22, 50, 100, 0]


def test_weights_count() -> None:
    assert scores(strategy("LeastAllocated", [("cpu", 3), ("memory", 1)])) == [76, 50, 0, 0]


def test_pod_without_requests_counts_with_defaults() -> None:
    """100m of 4 and 200Mi of 10Gi are 97 and 98 percent free."""
    assert scores(None, make_pod(), EMPTY) == [97]
    assert scores(None, make_pod().resources({"cpu": "2"}), EMPTY) == [97]


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (POD, [77, 77]),
        (POD.req({GPU: "4"}), [50, 75]),
    ],
)
def test_extended_resource_counts_for_pods_that_ask_for_it(pod: PodBuilder, expected: list[int]) -> None:
    """A node without it is scored on the rest."""
    with_gpu = EMPTY.name("gpu").capacity({GPU: "4"})

    resources = (*CPU_AND_MEMORY, (GPU, 1))
    assert scores(strategy("LeastAllocated", resources), pod, with_gpu, EMPTY) == expected


def test_ephemeral_storage_counts_for_every_pod() -> None:
    node = EMPTY.name("disk").capacity({"ephemeral-storage": "100Gi"})

    assert scores(strategy("LeastAllocated", [("ephemeral-storage", 1)]), POD, node, EMPTY) == [100, 0]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ([(0, 0), (100, 10)], [23, 50, 100, 0]),
        ([(0, 10), (100, 0)], [78, 50, 0, 0]),
        ([(0, 5), (50, 0), (100, 5)], [28, 0, 50, 0]),
    ],
)
def test_requested_to_capacity_ratio_follows_its_shape(shape: list[tuple[int, int]], expected: list[int]) -> None:
    """The mean is rounded half up, and resources that score nothing do not dilute it."""
    assert scores(strategy("RequestedToCapacityRatio", shape=shape)) == expected


def test_resource_that_scores_nothing_is_left_out_of_the_mean() -> None:
    args = strategy("RequestedToCapacityRatio", shape=[(20, 0), (100, 10)])

    assert scores(args, POD, EMPTY) == [6]
    assert scores(args, make_pod().req(cpu="4", memory="1Gi"), EMPTY) == [100]


def test_a_resource_that_scores_one_counts() -> None:
    """Only what scores nothing is left out of the mean: (1 + 50) / 2 is not 50."""
    args = strategy("RequestedToCapacityRatio", shape=[(0, 0), (100, 10)])
    node = make_node("n").capacity(cpu="100", memory="4Gi", pods="10")

    assert scores(args, make_pod().req(cpu="1", memory="2Gi"), node) == [26]

"""NodeResourcesBalancedAllocation."""

import numpy as np
import pytest

from schedlab.scheduler.config.args import NodeResourcesBalancedAllocationArgs, ResourceSpec
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.plugins.node_resources.balanced_allocation import ENTRY
from schedlab.testing.builders import PodBuilder, make_node, make_pod
from tests.unit.scheduler.plugins.plugin_bench import DeviceClasses, PluginBench

POD = make_pod()
GPU = "example.com/gpu"
NODE = make_node("n").capacity({"cpu": "10", "memory": "10Gi", "pods": "10", GPU: "10"})


def args(*names: str) -> NodeResourcesBalancedAllocationArgs:
    return NodeResourcesBalancedAllocationArgs(resources=[ResourceSpec(name=name, weight=1) for name in names])


def used(**amounts: str) -> tuple[PodBuilder, ...]:
    return (make_pod("used").node("n").req(amounts),)


@pytest.mark.parametrize(
    ("there", "pod", "score"),
    [
        pytest.param((), POD.req(cpu="2", memory="2Gi"), 75, id="what stays in balance"),
        pytest.param((), POD.req(cpu="4"), 65, id="what brings it out: 80 after 100"),
        pytest.param(used(cpu="4"), POD.req(memory="4Gi"), 85, id="what brings it back: 100 after 80"),
        pytest.param(used(cpu="9", memory="9Gi"), POD.req(cpu="9", memory="9Gi"), 75, id="more than all is all"),
    ],
)
def test_score_tells_what_the_pod_does_to_the_balance(
    there: tuple[PodBuilder, ...], pod: PodBuilder, score: int
) -> None:
    assert PluginBench(ENTRY, NODE, pods=there).score(pod) == [score]


def test_more_than_two_resources_use_the_standard_deviation() -> None:
    """Of 40, 0 and 0 percent it is 0.1885: 81 after 100."""
    bench = PluginBench(ENTRY, NODE, args=args("cpu", "memory", GPU))

    assert bench.score(POD.req({"cpu": "4", GPU: "0"})) == [65]
    assert bench.score(POD.req({"cpu": "4", "memory": "1", GPU: "1"})) == [66]


def test_resource_that_a_node_lacks_is_left_out() -> None:
    """With one resource left there is nothing to balance."""
    bench = PluginBench(ENTRY, NODE, make_node("bare").capacity(cpu="10"), make_node("none"))

    assert bench.score(POD.req(cpu="4")) == [65, 75, 75]


def test_pod_that_asks_for_nothing_is_skipped() -> None:
    """It is not the defaults that count here."""
    assert PluginBench(ENTRY, NODE).score(POD) is None
    assert PluginBench(ENTRY, NODE).score(POD.req({GPU: "1"})) is None
    assert PluginBench(ENTRY, NODE).score(POD.req(cpu="0").resources({"cpu": "4"})) == [65]


def test_score_works_without_pre_score() -> None:
    bench = PluginBench(ENTRY, NODE)

    def both_forms(pod: PodBuilder) -> tuple[object, list[int]]:
        info = pod.obj()
        scores = bench.plugin.score_nodes(CycleState(), info, bench.table, np.arange(1))
        return bench.plugin.score(CycleState(), info, bench.table.infos[0]), scores.tolist()

    assert both_forms(POD.req(cpu="4")) == ((65, None), [65])
    assert both_forms(POD) == ((0, None), [0])


def test_requests_are_the_signature() -> None:
    bench = PluginBench(ENTRY, device_classes=DeviceClasses(GPU))

    assert bench.signature(POD.req(cpu="1")) != bench.signature(POD)
    assert "signature disabled" in bench.signature(POD.req({GPU: "1"}))

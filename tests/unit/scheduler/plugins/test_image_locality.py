"""ImageLocality."""

import pytest

from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.types import ImageState
from schedlab.scheduler.plugins.image_locality import ENTRY, normalized_image_name
from schedlab.testing.builders import PodBuilder, make_node, make_pod
from tests.unit.scheduler.plugins.plugin_bench import PluginBench

MI = 1024 * 1024
POD = make_pod()
BIG = make_node("big").image("r/big:1", "r/big@sha256:1", size=1000 * MI)
SMALL = make_node("small").image("r/small:latest", size=40 * MI)
BOTH = make_node("both").image("r/big:1", size=1000 * MI).image("r/small:latest", size=40 * MI)
EMPTY = make_node("empty")


@pytest.mark.parametrize(
    ("pod", "scores"),
    [
        pytest.param(POD.container("r/big:1"), [48, 0, 48, 0], id="an image on half of the nodes counts half its size"),
        pytest.param(POD.container("r/small"), [0, 0, 0, 0], id="small images are below what is scored"),
        pytest.param(POD.container("r/big:1").container("r/big:1"), [49, 0, 49, 0], id="each container counts"),
        pytest.param(POD.container("r/big:1").container("r/small"), [24, 0, 25, 0], id="the range grows with them"),
        pytest.param(POD.container("x").init_container("r/big:1"), [24, 0, 24, 0], id="init containers count"),
        pytest.param(POD.container("gone"), [0, 0, 0, 0], id="an image that is nowhere"),
        pytest.param(
            POD.container("x").set("spec.volumes", [{"name": "v", "image": {"reference": "r/big:1"}}]),
            [48, 0, 48, 0],
            id="image volumes count, but do not widen the range",
        ),
    ],
)
def test_nodes_with_the_images_score_higher(pod: PodBuilder, scores: list[int]) -> None:
    assert PluginBench(ENTRY, BIG, SMALL, BOTH, EMPTY).score(pod) == scores


def test_more_than_the_range_scores_100() -> None:
    assert PluginBench(ENTRY, make_node().image("a:1", size=5000 * MI)).score(POD.container("a:1")) == [100]


def test_images_are_followed_as_nodes_change() -> None:
    bench, pod = PluginBench(ENTRY, BIG, EMPTY), POD.container("r/big:1")
    table = bench.table
    assert bench.score(pod) == [48, 0]

    table.infos[1].image_states = {"r/big:1": ImageState(1000 * MI, 2)}
    table.set_node(table.infos[1])
    assert bench.score(pod) == [48, 100]
    table.infos[0].image_states = {}
    table.set_node(table.infos[0])
    assert bench.score(pod) == [0, 100]
    table.reorder([table.infos[1]])
    assert bench.score(pod) == [100]


def test_image_that_appears_later_is_seen() -> None:
    bench, pod = PluginBench(ENTRY, EMPTY), POD.container("r/big:1")
    assert bench.score(pod) == [0]

    bench.table.infos[0].image_states = {"r/big:1": ImageState(1000 * MI, 1)}
    bench.table.set_node(bench.table.infos[0])

    assert bench.score(pod) == [100]


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        ("a", "a:latest"),
        ("r:5000/a", "r:5000/a:latest"),
        ("r:5000/a:1", "r:5000/a:1"),
        ("a@sha256:0", "a@sha256:0"),
    ],
)
def test_name_without_tag_means_latest(name: str, normalized: str) -> None:
    assert normalized_image_name(name) == normalized


def test_image_names_are_the_signature() -> None:
    bench = PluginBench(ENTRY)
    pod = POD.container("b:1").init_container("a")

    assert bench.signature(pod)[0][1] == ("a:latest", "b:1")
    assert bench.signature(pod) == bench.signature(POD.container("a").container("b:1").container("a:latest"))


def test_rows_are_scored_in_the_order_given() -> None:
    bench = PluginBench(ENTRY, BIG, EMPTY)
    info = POD.container("r/big:1").obj()

    assert bench.plugin.score_nodes(CycleState(), info, bench.table, bench.table.pod_count[:0]).tolist() == []

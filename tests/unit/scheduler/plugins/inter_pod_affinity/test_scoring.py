"""InterPodAffinity as a score: preferred terms of both sides, required ones of pods on nodes, normalisation."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from schedlab.scheduler.config.args import InterPodAffinityArgs
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from schedlab.scheduler.plugins.inter_pod_affinity.scoring import normalize
from tests.unit.scheduler.plugins.little_cluster import (
    LittleCluster,
    final_scores,
    make_node,
    make_pod,
    raw_scores,
)

WEB, DB = {"app": "web"}, {"app": "db"}


def preferred(kind: str, weight: int, labels: Mapping[str, str], key: str = "zone", **more: Any) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}, **more}
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": term}]}}


def likes(weight: int, labels: Mapping[str, str], **more: Any) -> dict[str, Any]:
    return preferred("podAffinity", weight, labels, **more)


def dislikes(weight: int, labels: Mapping[str, str], **more: Any) -> dict[str, Any]:
    return preferred("podAntiAffinity", weight, labels, **more)


def requires(labels: Mapping[str, str]) -> dict[str, Any]:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": labels}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def zones(*pods: PodInfo) -> LittleCluster:
    nodes = [make_node("a1", {"zone": "a"}), make_node("b1", {"zone": "b"}), make_node("x1")]
    cluster = LittleCluster(nodes, pods)
    cluster.put_namespace("default", team="green")
    cluster.put_namespace("red", team="red")
    return cluster


def scored(cluster: LittleCluster, pod: PodInfo, *, hard: int = 1, ignore: bool = False) -> dict[str, int] | None:
    args = InterPodAffinityArgs(hard_pod_affinity_weight=hard, ignore_preferred_terms_of_existing_pods=ignore)
    return raw_scores(InterPodAffinity(args, cluster.handle), cluster, pod)


@pytest.mark.parametrize(
    ("placed", "affinity", "expected"),
    [
        pytest.param(make_pod("e", DB), likes(5, DB), {"a1": 5, "b1": 0, "x1": 0}, id="the pod likes it"),
        pytest.param(make_pod("e", DB), dislikes(5, DB), {"a1": -5, "b1": 0, "x1": 0}, id="the pod dislikes it"),
        pytest.param(make_pod("e", affinity=likes(5, WEB)), {}, {"a1": 5, "b1": 0, "x1": 0}, id="it likes the pod"),
        pytest.param(
            make_pod("e", affinity=dislikes(5, WEB)), {}, {"a1": -5, "b1": 0, "x1": 0}, id="it dislikes the pod"
        ),
        pytest.param(make_pod("e", affinity=requires(WEB)), {}, {"a1": 7, "b1": 0, "x1": 0}, id="it requires the pod"),
        pytest.param(
            make_pod("e", DB, affinity=likes(5, WEB)),
            likes(3, DB),
            {"a1": 8, "b1": 0, "x1": 0},
            id="they like each other",
        ),
        pytest.param(
            make_pod("e", DB, affinity=dislikes(3, WEB)),
            likes(3, DB),
            {"a1": 0, "b1": 0, "x1": 0},
            id="weights that add up to 0 still count",
        ),
        pytest.param(make_pod("e", WEB), likes(5, DB), None, id="nobody is meant"),
        pytest.param(make_pod("e", affinity=likes(5, DB)), {}, None, id="another pod is meant"),
        pytest.param(make_pod("e", DB), likes(5, DB, key="rack"), None, id="no node has the key"),
        pytest.param(
            make_pod("e", DB, namespace="red"),
            likes(5, DB, namespaceSelector={"matchLabels": {"team": "red"}}),
            {"a1": 5, "b1": 0, "x1": 0},
            id="namespaces are looked up",
        ),
        pytest.param(
            make_pod(
                "e", namespace="red", affinity=likes(5, WEB, namespaceSelector={"matchLabels": {"team": "green"}})
            ),
            {},
            {"a1": 5, "b1": 0, "x1": 0},
            id="from either side",
        ),
    ],
)
def test_raw_scores(placed: PodInfo, affinity: dict[str, Any], expected: dict[str, int] | None) -> None:
    """A domain is worth the weights of all terms that meet there, of the pod and of those on its nodes."""
    cluster = zones(placed.on_node("a1"))

    assert scored(cluster, make_pod("p", WEB, affinity=affinity), hard=7) == expected


def test_every_pod_counts() -> None:
    """Weights add up over pods and topology keys."""
    placed = [make_pod(f"e{number}", DB, node=node) for number, node in enumerate(("a1", "a1", "b1"))]
    terms = likes(2, DB)["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    terms += likes(3, DB, key="kubernetes.io/hostname")["podAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}

    assert scored(zones(*placed), make_pod("p", affinity=affinity)) == {"a1": 10, "b1": 5, "x1": 0}


def test_required_affinity_of_others_can_weigh_nothing() -> None:
    """With a hard weight of 0 it is not looked at."""
    assert scored(zones(make_pod("e", node="a1", affinity=requires(WEB))), make_pod("p", WEB), hard=0) is None


def test_preferences_of_others_can_be_ignored() -> None:
    """Then they count only for pods that have preferences of their own."""
    cluster = zones(make_pod("e", node="a1", affinity=likes(5, WEB)))

    assert scored(cluster, make_pod("p", WEB), ignore=True) is None
    assert scored(cluster, make_pod("p", WEB, affinity=likes(1, DB)), ignore=True) == {"a1": 5, "b1": 0, "x1": 0}


def test_normalised_scores_span_0_to_100() -> None:
    """The lowest raw score becomes 0, the highest 100, the rest in between, cut."""
    placed = [make_pod(f"e{number}", DB, node=node) for number, node in enumerate(("a1", "a1", "a1", "b1"))]
    cluster = zones(*placed)
    args = InterPodAffinityArgs(hard_pod_affinity_weight=1)

    found = final_scores(InterPodAffinity(args, cluster.handle), cluster, make_pod("p", affinity=likes(1, DB)))

    assert found == {"a1": 100, "b1": 33, "x1": 0}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([4, 4], [0, 0]), ([-3, -1, 0], [0, 66, 100]), ([0, 29, 100], [0, 28, 100])],
    ids=["all equal", "negative", "as the double says: 100 * 0.29 is a little less than 29"],
)
def test_normalize(scores: list[int], expected: list[int]) -> None:
    array = np.array(scores, np.int64)
    normalize(array)

    assert array.tolist() == expected

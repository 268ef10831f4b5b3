"""Scores that the recorded cases do not come to: each is worked out in the case's comment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from schedlab.testing.builders import PodBuilder, make_node, make_pod
from tests.parity.written import objects
from tests.parity.written.building import Json, Profile, Step, apply, case, changes, chosen, only

_GPU: Final = "example.com/gpu"
_STORAGE: Final = "ephemeral-storage"
_HOSTNAME: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"
_WEB: Final = {"app": "web"}


def cases() -> Iterator[Json]:
    """The cases."""
    yield from _ratio()
    yield from _allocated()
    yield from _balanced()
    yield from _without_pre_score()
    yield from _spread()
    yield from _nothing()
    yield from _images()


def _of(plugin: str, **scores: int) -> dict[str, dict[str, int]]:
    return {node: {plugin: score} for node, score in scores.items()}


def _nodes(**capacities: Mapping[str, str]) -> list[Json]:
    return [make_node(name).capacity(amounts).dict() for name, amounts in capacities.items()]


# --- NodeResourcesFit: strategies ---


def _fit(strategy: str, *resources: tuple[str, int], **more: Any) -> Profile:
    weighed = [{"name": name, "weight": weight} for name, weight in resources]
    return only("NodeResourcesFit", scoringStrategy={"type": strategy, "resources": weighed, **more})


def _fit_case(
    name: str, function: str, profile: Profile, pod: PodBuilder, nodes: list[Json], selected: str, **raw: int
) -> Json:
    steps = [chosen(pod, profile, _of("NodeResourcesFit", **raw), selected=selected)]
    return case(f"fit-{name}", f"noderesources/{function}", nodes, steps, profile=profile, nodes=tuple(raw))


def _ratio() -> Iterator[Json]:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    profile = _fit("RequestedToCapacityRatio", ("cpu", 1), ("memory", 1), requestedToCapacityRatio={"shape": shape})
    function = "requested_to_capacity_ratio.go: buildRequestedToCapacityRatioScorerFunction"
    # n1: cpu 100m of 10 is 1 %, memory 0.5 % which is 0 and does not count: 1. n2: both 0: 0.
    # n3: cpu 100m of 1 is 10 %, memory 512Mi of 10Gi is 5 %: 7.5, rounded up. n4: 10 % and 0.
    yield _fit_case(
        "ratio-little",
        f"{function}: a resource that scores nothing does not count; halves are rounded up",
        profile,
        make_pod("p").req(cpu="100m", memory="512Mi"),
        _nodes(
            n1={"cpu": "10", "memory": "100Gi"},
            n2={"cpu": "32", "memory": "100Gi"},
            n3={"cpu": "1", "memory": "10Gi"},
            n4={"cpu": "1", "memory": "100Gi"},
        ),
        "n4",
        n1=1,
        n2=0,
        n3=8,
        n4=10,
    )
    # Weights 3 and 1. n1: cpu 50 %, memory 10 %: (150 + 10) / 4 = 40. n2: cpu 100 %, no memory: 100.
    # n3: cpu 25 %, memory 100 %: 43.75, rounded up.
    yield _fit_case(
        "ratio-weights",
        f"{function}: weights, a resource that a node does not have, more than there is",
        _fit("RequestedToCapacityRatio", ("cpu", 3), ("memory", 1), requestedToCapacityRatio={"shape": shape}),
        make_pod("p").req(cpu="1"),
        # The default for a pod without a request is 200 MB, 209715200 bytes.
        _nodes(
            n1={"cpu": "2", "memory": "2097152000"},
            n2={"cpu": "1"},
            n3={"cpu": "4", "memory": "100Mi"},
        ),
        "n2",
        n1=40,
        n2=100,
        n3=44,
    )


def _allocated() -> Iterator[Json]:
    least, most = "least_allocated.go: leastRequestedScore", "most_allocated.go: mostRequestedScore"
    gpus = _nodes(n1={_GPU: "1"}, n2={_GPU: "2"}, n3={_GPU: "4"}, n4={_GPU: "3"})
    pod = make_pod("p").req({_GPU: "1"})
    # Free with the pod: none of 1, 1 of 2, 3 of 4, 2 of 3 which is 66.6.
    yield _fit_case(
        "least-gpu",
        f"{least}: nothing is left of one",
        _fit("LeastAllocated", (_GPU, 1)),
        pod,
        gpus,
        "n3",
        n1=0,
        n2=50,
        n3=75,
        n4=66,
    )
    yield _fit_case(
        "most-gpu",
        f"{most}: one of one is all",
        _fit("MostAllocated", (_GPU, 1)),
        pod,
        gpus,
        "n1",
        n1=100,
        n2=50,
        n3=25,
        n4=33,
    )
    yield from _overcommitted()
    yield from _weighed()


def _overcommitted() -> Iterator[Json]:
    least, most = "least_allocated.go: leastRequestedScore", "most_allocated.go: mostRequestedScore"
    # n1: its one byte is free. n2: has none, nothing counts.
    yield _fit_case(
        "least-byte",
        f"{least}: the smallest capacity there is, and none",
        _fit("LeastAllocated", (_STORAGE, 1)),
        make_pod("p"),
        _nodes(n1={_STORAGE: "1"}, n2={}),
        "n1",
        n1=100,
        n2=0,
    )
    # A pod without requests counts as 100m of cpu. n1 has half of that, n2 all of it, n3 four times as much.
    small = _nodes(n1={"cpu": "50m"}, n2={"cpu": "100m"}, n3={"cpu": "400m"})
    yield _fit_case(
        "least-overcommitted",
        f"{least}: more is asked for than there is",
        _fit("LeastAllocated", ("cpu", 1)),
        make_pod("p"),
        small,
        "n3",
        n1=0,
        n2=0,
        n3=75,
    )
    yield _fit_case(
        "most-overcommitted",
        f"{most}: more is asked for than there is",
        _fit("MostAllocated", ("cpu", 1)),
        make_pod("p"),
        small,
        "n1",
        n1=100,
        n2=100,
        n3=25,
    )


def _weighed() -> Iterator[Json]:
    # Weights 3 and 2. n1: cpu 3 of 4 free, 75; memory 1 of 2 free, 50: (225 + 100) / 5. n2: (50 * 3 + 75 * 2) / 5.
    yield _fit_case(
        "least-weights",
        "least_allocated.go: leastResourceScorer: only what a node has counts, with its weight",
        _fit("LeastAllocated", ("cpu", 3), ("memory", 2)),
        make_pod("p").req(cpu="1", memory="1Gi"),
        _nodes(n1={"cpu": "4", "memory": "2Gi"}, n2={"cpu": "2", "memory": "4Gi"}),
        "n1",
        n1=65,
        n2=60,
    )
    yield _fit_case(
        "most-weights",
        "most_allocated.go: mostResourceScorer: only what a node has counts, with its weight",
        _fit("MostAllocated", ("cpu", 3), (_STORAGE, 2)),
        make_pod("p").req({_STORAGE: "1Gi"}, cpu="1"),
        # n1: (25 * 3 + 50 * 2) / 5. n2: (50 * 3 + 25 * 2) / 5.
        _nodes(n1={"cpu": "4", _STORAGE: "2Gi"}, n2={"cpu": "2", _STORAGE: "4Gi"}),
        "n2",
        n1=35,
        n2=40,
    )


# --- NodeResourcesBalancedAllocation ---

_BALANCE: Final = "NodeResourcesBalancedAllocation"


def _balanced() -> Iterator[Json]:
    resources = [{"name": name, "weight": 1} for name in ("cpu", "memory", _GPU)]
    profile = only(_BALANCE, resources=resources)
    # n1: 1/2, 1/4, 1: mean 0.5833, deviation 0.3118: 68 with the pod, 100 without: 50 + (50 - 32) // 2.
    # n2: 1/2, 1/4: deviation 0.125: 87 with the pod: 50 + (50 - 13) // 2.
    # n3: one fraction deviates from nothing: 50 + 50 // 2.
    # n4: cpu 3/4 and memory 1/4 without the pod, deviation 0.25: 75; with it 1 (not more) and 1/2: 75.
    # Of n3 and n4 the heap has n4 at its root.
    yield case(
        "balance-three",
        "noderesources/balanced_allocation.go: balancedResourceScorer: three resources, two, one",
        [
            *_nodes(
                n1={"cpu": "4", "memory": "4Gi", _GPU: "4"},
                n2={"cpu": "4", "memory": "4Gi"},
                n3={"cpu": "4"},
                n4={"cpu": "4", "memory": "4Gi"},
            ),
            make_pod("x").req(cpu="3", memory="1Gi").node("n4").dict(),
        ],
        [
            chosen(
                make_pod("p").req({_GPU: "4"}, cpu="2", memory="1Gi"),
                profile,
                _of(_BALANCE, n1=59, n2=68, n3=75, n4=75),
                selected="n4",
                skips=("preFilter",),
            )
        ],
        profile=profile,
        nodes=("n1", "n2", "n3", "n4"),
    )

    # In floating point (1 - 0.34) * 100 is a little less than 66: 65, and 50 + (50 - 35) // 2. n2: 0.17, which gives 83.
    two = only(_BALANCE)
    yield case(
        "balance-truncated",
        "noderesources/balanced_allocation.go: balancedResourceScorer: the product is cut off, not rounded",
        _nodes(n1={"cpu": "1", "memory": "4Gi"}, n2={"cpu": "2", "memory": "4Gi"}),
        [
            chosen(
                make_pod("p").req(cpu="680m"),
                two,
                _of(_BALANCE, n1=57, n2=66),
                selected="n2",
                skips=("preFilter",),
            )
        ],
        profile=two,
        nodes=("n1", "n2"),
    )


# --- Without what PreScore finds ---


def _without_pre_score() -> Iterator[Json]:
    function = "balanced_allocation.go: Score: what PreScore would have found is found now"
    profile = only(_BALANCE, "preScore")
    nodes = _nodes(n1={"cpu": "4", "memory": "4Gi"}, n2={"cpu": "2", "memory": "4Gi"})
    # n1: 1/2 and 1/2. n2: 1 and 1/2, deviation 0.25: 50 + (50 + 75 - 100) // 2.
    yield case(
        "balance-without-pre-score",
        f"noderesources/{function}",
        nodes,
        [
            chosen(make_pod("p").req(cpu="2", memory="2Gi"), profile, _of(_BALANCE, n1=75, n2=62), selected="n1"),
            chosen(make_pod("nothing"), profile, _of(_BALANCE, n1=0, n2=0), selected="n1"),
        ],
        profile=profile,
        nodes=("n1", "n2"),
    )
    resources = [{"name": "cpu", "weight": 1}]
    fit = only("NodeResourcesFit", "preScore", scoringStrategy={"type": "LeastAllocated", "resources": resources})
    yield case(
        "fit-without-pre-score",
        "noderesources/fit.go: Score: what PreScore would have found is found now",
        nodes,
        [chosen(make_pod("p").req(cpu="1"), fit, _of("NodeResourcesFit", n1=75, n2=50), selected="n1")],
        profile=fit,
        nodes=("n1", "n2"),
    )
    terms = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    affinity = only("NodeAffinity", "preScore")
    raw, final = _of("NodeAffinity", n1=0, n2=7), _of("NodeAffinity", n1=0, n2=100)
    yield case(
        "node-affinity-without-pre-score",
        "nodeaffinity/node_affinity.go: Score: what PreScore would have found is found now",
        [make_node("n1").dict(), make_node("n2").label("disk", "ssd").dict()],
        [
            chosen(
                make_pod("p").preferred_node_affinity(7, terms),
                affinity,
                raw,
                final=final,
                selected="n2",
                skips=("preFilter",),
            )
        ],
        profile=affinity,
        nodes=("n1", "n2"),
    )


# --- PodTopologySpread ---


_SPREADING: Final = "podtopologyspread/scoring.go"


def _spread() -> Iterator[Json]:
    profile, skips = only("PodTopologySpread"), ("preFilter",)
    # A selector without terms selects all pods, yet counts none: maxSkew - 1, everywhere.
    yield case(
        "spread-all-pods",
        f"{_SPREADING}: Score, common.go: countPodsMatchSelector: an empty selector counts no pods of a host",
        [make_node("n1").dict(), make_node("n2").dict(), make_pod("x").node("n1").dict()],
        [
            chosen(
                make_pod("p").spread_constraint(2, _HOSTNAME, {}, when_unsatisfiable="ScheduleAnyway"),
                profile,
                _of("PodTopologySpread", n1=1, n2=1),
                final=_of("PodTopologySpread", n1=100, n2=100),
                selected="n1",
                skips=skips,
            )
        ],
        profile=profile,
        nodes=("n1", "n2"),
    )
    yield from _spread_by_default(profile, skips)


def _spread_by_default(profile: Profile, skips: Sequence[str]) -> Iterator[Json]:
    # Two hosts weigh log(4) = 1.386 a pod, one zone log(3) = 1.099. n1, whose zone is "", as is that of n2 without
    # one: (1.386 + 2) + (2 * 1.099 + 4) = 9.58. n2: 1.386 + 2 = 3.39, and no zone.
    yield case(
        "spread-no-zone",
        f"{_SPREADING}: PreScore, Score: by default a node without the label counts for the empty value, but gets no score",
        [
            objects.service("web", _WEB),
            make_node("n1").label(_ZONE, "").dict(),
            make_node("n2").dict(),
            make_pod("x").labels(_WEB).node("n1").dict(),
            make_pod("y").labels(_WEB).node("n2").dict(),
        ],
        [
            chosen(
                make_pod("p").labels(_WEB),
                profile,
                _of("PodTopologySpread", n1=10, n2=3),
                final=_of("PodTopologySpread", n1=30, n2=100),
                selected="n2",
                skips=skips,
            )
        ],
        profile=profile,
        nodes=("n1", "n2"),
    )

    # Two zones, "za" and "", weigh log(4) = 1.386, as two hosts do. n1: (2 * 1.386 + 2) + (2 * 1.386 + 4) = 11.55.
    # n2: (0 + 2) + (0 + 4) = 6.
    yield case(
        "spread-empty-zone",
        f"{_SPREADING}: PreScore: the empty value is a domain like others",
        [
            objects.service("web", _WEB),
            make_node("n1").label(_ZONE, "za").dict(),
            make_node("n2").label(_ZONE, "").dict(),
            *(make_pod(name).labels(_WEB).node("n1").dict() for name in ("x", "y")),
        ],
        [
            chosen(
                make_pod("p").labels(_WEB),
                profile,
                _of("PodTopologySpread", n1=12, n2=6),
                final=_of("PodTopologySpread", n1=50, n2=100),
                selected="n2",
                skips=skips,
            )
        ],
        profile=profile,
        nodes=("n1", "n2"),
    )


# --- Plugins that have nothing to score ---


def _nothing() -> Iterator[Json]:
    nodes, plugin = [make_node("n1").dict(), make_node("n2").dict()], "DynamicResources"
    devices = only(plugin)
    yield case(
        "devices-without-alternatives",
        "dynamicresources/dynamicresources.go: Score: nothing without DRAPrioritizedList",
        nodes,
        [chosen(make_pod("p"), devices, _of(plugin, n1=0, n2=0), selected="n1", skips=("preFilter",))],
        profile=devices,
        nodes=("n1", "n2"),
        gates={"DRAPrioritizedList": False},
    )
    plugin = "VolumeBinding"
    unscored, unfiltered, scored = only(plugin, "preScore"), only(plugin, "filter"), only(plugin)
    storage = [objects.storage_class(), objects.volume("v"), objects.claim("c", volume="v")]
    file, raw = "volumebinding/volume_binding.go: Score", _of(plugin, n1=0, n2=0)
    for name, words, profile, gates in (
        ("ungated", "nothing without StorageCapacityScoring", unscored, {}),
        ("unfiltered", "nothing is known of any node", unfiltered, {"StorageCapacityScoring": True}),
        ("bound", "a claim that has its volume is not rated", scored, {"StorageCapacityScoring": True}),
    ):
        yield case(
            f"volumes-{name}",
            f"{file}: {words}",
            [*nodes, *storage],
            [chosen(make_pod("p").claim("c"), profile, raw, selected="n1")],
            profile=profile,
            nodes=("n1", "n2"),
            gates=gates,
        )


# --- ImageLocality ---


def _images() -> Iterator[Json]:
    profile, plugin = only("ImageLocality"), "ImageLocality"
    image = "registry.example/big:1"

    def asks(name: str, node: str, **raw: int) -> Step:
        return chosen(make_pod(name).container(image), profile, _of(plugin, **raw), selected=node)

    def node(*sizes: int) -> Json:
        made = make_node("n2")
        for size in sizes:
            made = made.image(image, size=size)
        return apply(made.dict())

    mib = 1024 * 1024
    # Half of the nodes have it: half of the size counts, between 23 MiB and 1000 MiB.
    # 500 MiB: 100 * (250 - 23) / 977 = 23.2; 1000 MiB: 100 * (500 - 23) / 977 = 48.8; 46 MiB: 0.
    yield case(
        "images-change",
        "imagelocality/image_locality.go: Score: an image comes to a node, has another size, and goes",
        [make_node("n1").dict(), make_node("n2").dict()],
        [
            asks("p1", "n1", n1=0, n2=0),
            changes(node(500 * mib), "n1", "n2"),
            asks("p2", "n2", n1=0, n2=23),
            changes(node(1000 * mib), "n1", "n2"),
            asks("p3", "n2", n1=0, n2=48),
            changes(node(46 * mib), "n1", "n2"),
            asks("p4", "n1", n1=0, n2=0),
            changes(node(48 * mib + 2 * 20 * mib), "n1", "n2"),
            # 100 * (44 - 23) / 977 = 2.1
            asks("p5", "n2", n1=0, n2=2),
            changes(node(), "n1", "n2"),
            asks("p6", "n1", n1=0, n2=0),
        ],
        profile=profile,
        nodes=("n1", "n2"),
    )

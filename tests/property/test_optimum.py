"""Bounds: what no scheduler can beat, no scheduler beats; and what is said to be best, trying everything finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedlab import Cluster
from schedlab.testing import make_node, make_pod
from tests.support.configurations import PACKING

pytest.importorskip("ortools")

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


@dataclass(frozen=True)
class Machine:
    """A node: cores, GPUs, zone, and whether it has a taint."""

    cpu: int
    gpu: int
    pods: int
    zone: str
    tainted: bool


@dataclass(frozen=True)
class Kind:
    """Pods: what they ask for, and what they demand of others of their kind (`apart`, `spread`: a topology key)."""

    cpu: int
    gpu: int
    port: int
    tolerates: bool
    zone: str
    apart: str
    spread: str
    count: int


MACHINES = st.lists(
    st.builds(
        Machine,
        st.integers(1, 4),
        st.integers(0, 2),
        st.integers(1, 4),
        st.sampled_from("ab"),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)
KINDS = st.lists(
    st.builds(
        Kind,
        st.integers(0, 3),
        st.sampled_from((0, 0, 1)),
        st.sampled_from((0, 0, 0, 80)),
        st.booleans(),
        st.sampled_from(("", "", "a")),
        st.sampled_from(("", "", HOST, ZONE)),
        st.sampled_from(("", "", HOST, ZONE)),
        st.integers(1, 2),
    ),
    min_size=1,
    max_size=3,
)


def cluster_of(machines: Sequence[Machine], kinds: Sequence[Kind], config: dict[str, object] | None) -> Cluster:
    cluster = Cluster(config=config)
    for number, one in enumerate(machines):
        amounts = {"cpu": str(one.cpu), "example.com/gpu": str(one.gpu), "pods": str(one.pods)}
        node = make_node(f"n{number}").zone(one.zone).capacity(amounts)
        cluster.apply(node.taint("dedicated") if one.tainted else node)
    for number, kind in enumerate(kinds):
        for copy in range(kind.count):
            pod = make_pod(f"p{number}-{copy}").label("kind", str(number))
            pod = pod.req({"cpu": str(kind.cpu), **({"example.com/gpu": str(kind.gpu)} if kind.gpu else {})})
            if kind.port:
                pod = pod.host_port(kind.port)
            if kind.tolerates:
                pod = pod.toleration("dedicated", operator="Exists")
            if kind.zone:
                pod = pod.node_selector({ZONE: kind.zone})
            if kind.apart:
                pod = pod.pod_anti_affinity(kind.apart, {"kind": str(number)})
            if kind.spread:
                pod = pod.spread_constraint(1, kind.spread, {"kind": str(number)})
            cluster.apply(pod)
    cluster.run("1m")
    return cluster


def fits(machines: Sequence[Machine], kinds: Sequence[Kind], places: Sequence[tuple[int, int]]) -> bool:
    """Whether pods of kinds can be on machines together: (kind, machine) of each."""
    for number, machine in enumerate(machines):
        here = [kinds[kind] for kind, at in places if at == number]
        ports = [kind.port for kind in here if kind.port]
        if sum(kind.cpu for kind in here) > machine.cpu or sum(kind.gpu for kind in here) > machine.gpu:
            return False
        if len(here) > machine.pods or len(ports) != len(set(ports)):
            return False
        if any((machine.tainted and not kind.tolerates) or kind.zone not in ("", machine.zone) for kind in here):
            return False
    return all(_keeps(machines, kind, [at for one, at in places if one == place]) for place, kind in enumerate(kinds))


def _keeps(machines: Sequence[Machine], kind: Kind, rows: Sequence[int]) -> bool:
    apart = Counter(_domain(machines, kind.apart, row) for row in rows)
    if kind.apart and any(count > 1 for count in apart.values()):
        return False
    counted = [row for row, machine in enumerate(machines) if kind.zone in ("", machine.zone)]
    counts = dict.fromkeys((_domain(machines, kind.spread, row) for row in counted), 0)
    for row in rows:
        counts[_domain(machines, kind.spread, row)] += 1
    return not kind.spread or not counts or max(counts.values()) - min(counts.values()) <= 1


def _domain(machines: Sequence[Machine], key: str, row: int) -> str:
    return machines[row].zone if key == ZONE else str(row)


def placements(
    machines: Sequence[Machine], kinds: Sequence[Kind], pods: Sequence[int], places: tuple[tuple[int, int], ...] = ()
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield every way to leave pods (kinds) out or to put them on machines, whatever the others do."""
    if len(places) == len(pods):
        yield places
        return
    for row in range(-1, len(machines)):
        yield from placements(machines, kinds, pods, (*places, (pods[len(places)], row)))


@settings(max_examples=60)
@given(machines=MACHINES, kinds=KINDS)
def test_the_bound_is_what_trying_everything_finds(machines: list[Machine], kinds: list[Kind]) -> None:
    for config in (None, PACKING):
        cluster = cluster_of(machines, kinds, config)
        found = {goal: cluster.bound(goal) for goal in ("nodes", "pods")}
        rows = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in cluster.objects("pods")}
        on = [int(name[1]) for name, node in rows.items() if node]
        every = [
            tuple(one for one in all_ if one[1] >= 0) for all_ in placements(machines, kinds, [int(n[1]) for n in rows])
        ]
        good = [places for places in every if fits(machines, kinds, places)]

        assert found["pods"].left_out == found["nodes"].left_out == []
        assert found["pods"].bound == found["pods"].best == max(map(len, good))
        assert found["pods"].achieved == len(on) <= found["pods"].bound
        same = [places for places in good if Counter(kind for kind, _ in places) == Counter(on)]
        assert found["nodes"].bound == found["nodes"].best == min(len({row for _, row in places}) for places in same)
        assert found["nodes"].achieved == len({node for node in rows.values() if node}) >= found["nodes"].bound
        for one in found.values():
            chosen = [(int(pod.partition("/")[2][1]), int(node[1:])) for pod, node in one.placement.items()]
            assert fits(machines, kinds, chosen)

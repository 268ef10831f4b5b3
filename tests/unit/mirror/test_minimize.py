"""Minimising: what is left decides the same, and nothing of it can be left out."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.minimize import Minimizer

POD = ("default", "p")


def _node(name: str, cpu: str = "4", **labels: str) -> dict[str, Any]:
    capacity = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def _pod(name: str, node: str = "", cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {"containers": [container], **({"nodeName": node} if node else {}), **spec},
    }


def _names(objects: list[dict[str, Any]]) -> list[str]:
    return [obj["metadata"]["name"] for obj in objects]


def test_a_pod_without_room_needs_the_node_and_what_fills_it() -> None:
    objects = [
        *(_node(f"n-{number}", cpu="1") for number in range(20)),
        _node("full", zone="a"),
        *(_pod(f"other-{number}", "full", cpu="10m") for number in range(20)),
        _pod("filler", "full", cpu="3"),
        _pod("p", cpu="2", nodeSelector={"zone": "a"}),
    ]
    minimizer = Minimizer(objects, POD)
    small = minimizer.run()

    assert "Insufficient cpu" in minimizer.decision.reasons
    assert {"full", "filler", "p"} <= set(_names(small))
    # One node more that is no match keeps the other reason.
    assert len(small) == 4


def test_a_pod_that_found_a_node_needs_that_node_alone() -> None:
    objects = [*(_node(f"n-{number}") for number in range(9)), _node("big", cpu="64"), _pod("p", "big", cpu="32")]
    small = Minimizer(objects, POD).run()

    assert _names(small) == ["big", "p"]


def test_what_is_left_cannot_be_made_smaller() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "enemy"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    objects = [
        _node("n-0"),
        _node("n-1"),
        _pod("enemy", "n-0"),
        _pod("friend", "n-1"),
        _pod("p", affinity=affinity, nodeSelector={"kubernetes.io/hostname": "n-0"}),
    ]
    minimizer = Minimizer(objects, POD)
    small = minimizer.run()

    for left_out in small[:-1]:
        fewer = [obj for obj in small if obj is not left_out]
        assert Minimizer(fewer, POD).decision != minimizer.decision


def test_a_pod_that_is_not_there_is_told() -> None:
    with pytest.raises(SchedlabError, match="there is no pod default/p"):
        Minimizer([_node("n")], POD)


def test_a_pod_that_is_held_back_is_told() -> None:
    with pytest.raises(SchedlabError, match="held back"):
        Minimizer([_node("n"), _pod("p", schedulingGates=[{"name": "example.com/gate"}])], POD)

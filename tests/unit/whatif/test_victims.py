"""What becomes of pods that make room is part of what it costs to let them."""

from __future__ import annotations

import pytest

from schedlab.whatif.search.edits import Suggestion
from schedlab.whatif.search.victims import Victims
from tests.unit.whatif.test_help import help_for, kinds, of_kind
from tests.unit.whatif.whatif_cluster import Json, Lab


def crowded(*, cpu: str, replicas: int, selector: Json | None = None, scheduler: str = "default-scheduler") -> Lab:
    """A node with pods of a ReplicaSet, and another one; `selector` and `scheduler` are theirs."""
    lab = Lab()
    lab.node("full", labels={"disk": "ssd"})
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    pod = {"containers": [container], "nodeSelector": selector or {}, "schedulerName": scheduler}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    lab.create("replicasets.apps", {"metadata": {"name": "web"}, "spec": spec}, "default")
    lab.settle()
    return lab


def evicting(lab: Lab) -> tuple[Suggestion, bool]:
    """The eviction that helps a pod that only the full node may take, and whether one more node asks for less."""
    lab.pod("p", cpu="2", nodeSelector={"disk": "ssd"})
    found = help_for(lab)
    order = kinds(found)
    return of_kind(found, "evict"), order.index("new-node") < order.index("evict")


def test_one_that_then_waits_is_dearer_than_one_more_node() -> None:
    suggestion, is_dear = evicting(crowded(cpu="2", replicas=2, selector={"disk": "ssd"}))
    (key,) = suggestion.edits[0].details["pods"]

    assert suggestion.summary == f"evict {key}, which then waits for a node"
    assert suggestion.edits[0].details == {"pods": [key], "waiting": [key], "gone": []}
    assert (suggestion.cost, is_dear) == (110, True)


def test_one_that_runs_elsewhere_is_cheaper() -> None:
    lab = crowded(cpu="2", replicas=2)
    lab.node("other")
    suggestion, is_dear = evicting(lab)
    (key,) = suggestion.edits[0].details["pods"]

    assert suggestion.summary == f"evict {key}"
    assert (suggestion.cost, is_dear) == (80, False)


def test_of_one_that_another_scheduler_places_nothing_is_said() -> None:
    lab = crowded(cpu="3", replicas=1, scheduler="another")
    registry = lab.cluster.registry
    for pod in registry.list("pods", "default").items:
        binding = {"metadata": {"name": pod.name}, "target": {"kind": "Node", "name": "full"}}
        registry.bind(pod.name, registry.decode("pods", binding, "binding"), "default")
    lab.settle()
    suggestion, _ = evicting(lab)
    (key,) = suggestion.edits[0].details["pods"]

    assert suggestion.summary == f"evict {key}"
    assert suggestion.edits[0].details == {"pods": [key], "waiting": [], "gone": []}


def test_two_that_fit_elsewhere_only_one_by_one() -> None:
    lab = crowded(cpu="1", replicas=4)
    lab.node("other", cpu="1")
    suggestion, is_dear = evicting(lab)

    assert (len(suggestion.edits[0].details["pods"]), len(suggestion.edits[0].details["waiting"])) == (2, 1)
    assert (suggestion.cost, is_dear) == (120, True)


def test_one_that_runs_elsewhere_is_taken_before_one_that_is_gone() -> None:
    lab = crowded(cpu="2", replicas=1)
    lab.pod("bare", cpu="2")
    lab.settle()
    lab.node("other")
    suggestion, is_dear = evicting(lab)

    assert suggestion.summary.startswith("evict default/web-")
    assert (suggestion.edits[0].details["gone"], is_dear) == ([], False)


def test_one_that_no_controller_makes_anew_is_dearest() -> None:
    lab = Lab()
    lab.node("full", labels={"disk": "ssd"})
    lab.pod("bare", cpu="4")
    lab.settle()
    lab.node("other")
    suggestion, is_dear = evicting(lab)

    assert suggestion.summary == "evict default/bare, which no controller makes anew"
    assert (suggestion.cost, is_dear) == (130, True)


def test_several_are_told_apart() -> None:
    victims = Victims(("a", "b", "c"), ("a",), ("b", "c"))

    assert victims.text == "a, b, c; a then waits for a node; no controller makes b, c anew"
    assert victims.cost == 130


@pytest.mark.parametrize(("bare", "owned"), [("high", "mid"), ("mid", "high"), ("high", "high")])
def test_of_the_fewest_those_go_that_run_elsewhere_afterwards(bare: str, owned: str) -> None:
    """Either large pod would do, and preemption takes neither; one of them nobody makes anew."""
    lab = Lab()
    for name, value in (("low", 1), ("mid", 10), ("high", 100)):
        lab.priority(name, value)
    lab.node("n", cpu="6")
    port = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    lab.pod("bare", cpu="2", priorityClassName=bare)
    lab.settle()
    lab.pod("port", cpu="100m", priorityClassName="low", container=port)
    for name in ("small", "other"):
        lab.pod(name, cpu="950m", priorityClassName="low")
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}
    pod = {"containers": [container], "priorityClassName": owned}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    lab.create("replicasets.apps", {"metadata": {"name": "web"}, "spec": spec}, "default")
    lab.settle()
    lab.node("elsewhere")
    lab.pod("p", container={**container, **port}, nodeSelector={"kubernetes.io/hostname": "n"})

    suggestion = of_kind(help_for(lab), "evict")
    assert suggestion.edits[0].details["gone"] == ["default/port"]
    assert suggestion.edits[0].details["waiting"] == []
    assert len(suggestion.edits[0].evicted) == 2

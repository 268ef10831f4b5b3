"""How many nodes of a template hold a workload, and where pods land when nodes are emptied."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.testing import make_node, make_pod
from schedlab.whatif.plan import Plan, plan_drain, plan_nodes
from schedlab.whatif.what_if import WhatIf
from tests.unit.whatif.test_what_if import deployment
from tests.unit.whatif.whatif_cluster import Lab

TEMPLATE = make_node("m").capacity(cpu="4", memory="16Gi", pods="110").dict()


def workload(replicas: int, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": "new"}}, "spec": {"containers": [container], **spec}}
    selector = {"matchLabels": {"app": "new"}}
    body = {"replicas": replicas, "selector": selector, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "new"}, "spec": body}


def ask(lab: Lab, *objects: dict[str, Any], **options: Any) -> Plan:
    """Ask, and check that the cluster is as before."""
    before = lab.digest()
    found = plan_nodes(lab.cluster, objects, TEMPLATE, **options)

    assert lab.digest() == before
    return found


class TestNodes:
    def test_as_many_as_are_needed_beside_those_that_there_are(self) -> None:
        lab = Lab()
        lab.node("n", cpu="4")
        lab.settle()
        found = ask(lab, workload(11))

        assert (found.nodes, found.pods, found.waits) == (2, 11, {})
        assert sum(found.placed.values()) == 11
        assert found.used["cpu"] == pytest.approx(found.placed["new m"] / 8)

    @pytest.mark.parametrize("replicas", [1, 4, 5, 13, 33])
    def test_one_node_less_is_not_enough(self, replicas: int) -> None:
        """In an empty cluster the least number is what division says."""
        assert ask(Lab(), workload(replicas)).nodes == -(-replicas // 4)

    def test_constraints_count_not_only_amounts(self) -> None:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "new"}}}
        apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

        assert ask(Lab(), workload(6, cpu="100m", affinity=apart)).nodes == 6

    def test_none_is_needed_where_there_is_room(self) -> None:
        lab = Lab()
        lab.node("n", cpu="4")
        lab.settle()

        assert ask(lab, workload(3)).nodes == 0

    def test_nodes_that_never_help_are_told_with_the_reason(self) -> None:
        found = ask(Lab(), workload(3, cpu="5"))

        assert (found.nodes, found.tried) == (None, 3)
        assert (
            found.waits[
                "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
            ]
            == 3
        )

    def test_a_limit_is_kept(self) -> None:
        found = ask(Lab(), workload(30), nodes_max=3)

        assert (found.nodes, found.tried) == (None, 3)

    def test_pods_that_waited_before_are_not_the_workloads(self) -> None:
        lab = Lab()
        lab.node("n", cpu="1")
        lab.pod("giant", cpu="64")
        lab.settle()
        found = ask(lab, make_pod("new").req(cpu="2").dict())

        assert (found.nodes, found.pods) == (1, 1)

    @pytest.mark.parametrize(
        ("objects", "template", "words"),
        [
            ([workload(1)], make_pod().dict(), "template: Pod is no node"),
            ([{"kind": "Wheel"}], TEMPLATE, "workload[0]: "),
            ([workload(1)], {"kind": "Node", "metadata": {"name": "UPPER"}}, "template: "),
        ],
    )
    def test_mistakes(self, objects: list[dict[str, Any]], template: dict[str, Any], words: str) -> None:
        with pytest.raises(SchedlabError) as found:
            plan_nodes(Lab().cluster, objects, template)
        assert words in str(found.value)


class TestDrain:
    def lab(self) -> Lab:
        lab = Lab()
        for name, zone in (("a-1", "a"), ("b-1", "b"), ("b-2", "b")):
            lab.node(name, cpu="4", labels={"zone": zone})
        lab.settle()
        deployment(lab, replicas=6, cpu="1")
        return lab

    def drain(self, lab: Lab, selector: str) -> WhatIf:
        before = lab.digest()
        found = plan_drain(lab.cluster, selector)

        assert lab.digest() == before
        return found

    def test_nothing_lands_on_a_node_that_is_emptied_too(self) -> None:
        found = self.drain(self.lab(), "zone=b")

        assert found.changes == ("cordon b-1", "cordon b-2", "drain b-1", "drain b-2")
        assert {move.before for move in found.moves} == {"b-1", "b-2"}
        assert {move.after for move in found.moves} <= {"a-1", ""}
        assert sum(move.after == "a-1" for move in found.moves) == 2

    def test_budgets_keep_pods(self) -> None:
        lab = self.lab()
        budget = {"minAvailable": 6, "selector": {"matchLabels": {"app": "web"}}}
        lab.create("poddisruptionbudgets.policy", {"metadata": {"name": "b"}, "spec": budget}, "default")
        lab.settle()
        found = self.drain(lab, "zone=b")

        assert found.moves == ()
        assert len(found.problems) == 4

    @pytest.mark.parametrize(
        ("selector", "words"),
        [
            ("zone=c", "no node has the labels zone=c"),
            ("", "all nodes would be emptied"),
            ("zone in", "selector: "),
        ],
    )
    def test_mistakes(self, selector: str, words: str) -> None:
        with pytest.raises(SchedlabError) as found:
            plan_drain(self.lab().cluster, selector)
        assert words in str(found.value)

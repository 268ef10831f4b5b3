"""Changes on a fork: which pods are elsewhere afterwards, and why."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.whatif.changes import read_changes
from schedlab.whatif.what_if import Move, WhatIf, what_if
from tests.unit.whatif.whatif_cluster import Json, Lab

CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def ask(lab: Lab, *changes: Json, seconds: int = 120) -> WhatIf:
    """Ask, and check that the cluster is as before."""
    before = lab.digest()
    found = what_if(lab.cluster, read_changes(list(changes)), seconds)

    assert lab.digest() == before
    return found


def deployment(lab: Lab, name: str = "web", replicas: int = 2, cpu: str = "1") -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    lab.create("deployments.apps", {"metadata": {"name": name}, "spec": spec}, "default")
    lab.settle(10)


def the_move(found: WhatIf) -> Move:
    (move,) = found.moves
    return move


class TestMoves:
    def test_nothing_moves(self) -> None:
        lab = Lab(nodes=2)
        lab.pod("p")
        lab.settle()

        found = ask(lab, {"uncordon": "node-0"})
        assert found.moves == ()
        assert found.pods == 1
        assert found.changes == ("uncordon node-0",)

    def test_a_deleted_pod_makes_room_for_one_that_waits(self) -> None:
        lab = Lab()
        lab.node("n", cpu="2")
        lab.pod("there", cpu="2")
        lab.settle()
        lab.pod("waits", cpu="2")
        lab.settle()

        gone, placed = sorted(ask(lab, {"delete": "pod/there"}).moves, key=lambda move: move.pod)
        assert gone == Move("default/there", "n", None, "deleted")
        assert (placed.pod, placed.before, placed.after, placed.plugin) == (
            "default/waits",
            "",
            "n",
            "NodeResourcesFit",
        )
        assert placed.why == "n: NodeResourcesFit no longer turns it down (Insufficient cpu)"

    def test_a_drain_moves_what_controllers_own_and_ends_the_rest(self) -> None:
        lab = Lab()
        lab.node("a")
        lab.settle()
        deployment(lab, replicas=1)
        lab.pod("bare")
        lab.settle()
        lab.node("b")
        lab.settle()

        bare, web = sorted(ask(lab, {"drain": "a"}).moves, key=lambda move: move.pod)
        assert bare == Move("default/bare", "a", None, "evicted: its node is drained")
        assert (web.before, web.after, web.why) == ("a", "b", "evicted: its node is drained")
        assert web.replaces.startswith("default/web-")
        assert web.replaces != web.pod

    def test_a_drain_that_leaves_no_room_says_so(self) -> None:
        lab = Lab()
        lab.node("a")
        lab.settle()
        deployment(lab, replicas=1)

        move = the_move(ask(lab, {"drain": "node/a"}))
        assert (move.before, move.after) == ("a", "")
        assert move.why == (
            "evicted: its node is drained; 0/1 nodes are available: 1 node(s) were unschedulable. no new claims to "
            "deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        )

    def test_budgets_stop_a_drain(self) -> None:
        lab = Lab()
        lab.node("a")
        lab.settle()
        deployment(lab, replicas=1)
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        lab.create("poddisruptionbudgets.policy", {"metadata": {"name": "b"}, "spec": spec}, "default")
        lab.settle()

        found = ask(lab, {"drain": "a"})
        assert found.moves == ()
        assert len(found.problems) == 1
        assert "is kept on its node by a disruption budget" in found.problems[0]

    def test_scaling_up_and_down(self) -> None:
        lab = Lab(nodes=1)
        deployment(lab, replicas=1)

        up = ask(lab, {"scale": "deployment/web", "replicas": 3})
        assert [(move.before, move.after, move.why) for move in up.moves] == [(None, "node-0", "new")] * 2
        down = ask(lab, {"scale": "deploy/web", "replicas": 0})
        assert [(move.before, move.after) for move in down.moves] == [("node-0", None)]

    def test_a_preempted_pod_names_who_took_its_place(self) -> None:
        lab = Lab()
        lab.node("n", cpu="2")
        lab.priority("high", 10)
        lab.pod("low", cpu="2")
        lab.settle()
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}
        spec = {"priorityClassName": "high", "containers": [container]}
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "top"}, "spec": spec}

        moves = {move.pod: move for move in ask(lab, {"apply": manifest}).moves}
        assert moves["default/low"].why == "preempted by default/top"
        assert (moves["default/top"].before, moves["default/top"].after) == (None, "n")

    def test_a_node_that_is_deleted(self) -> None:
        lab = Lab(nodes=1)
        lab.pod("p")
        lab.settle()

        move = the_move(ask(lab, {"delete": "node/node-0"}, seconds=600))
        assert (move.before, move.after, move.why) == ("node-0", None, "its node node-0 is gone")

    def test_a_patch(self) -> None:
        lab = Lab()
        lab.node("n")
        lab.pod("p", nodeSelector={"disk": "ssd"})
        lab.settle()

        move = the_move(ask(lab, {"patch": "node/n", "change": {"metadata": {"labels": {"disk": "ssd"}}}}))
        assert (move.before, move.after, move.plugin) == ("", "n", "NodeAffinity")

    def test_a_replacement(self) -> None:
        lab = Lab()
        lab.node("n")
        lab.pod("p", nodeSelector={"disk": "ssd"})
        lab.settle()

        change = {"replace": "pod/p", "change": {"spec": {"nodeSelector": {"disk": None}}}}
        move = the_move(ask(lab, change))
        assert (move.pod, move.before, move.after, move.replaces) == ("default/p", "", "n", "default/p")
        with pytest.raises(SchedlabError, match="priority admission controller"):
            ask(lab, {**change, "change": {"spec": {"priority": 1}}})

    def test_changes_are_made_in_order(self) -> None:
        lab = Lab()
        lab.node("n")
        lab.pod("p", nodeSelector={"disk": "ssd"})
        lab.settle()
        label = {"patch": "node/n", "change": [{"op": "add", "path": "/metadata/labels/disk", "value": "ssd"}]}

        assert ask(lab, {"cordon": "n"}, label).moves == ()
        assert the_move(ask(lab, {"cordon": "n"}, label, {"uncordon": "n"})).after == "n"


class TestConfigurations:
    def weights(self, **weights: int) -> Json:
        enabled = [{"name": name, "weight": weight} for name, weight in weights.items()]
        plugins = {"score": {"disabled": [{"name": name} for name in weights], "enabled": enabled}}
        return {**CONFIG, "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}]}

    def test_pods_that_another_configuration_places_elsewhere(self) -> None:
        lab = Lab()
        lab.node("roomy", cpu="8", taints=[{"key": "k", "effect": "PreferNoSchedule"}])
        lab.node("tight", cpu="4")
        lab.settle()
        lab.pod("p", cpu="2")
        lab.settle()
        assert lab.node_of("p") == "tight"

        found = ask(lab, {"schedulerConfig": self.weights(NodeResourcesFit=100), "location": "fit.yaml"})
        move = the_move(found)
        assert (move.pod, move.before, move.after, move.plugin) == ("default/p", "tight", "roomy", "NodeResourcesFit")
        assert found.changes == ("place all pods anew, with the configuration in force -> with fit.yaml",)

    def test_the_same_configuration_moves_nothing(self) -> None:
        lab = Lab(nodes=5)
        for number in range(20):
            lab.pod(f"p{number}", cpu="250m")
        lab.settle()

        assert ask(lab, {"schedulerConfig": self.weights(NodeResourcesFit=1)}).moves == ()

    def test_a_wrong_configuration_is_refused(self) -> None:
        with pytest.raises(SchedlabError, match="profiles"):
            ask(Lab(nodes=1), {"schedulerConfig": {**CONFIG, "profiles": "x"}, "location": "w.yaml"})


class TestBadInput:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (None, "changes: no changes are given"),
            ([], "changes: no changes are given"),
            (["x"], "changes[0]: 'x' is not a change"),
            ([{}], "changes[0]: only nothing is given"),
            ([{"move": "x"}], "changes[0]: only move is given"),
            ([{"cordon": "a", "drain": "a"}], "changes[0]: drain, cordon at once is given"),
            ([{"cordon": "a", "force": True}], "changes[0]: force is no field of cordon"),
            ([{"cordon": 3}], "changes[0]: cordon needs a name"),
            ([{"apply": "x"}], "changes[0]: apply needs an object"),
            ([{"scale": "deployment/x"}], "changes[0]: None is not a number of replicas"),
            ([{"scale": "deployment/x", "replicas": -1}], "changes[0]: -1 is not a number of replicas"),
            ([{"patch": "node/x"}], "changes[0]: patch needs `change`"),
            ([{"patch": "node/x", "change": {}, "type": "wild"}], "changes[0]: 'wild' is no type of patch"),
        ],
    )
    def test_what_cannot_be_read(self, given: Any, message: str) -> None:
        with pytest.raises(SchedlabError) as caught:
            read_changes(given)
        assert str(caught.value).startswith(message)
        assert caught.value.hint

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"drain": "nobody"}, 'nodes "nobody" not found'),
            ({"delete": "pod/nobody"}, 'pods "nobody" not found'),
            ({"delete": "nobody"}, "'nobody' names no object"),
            ({"delete": "thing/x"}, "'thing/x' names no object"),
            (
                {"apply": {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x"}}},
                "v1 Thing is not served here",
            ),
            ({"apply": {"apiVersion": "v1", "kind": "Pod"}}, "v1 Pod has no name"),
            (
                {"apply": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {}}},
                'Pod "x" is invalid',
            ),
            ({"patch": "node/node-0", "change": {"spec": {"taints": "x"}}}, ""),
        ],
    )
    def test_what_the_api_refuses(self, change: Json, message: str) -> None:
        with pytest.raises(SchedlabError) as caught:
            ask(Lab(nodes=1), {**change, "place": "--here"})
        assert caught.value.location == "--here"
        assert caught.value.message.startswith(message)

    def test_two_configurations_at_once(self) -> None:
        with pytest.raises(SchedlabError, match="two scheduler configurations"):
            ask(Lab(nodes=1), {"schedulerConfig": CONFIG}, {"schedulerConfig": CONFIG})

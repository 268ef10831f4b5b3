"""Pods that wait, by reason, and the cheapest change for each group."""

from __future__ import annotations

import pytest

from schedlab.cli.aggregate_text import pending_text
from schedlab.kernel.errors import SchedlabError
from schedlab.whatif.capacity import why_not_full
from schedlab.whatif.help import what_would_help
from schedlab.whatif.pending import Pending, pending
from tests.unit.whatif.whatif_cluster import Lab


def asked(lab: Lab, namespace: str = "", *, fixes_max: int = 10) -> Pending:
    before = lab.digest()
    found = pending(lab.cluster, namespace, fixes_max=fixes_max)

    assert lab.digest() == before
    return found


def crowded() -> Lab:
    lab = Lab()
    lab.node("a", cpu="2")
    lab.node("b", cpu="2", taints=[{"key": "k", "effect": "NoSchedule"}])
    lab.settle()
    for number in range(3):
        lab.pod(f"big{number}", cpu="3")
    lab.pod("picky", nodeSelector={"disk": "ssd"}, tolerations=[{"operator": "Exists"}])
    lab.pod("fine")
    lab.settle()
    return lab


def test_pods_are_grouped_by_their_reasons() -> None:
    data = asked(crowded()).data()

    assert (data["pending"], data["pods"]) == (4, 5)
    first, second = data["groups"]
    assert first["pods"] == ["default/big0", "default/big1", "default/big2"]
    assert {entry["reason"]: entry["nodes"] for entry in first["reasons"]} == {
        "NodeResourcesFit: Insufficient cpu": 1,
        "TaintToleration: node(s) had untolerated taint(s)": 1,
    }
    assert second["pods"] == ["default/picky"]


def test_reasons_are_counted_over_all_pods() -> None:
    assert asked(crowded()).data()["reasons"] == [
        {"reason": "NodeResourcesFit: Insufficient cpu", "pods": 3},
        {"reason": "TaintToleration: node(s) had untolerated taint(s)", "pods": 3},
        {"reason": "NodeAffinity: node(s) didn't match Pod's node affinity/selector", "pods": 1},
    ]


def test_each_group_has_its_cheapest_change() -> None:
    first, second = asked(crowded()).data()["groups"]

    assert first["fix"]["summary"] == "ask for 1900m cpu instead of 3"
    assert second["fix"]["kind"] == "node-label"


def test_changes_are_searched_for_as_many_groups_as_wanted() -> None:
    first, second = asked(crowded(), fixes_max=1).data()["groups"]

    assert first["fix"] is not None
    assert second["fix"] is None


def test_pods_that_were_not_tried_say_why() -> None:
    lab = Lab(nodes=1)
    for number in range(2):
        lab.pod(f"g{number}", schedulingGates=[{"name": "example.com/wait"}])
    lab.settle()

    (group,) = asked(lab).data()["groups"]
    assert group["message"] == "waits for its scheduling gates to be removed: example.com/wait"
    assert group["fix"]["kind"] == "scheduling-gate"
    assert group["count"] == 2


def test_one_namespace_can_be_chosen() -> None:
    assert asked(crowded(), "kube-system").data()["pending"] == 0


def test_text() -> None:
    lines = pending_text(asked(crowded()).data()).splitlines()

    assert lines[0] == "4 of 5 pods wait"
    assert "   3  NodeResourcesFit: Insufficient cpu" in lines
    assert "default/big0, default/big1, default/big2" in lines
    assert "  least change for default/big0: ask for 1900m cpu instead of 3; it goes to a" in lines
    assert pending_text(asked(Lab(nodes=1)).data()) == "no pod waits; there are 0"


def test_a_pod_on_its_way_out_does_not_wait() -> None:
    """A finalizer keeps it, no scheduler looks at it any more, and nothing would help it."""
    lab = crowded()
    lab.patch("pods", "picky", {"metadata": {"finalizers": ["example.com/hold"]}}, "default")
    lab.cluster.registry.delete("pods", "picky", "default")
    lab.settle()

    assert [group.pods[0].name for group in asked(lab).groups] == ["big0"]
    assert "picky" not in str(why_not_full(lab.cluster).data())
    with pytest.raises(SchedlabError, match="pod default/picky is being deleted: no scheduler tries it any more"):
        what_would_help(lab.cluster, "default", "picky")
    assert what_would_help(lab.cluster, "default", "picky", attempt=1).suggestions

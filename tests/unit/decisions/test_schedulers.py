"""Which schedulers there are, and who of them gets in the other's way."""

from __future__ import annotations

from schedlab.apimachinery.user import User
from schedlab.decisions.schedulers import CLIENTS_MAX, KnownScheduler, rival_warnings, rivals
from schedlab.registry import WriteOptions
from tests.support.clusters import Lab

FAR = WriteOptions(user_agent="far/1.0", user=User("me"))


def _bind(lab: Lab, name: str, options: WriteOptions = FAR) -> None:
    binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "node-0"}}
    lab.registry.bind(name, lab.registry.decode("pods", binding, "binding"), "default", options)


def test_a_client_that_binds_is_known_for_the_names_of_its_pods() -> None:
    lab = Lab(nodes=1)
    lab.create_pod("p", schedulerName="far")
    _bind(lab, "p")
    own, far = lab.cluster.schedulers()

    assert own.names == ("default-scheduler",)
    assert (far.names, far.where, far.state) == (("far",), "far/1.0 as me", "outside")
    assert far.detail.startswith("pods bound: 1, last seen 2026-")


def test_a_client_that_reports_a_pod_unschedulable_is_known_too() -> None:
    lab = Lab(nodes=1)
    lab.create_pod("p", schedulerName="far")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    lab.registry.patch("pods", "p", "strategic", {"status": {"conditions": [condition]}}, "default", FAR, "status")

    assert [one.names for one in lab.cluster.schedulers()] == [("default-scheduler",), ("far",)]
    assert "far/1.0 as me (outside, pods bound: 0" in lab.cluster.explainer.untried("default", "p")
    assert "it says: no room" in lab.cluster.explainer.untried("default", "p")


def test_a_client_that_is_silent_for_long_is_taken_for_gone() -> None:
    lab = Lab(nodes=1)
    lab.create_pod("p", schedulerName="far")
    _bind(lab, "p")
    lab.run(601)

    assert [one.names for one in lab.cluster.schedulers()] == [("default-scheduler",)]


def test_other_writes_make_no_scheduler() -> None:
    lab = Lab(nodes=1)
    lab.create_pod("p")
    lab.run()
    lab.registry.patch("pods", "p", "merge", {"metadata": {"labels": {"a": "b"}}}, "default", FAR)
    lab.registry.patch("pods", "p", "merge", {"status": {"message": "m"}}, "default", FAR, "status")

    assert len(lab.cluster.schedulers()) == 1


def test_with_no_scheduler_its_names_are_not_known() -> None:
    lab = Lab(nodes=1, schedules=False)
    lab.create_pod("p")

    assert "'default-scheduler', which is not here; schedulers here: none" in lab.cluster.explainer.untried(
        "default", "p"
    )


def test_no_more_clients_are_remembered_than_there_is_room_for() -> None:
    lab = Lab(nodes=1)
    for number in range(CLIENTS_MAX + 5):
        lab.create_pod(f"p-{number}", schedulerName="far")
        _bind(lab, f"p-{number}", WriteOptions(user_agent=f"far/{number}", user=User("me")))

    assert len(lab.cluster.schedulers()) == 1 + CLIENTS_MAX


def test_only_those_that_work_at_the_same_time_are_rivals() -> None:
    known = [
        KnownScheduler(("a", "b"), "this cluster", "scheduling"),
        KnownScheduler(("b",), "pod x/y", "standby"),
        KnownScheduler(("a",), "far/1.0", "outside"),
    ]

    assert rivals(known) == {"a": ("this cluster", "far/1.0")}
    assert rival_warnings(known)[0].startswith("2 schedulers decide for pods of a: this cluster; far/1.0. ")
    many = [KnownScheduler(("a",), f"p{number}", "scheduling") for number in range(7)]
    assert rival_warnings(many)[0].startswith("7 schedulers decide for pods of a: p0; p1; p2; p3; p4 and 2 more. ")

"""What is told of the pods of second schedulers: by whom they were decided, what helps them, who else decides for them."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.cli.explain_text import explain_text
from schedlab.decisions.explain import PodQuestion
from schedlab.kernel.errors import SchedlabError
from schedlab.whatif.changes import read_changes
from schedlab.whatif.help import what_would_help
from schedlab.whatif.pending import pending
from schedlab.whatif.what_if import what_if
from tests.support.scheduler_pods import COMMAND, CONFIG, SchedulerLab

LAX: dict[str, Any] = {
    **CONFIG,
    "profiles": [
        {"schedulerName": "my-scheduler", "plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}}
    ],
}


def _lab(config: object = CONFIG) -> SchedulerLab:
    lab = SchedulerLab()
    lab.grant()
    lab.registry.delete("configmaps", "my-scheduler-config", "kube-system")
    lab.configure(config)
    lab.deploy()
    lab.run()
    return lab


def _big(lab: SchedulerLab, name: str, scheduler: str = "my-scheduler") -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "5"}}}
    lab.create_pod(name, schedulerName=scheduler, containers=[container])
    lab.run()


def test_its_decisions_are_explained_in_numbers_of_its_own() -> None:
    lab = _lab()
    _big(lab, "big")
    found = lab.cluster.explainer.explain("default", "big")

    assert found["by"] == "pod kube-system/my-scheduler"
    assert found["numbers"] == "of the attempt"
    (fact,) = [fact for fact in found["nodes"][0]["facts"]["NodeResourcesFit"] if not fact["fits"]]
    assert (fact["needs"], fact["allocatable"]) == ("5", "4")
    assert found["queue"]["place"] == "unschedulable"
    assert "scheduler my-scheduler (pod kube-system/my-scheduler)" in explain_text(found)


def test_the_way_of_its_pods_has_its_cycles() -> None:
    lab = _lab()
    lab.create_pod("mine", schedulerName="my-scheduler")
    lab.run()
    way = lab.cluster.trace("default", "mine")

    assert way is not None
    assert {"queue", "cycle", "bind"} <= {span["step"] for span in way["spans"]}


def test_help_is_searched_with_its_configuration() -> None:
    """Without NodeResourcesFit no amount of CPU keeps a pod away, so only the selector is in its way."""
    strict, lax = _lab(), _lab(LAX)
    for lab in (strict, lax):
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "5"}}}
        lab.create_pod("p", schedulerName="my-scheduler", containers=[container], nodeSelector={"a": "b"})
        lab.run()
    of_strict = what_would_help(strict.cluster, "default", "p")
    of_lax = what_would_help(lax.cluster, "default", "p")

    assert {edit.kind for one in of_lax.suggestions for edit in one.edits} == {"node-label", "node-affinity"}
    assert all(len(one.edits) == 1 for one in of_lax.suggestions)
    assert all(
        len({edit.kind for edit in one.edits}) > 1 or "node" in one.edits[0].kind for one in of_strict.suggestions
    )
    assert "Insufficient cpu" not in of_lax.message


def test_help_can_be_asked_for_an_earlier_attempt() -> None:
    lab = _lab()
    _big(lab, "big")
    found = what_would_help(lab.cluster, "default", "big", attempt=1)
    lab.registry.delete("pods", "my-scheduler", "kube-system")
    lab.run(40)

    assert any(edit.kind == "request" for one in found.suggestions for edit in one.edits)
    with pytest.raises(SchedlabError, match="pod kube-system/my-scheduler, which has made attempt 1, is not here"):
        what_would_help(lab.cluster, "default", "big", attempt=1)


def test_waiting_pods_are_grouped_and_helped_whoever_schedules_them() -> None:
    lab = _lab()
    _big(lab, "mine")
    _big(lab, "usual", "default-scheduler")
    lab.create_pod("lost", schedulerName="nobody")
    lab.run()
    groups = {tuple(group.pods[i].name for i in range(len(group.pods))): group for group in pending(lab.cluster).groups}

    assert set(groups) == {("mine", "usual"), ("lost",)}
    assert groups["lost",].message == (
        "asks for the scheduler 'nobody', which is not here; schedulers here: default-scheduler, my-scheduler"
    )
    assert all(group.help is not None and group.help.suggestions for group in groups.values())


def test_a_scheduler_without_rights_is_named_as_what_its_pods_wait_for() -> None:
    lab = SchedulerLab()
    lab.deploy()
    lab.create_pod("mine", schedulerName="my-scheduler")
    lab.run()
    said = lab.cluster.explainer.untried("default", "mine")
    found = what_would_help(lab.cluster, "default", "mine")

    assert "waits for its scheduler my-scheduler: pod kube-system/my-scheduler (waiting, it may not list " in said
    assert found.fits
    assert "but its scheduler does not work: pod kube-system/my-scheduler (waiting" in found.message


def test_two_schedulers_of_one_name_are_warned_of_and_both_shown() -> None:
    lab = _lab()
    lab.deploy("rival")
    lab.run()
    lab.create_pod("mine", schedulerName="my-scheduler")
    lab.run()
    (warning,) = lab.cluster.explainer.explain("default", "mine")["warnings"]
    places = {one.where: one.state for one in lab.cluster.schedulers() if "my-scheduler" in one.names}

    assert warning.startswith("2 schedulers decide for pods of my-scheduler: pod kube-system/my-scheduler; pod kube-")
    assert places == {"pod kube-system/my-scheduler": "scheduling", "pod kube-system/rival": "scheduling"}
    assert lab.nodes_of_pods()["mine"]


def test_rivals_each_explain_their_own_attempt() -> None:
    """One that comes too late cannot bind; its attempt is told apart from that of the one that did."""
    lab = _lab()
    lab.deploy("rival")
    lab.run()
    one, other = lab.cluster.instances()
    lab.create_pod("mine", schedulerName="my-scheduler")
    # Both have begun before either has bound.
    for instance in (one, other):
        lab.cluster.engine._plan(instance._gate, instance._client, instance.scheduler.step())
    lab.run()
    story = lab.cluster.log.find("default", "mine")
    assert story is not None
    bound = [attempt for attempt in story.attempts if attempt.binding is not None and not attempt.binding.error]

    assert len(bound) == 1
    assert len(story.attempts) > 1
    for question in (PodQuestion(), PodQuestion(attempt=1)):
        found = lab.cluster.explainer.explain("default", "mine", question)
        assert found["answer"].startswith("Scheduled on")
        assert found["by"] == bound[0].by
    assert not lab.cluster.explainer.is_foreign("default", "mine")


def test_copies_that_elect_a_leader_are_no_rivals() -> None:
    lab = SchedulerLab()
    lab.grant()
    command = [*COMMAND, "--leader-elect=true"]
    for name in ("copy-1", "copy-2"):
        lab.deploy(name, command)
    lab.run(30)
    states = sorted(one.state for one in lab.cluster.schedulers() if "my-scheduler" in one.names)
    lab.create_pod("mine", schedulerName="my-scheduler")
    lab.run()

    assert states == ["scheduling", "standby"]
    assert lab.cluster.explainer.explain("default", "mine")["warnings"] == []


def test_a_crashed_scheduler_is_shown_with_its_exit_code() -> None:
    lab = SchedulerLab()
    lab.grant()
    lab.deploy(command=[*COMMAND, "--no-such-flag"])
    lab.run(25)

    assert ("pod kube-system/my-scheduler", "ended", "exit code 1") in [
        (one.where, one.state, one.detail) for one in lab.cluster.schedulers()
    ]


def test_what_if_lets_second_schedulers_go_on_in_the_fork() -> None:
    lab = _lab()
    template = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"schedulerName": "my-scheduler", "containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    lab.create("deployments.apps", {"metadata": {"name": "web"}, "spec": spec}, "default")
    lab.run(10)
    (pod,) = lab.registry.list("pods", "default").items
    before = pod.view.spec.node_name
    found = what_if(lab.cluster, read_changes([{"drain": before}]), 120)
    (move,) = [move for move in found.moves if move.pod.startswith("default/")]

    assert move.before == before
    assert move.after not in ("", None, before)

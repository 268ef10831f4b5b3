"""Pods that somebody else has placed: who did it is told, and what ours would have done on the same state."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.user import User
from schedlab.cli.explain_html import explain_html
from schedlab.cli.explain_text import explain_text
from schedlab.decisions.explain import PodQuestion
from schedlab.kernel.errors import SchedlabError
from schedlab.registry import WriteOptions
from schedlab.whatif.foreign import explain_foreign
from schedlab.whatif.help import what_would_help
from tests.unit.whatif.whatif_cluster import Lab

FAR = WriteOptions(user_agent="far/1.0 (linux)", user=User("system:serviceaccount:far:scheduler"))
ME = WriteOptions(user_agent="kubectl/v1.36.1", user=User("admin"))


def bind(lab: Lab, name: str, node: str, options: WriteOptions = FAR) -> None:
    registry = lab.cluster.registry
    binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
    registry.bind(name, registry.decode("pods", binding, "binding"), "default", options)
    lab.settle()


def lab_with_a_busy_node() -> Lab:
    """Return three nodes, of which node-0 has 3 of its 4 CPU taken."""
    lab = Lab(nodes=3)
    lab.pod("busy", cpu="3", nodeName="node-0")
    lab.settle()
    return lab


def explained(lab: Lab, name: str, **question: Any) -> dict[str, Any]:
    assert lab.cluster.explainer.is_foreign("default", name)
    return explain_foreign(lab.cluster, "default", name, PodQuestion(**question))


def test_a_binding_of_another_scheduler_is_told_with_client_and_user() -> None:
    lab = lab_with_a_busy_node()
    lab.pod("p", cpu="500m", schedulerName="far")
    lab.settle()
    bind(lab, "p", "node-0")
    found = explained(lab, "p")
    placed = found["placedBy"]

    assert placed["text"] == "bound to node-0 by far/1.0 (linux) as system:serviceaccount:far:scheduler"
    assert (placed["how"], placed["source"], placed["node"]) == ("binding", "request", "node-0")
    assert found["selected"] in {"node-1", "node-2"}
    assert f"would have chosen {found['selected']} on the same state, which is " in found["answer"]
    assert "points better than node-0 (NodeResourcesFit +" in found["answer"]
    assert found["versus"]["node"] == "node-0"
    assert found["state"]["state"] == "bound"
    assert placed["text"] in explain_text(found)
    assert placed["text"] in explain_html(found)


def test_a_node_in_the_manifest_is_told_as_such() -> None:
    lab = lab_with_a_busy_node()
    lab.cluster.registry.create(
        "pods",
        lab.cluster.registry.decode(
            "pods",
            {"metadata": {"name": "p"}, "spec": {"nodeName": "node-1", "containers": [{"name": "c", "image": "i"}]}},
        ),
        "default",
        ME,
    )
    lab.settle()
    placed = explained(lab, "p")["placedBy"]

    assert placed["how"] == "creation"
    assert placed["text"] == "made with node-1 in its spec by kubectl/v1.36.1 as admin: no scheduler was asked"


def test_a_full_node_is_said_to_be_full() -> None:
    """A scheduler that binds to a node without room; the kubelet refuses the pod as a real one does."""
    lab = lab_with_a_busy_node()
    lab.pod("p", cpu="2", schedulerName="far")
    lab.settle()
    bind(lab, "p", "node-0")
    found = explained(lab, "p")
    status = lab.cluster.registry.get("pods", "p", "default").raw["status"]

    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"].startswith("Pod was rejected: Node didn't have enough resource: cpu, requested: 2000")
    assert "node-0 is turned down (NodeResourcesFit: Insufficient cpu)" in found["answer"]


def test_where_ours_finds_no_node_its_reasons_are_told() -> None:
    lab = lab_with_a_busy_node()
    lab.pod("p", cpu="9", schedulerName="far")
    lab.settle()
    bind(lab, "p", "node-1")
    found = explained(lab, "p")

    assert found["selected"] == ""
    assert "would have put it nowhere on the same state; node-1 is turned down" in found["answer"]
    assert "0/3 nodes are available" in found["message"]


def test_the_state_is_that_before_the_binding_not_that_of_now() -> None:
    lab = lab_with_a_busy_node()
    lab.pod("p", cpu="2", schedulerName="far")
    lab.settle()
    bind(lab, "p", "node-1")
    for name in ("node-1", "node-2"):
        lab.cluster.registry.delete("nodes", name)
    lab.settle()
    found = explained(lab, "p")

    assert found["selected"] in {"node-1", "node-2"}
    assert [entry["node"] for entry in found["nodes"]] == ["node-0", "node-1", "node-2"]


def test_a_pod_that_ours_tried_and_another_bound_is_the_others() -> None:
    lab = lab_with_a_busy_node()
    lab.pod("p", nodeSelector={"no": "node"})
    lab.settle()
    bind(lab, "p", "node-2", ME)
    found = explained(lab, "p")
    own = lab.cluster.explainer.explain("default", "p", PodQuestion(attempt=1))

    assert found["placedBy"]["client"] == "kubectl/v1.36.1"
    assert found["attempts"] == [1]
    assert own["placedBy"] is None
    assert own["result"] == "unschedulable"


def test_what_ours_has_bound_is_not_the_others() -> None:
    lab = lab_with_a_busy_node()
    lab.pod("p")
    lab.settle()

    assert not lab.cluster.explainer.is_foreign("default", "p")


def test_without_the_past_the_state_of_now_stands_in_and_says_so() -> None:
    lab = Lab(nodes=2, history=0)
    lab.pod("p", schedulerName="far")
    lab.settle()
    bind(lab, "p", "node-1")
    lab.cluster.store.compact(lab.cluster.store.revision)
    found = explained(lab, "p")

    assert "on the state of now (that of then is no longer kept)" in found["answer"]
    assert found["nodes"]


@pytest.mark.parametrize(("event", "told"), [(True, "far-scheduler (its event says so)"), (False, "somebody of whom")])
def test_after_a_restart_events_tell_who_it_was(*, event: bool, told: str) -> None:
    lab = lab_with_a_busy_node()
    lab.pod("p", schedulerName="far")
    lab.settle()
    # Writes without a user are those of parts of the cluster itself: nobody takes note of them, as after a restart.
    bind(lab, "p", "node-1", WriteOptions(user_agent="kube-scheduler"))
    if event:
        pod = lab.cluster.registry.get("pods", "p", "default")
        involved = {"kind": "Pod", "namespace": "default", "name": "p", "uid": pod.uid}
        body = {"metadata": {"name": "p.1"}, "involvedObject": involved, "reason": "Scheduled"}
        lab.create("events", {**body, "source": {"component": "far-scheduler"}}, "default")
    placed = explained(lab, "p")["placedBy"]

    assert told in placed["text"]
    assert placed["how"] == "binding"
    assert placed["source"] == ("event" if event else "")


def test_a_scheduler_that_is_off_can_still_say_what_it_would_have_done() -> None:
    lab = Lab(nodes=2, schedules=False)
    lab.pod("p")
    lab.settle()
    bind(lab, "p", "node-1")
    found = explained(lab, "p")

    assert found["scheduler"] == "default-scheduler"
    assert found["selected"]


def test_a_node_that_was_not_there_is_refused() -> None:
    lab = lab_with_a_busy_node()
    lab.pod("p", nodeName="node-1")
    lab.settle()
    with pytest.raises(SchedlabError, match="there was no node nowhere"):
        explained(lab, "p", versus="nowhere")


def test_a_waiting_pod_was_placed_by_nobody() -> None:
    lab = lab_with_a_busy_node()
    lab.pod("p", schedulerName="far")
    with pytest.raises(SchedlabError, match="there is no pod default/p on a node"):
        explain_foreign(lab.cluster, "default", "p")


def test_help_for_a_pod_of_another_process_is_tried_with_ours_and_says_so() -> None:
    lab = lab_with_a_busy_node()
    for name in ("first", "second"):
        lab.pod(name, cpu="9", schedulerName="far")
    bind(lab, "first", "node-1")
    found = what_would_help(lab.cluster, "default", "second")
    lab.pod("small", schedulerName="far")
    lab.settle()
    fits = what_would_help(lab.cluster, "default", "small")

    assert "(tried as a pod of default-scheduler: what its scheduler thinks is not known here, far/1.0" in found.message
    assert found.suggestions
    assert all(edit.kind != "scheduler-name" for one in found.suggestions for edit in one.edits)
    assert fits.fits
    assert "like it fits on node" in fits.message
    assert not fits.suggestions


def test_help_says_that_nobody_schedules() -> None:
    lab = Lab(nodes=2, schedules=False)
    lab.pod("p")
    lab.settle()

    assert what_would_help(lab.cluster, "default", "p").message.endswith(
        "but its scheduler does not work: none of the name default-scheduler is here"
    )


def test_a_node_that_ours_would_not_have_looked_at_is_said_to_be_that() -> None:
    lab = Lab(nodes=150)
    lab.pod("p", schedulerName="far")
    lab.settle()
    bind(lab, "p", "node-99")

    assert "; node-99 is not looked at: enough nodes were found before" in explained(lab, "p")["answer"]

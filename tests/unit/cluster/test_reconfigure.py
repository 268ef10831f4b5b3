"""Another configuration for a running scheduler: in force at once, or refused and the old one goes on."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.config import ConfigError
from schedlab.scheduler.framework.plugin_class import entry_of
from schedlab.scheduler.framework.status import Code, Status
from tests.support.clusters import Lab


def _config(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **fields}


def test_pods_of_a_new_profile_are_scheduled() -> None:
    lab = Lab(nodes=1)
    lab.create_pod("waits", schedulerName="mine")
    lab.run()
    before = lab.nodes_of_pods()
    lab.cluster.reconfigure(_config(profiles=[{"schedulerName": "mine"}]))
    lab.run()

    assert before == {"waits": ""}
    assert lab.nodes_of_pods() == {"waits": "node-0"}
    assert [profile["schedulerName"] for profile in lab.cluster.configuration()["profiles"]] == ["mine"]


def test_what_runs_already_counts_for_the_new_scheduler() -> None:
    lab = Lab(nodes=1)
    for number in range(3):
        lab.create_pod(f"old-{number}", containers=[_container("1")])
    lab.run()
    lab.cluster.reconfigure(_config())
    lab.create_pod("fits", containers=[_container("1")])
    lab.run()
    lab.create_pod("does-not", containers=[_container("1")])
    lab.run()

    assert lab.nodes_of_pods()["fits"] == "node-0"
    assert lab.nodes_of_pods()["does-not"] == ""


def _container(cpu: str) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}


def test_a_wrong_configuration_is_refused_with_every_mistake_and_the_old_one_goes_on() -> None:
    lab = Lab(nodes=1)
    scheduler = lab.cluster.scheduler
    wrong = _config(parallelism=-1, percentageOfNodesToScore=101)

    with pytest.raises(ConfigError) as caught:
        lab.cluster.reconfigure(wrong, "here")
    lab.create_pod("a")
    lab.run()

    assert "parallelism" in caught.value.message
    assert "percentageOfNodesToScore" in caught.value.message
    assert lab.cluster.scheduler is scheduler
    assert lab.nodes_of_pods() == {"a": "node-0"}


def test_a_plugin_that_cannot_be_made_leaves_the_old_scheduler() -> None:
    lab = Lab(nodes=1)
    profiles = [{"plugins": {"multiPoint": {"enabled": [{"name": "Nobody"}]}}}]

    with pytest.raises(ConfigError):
        lab.cluster.reconfigure(_config(profiles=profiles))
    lab.create_pod("a")
    lab.run()

    assert lab.nodes_of_pods() == {"a": "node-0"}


def test_the_old_scheduler_hears_of_nothing_any_more() -> None:
    lab = Lab(nodes=1)
    old = lab.cluster.scheduler
    lab.cluster.reconfigure(_config())
    revision = old.revision
    lab.create_pod("a")
    lab.run(400)

    assert old.revision == revision
    assert lab.nodes_of_pods() == {"a": "node-0"}


def test_pods_that_were_on_their_way_start_anew_and_none_is_lost() -> None:
    lab = Lab(nodes=2)
    for number in range(20):
        lab.create_pod(f"p-{number}")
    for _ in range(37):
        lab.cluster.engine.step()
    lab.cluster.reconfigure(_config())
    lab.run()

    assert all(lab.nodes_of_pods().values())
    assert len(lab.nodes_of_pods()) == 20


def test_decisions_of_the_old_scheduler_stay_and_new_ones_are_explained() -> None:
    lab = Lab(nodes=1)
    lab.create_pod("old")
    lab.run()
    lab.cluster.reconfigure(_config())
    lab.create_pod("new")
    lab.run()

    assert lab.cluster.explainer.explain("default", "old")["selected"] == "node-0"
    assert lab.cluster.explainer.explain("default", "new")["selected"] == "node-0"


class Patient:
    """A plugin that lets every pod wait for a while."""

    name = "Patient"

    def permit(self, state: Any, pod: Any, node_name: str) -> tuple[Status, int]:
        return Status(Code.WAIT), 60 * SECOND_NS


def test_a_wait_of_the_old_scheduler_ends_without_a_word() -> None:
    """Neither its time-out nor its queue reach the records of the one that goes on."""
    lab = Lab(nodes=1, plugins=(entry_of(Patient),))
    lab.create_pod("p")
    lab.run()
    assert len(lab.cluster.scheduler.cache.assumed_pods()) == 1

    lab.cluster.reconfigure(_config())
    lab.run(120)

    assert lab.nodes_of_pods() == {"p": "node-0"}
    [story] = lab.cluster.log.stories()
    assert [attempt.cycle().result for attempt in story.attempts] == ["scheduled", "scheduled"]
    assert [attempt.binding is None for attempt in story.attempts] == [True, False]


def test_the_past_stays_what_it_was() -> None:
    """The journal of the cache goes on, so that attempts of before can still be looked into."""
    lab = Lab(nodes=1, history=1000)
    lab.create_pod("p")
    lab.run()
    journal = lab.cluster.scheduler.journal
    assert journal is not None
    position = journal.position
    lab.cluster.reconfigure(_config())
    begin = journal.position
    lab.create_pod("q")
    lab.run()

    assert lab.cluster.scheduler.journal is journal
    assert [pod.key for pod in journal.cache_at(position).pods()] == ["default/p"]
    assert position < begin
    assert {pod.key for pod in journal.cache_at(journal.position).pods()} == {"default/p", "default/q"}

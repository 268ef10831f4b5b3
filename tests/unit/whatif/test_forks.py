"""A fork goes on where its original stands, and neither disturbs the other."""

from __future__ import annotations

import pytest

from schedlab.cluster.cluster import Cluster
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.whatif.forks import fork
from tests.unit.whatif.whatif_cluster import Lab


def run(cluster: Cluster, seconds: int = 5) -> None:
    BatchDriver(cluster.engine, cluster.clock).run_for(seconds * SECOND_NS)  # type: ignore[arg-type]  # virtual


def busy() -> Lab:
    lab = Lab(nodes=3)
    for number in range(4):
        lab.pod(f"p{number}", cpu="1")
    lab.pod("big", cpu="50")
    lab.settle()
    return lab


def placements(cluster: Cluster) -> dict[str, str]:
    return {pod.metadata.name: pod.spec.node_name for pod in cluster.informers.lister("pods").list()}


def test_begins_with_everything_of_the_original() -> None:
    lab = busy()
    made = fork(lab.cluster)

    assert placements(made) == placements(lab.cluster)
    assert made.scheduler.queue.contents() == lab.cluster.scheduler.queue.contents()
    assert made.clock.now_ns() == lab.clock.now_ns()


def test_what_happens_in_a_fork_stays_there() -> None:
    lab = busy()
    before = lab.digest()
    made = fork(lab.cluster)
    made.registry.delete("nodes", "node-0")
    made.registry.delete("pods", "p1", "default")
    run(made, 700)

    assert lab.digest() == before


def test_what_happens_later_is_not_seen_in_a_fork() -> None:
    lab = busy()
    made = fork(lab.cluster)
    lab.pod("later")
    lab.settle()
    run(made)

    assert "later" not in placements(made)


def test_forks_of_one_moment_live_the_same_lives() -> None:
    lab = busy()
    ends = []
    for _ in range(2):
        made = fork(lab.cluster)
        made.registry.delete("nodes", "node-0")
        run(made, 400)
        ends.append([obj.json() for kind in made.store.resources() for obj in made.store.list(kind)])

    assert ends[0] == ends[1]


def test_a_fork_schedules_what_waits_once_there_is_room() -> None:
    lab = busy()
    made = fork(lab.cluster)
    node = made.registry.decode(
        "nodes",
        {"metadata": {"name": "huge"}, "status": {"allocatable": {"cpu": "64", "memory": "8Gi", "pods": "9"}}},
    )
    made.registry.create("nodes", node)
    run(made, 30)

    assert placements(made)["big"] == "huge"


def test_a_fork_of_a_revision_begins_there() -> None:
    lab = busy()
    revision = lab.cluster.store.revision
    lab.pod("later")
    lab.settle()
    made = fork(lab.cluster, revision=revision)

    assert "later" not in placements(made)
    assert "p0" in placements(made)


def test_a_fork_of_what_is_not_kept_says_which_setting_keeps_it() -> None:
    lab = Lab(nodes=1, history=0)
    lab.cluster.store.compact(lab.cluster.store.revision)

    with pytest.raises(SchedlabError) as caught:
        fork(lab.cluster, revision=2)
    assert caught.value.message == "the past of revision 2 is no longer kept"
    assert "--history" in caught.value.hint


def test_a_fork_of_the_future_is_refused() -> None:
    lab = Lab(nodes=1)

    with pytest.raises(SchedlabError, match="has not happened yet"):
        fork(lab.cluster, revision=10**6)


def test_deleted_nodes_do_not_come_back_in_a_fork() -> None:
    lab = Lab(nodes=2)
    lab.cluster.registry.delete("nodes", "node-1")
    lab.settle()

    assert [node.metadata.name for node in fork(lab.cluster).informers.lister("nodes").list()] == ["node-0"]


def test_a_fork_can_have_another_scheduler_configuration() -> None:
    lab = busy()
    raw = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "other"}],
    }
    made = fork(lab.cluster, scheduler_config=(raw, "other.yaml"))
    run(made)

    assert list(made.scheduler.profiles) == ["other"]
    assert placements(made) == placements(lab.cluster)

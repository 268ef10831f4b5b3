"""A rehearsed cycle says what would come of a pod, and leaves no trace."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.rehearsal import rehearse


def cluster(nodes: int = 2) -> Cluster:
    clock = VirtualClock()
    made = Cluster(clock, SeededRandom(1), ClusterSettings(nodes=nodes, annotations="off"))
    made.start()
    BatchDriver(made.engine, clock).settle()
    return made


def create_pod(made: Cluster, name: str, **spec: Any) -> PodInfo:
    requests = {"cpu": spec.pop("cpu", "1")}
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    body["spec"]["containers"][0]["resources"] = {"requests": requests}
    stored = made.registry.create("pods", made.registry.decode("pods", body), "default")
    return PodInfo(stored.view, stored)


def trace(made: Cluster) -> tuple[Any, ...]:
    scheduler = made.scheduler
    scheduler.cache.refresh()
    table = scheduler.cache.table
    return (
        table.requested.tolist(),
        [[pod.key for pod in info.pods] for info in table.infos],
        scheduler.next_start_node_index,
        scheduler.queue.contents(),
        scheduler.queue.nominator.all(),
        bool(scheduler.outbox),
        made.store.revision,
    )


@pytest.mark.parametrize("cpu", ["1", "100"])
def test_leaves_no_trace(cpu: str) -> None:
    made = cluster()
    pod = create_pod(made, "p", cpu=cpu)
    before = trace(made)

    record = rehearse(made.scheduler, pod, makes_room=True)

    assert record.result == ("scheduled" if cpu == "1" else "unschedulable")
    assert trace(made) == before


def test_says_the_same_as_the_attempt_that_follows() -> None:
    made = cluster()
    pod = create_pod(made, "p")

    rehearsed = rehearse(made.scheduler, pod)
    BatchDriver(made.engine, made.clock).settle()  # type: ignore[arg-type]  # the cluster runs on a virtual clock
    story = made.log.find("default", "p")

    assert story is not None
    assert rehearsed.selected == story.attempts[-1].cycle().selected


def test_makes_room_only_when_asked() -> None:
    made = cluster(nodes=1)
    create_pod(made, "low", cpu="4")
    BatchDriver(made.engine, made.clock).settle()  # type: ignore[arg-type]  # the cluster runs on a virtual clock
    high = {"metadata": {"name": "high"}, "value": 10}
    priorities = "priorityclasses.scheduling.k8s.io"
    made.registry.create(priorities, made.registry.decode(priorities, high))
    pod = create_pod(made, "p", cpu="4", priorityClassName="high")

    assert rehearse(made.scheduler, pod).preemption is None
    preemption = rehearse(made.scheduler, pod, makes_room=True).preemption
    assert preemption is not None
    assert preemption.victims == ("default/low",)

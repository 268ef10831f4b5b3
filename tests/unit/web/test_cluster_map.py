"""The stream of the cluster map: all there is first, then each change once, in its newest state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson

from schedlab.registry.request import DeleteOptions
from schedlab.web import cluster_map
from schedlab.web.cluster_map import MapStream
from tests.support.clusters import Lab
from tests.unit.web.map_lines import whole_pods


async def _until_complete(lines: AsyncIterator[bytes]) -> dict[str, Any]:
    """Gather what is told until all is."""
    nodes: dict[str, Any] = {}
    pods: dict[str, Any] = {}
    async for line in lines:
        told = orjson.loads(line)
        nodes |= told["nodes"]
        pods |= whole_pods(told)
        if told["complete"]:
            break
    return {"nodes": nodes, "pods": pods}


def test_everything_is_told_in_a_few_words() -> None:
    lab = Lab(nodes=1)
    requests = {"resources": {"requests": {"cpu": "250m", "memory": "1Ki"}}}
    spec = {"containers": [{"name": "c", "image": "i", **requests}]}
    lab.create("pods", {"metadata": {"name": "p", "labels": {"app": "web"}}, "spec": spec}, "default")
    lab.create_pod("waits", nodeSelector={"no": "where"})
    lab.run()
    told = asyncio.run(_until_complete(MapStream(lab.registry).lines()))

    assert told["pods"]["default/p"] == {
        "node": "node-0",
        "workload": "default/web",
        "phase": "Running",
        "priority": 0,
        "requests": {"cpu": 250, "memory": 1024},
    }
    assert told["pods"]["default/waits"]["node"] == ""
    assert told["pods"]["default/waits"]["workload"] == "Pod default/waits"
    node = told["nodes"]["node-0"]
    assert (node["ready"], node["unschedulable"], node["taints"]) == (True, False, [])
    assert node["allocatable"]["cpu"] > 250


def test_many_objects_come_in_several_lines() -> None:
    """So that other requests get their turn; none is missing."""
    lab = Lab(nodes=cluster_map._LINE + 1)

    async def read() -> list[int]:
        sizes = []
        async for line in MapStream(lab.registry).lines():
            told = orjson.loads(line)
            sizes.append(len(told["nodes"]))
            if told["complete"]:
                return sizes
        return sizes

    assert asyncio.run(read()) == [cluster_map._LINE, 1, 0]


def test_changes_are_told_once_in_their_newest_state() -> None:
    """However many there were since the last line."""
    lab = Lab(nodes=2)

    async def read() -> dict[str, Any]:
        lines = MapStream(lab.registry).lines()
        await _until_complete(lines)
        lab.create_pod("p")
        lab.create_pod("short")
        lab.run()
        lab.registry.delete("pods", "short", "default", DeleteOptions(grace_period_seconds=0))
        lab.registry.delete("nodes", "node-1")
        lab.run()
        nodes, pods = orjson.loads(await anext(lines)), orjson.loads(await anext(lines))
        assert (nodes["pods"], pods["nodes"], pods["complete"]) == ({}, {}, False)
        return {"nodes": nodes["nodes"], "pods": whole_pods(pods)}

    told = asyncio.run(read())
    assert told["pods"]["default/p"]["phase"] == "Running"
    assert told["pods"]["default/short"] is None
    assert told["nodes"]["node-1"] is None


def test_pods_of_a_deployment_are_its_own() -> None:
    """Not those of the ReplicaSet of the day; a Job's are the Job's."""
    lab = Lab(nodes=1)
    spec = {"containers": [{"name": "c", "image": "i"}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    deployment = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    lab.create("deployments.apps", {"metadata": {"name": "web"}, "spec": deployment}, "default")
    job = {"template": {"spec": {**spec, "restartPolicy": "Never"}}}
    lab.create("jobs.batch", {"metadata": {"name": "once"}, "spec": job}, "default")
    lab.run()
    told = asyncio.run(_until_complete(MapStream(lab.registry).lines()))

    assert {pod["workload"] for pod in told["pods"].values()} == {"Deployment default/web", "Job default/once"}


def test_pods_that_look_alike_share_what_is_told() -> None:
    """However they came to the same: plain pods by the words of their requests, others by what these come to."""
    lab = Lab(nodes=1)
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "250m"}}}
    initial = {"initContainers": [{**container, "name": "first"}]}
    more: dict[str, Any] = {"a": {}, "b": {}, "c": initial, "d": {"priority": 0}}
    for name, spec in more.items():
        labels = {"metadata": {"name": name, "labels": {"app": "web"}}}
        lab.create("pods", {**labels, "spec": {"containers": [container], **spec}}, "default")
    second = {**container, "name": "second", "resources": {"requests": {"cpu": "250m", "memory": "1Ki"}}}
    lab.create(
        "pods",
        {"metadata": {"name": "e", "labels": {"app": "web"}}, "spec": {"containers": [container, second]}},
        "default",
    )
    objects = {resource: {one.key: one for one in lab.registry.list(resource).items} for resource in ("nodes", "pods")}
    [line] = [orjson.loads(line) for line in cluster_map.told(objects) if b"default/a" in line]

    assert [pod[1] for pod in line["pods"].values()] == [0, 0, 0, 0, 1]
    assert [look["requests"] for look in line["looks"]] == [{"cpu": 250}, {"cpu": 500, "memory": 1024}]

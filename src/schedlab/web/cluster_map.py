"""What the cluster map of the web UI draws: every node and pod in a few words, and then what changes.

    GET /api/v1/map        lines of JSON, nodes and pods by name:
    {"nodes": {"node-0": {…}}, "pods": {}, "complete": false}
    {"nodes": {}, "pods": {"default/web-0": {…}}, "complete": true}       all that there is has been told
    {"nodes": {}, "pods": {"default/web-0": null}}                        what changed in the last BATCH_S; null is gone

Whole objects would be ten times as much: 50,000 pods of 2 kB are 100 MB to send and to parse.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import orjson

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.rules.requests import amounts_of, pod_requests
from schedlab.api.views.core import Node, Pod
from schedlab.registry import Registry
from schedlab.web.routing import Refusal, Request, Route, Stream
from schedlab.web.simulator import Simulator

ThingT = TypeVar("ThingT")

#: Changes are gathered for so long before they are told.
BATCH_S: Final = 0.1
#: Of so many objects a line tells, so that other requests get their turn between two.
_LINE: Final = 500
_TEMPLATE_HASH: Final = "pod-template-hash"


class MapStream:
    """One client's stream. However slowly it reads, each node and pod waits at most once: in its newest state."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._changed: dict[str, dict[str, StoredObject | None]] = {"nodes": {}, "pods": {}}
        self._news = asyncio.Event()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines, without end."""
        watches = []
        try:
            found = {}
            for resource in ("nodes", "pods"):
                listed = self._registry.list(resource)
                found[resource] = listed.items
                watches.append(self._registry.watch(resource, listed.revision, partial(self._note, resource)))
            for line in _all(found["nodes"], found["pods"]):
                yield line
                await asyncio.sleep(0)
            while True:
                await self._news.wait()
                await asyncio.sleep(BATCH_S)
                for line in self._changes():
                    yield line
                    await asyncio.sleep(0)
        finally:
            for watch in watches:
                watch.stop()

    def _note(self, resource: str, event: WatchEvent) -> None:
        self._changed[resource][event.object.key] = None if event.type == "DELETED" else event.object
        self._news.set()

    def _changes(self) -> Iterator[bytes]:
        self._news.clear()
        nodes, pods = self._changed["nodes"], self._changed["pods"]
        self._changed = {"nodes": {}, "pods": {}}
        for part in _parts(list(nodes.items())):
            yield _line({name: None if node is None else _node(node.view) for name, node in part}, {})
        for part in _parts(list(pods.items())):
            yield _line({}, {key: None if pod is None else _pod(pod.view) for key, pod in part})


def _all(nodes: Sequence[StoredObject], pods: Sequence[StoredObject]) -> Iterator[bytes]:
    for some in _parts(nodes):
        yield _line({node.key: _node(node.view) for node in some}, {})
    for some in _parts(pods):
        yield _line({}, {pod.key: _pod(pod.view) for pod in some})
    yield _line({}, {}, complete=True)


def _parts(things: Sequence[ThingT]) -> Iterator[Sequence[ThingT]]:
    for start in range(0, len(things), _LINE):
        yield things[start : start + _LINE]


def _line(nodes: dict[str, Any], pods: dict[str, Any], *, complete: bool = False) -> bytes:
    return orjson.dumps({"nodes": nodes, "pods": pods, "complete": complete}) + b"\n"


def _node(node: Node) -> dict[str, Any]:
    ready = any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions)
    return {
        "labels": node.metadata.labels,
        "taints": [f"{taint.key}={taint.value}:{taint.effect}" for taint in node.spec.taints],
        "unschedulable": node.spec.unschedulable,
        "ready": ready,
        "allocatable": amounts_of(node.status.allocatable),
    }


def _pod(pod: Pod) -> dict[str, Any]:
    return {
        "node": pod.spec.node_name,
        "workload": _workload(pod),
        "phase": "Terminating" if pod.metadata.deletion_timestamp else pod.status.phase,
        "priority": pod.spec.priority or 0,
        "requests": pod_requests(pod),
    }


def _workload(pod: Pod) -> str:
    """Name who made the pod, a Deployment rather than its ReplicaSet; else the application that its labels name."""
    labels = pod.metadata.labels
    for owner in pod.metadata.owner_references:
        if owner.controller:
            is_of_deployment = owner.kind == "ReplicaSet" and _TEMPLATE_HASH in labels
            kind = "Deployment" if is_of_deployment else owner.kind
            name = owner.name.removesuffix(f"-{labels[_TEMPLATE_HASH]}") if is_of_deployment else owner.name
            return f"{kind} {pod.metadata.namespace}/{name}"
    application = labels.get("app.kubernetes.io/name") or labels.get("app")
    return (
        f"{pod.metadata.namespace}/{application}"
        if application
        else f"Pod {pod.metadata.namespace}/{pod.metadata.name}"
    )


async def get_map(simulator: Simulator, _request: Request) -> Stream:
    """Tell what there is, and go on with what changes."""
    if simulator.mirroring is None:
        raise Refusal(400, "there is no cluster here, only a scheduler")
    return Stream(MapStream(simulator.mirroring.registry).lines(), "application/x-ndjson")


ROUTES = (Route("GET", "/api/v1/map", get_map),)

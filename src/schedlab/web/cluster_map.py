"""What the cluster map of the web UI draws: every node and pod in a few words, and then what changes.

    GET /api/v1/map        lines of JSON, nodes and pods by name:
    {"nodes": {"node-0": {…}}, "pods": {}, "complete": false}
    {"nodes": {}, "pods": {"default/web-0": ["node-0", 0]}, "looks": [{…}], "complete": true, "revision": 7}
                           all that there is has been told; pods that look alike share what is told of them
    {"nodes": {}, "pods": {"default/web-0": null}, …}                     what changed in the last BATCH_S; null is gone

A line with a revision, the last one of all that belongs together, brings what was told before to that revision. `?at=`
asks for how it was at one, and then the stream ends; with `?from=`, for whoever knows how it was at another, only what
differs is told.

Whole objects would be more than twenty times as much: 50,000 pods of 2 kB are 100 MB to send and to parse.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import orjson

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.rules.requests import amounts_of, pod_requests
from schedlab.api.views.core import Node, Pod
from schedlab.cluster.past import Difference, Past
from schedlab.registry import Registry
from schedlab.web.routing import Refusal, Request, Route, Stream, paced
from schedlab.web.simulator import Simulator

ThingT = TypeVar("ThingT")
_Requests: TypeAlias = tuple[tuple[str, int], ...]
#: Of a pod all that is told but its node: workload, phase, priority, requests.
_Look: TypeAlias = tuple[str, str, int, _Requests]

#: Changes are gathered for so long before they are told.
BATCH_S: Final = 0.1
#: Of so many objects a line tells, so that other requests get their turn between two.
_LINE: Final = 1000
#: Amounts of so many lists of requests are kept: pods of one template have the same ones.
_KNOWN_MAX: Final = 4096
_RESOURCES: Final = ("nodes", "pods")
_LINES: Final = "application/x-ndjson"
_TEMPLATE_HASH: Final = "pod-template-hash"


class MapStream:
    """One client's stream. However slowly it reads, each node and pod waits at most once: in its newest state."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._changed: dict[str, dict[str, StoredObject | None]] = {resource: {} for resource in _RESOURCES}
        self._revision = 0
        self._news = asyncio.Event()

    async def lines(self, known: Difference | None = None, revision: int = 0) -> AsyncIterator[bytes]:
        """Yield the lines, without end; beginning with all there is, or with what is `known` to differ at a revision."""
        watches = []
        try:
            found = {}
            for resource in _RESOURCES:
                since = revision
                if known is None:
                    listed = self._registry.list(resource)
                    since, found[resource] = listed.revision, {stored.key: stored for stored in listed.items}
                watches.append(self._registry.watch(resource, since, partial(self._note, resource)))
                self._revision = max(self._revision, since)
            for line in told(found if known is None else known, self._revision):
                yield line
                await asyncio.sleep(0)
            while True:
                await self._news.wait()
                await asyncio.sleep(BATCH_S)
                self._news.clear()
                changed, self._changed = self._changed, {resource: {} for resource in _RESOURCES}
                for line in told(changed, self._revision):
                    yield line
                    await asyncio.sleep(0)
        finally:
            for watch in watches:
                watch.stop()

    def _note(self, resource: str, event: WatchEvent) -> None:
        self._changed[resource][event.object.key] = None if event.type == "DELETED" else event.object
        self._revision = max(self._revision, event.revision)
        self._news.set()


async def lines_at(past: Past, registry: Registry, revision: int, known: int | None) -> AsyncIterator[bytes]:
    """Yield how all was at a revision, or only what differs from one that is known."""
    if known is None:
        # All there is now, which nothing has to be looked up for, and then what was otherwise.
        known = past.newest
        now = {resource: {stored.key: stored for stored in registry.list(resource).items} for resource in _RESOURCES}
        for line in told(now):
            yield line
            await asyncio.sleep(0)
    for line in told(await paced(past.difference(known, revision, _RESOURCES)), revision):
        yield line
        await asyncio.sleep(0)


def told(objects: Difference, revision: int | None = None) -> Iterator[bytes]:
    """Yield the lines that tell of objects; with a revision all is complete then."""
    for node_part in _parts(list(objects["nodes"].items())):
        yield _line({key: None if node is None else _node(node.view) for key, node in node_part}, {})
    for pod_part in _parts(list(objects["pods"].items())):
        looks: dict[_Look, int] = {}
        pods = {key: None if pod is None else _pod(pod.view, looks) for key, pod in pod_part}
        yield _line({}, pods, looks=[_told_look(look) for look in looks])
    if revision is not None:
        yield _line({}, {}, complete=True, revision=revision)


def _parts(things: Sequence[ThingT]) -> Iterator[Sequence[ThingT]]:
    for start in range(0, len(things), _LINE):
        yield things[start : start + _LINE]


def _line(nodes: dict[str, Any], pods: dict[str, Any], **more: Any) -> bytes:
    return orjson.dumps({"nodes": nodes, "pods": pods, "complete": False, **more}) + b"\n"


def _node(node: Node) -> dict[str, Any]:
    ready = any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions)
    return {
        "labels": node.metadata.labels,
        "taints": [f"{taint.key}={taint.value}:{taint.effect}".replace("=:", ":") for taint in node.spec.taints],
        "unschedulable": node.spec.unschedulable,
        "ready": ready,
        "allocatable": amounts_of(node.status.allocatable),
    }


def _pod(pod: Pod, looks: dict[_Look, int]) -> tuple[str, int]:
    """Return the node of a pod, and the number of its look, which is added when it is the first one of its kind."""
    phase = "Terminating" if pod.metadata.deletion_timestamp else pod.status.phase
    look = _workload(pod), phase, pod.spec.priority or 0, _requests(pod)
    return pod.spec.node_name, looks.setdefault(look, len(looks))


def _told_look(look: _Look) -> dict[str, Any]:
    workload, phase, priority, requests = look
    return {"workload": workload, "phase": phase, "priority": priority, "requests": dict(requests)}


_known_requests: dict[tuple[tuple[str, str], ...], _Requests] = {}


def _requests(pod: Pod) -> _Requests:
    """Return what a pod asks for; that of plain pods, which are most of them, is known by the words of their lists."""
    spec = pod.spec
    if len(spec.containers) > 1 or spec.init_containers or spec.overhead or spec.resources:
        return tuple(pod_requests(pod).items())
    asked = spec.containers[0].resources.requests
    for status in pod.status.container_statuses:
        # What is applied counts as well, while a resize goes on.
        if status.resources is None:
            continue
        if status.resources.requests != asked or (status.allocated_resources and status.allocated_resources != asked):
            return tuple(pod_requests(pod).items())
    words = tuple(asked.items())
    found = _known_requests.get(words)
    if found is None:
        if len(_known_requests) >= _KNOWN_MAX:
            _known_requests.clear()
        found = _known_requests[words] = tuple(pod_requests(pod).items())
    return found


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


async def get_map(simulator: Simulator, request: Request) -> Stream:
    """Tell what there is, and go on with what changes; `?at=REVISION`: what there was, and no more.

    `?from=REVISION`: to whoever knows how it was then, only what differs.
    """
    at, known = request.number("at"), request.number("from")
    if simulator.mirroring is None or simulator.past is None:
        raise Refusal(400, "there is no cluster here, only a scheduler")
    registry, past = simulator.mirroring.registry, simulator.past
    for revision in (at, known):
        if revision is not None:
            past.require(revision)
    if at is not None:
        return Stream(lines_at(past, registry, at, known), _LINES)
    if known is None:
        return Stream(MapStream(registry).lines(), _LINES)
    newest = past.newest
    difference = await paced(past.difference(known, newest, _RESOURCES))
    return Stream(MapStream(registry).lines(difference, newest), _LINES)


ROUTES = (Route("GET", "/api/v1/map", get_map),)

"""A cluster served over HTTPS by another process, and the clients that load it: the target of live runs.

The server is what `schedlab up` runs, or `schedlab apiserver` and `schedlab scheduler`. The clients share this process:
CONNECTIONS of them write, one watches the pods.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

import orjson
import uvloop

from schedlab.apimachinery.gvk import GroupVersionKind, parse_group_version
from schedlab.apimachinery.resources import ResourceType, known_resources
from schedlab.cluster.cluster import ClusterSettings
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.scheduler_perf.http_connection import Connection
from schedlab.scheduler_perf.known_pods import KnownPods, decode_event, decode_pod
from schedlab.scheduler_perf.objects import Body
from schedlab.scheduler_perf.served_process import ServedPair, ServedProcess
from schedlab.scheduler_perf.target import STALLED_NS, ChurnPlan, Measured, Selection

T = TypeVar("T")
#: How many the server is: with 2 the scheduler has one of its own.
Processes: TypeAlias = Literal[1, 2]
CONNECTIONS: Final = 8
_POLL_S: Final = 0.01


class LiveTarget:
    """See target.Target."""

    def __init__(self, settings: ClusterSettings, processes: Processes = 1) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="schedlab-bench-")
        serve = ServedProcess if processes == 1 else ServedPair
        self._server = serve(settings, Path(self._folder.name))
        self._loop = uvloop.new_event_loop()
        self._connections: list[Connection] = []
        self._watcher: Connection | None = None
        self._resources: dict[tuple[str, str], ResourceType] = {}
        self._pods = KnownPods()
        self._background: list[asyncio.Task[None]] = []
        self._selection: Selection | None = None
        self._bound: list[float] = []
        self._started = self._started_cpu = 0.0
        self._changed_at = time.monotonic()
        try:
            self._run(self._connect())
        except BaseException:
            self.close()
            raise

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        made = self._loop.run_until_complete(work)
        for task in self._background:
            if task.done():
                task.result()
        return made

    async def _connect(self) -> None:
        context = ssl.create_default_context(cafile=self._server.ca_file)
        host, port = self._server.address
        for _ in range(CONNECTIONS + 1):
            self._connections.append(await Connection.open(host, port, context, self._server.token))
        watcher = self._watcher = self._connections.pop()
        listed = orjson.loads(await watcher.request("GET", "/api/v1/pods?limit=1"))
        revision = listed["metadata"]["resourceVersion"]
        lines = watcher.stream(f"/api/v1/pods?watch=true&resourceVersion={revision}")
        self._background.append(self._loop.create_task(self._watch(lines)))

    async def _watch(self, lines: AsyncIterator[bytes]) -> None:
        async for line in lines:
            event = decode_event(line)
            self._changed_at = time.monotonic()
            is_bound = self._pods.heard(event)
            if is_bound and self._selection is not None and event.object.is_in(self._selection):
                self._bound.append(time.perf_counter() - self._started)

    # --- Objects -----------------------------------------------------------------------------------------------------

    def create(self, bodies: Iterable[Body], namespace: str = "") -> Sequence[tuple[str, str, str]]:
        """See target.Target."""
        made: list[tuple[str, str, str]] = []
        self._run(self._create_all(iter(bodies), namespace, made))
        return made

    async def _create_all(
        self, bodies: Iterator[Body], namespace: str, made: list[tuple[str, str, str]] | None = None
    ) -> None:
        """Let every connection take the next body until there is none."""

        async def worker(connection: Connection) -> None:
            for body in bodies:
                entry, path, where = self._place(body, namespace)
                answer = await connection.request("POST", path, orjson.dumps(body))
                if entry.full_name == "pods":
                    self._pods.created(decode_pod(answer))
                if made is not None:
                    made.append((entry.full_name, where, orjson.loads(answer)["metadata"]["name"]))

        await asyncio.gather(*(worker(connection) for connection in self._connections))

    def _place(self, body: Body, namespace: str) -> tuple[ResourceType, str, str]:
        kind = (body.get("apiVersion", ""), body.get("kind", ""))
        entry = self._resources.get(kind)
        if entry is None:
            group, version = parse_group_version(kind[0])
            found = known_resources().find_gvk(GroupVersionKind(group, version, kind[1]))
            if found is None:
                raise SchedlabError(f"{kind[1]} of {kind[0]} is not known")
            entry = self._resources[kind] = found
        where = (namespace or body["metadata"].get("namespace") or "default") if entry.namespaced else ""
        return entry, _path(entry, where), where

    def update(self, bodies: Iterable[Body], namespace: str, subresources: Sequence[str], per_second: int) -> None:
        """See target.Target."""

        async def update() -> None:
            for body in bodies:
                _, path, _ = self._place(body, namespace)
                for subresource in subresources or ("",):
                    suffix = f"/{subresource}" if subresource else ""
                    target = f"{path}/{body['metadata']['name']}{suffix}"
                    await self._connections[0].request(
                        "PATCH", target, orjson.dumps(body), "application/merge-patch+json"
                    )
                if per_second:
                    await asyncio.sleep(1 / per_second)

        self._run(update())

    # --- Pods --------------------------------------------------------------------------------------------------------

    def create_pods(self, bodies: Iterable[Body], namespace: str, *, wait: bool) -> None:
        """See target.Target."""
        self._run(self._create_all(iter(bodies), namespace))
        if wait:
            self.wait_for(Selection((namespace,)), attempted=False)

    def delete_pods(self, selection: Selection, per_second: int, *, wait: bool) -> None:
        """See target.Target."""
        keys = self._pods.within(selection)

        async def delete() -> None:
            for namespace, name in keys:
                await self._delete("pods", namespace, name)
                if per_second:
                    await asyncio.sleep(1 / per_second)

        if wait or not per_second:
            self._run(delete())
        else:
            self._background.append(self._loop.create_task(delete()))

    def keep_steady(self, bodies: Iterable[Body], namespace: str, count: int, duration_ns: int) -> None:
        """See target.Target."""
        left = iter(bodies)
        self.create_pods(islice(left, count), namespace, wait=True)

        async def keep() -> None:
            end = time.monotonic() + duration_ns / SECOND_NS
            while time.monotonic() < end:
                found = next(self._pods.scheduled_in(namespace), None)
                if found is None:
                    await asyncio.sleep(_POLL_S)
                    continue
                await self._delete("pods", *found)
                await self._create_all(islice(left, 1), namespace)

        self._run(keep())

    async def _delete(self, resource: str, namespace: str, name: str) -> None:
        entry = known_resources().named(resource)
        await self._connections[0].request("DELETE", f"{_path(entry, namespace)}/{name}", gone_is_fine=True)

    # --- Time --------------------------------------------------------------------------------------------------------

    def wait_for(self, selection: Selection, *, attempted: bool) -> None:
        """See target.Target."""

        async def wait() -> None:
            self._changed_at = time.monotonic()
            self._pods.wait_for(selection, attempted=attempted)
            while left := len(self._pods.left):
                if time.monotonic() - self._changed_at > STALLED_NS / SECOND_NS:
                    raise SchedlabError(f"{left} pods wait and nothing has changed for {STALLED_NS // SECOND_NS} s")
                await asyncio.sleep(_POLL_S)

        self._run(wait())

    def churn(self, plan: ChurnPlan) -> None:
        """See target.Target."""

        async def churn() -> None:
            while plan.recreate or not plan.number or plan.rounds < plan.number:
                await asyncio.sleep(plan.interval_ns / SECOND_NS)
                if plan.recreate and plan.rounds % (2 * plan.number) >= plan.number:
                    for _ in range(len(plan.created) // (2 * plan.number - plan.rounds % (2 * plan.number))):
                        await self._delete(*plan.created.pop())
                else:
                    made: list[tuple[str, str, str]] = []
                    await self._create_all(iter(plan.next_objects(plan.rounds)), plan.namespace, made)
                    plan.created.extend(made if plan.recreate else ())
                plan.rounds += 1

        self._background.append(self._loop.create_task(churn()))

    def sleep(self, duration_ns: int) -> None:
        """See target.Target."""
        self._run(asyncio.sleep(duration_ns / SECOND_NS))

    # --- Measuring ---------------------------------------------------------------------------------------------------

    def start_measuring(self, selection: Selection) -> None:
        """See target.Target."""
        self._bound = []
        self._server.ask("start")
        self._selection, self._started, self._started_cpu = selection, time.perf_counter(), time.process_time()

    def stop_measuring(self) -> Measured:
        """See target.Target."""
        self._selection = None
        figures = self._server.ask("stop")
        client_s = time.process_time() - self._started_cpu
        return Measured(len(self._bound), self._bound, figures["cpu_s"], figures["cycles_s"], client_cpu_s=client_s)

    def facts(self) -> dict[str, Any]:
        """See target.Target."""
        return dict(self._server.ask("facts"))

    def close(self) -> None:
        """Stop the clients, then the server."""
        self._loop.run_until_complete(self._disconnect())
        self._loop.close()
        self._server.close()
        self._folder.cleanup()

    async def _disconnect(self) -> None:
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        for connection in (*self._connections, self._watcher):
            if connection is not None:
                await connection.close()


def _path(entry: ResourceType, namespace: str) -> str:
    where = f"/namespaces/{namespace}" if entry.namespaced else ""
    return f"{entry.path}{where}/{entry.resource}"

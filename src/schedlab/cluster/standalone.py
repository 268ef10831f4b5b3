"""A scheduler alone, on somebody else's API server: what `schedlab scheduler` runs.

    alone = StandaloneScheduler(settings, access, print)
    await alone.start()
    code = await alone.until_stopped()
    await alone.stop()

It asks the API server for what kube-scheduler asks, no more: the rights of the roles system:kube-scheduler and
system:volume-scheduler are enough.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import signal
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from schedlab import __version__
from schedlab.apimachinery.time import format_time
from schedlab.apimachinery.version import KUBERNETES_VERSION
from schedlab.apiserver.certificates import ensure_certificates
from schedlab.apiserver.server import Application, RunningServer
from schedlab.cluster.driver import Engine
from schedlab.cluster.http_caller import HTTPCaller
from schedlab.cluster.live import LiveDriver
from schedlab.cluster.memory import memory_bytes
from schedlab.cluster.scheduler_access import ReviewedAccess
from schedlab.cluster.scheduler_instance import InstanceSettings, Process, SchedulerInstance
from schedlab.cluster.scheduler_server import SchedulerServer, checks_of
from schedlab.cluster.wall_clock import WallClock, entropy
from schedlab.decisions.schedulers import OWN
from schedlab.remote.client import RemoteClient
from schedlab.remote.kubeconfig import Access
from schedlab.remote.rate_limit import RateLimit
from schedlab.remote.transport import Transport

_RELEASE_S_MAX: Final = 5.0


class StandaloneScheduler:
    """One scheduler process; everything runs in the loop that makes it. `write` gets the lines of its log."""

    def __init__(self, settings: InstanceSettings, access: Access, write: Callable[[str], None]) -> None:
        loop = asyncio.get_running_loop()
        clock = WallClock()
        self._started_ns = clock.now_ns()
        self._servers: list[RunningServer] = []
        self._ended: asyncio.Future[int] = loop.create_future()
        self._caller = HTTPCaller()
        connection = settings.configuration().client_connection
        self._client = RemoteClient(
            Transport(access, _user_agent()),
            rate_limit=RateLimit(connection.qps, connection.burst) if connection.qps > 0 else None,
        )
        engine = Engine(self._caller)
        process = Process(clock, entropy(), socket.gethostname(), os.getpid(), write, self._end)
        self.instance = SchedulerInstance(settings, self._client, engine, process)
        self._driver = LiveDriver(engine, clock)

    async def start(self) -> None:
        """Begin to listen; schedule once everything is known and, with leader election, this one leads."""
        self._client.on_answer = self._client.on_event = self._caller.on_answer = self._driver.wake
        self._driver.start()
        self.instance.start()

    async def serve(self, app: Application, bound: socket.socket) -> None:
        """Answer on a socket, in plain HTTP."""
        server = RunningServer(app, bound)
        self._servers.append(server)
        await server.start()

    async def serve_scheduler(self, bound: socket.socket, pki: Path) -> None:
        """Answer as kube-scheduler does of itself; the settings must say that it `counts`."""
        instance = self.instance
        assert instance.metrics is not None

        def synced() -> str:
            return "" if instance.is_synced else "handlers are not fully synchronized"

        def election() -> str:
            elector = instance.elector
            is_lost = elector is not None and elector.state == "lost"
            return "failed election to renew leadership" if is_lost else ""

        checks = checks_of(synced, None if instance.elector is None else election)
        app = SchedulerServer(
            lambda: instance.scheduler,
            instance.metrics,
            ReviewedAccess(self._client),
            checks,
            leads=lambda: instance.is_active,
        )
        server = RunningServer(app, bound, ensure_certificates(pki, datetime.now(tz=UTC)))
        self._servers.append(server)
        await server.start()

    def status(self) -> dict[str, Any]:
        """Tell how the scheduler is: what `schedlab status` shows."""
        log = self.instance.decisions
        return {
            "startedAt": format_time(self._started_ns),
            "schedulers": [self.instance.known(OWN).as_json()],
            "warnings": [],
            "decisions": log.status(),
            "memoryBytes": memory_bytes(),
        }

    async def until_stopped(self) -> int:
        """Wait for SIGINT or SIGTERM (0) or the loss of the lease (1); a mistake of ours is raised here."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._end, 0)
        assert self._driver.failure is not None
        failures = (self._driver.failure, self._client.failure)
        await asyncio.wait((self._ended, *failures), return_when=asyncio.FIRST_COMPLETED)
        for one in failures:
            if one.done():
                one.result()
        return self._ended.result()

    async def stop(self) -> None:
        """Give the lease back, finish the requests in flight and close all connections."""
        elector = self.instance.elector
        if elector is not None and elector.state == "leading":
            self._ended = asyncio.get_running_loop().create_future()
            self.instance.release()
            self._driver.wake()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended, _RELEASE_S_MAX)
        self._driver.stop()
        await asyncio.gather(*(server.stop() for server in self._servers))
        self._caller.close()
        await self._client.close()

    def _end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)


def _user_agent() -> str:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return (
        f"kube-scheduler/{KUBERNETES_VERSION} ({platform.system().lower()}/{machine}) schedlab/{__version__}/scheduler"
    )

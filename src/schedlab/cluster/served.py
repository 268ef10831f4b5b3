"""A live cluster behind its API server, in one event loop: what `schedlab up` runs.

served = ServedCluster(settings, home, api_socket)
await served.start()
await served.serve(app, socket)          # further ASGI apps of the same process
await served.until_stopped()
await served.stop()
"""

from __future__ import annotations

import asyncio
import signal
import socket
from datetime import UTC, datetime
from typing import Final

from schedlab.apiserver.app import APIServer, Settings
from schedlab.apiserver.authentication import Authenticator, UserInfo
from schedlab.apiserver.certificates import ensure_certificates, ensure_signing_key
from schedlab.apiserver.kubeconfig import write_kubeconfig
from schedlab.apiserver.policy.bootstrap import bootstrap_access
from schedlab.apiserver.server import Application, RunningServer
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.home import Home
from schedlab.cluster.http_caller import HTTPCaller
from schedlab.cluster.live import LiveDriver
from schedlab.cluster.wall_clock import WallClock, entropy

ADMINISTRATOR: Final = UserInfo("admin", "admin-uid", ("system:masters",))
LOOPBACK_NAMES: Final = frozenset(("127.0.0.1", "localhost", "::1"))


class ServedCluster:
    """A cluster on the wall clock with its API server on a bound socket; everything runs in the loop that starts it."""

    def __init__(self, settings: ClusterSettings, home: Home, api: socket.socket) -> None:
        self._clock = WallClock()
        self._caller = HTTPCaller()
        self._home = home
        certificates = ensure_certificates(home.pki, datetime.now(tz=UTC))
        self._authority = certificates.ca.certificate
        authority = self._authority.read_text(encoding="utf-8")
        self.cluster = Cluster(self._clock, entropy(), settings, self._caller, root_ca=authority)
        self.address = loopback_address(api)
        self.token = home.token()
        bootstrap_access(self.cluster.registry)
        server = APIServer(
            self.cluster.registry,
            self._clock,
            Authenticator({self.token: ADMINISTRATOR}),
            # Only these names lead here: a page whose own name was made to point at this machine gets nothing.
            Settings(address=self.address, hosts=LOOPBACK_NAMES),
            signing_key=ensure_signing_key(home.pki),
        )
        self._servers = [RunningServer(server, api, certificates)]
        self._driver = LiveDriver(self.cluster.engine, self._clock)

    async def start(self) -> None:
        """Let the parts run and the API server answer; write the kubeconfig."""
        self.cluster.start()
        self.cluster.on_change(self._driver.wake)
        self._caller.on_answer = self._driver.wake
        self._driver.start()
        await self._servers[0].start()
        write_kubeconfig(self._home.kubeconfig, f"https://{self.address}", self.token, self._authority)

    async def serve(self, app: Application, bound: socket.socket) -> None:
        """Answer on another socket, in plain HTTP."""
        server = RunningServer(app, bound)
        self._servers.append(server)
        await server.start()

    async def until_stopped(self) -> None:
        """Wait for SIGINT or SIGTERM; a bug in a part of the cluster is raised here."""
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
        assert self._driver.failure is not None
        waiting = asyncio.ensure_future(stopped.wait())
        await asyncio.wait((waiting, self._driver.failure), return_when=asyncio.FIRST_COMPLETED)
        if self._driver.failure.done():
            waiting.cancel()
            self._driver.failure.result()

    async def stop(self) -> None:
        """Step nothing more, end the watches, finish the requests in flight."""
        self._driver.stop()
        await asyncio.gather(*(server.stop() for server in self._servers))
        self._caller.close()


def loopback_address(bound: socket.socket) -> str:
    """Return host:port of a bound socket."""
    host, port = bound.getsockname()[:2]
    return f"{host}:{port}"

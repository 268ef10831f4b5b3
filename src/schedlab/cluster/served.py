"""A live cluster behind its API server, in one event loop: what `schedlab up` runs, and `schedlab apiserver` alone.

served = ServedCluster(settings, home, api_socket)
await served.start()
await served.serve(app, socket)          # further ASGI apps of the same process
await served.until_stopped()
await served.stop()
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.time import format_time
from schedlab.apiserver.answers import Receive, Scope, Send
from schedlab.apiserver.app import APIServer, Settings
from schedlab.apiserver.audit import AuditLog
from schedlab.apiserver.authentication import ANONYMOUS_USER, UNSECURED_USER, Authenticator, UserInfo
from schedlab.apiserver.certificates import ensure_certificates, ensure_signing_key
from schedlab.apiserver.durability import settle
from schedlab.apiserver.kubeconfig import write_kubeconfig
from schedlab.apiserver.policy.bootstrap import bootstrap_access
from schedlab.apiserver.request import FROM_HISTORY
from schedlab.apiserver.server import Application, RunningServer
from schedlab.client.node_servers import LogSource, NodeServer
from schedlab.client.resource_metrics import ResourceMetrics
from schedlab.cluster.api import API, APISettings
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.cross_origin import CrossOrigin
from schedlab.cluster.decision_file import DecisionFile
from schedlab.cluster.home import Home
from schedlab.cluster.http_caller import HTTPCaller
from schedlab.cluster.live import LiveDriver
from schedlab.cluster.memory import memory_bytes
from schedlab.cluster.scheduler_access import OwnAccess
from schedlab.cluster.scheduler_server import SchedulerServer, checks_of
from schedlab.cluster.storage import Storage
from schedlab.cluster.wall_clock import WallClock, entropy
from schedlab.decisions.schedulers import rival_warnings
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError

ADMINISTRATOR: Final = UserInfo("admin", "admin-uid", ("system:masters",))
LOOPBACK_NAMES: Final = frozenset(("127.0.0.1", "localhost", "::1"))

#: So many new objects are looked through at once; Python's 700 come with every other request.
_GARBAGE_MIN: Final = 10_000


@dataclass(frozen=True, slots=True)
class Serving:
    """How an API is kept and reached.

    audit_log: a file for what is asked of it. insecure: plain HTTP, and whoever asks is an administrator. origins: of
    pages that may use it, all when there are none, and none when it is None.
    """

    storage: Storage = field(default_factory=Storage)
    audit_log: Path | None = None
    insecure: bool = False
    origins: tuple[str, ...] | None = None


class ServedAPI:
    """An API on the wall clock, served on a bound socket; everything runs in the loop that starts it."""

    def __init__(
        self,
        settings: APISettings,
        home: Home,
        bound: socket.socket,
        serving: Serving | None = None,
    ) -> None:
        serving = Serving() if serving is None else serving
        self._loop = asyncio.get_running_loop()
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._clock = WallClock()
        self._audit = None if serving.audit_log is None else AuditLog.open(serving.audit_log, self._clock)
        self._storage = serving.storage
        self._backend = self._storage.open(self._post, self._storage_lost)
        self._started_ns = self._clock.now_ns()
        self._caller = HTTPCaller()
        self._home = home
        certificates = ensure_certificates(home.pki, datetime.now(tz=UTC))
        self._authority = certificates.ca.certificate
        self._insecure = serving.insecure
        self._origins = serving.origins
        try:
            self.api = self._make(settings)
        except BaseException:
            if self._backend is not None:
                self._backend.close()
            raise
        address = loopback_address(bound)
        self.url = f"http://{address}" if self._insecure else f"https://{address}"
        self.token = home.token()
        bootstrap_access(self.api.registry)
        self._run_programs()
        self.server = APIServer(
            self.api.registry,
            self._clock,
            Authenticator({self.token: ADMINISTRATOR}, nobody=UNSECURED_USER if self._insecure else ANONYMOUS_USER),
            # Only these names lead here: a page whose own name was made to point at this machine gets nothing.
            Settings(address=address, hosts=LOOPBACK_NAMES),
            metrics=self._metrics(),
            logs=self._logs(),
            nodes=self._node_servers(),
            signing_key=ensure_signing_key(home.pki),
            audit=self._audit,
        )
        self._certificates = certificates
        opened = self._open(self.server)
        self._servers = [RunningServer(opened, bound, None if self._insecure else certificates)]
        self._driver = LiveDriver(self.api.engine, self._clock)

    def _open(self, app: Application) -> Application:
        """Let pages of other origins in, if there are such."""
        return app if self._origins is None else CrossOrigin(app, self._origins)

    def _make(self, settings: APISettings) -> API:
        return API(self._clock, entropy(), settings, self._caller, backend=self._backend)

    def _metrics(self) -> ResourceMetrics | None:
        """Return who knows what pods and nodes use."""
        return None

    def _run_programs(self) -> None:
        """Let containers run what really works."""

    def _logs(self) -> LogSource | None:
        """Return who knows what containers have written."""
        return None

    def _node_servers(self) -> NodeServer | None:
        """Return the servers of the nodes' kubelets."""
        return None

    async def start(self) -> None:
        """Let the parts run and the API server answer; write the kubeconfig."""
        self.api.start()
        self.api.on_change(self._driver.wake)
        self._caller.on_answer = self._driver.wake
        self._driver.start()
        try:
            await settle(self.api.registry, self.api.registry.revision)
        except StatusError as error:
            raise SchedlabError(error.message, hint="free space on that disk, then start again") from error
        await self._servers[0].start()
        # What is here now stays until the end: to look for garbage in it would only make others wait.
        gc.collect()
        gc.freeze()
        gc.set_threshold(_GARBAGE_MIN)
        authority = None if self._insecure else self._authority
        write_kubeconfig(self._home.kubeconfig, self.url, self.token, authority)

    async def serve(self, app: Application, bound: socket.socket) -> None:
        """Answer on another socket, in plain HTTP."""
        server = RunningServer(self._open(app), bound)
        self._servers.append(server)
        await server.start()

    async def serve_securely(self, app: Application, bound: socket.socket) -> None:
        """Answer on another socket, with the API server's certificate."""
        server = RunningServer(app, bound, self._certificates)
        self._servers.append(server)
        await server.start()

    async def from_history(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the API server does (ASGI), and lists of one revision as long as history keeps it."""
        await self.server({**scope, FROM_HISTORY: True}, receive, send)

    async def until_stopped(self) -> None:
        """Wait for SIGINT or SIGTERM; a bug in a part of the cluster, or a broken disk, is raised here."""
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, stopped.set)
        assert self._driver.failure is not None
        waiting = asyncio.ensure_future(stopped.wait())
        ends = (self._driver.failure, self._lost)
        await asyncio.wait((waiting, *ends), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        for end in ends:
            if end.done():
                end.result()

    async def stop(self) -> None:
        """Step nothing more, end the watches, finish the requests in flight, keep what is not kept yet."""
        self._driver.stop()
        await asyncio.gather(*(server.stop() for server in self._servers))
        self._caller.close()
        if self._audit is not None:
            self._audit.close()
        if self._backend is not None:
            self._backend.close()

    # --- Storage -----------------------------------------------------------------------------------------------------

    def _post(self, news: Callable[[], None]) -> None:
        """Take news of the back end's thread into the loop."""
        self._loop.call_soon_threadsafe(self._take, news)

    def _take(self, news: Callable[[], None]) -> None:
        news()
        # Whoever has written goes on now.
        self._driver.wake()

    def _storage_lost(self, error: Exception) -> None:
        if self._lost.done():
            return
        place, what, advice = "", str(error), "look after the storage, then start again"
        if isinstance(error, SchedlabError):
            place, what, advice = error.location, error.message, error.hint
        self._lost.set_exception(
            SchedlabError(
                f"the cluster can no longer be kept: {what}",
                location=place,
                hint=f"nothing was acknowledged that is not kept; {advice}",
            )
        )


class ServedCluster(ServedAPI):
    """A whole cluster: an API with all parts that act on it."""

    cluster: Cluster

    def __init__(
        self,
        settings: ClusterSettings,
        home: Home,
        bound: socket.socket,
        serving: Serving | None = None,
    ) -> None:
        self._decision_file: DecisionFile | None = None
        super().__init__(settings, home, bound, serving)

    def _make(self, settings: APISettings) -> API:
        assert isinstance(settings, ClusterSettings)
        authority = self._authority.read_text(encoding="utf-8")
        folder = self._storage.data_dir
        if folder is not None:
            age_ns = settings.decisions_age_s * SECOND_NS
            self._decision_file = DecisionFile(folder, bytes_max=settings.decisions_bytes, age_max_ns=age_ns)
        self.cluster = Cluster(
            self._clock,
            entropy(),
            settings,
            self._caller,
            root_ca=authority,
            backend=self._backend,
            archive=self._decision_file,
        )
        return self.cluster

    def _run_programs(self) -> None:
        self.cluster.run_scheduler_pods()

    def _logs(self) -> LogSource | None:
        return self.cluster.logs

    def _node_servers(self) -> NodeServer | None:
        return self.cluster.node_servers

    async def stop(self) -> None:
        """See ServedAPI; the decision log is kept last."""
        await super().stop()
        if self._decision_file is not None:
            self._decision_file.close()

    def _metrics(self) -> ResourceMetrics:
        return self.cluster.metrics

    async def serve_scheduler(self, bound: socket.socket) -> None:
        """Answer as kube-scheduler does of itself; the settings must say that it `counts`."""
        assert self.cluster.scheduler_metrics is not None
        checks = checks_of(lambda: "", stopping=lambda: self.server.stopping)
        app = SchedulerServer(
            lambda: self.cluster.scheduler, self.cluster.scheduler_metrics, OwnAccess(self.server), checks
        )
        await self.serve_securely(app, bound)

    def status(self) -> dict[str, Any]:
        """Tell how the cluster is: what `schedlab status` shows."""
        store, log = self.cluster.store, self.cluster.log
        data_dir, etcd = self._storage.data_dir, self._storage.etcd
        return {
            "startedAt": format_time(self._started_ns),
            "revision": store.revision,
            "objects": {resource: store.count(resource) for resource in store.resources()},
            "decisions": log.status(),
            "schedulers": [one.as_json() for one in self.cluster.schedulers()],
            "warnings": rival_warnings(self.cluster.schedulers()),
            "memoryBytes": memory_bytes(),
            "dataDir": None if data_dir is None else str(data_dir.absolute()),
            "etcdServers": None if etcd is None else list(etcd.servers),
        }


def loopback_address(bound: socket.socket) -> str:
    """Return host:port of a bound socket."""
    host, port = bound.getsockname()[:2]
    return f"{host}:{port}"

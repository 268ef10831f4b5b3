"""An API server for tests: in a process of its own (`Process`), or as an ASGI application in this one (`make_app`).

    python -m tests.support.api_server FOLDER [--controllers] [--accounts]

serves on a free port, writes FOLDER/server.json (url, token, ca, kubeconfig) when it answers, and ends on SIGTERM. There
is no scheduler and no kubelet. With `--controllers` the controllers of a cluster run; with `--accounts` the service
account of a namespace is made when the first pod needs it.
"""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import uvloop

from schedlab.apimachinery.features import FeatureGates
from schedlab.apiserver.app import APIServer, Settings
from schedlab.apiserver.authentication import MASTERS, Authenticator, UserInfo
from schedlab.apiserver.certificates import Certificates, ensure_certificates
from schedlab.apiserver.kubeconfig import write_kubeconfig
from schedlab.apiserver.policy.bootstrap import bootstrap_access
from schedlab.apiserver.server import RunningServer
from schedlab.client.informers import Informers
from schedlab.client.inprocess import InProcessClient
from schedlab.cluster.driver import Engine
from schedlab.cluster.live import LiveDriver
from schedlab.cluster.wall_clock import WallClock
from schedlab.controllers.framework.controller import ControllerContext
from schedlab.controllers.registry import CONTROLLERS
from schedlab.kernel.clock import Clock
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry.bootstrap import bootstrap
from schedlab.registry.registry import Registry
from schedlab.store import Store
from tests.support.registries import provide_accounts

TOKEN = "the-administrator"
ADMIN = UserInfo("admin", "admin-uid", (MASTERS,))
REPOSITORY = Path(__file__).resolve().parents[2]
_START_S_MAX = 20.0


def make_app(
    clock: Clock | None = None, settings: Settings | None = None, *, accounts: bool = True
) -> tuple[APIServer, Registry]:
    """Make an application over a store that holds what a server creates by itself.

    With `accounts` the service account of a namespace is made when the first pod needs it.
    """
    chosen = WallClock() if clock is None else clock
    registry = Registry(Store(), chosen, SeededRandom(time.time_ns()))
    bootstrap(registry)
    bootstrap_access(registry)
    if accounts:
        provide_accounts(registry)
    return APIServer(registry, chosen, Authenticator({TOKEN: ADMIN}), settings), registry


@dataclass(frozen=True)
class Address:
    """How a running server is reached."""

    url: str
    token: str
    ca: str
    kubeconfig: str


class Process:
    """A server in its own process, for a `with` statement."""

    def __init__(self, folder: Path, *, controllers: bool = False, accounts: bool = False) -> None:
        self._folder = folder
        self._accounts = accounts
        self._controllers = controllers
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        facts = self._folder / "server.json"
        facts.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.support.api_server", str(self._folder)]
        command += ["--controllers"] * self._controllers + ["--accounts"] * self._accounts
        with (self._folder / "server.log").open("wb") as log:
            self._process = subprocess.Popen(command, cwd=REPOSITORY, stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + _START_S_MAX
        while not facts.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise AssertionError(f"the server did not start:\n{self.log()}")
            time.sleep(0.02)
        self.address = Address(**json.loads(facts.read_text()))
        return self

    def __exit__(self, *_exception: object) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise

    def log(self) -> str:
        """Everything the server has said."""
        return (self._folder / "server.log").read_text(errors="replace")


def _run_controllers(registry: Registry, clock: WallClock, root_ca: str) -> LiveDriver:
    """Run the controllers of a cluster on the loop."""
    client = InProcessClient(registry, "kube-controller-manager")
    informers = Informers(client)
    resources = tuple(registry.resources)
    features = FeatureGates.default()
    context = ControllerContext(informers, clock, SeededRandom(time.time_ns()), features, resources, root_ca)
    engine = Engine()
    for make in CONTROLLERS.values():
        engine.add(make(context), client)
    driver = LiveDriver(engine, clock)
    for resource in informers.resources():
        informers.on_change(resource, lambda _: driver.wake())
    driver.start()
    return driver


async def _serve(folder: Path, *, controllers: bool, accounts: bool) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    certificates: Certificates = ensure_certificates(folder / "pki", datetime.now(tz=UTC))
    settings = Settings(f"127.0.0.1:{port}", frozenset(("127.0.0.1", "localhost", "::1")))
    clock = WallClock()
    app, registry = make_app(clock, settings, accounts=accounts)
    server = RunningServer(app, listener, certificates)
    await server.start()
    root_ca = certificates.ca.certificate.read_text(encoding="utf-8")
    driver = _run_controllers(registry, clock, root_ca) if controllers else None
    url = f"https://127.0.0.1:{port}"
    kubeconfig = folder / "kubeconfig"
    write_kubeconfig(kubeconfig, url, TOKEN, certificates.ca.certificate)
    facts: dict[str, Any] = {
        "url": url,
        "token": TOKEN,
        "ca": str(certificates.ca.certificate),
        "kubeconfig": str(kubeconfig),
    }
    partial = folder / "server.json.partial"
    partial.write_text(json.dumps(facts))
    partial.replace(folder / "server.json")
    stopped = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, stopped.set)
    waiting: list[asyncio.Future[Any]] = [asyncio.ensure_future(stopped.wait())]
    if driver is not None and driver.failure is not None:
        waiting.append(driver.failure)
    done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    await server.stop()
    for each in done:
        each.result()


if __name__ == "__main__":
    options = sys.argv[2:]
    uvloop.run(_serve(Path(sys.argv[1]), controllers="--controllers" in options, accounts="--accounts" in options))

"""A served cluster in a process of its own, or two, which answer questions about themselves through pipes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import uvloop

from schedlab.cluster.cluster import ClusterSettings
from schedlab.cluster.home import Home
from schedlab.cluster.memory import calm_garbage_collector
from schedlab.cluster.scheduler_instance import InstanceSettings
from schedlab.cluster.served import ServedCluster
from schedlab.cluster.standalone import StandaloneScheduler
from schedlab.kernel.errors import SchedlabError
from schedlab.remote.kubeconfig import load_access
from schedlab.scheduler.config.types import API_VERSION, KIND
from schedlab.scheduler.scheduler import Scheduler
from schedlab.scheduler_perf.observation import CycleTimes, facts_of, facts_of_cluster

_START_S: Final = 60.0
_ANSWER_S: Final = 30.0
_POLL_S: Final = 0.01
_NEW_CONFIGURATION: Final = {"apiVersion": API_VERSION, "kind": KIND}
#: Neither kube-scheduler's 50 requests a second, which scheduler_perf lifts, too, nor an election.
_UNHINDERED: Final = {"clientConnection": {"qps": -1}, "leaderElection": {"leaderElect": False}}


class _Child:
    """A process that begins by sending something through its pipe and then answers questions."""

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(*arguments, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.greeting = self._receive(_START_S)

    def ask(self, question: str) -> Any:
        self._pipe.send(question)
        return self._receive(_ANSWER_S)

    def _receive(self, timeout_s: float) -> Any:
        try:
            if self._pipe.poll(timeout_s):
                return self._pipe.recv()
        except EOFError:
            pass
        raise SchedlabError("a process of the live run has ended or does not answer", hint="its own words are above")

    def close(self) -> None:
        self._pipe.close()
        self._process.join(_ANSWER_S)
        if self._process.is_alive():
            self._process.terminate()


class ServedProcess:
    """The server's process: its address and token, and questions to it."""

    def __init__(self, settings: ClusterSettings, folder: Path) -> None:
        self._server = _Child(_serve, settings, folder)
        self._home = Home(folder)
        self.address: tuple[str, int] = tuple(self._server.greeting)
        self.token = self._home.token()

    @property
    def ca_file(self) -> Path:
        """The certificate that signs the server's."""
        return self._home.pki / "ca.crt"

    def ask(self, question: str) -> Any:
        """Return the answer to `start`, `stop` or `facts`."""
        return self._server.ask(question)

    def close(self) -> None:
        """End the process."""
        self._server.close()


class ServedPair(ServedProcess):
    """The same with the scheduler in a process of its own, which shows no annotations: `schedlab scheduler`."""

    def __init__(self, settings: ClusterSettings, folder: Path) -> None:
        super().__init__(replace(settings, schedules=False), folder)
        try:
            self._scheduler = _Child(_schedule, settings, self._home.kubeconfig)
        except BaseException:
            super().close()
            raise

    def ask(self, question: str) -> Any:
        """Return the answer to `start`, `stop` or `facts` of both: times and memory added up."""
        served, scheduled = super().ask(question), self._scheduler.ask(question)
        if question == "start":
            return None
        summed = ("cpu_s", "memoryMiB", "memoryPeakMiB")
        both = {name: served[name] + scheduled[name] for name in summed if name in served}
        return {**scheduled, **both, **({"objects": served["objects"]} if question == "facts" else {})}

    def close(self) -> None:
        """End both processes."""
        self._scheduler.close()
        super().close()


def _serve(settings: ClusterSettings, folder: Path, pipe: Connection) -> None:
    uvloop.run(_serve_until_closed(settings, folder, pipe))


async def _serve_until_closed(settings: ClusterSettings, folder: Path, pipe: Connection) -> None:
    home = Home(folder)
    home.prepare()
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen(128)
        served = ServedCluster(settings, home, bound)
        await served.start()
        cluster = served.cluster
        await _answer_until_closed(pipe, bound.getsockname(), cluster.scheduler, lambda: facts_of_cluster(cluster))
        await served.stop()


def _schedule(settings: ClusterSettings, kubeconfig: Path, pipe: Connection) -> None:
    uvloop.run(_schedule_until_closed(settings, kubeconfig, pipe))


async def _schedule_until_closed(settings: ClusterSettings, kubeconfig: Path, pipe: Connection) -> None:
    raw = {**_NEW_CONFIGURATION, **(settings.scheduler_config or {}), **_UNHINDERED}
    instance_settings = InstanceSettings(
        scheduler_config=raw,
        scheduler_config_location=settings.scheduler_config_location,
        feature_gates=settings.feature_gates,
        full=settings.full,
    )
    alone = StandaloneScheduler(instance_settings, load_access(kubeconfig), _say_nothing)
    await alone.start()
    while not alone.instance.is_synced:  # noqa: ASYNC110 - nobody tells when that is so
        await asyncio.sleep(_POLL_S)
    instance = alone.instance
    await _answer_until_closed(pipe, None, instance.scheduler, lambda: facts_of(instance.decisions))
    await alone.stop()


async def _answer_until_closed(
    pipe: Connection, greeting: Any, scheduler: Scheduler, facts: Callable[[], dict[str, Any]]
) -> None:
    calm_garbage_collector()
    questions = _questions(scheduler, facts)
    pipe.send(greeting)
    closed = asyncio.Event()
    asyncio.get_running_loop().add_reader(pipe.fileno(), _answer, pipe, questions, closed)
    # The loop has made the pipe refuse what does not fit into it at once: the times of 50,000 cycles.
    os.set_blocking(pipe.fileno(), True)
    await closed.wait()


def _answer(pipe: Connection, questions: Mapping[str, Callable[[], Any]], closed: asyncio.Event) -> None:
    try:
        question = pipe.recv()
    except (EOFError, OSError):
        asyncio.get_running_loop().remove_reader(pipe.fileno())
        closed.set()
        return
    pipe.send(questions[question]())


def _questions(scheduler: Scheduler, facts: Callable[[], dict[str, Any]]) -> Mapping[str, Callable[[], Any]]:
    cycles = CycleTimes(scheduler)
    started = [0.0]

    def start() -> None:
        cycles.clear()
        started[0] = time.process_time()

    def stop() -> dict[str, Any]:
        return {"cpu_s": time.process_time() - started[0], "cycles_s": cycles.seconds}

    return {"start": start, "stop": stop, "facts": facts}


def _say_nothing(_: str) -> None:
    """Keep the scheduler's log off the screen."""

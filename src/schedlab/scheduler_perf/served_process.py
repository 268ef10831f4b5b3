"""A served cluster in a process of its own, which answers questions about itself through a pipe."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import uvloop

from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.home import Home
from schedlab.cluster.memory import calm_garbage_collector
from schedlab.cluster.served import ServedCluster
from schedlab.kernel.errors import SchedlabError
from schedlab.scheduler_perf.observation import CycleTimes, facts_of

_START_S: Final = 60.0
_ANSWER_S: Final = 30.0


class ServedProcess:
    """The server's process: its address and token, and questions to it."""

    def __init__(self, settings: ClusterSettings, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(settings, folder, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._home = Home(folder)
        self.address: tuple[str, int] = tuple(self._receive(_START_S))
        self.token = self._home.token()

    @property
    def ca_file(self) -> Path:
        """The certificate that signs the server's."""
        return self._home.pki / "ca.crt"

    def ask(self, question: str) -> Any:
        """Return the answer to `start`, `stop` or `facts`."""
        self._pipe.send(question)
        return self._receive(_ANSWER_S)

    def _receive(self, timeout_s: float) -> Any:
        try:
            if self._pipe.poll(timeout_s):
                return self._pipe.recv()
        except EOFError:
            pass
        raise SchedlabError("the server of the live run has ended or does not answer", hint="its own words are above")

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(_ANSWER_S)
        if self._process.is_alive():
            self._process.terminate()


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
        calm_garbage_collector()
        questions = _questions(served.cluster)
        pipe.send(bound.getsockname())
        closed = asyncio.Event()
        asyncio.get_running_loop().add_reader(pipe.fileno(), _answer, pipe, questions, closed)
        await closed.wait()
        await served.stop()


def _answer(pipe: Connection, questions: Mapping[str, Callable[[], Any]], closed: asyncio.Event) -> None:
    try:
        question = pipe.recv()
    except (EOFError, OSError):
        asyncio.get_running_loop().remove_reader(pipe.fileno())
        closed.set()
        return
    pipe.send(questions[question]())


def _questions(cluster: Cluster) -> Mapping[str, Callable[[], Any]]:
    cycles = CycleTimes(cluster.scheduler)
    started = [0.0]

    def start() -> None:
        cycles.clear()
        started[0] = time.process_time()

    def stop() -> dict[str, Any]:
        return {"cpu_s": time.process_time() - started[0], "cycles_s": cycles.seconds}

    return {"start": start, "stop": stop, "facts": lambda: facts_of(cluster)}

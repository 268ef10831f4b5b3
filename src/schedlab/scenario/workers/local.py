"""Workers as processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Final

from schedlab.cluster.memory import calm_garbage_collector
from schedlab.scenario.workers.crew import Result, Work, WorkerLostError, attempt
from schedlab.scenario.workers.interrupts import deaf_children

_CONTEXT: Final = multiprocessing.get_context("spawn")


class LocalEngine:
    """Makes processes that do `work`, which must be picklable."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def start(self) -> LocalWorker:
        """See Engine."""
        return LocalWorker(self._work)

    def wait(self, workers: Sequence[LocalWorker], timeout_s: float | None) -> list[LocalWorker]:
        """See Engine. A process that is dead has an end of file to tell."""
        ready = wait([worker.connection for worker in workers], timeout_s)
        return [worker for worker in workers if worker.connection in ready]


class LocalWorker:
    """One process."""

    def __init__(self, work: Work) -> None:
        self.connection, far_end = _CONTEXT.Pipe()
        self._process: SpawnProcess = _CONTEXT.Process(target=_serve, args=(far_end, work), daemon=True)
        # The first process decides what becomes of the runs.
        with deaf_children():
            self._process.start()
        far_end.close()

    def send(self, task: Any) -> None:
        """See Worker. A process that is dead tells so when it is asked."""
        try:
            self.connection.send(task)
        except OSError:
            return

    def receive(self) -> Result | None:
        """See Worker."""
        try:
            answer: Result | None = self.connection.recv()
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode or 0
            raise WorkerLostError(_how(code)) from None
        return answer

    def stop(self) -> None:
        """See Worker."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _how(code: int) -> str:
    if code >= 0:
        return f"its process ended with exit code {code}"
    more = ", perhaps for lack of memory" if code == -signal.SIGKILL else ""
    return f"its process was killed by {signal.Signals(-code).name}{more}"


def _serve(connection: Connection, work: Work) -> None:
    """Make runs until nobody asks for more."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    calm_garbage_collector()
    try:
        connection.send(None)
        while True:
            connection.send(attempt(work, connection.recv()))
    except (EOFError, OSError):
        return


def _end_with_parent() -> None:
    """End this process when the one that asks for runs is no more, however that ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "workers are started by another process"
    wait([parent.sentinel])
    os._exit(1)

"""Questions about a live cluster, answered in processes of their own, so that its loop never waits for a search.

    workers = Workers(lambda: cluster)
    answer = await workers.ask(lambda cluster: what_would_help(cluster, "shop", "db-3").data())

A worker is a fork of this process (fork(2)): the snapshot it works on is the memory as it was at that instant, shared
with the live cluster page by page until either writes to it. Nothing is encoded, sent or rebuilt, every detail of the
cluster is there, and the loop waits only for the page tables to be copied: `keep_forks_short` sees to it that they are
small. The worker computes, writes its answer as
JSON to a pipe and is gone; it never touches the loop, sockets, files or threads of the process that it came from.

See ADR 0009 for what was measured and what else was thought of.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import traceback
import warnings
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import orjson

from schedlab.cluster.cluster import Cluster
from schedlab.cluster.memory import memory_bytes, use_huge_pages
from schedlab.kernel.errors import SchedlabError

#: Asks something of a cluster, for JSON-shaped data; runs in a worker, so it may take its time and change what it likes.
Question: TypeAlias = Callable[[Cluster], Any]

AT_ONCE_MAX: Final = max(1, (os.cpu_count() or 2) - 1)
WAITING_MAX: Final = 32
TIMEOUT_S: Final = 60.0

_GROWN: Final = 1.05
_GROWN_EVERY_S: Final = 10.0
_CHUNK_BYTES: Final = 1 << 16
_STDERR: Final = 2


class WorkerError(Exception):
    """A worker that has not answered: it took too long, died, or there were too many; `busy` tells the last apart."""

    def __init__(self, message: str, *, busy: bool = False) -> None:
        super().__init__(message)
        self.busy = busy


class Workers:
    """Forks workers for one cluster, some at a time; the others wait for their turn.

    Cancelling an `ask` kills its worker, as does its timeout.
    """

    def __init__(
        self,
        cluster: Callable[[], Cluster],
        *,
        at_once_max: int = AT_ONCE_MAX,
        waiting_max: int = WAITING_MAX,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._cluster = cluster
        self._turns = asyncio.Semaphore(at_once_max)
        self._room = at_once_max + waiting_max
        self._asked = 0
        self._timeout_s = timeout_s

    async def ask(self, question: Question) -> Any:
        """Return the answer; raises SchedlabError as the question does, WorkerError when there is no answer."""
        if self._asked >= self._room:
            raise WorkerError(f"{self._asked} searches are under way already; ask again later", busy=True)
        self._asked += 1
        try:
            async with self._turns:
                return _read(await self._run(question))
        finally:
            self._asked -= 1

    async def keep_forks_short(self) -> None:
        """Whenever memory has grown, let it be laid out so that a fork takes little time; runs until it is cancelled."""
        laid_out = 0
        while True:
            used = memory_bytes()
            if used > laid_out * _GROWN:
                await asyncio.to_thread(use_huge_pages)
                laid_out = used
            await asyncio.sleep(_GROWN_EVERY_S)

    async def _run(self, question: Question) -> bytes:
        pid, pipe = _fork(question, self._cluster())
        answered = False
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await _read_all(pipe)
            answered = True
        except TimeoutError:
            raise WorkerError(f"the search took longer than {self._timeout_s:g} s and was given up") from None
        finally:
            os.close(pipe)
            if not answered:
                os.kill(pid, signal.SIGKILL)
            # Its memory has to be given back first, which takes longer than the loop should wait.
            status = await asyncio.shield(asyncio.to_thread(os.waitpid, pid, 0))
        if not answer:
            raise WorkerError(f"the search ended without an answer (wait status {status[1]})")
        return answer


async def _read_all(pipe: int) -> bytes:
    """Read a pipe to its end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    pieces: list[bytes] = []

    def ready() -> None:
        piece = os.read(pipe, _CHUNK_BYTES)
        pieces.append(piece)
        if not piece and not done.done():
            done.set_result(None)

    loop.add_reader(pipe, ready)
    try:
        await done
    finally:
        loop.remove_reader(pipe)
    return b"".join(pieces)


def _read(answer: bytes) -> Any:
    told = orjson.loads(answer)
    if "error" in told:
        raise SchedlabError(**told["error"])
    if "bug" in told:
        raise WorkerError(f"the search failed, which is a bug of schedlab:\n{told['bug']}")
    return told["answer"]


# --- In the worker ---------------------------------------------------------------------------------------------------


def _fork(question: Question, cluster: Cluster) -> tuple[int, int]:
    """Start a worker; return its process id and the pipe that its answer comes through."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 and newer warn of forks beside threads: the worker uses nothing that a thread may hold a lock of.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            _work(question, cluster, writing)
        finally:
            os._exit(0)
    os.close(writing)
    return pid, reading


def _work(question: Question, cluster: Cluster, pipe: int) -> None:
    # A collection would write to every object, and so copy every page.
    gc.disable()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    # Connections must end when the server ends them, not when the last worker does.
    os.closerange(_STDERR + 1, pipe)
    os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))
    told = memoryview(orjson.dumps(_answer(question, cluster)))
    while told:
        told = told[os.write(pipe, told) :]


def _answer(question: Question, cluster: Cluster) -> dict[str, Any]:
    try:
        return {"answer": question(cluster)}
    except SchedlabError as error:
        return {"error": {"message": error.message, "location": error.location, "hint": error.hint}}
    except Exception:  # noqa: BLE001 - whatever it is, who has asked must hear of it
        return {"bug": traceback.format_exc()}

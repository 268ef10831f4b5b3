"""`schedlab record`: write down what happens in a cluster, as kube-scheduler-simulator's recorder does."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from typing import Annotated

import uvloop
from cyclopts import Parameter

from schedlab.apimachinery.errors import StatusError
from schedlab.cli.options import refuse_negative
from schedlab.cluster.wall_clock import WallClock
from schedlab.kernel.words import counted
from schedlab.mirror.recorder import Recorder
from schedlab.remote.client import RemoteClient
from schedlab.remote.kubeconfig import Access, load_access
from schedlab.remote.transport import Transport


def record(
    *,
    path: Annotated[Path, Parameter(help="File to write; one that is there is begun anew.")],
    kubeconfig: Annotated[
        Path | None, Parameter(help="How to reach the cluster; KUBECONFIG or ~/.kube/config if not given.")
    ] = None,
    context: Annotated[str, Parameter(help="Context of the kubeconfig.")] = "",
    duration: Annotated[int, Parameter(help="Seconds to record; 0 is until Ctrl-C.")] = 0,
) -> int:
    """Record namespaces, priority classes, storage classes, claims, nodes, volumes and pods, first what is there, then
    every change. The cluster is only watched.
    """
    refuse_negative(duration, "--duration", "seconds cannot be recorded")
    access = load_access(kubeconfig, context=context)
    uvloop.run(_record(path, access, duration))
    return 0


async def _record(path: Path, access: Access, duration: int) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    client = RemoteClient(Transport(access, "schedlab-recorder"), tolerant=True)
    client.on_error = _tell
    try:
        with Recorder(client, WallClock(), path) as recorder:
            recorder.start(lambda: print(f"recording {access.server} into {path}", file=sys.stderr, flush=True))
            waiting = asyncio.ensure_future(stopped.wait())
            await asyncio.wait((waiting, client.failure), timeout=duration or None, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if client.failure.done():
                client.failure.result()
            recorded = recorder.recorded
    finally:
        with contextlib.suppress(asyncio.CancelledError):
            await client.close()
    nouns = {"ADDED": "addition", "MODIFIED": "update", "DELETED": "deletion"}
    amounts = [counted(recorded[event], noun) for event, noun in nouns.items()]
    print(f"{', '.join(amounts)} in {path}")


def _tell(resource: str, verb: str, error: StatusError) -> None:
    then = "it is left out" if verb == "read" else "trying again"
    print(f"warning: cannot {verb} {resource}, {then}: {error.message}", file=sys.stderr, flush=True)

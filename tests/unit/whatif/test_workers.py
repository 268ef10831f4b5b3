"""Questions are answered in processes of their own, which change nothing here and never outlive who has asked."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import uvloop

from schedlab.cluster.cluster import Cluster
from schedlab.kernel.errors import SchedlabError
from schedlab.whatif.workers import WorkerError, Workers
from tests.unit.whatif.whatif_cluster import Lab


def in_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run a test in the kind of loop that the simulator has."""

    @wraps(test)
    def run() -> None:
        uvloop.run(test())

    return run


def workers(lab: Lab, **options: float) -> Workers:
    return Workers(lambda: lab.cluster, **options)  # type: ignore[arg-type]  # numbers of either kind


@in_a_loop
async def test_answers_come_from_another_process_that_sees_the_cluster() -> None:
    lab = Lab(nodes=2)

    def question(cluster: Cluster) -> dict[str, int]:
        return {"nodes": cluster.store.count("nodes"), "pid": os.getpid()}

    answer = await workers(lab).ask(question)

    assert answer["nodes"] == 2
    assert answer["pid"] != os.getpid()


@in_a_loop
async def test_what_a_worker_does_to_the_cluster_stays_there() -> None:
    lab = Lab(nodes=2)
    before = lab.digest()

    def question(cluster: Cluster) -> int:
        cluster.registry.delete("nodes", "node-0")
        return cluster.store.count("nodes")

    assert await workers(lab).ask(question) == 1
    assert lab.digest() == before


@in_a_loop
async def test_the_loop_goes_on_while_a_worker_works() -> None:
    lab = Lab(nodes=1)
    asking = asyncio.ensure_future(workers(lab).ask(lambda _: time.sleep(0.3)))
    ticks = 0
    while not asking.done():
        await asyncio.sleep(0.01)
        ticks += 1
    await asking

    assert ticks >= 10


@in_a_loop
async def test_big_answers_arrive_whole() -> None:
    answer = await workers(Lab(nodes=1)).ask(lambda _: "x" * 3_000_000)

    assert len(answer) == 3_000_000


@in_a_loop
async def test_mistakes_of_the_user_are_told_with_their_hint() -> None:
    def question(_: Cluster) -> None:
        raise SchedlabError("no such pod", location="here", hint="look there")

    with pytest.raises(SchedlabError) as caught:
        await workers(Lab(nodes=1)).ask(question)
    assert (caught.value.message, caught.value.location, caught.value.hint) == ("no such pod", "here", "look there")


@in_a_loop
async def test_bugs_are_told_with_their_traceback() -> None:
    with pytest.raises(WorkerError, match="ZeroDivisionError"):
        await workers(Lab(nodes=1)).ask(lambda _: 1 // 0)


@in_a_loop
async def test_a_worker_that_dies_is_noticed() -> None:
    with pytest.raises(WorkerError, match="ended without an answer"):
        await workers(Lab(nodes=1)).ask(lambda _: os._exit(3))


@in_a_loop
async def test_a_search_that_takes_too_long_is_given_up() -> None:
    lab = Lab(nodes=1)
    began = time.monotonic()
    with pytest.raises(WorkerError, match=r"took longer than 0\.2 s"):
        await workers(lab, timeout_s=0.2).ask(lambda _: time.sleep(60))

    assert time.monotonic() - began < 10


@in_a_loop
async def test_cancelling_kills_the_worker() -> None:
    lab = Lab(nodes=1)
    before = _children()
    asking = asyncio.ensure_future(workers(lab).ask(lambda _: time.sleep(60)))
    async with asyncio.timeout(10):
        while _children() == before:  # noqa: ASYNC110 - a process is no event of the loop
            await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert _children() == before


def _children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()


@in_a_loop
async def test_too_many_at_once_are_refused() -> None:
    asker = workers(Lab(nodes=1), at_once_max=1, waiting_max=1)
    running = [asyncio.ensure_future(asker.ask(lambda _: time.sleep(0.2))) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(WorkerError, match="2 searches are under way") as caught:
        await asker.ask(lambda _: None)
    await asyncio.gather(*running)

    assert caught.value.busy
    assert await asker.ask(lambda _: 1) == 1

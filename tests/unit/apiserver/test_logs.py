"""A request for a log gets the lines it asks for; one that follows gets those that are added, until the container ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import new_not_found
from schedlab.apimachinery.gvk import GroupResource
from schedlab.apiserver import logs
from schedlab.apiserver.logs import Follower, LogQuery, select, write
from schedlab.client.node_servers import LogLine
from schedlab.kernel.clock import EPOCH_NS, SECOND_NS, VirtualClock

LINES = [LogLine(EPOCH_NS + at * SECOND_NS, f"line {at}") for at in range(5)]
NOW_NS = EPOCH_NS + 5 * SECOND_NS


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (LogQuery(), [0, 1, 2, 3, 4]),
        (LogQuery(tail_lines=2), [3, 4]),
        (LogQuery(tail_lines=0), []),
        (LogQuery(tail_lines=9), [0, 1, 2, 3, 4]),
        (LogQuery(since_seconds=2), [3, 4]),
        (LogQuery(since_time="2026-01-01T00:00:02Z"), [2, 3, 4]),
        (LogQuery(since_seconds=3, tail_lines=1), [4]),
    ],
)
def test_lines_are_chosen_by_time_and_from_the_end(query: LogQuery, expected: list[int]) -> None:
    assert list(select(LINES, query, NOW_NS)) == [LINES[at] for at in expected]


def test_lines_are_written_with_their_times_on_request() -> None:
    assert write(LINES[:2], LogQuery()) == b"line 0\nline 1\n"
    assert write(LINES[:1], LogQuery(timestamps=True)) == b"2026-01-01T00:00:00Z line 0\n"


class Source:
    """A container that writes one more line each time it is looked at, and ends after some."""

    def __init__(self, ends_after: int) -> None:
        self.count = 1
        self._ends_after = ends_after

    def lines(self, pod: StoredObject, container: str, *, previous: bool) -> Sequence[LogLine]:
        found = LINES[: self.count]
        self.count += 1
        return found

    def is_open(self, pod: StoredObject, container: str) -> bool:
        return self.count <= self._ends_after


def pod(uid: str = "u") -> StoredObject:
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "d", "uid": uid}, "spec": {}}
    return StoredObject.encode("pods", obj, 1)


def followed(query: LogQuery, ends_after: int = 3, then: Any = None, monkeypatch: Any = None) -> bytes:
    """Return all that a follower sends."""

    async def run() -> bytes:
        sent: list[bytes] = []

        async def send(message: Any) -> None:
            sent.append(message.get("body", b""))

        async def receive() -> Any:
            await asyncio.sleep(60)

        follower = Follower(Source(ends_after), then or pod, query, VirtualClock(NOW_NS), "u")
        follower.start(pod())
        await asyncio.wait_for(follower.stream.run([], receive, send), 10)
        return b"".join(sent)

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_LOOK_S", 0.01)


def test_follower_sends_what_is_added_until_the_container_ends() -> None:
    assert followed(LogQuery(follow=True)) == b"line 0\nline 1\nline 2\n"
    assert followed(LogQuery(follow=True, tail_lines=0)) == b"line 1\nline 2\n"


def test_follower_ends_at_its_limit_and_when_the_pod_is_gone_or_another_one() -> None:
    assert followed(LogQuery(follow=True, limit_bytes=10), ends_after=99) == b"line 0\nlin"

    def gone() -> StoredObject:
        raise new_not_found(GroupResource("", "pods"), "p")

    assert followed(LogQuery(follow=True), ends_after=99, then=gone) == b"line 0\n"
    assert followed(LogQuery(follow=True), ends_after=99, then=lambda: pod("other")) == b"line 0\n"


def test_follower_of_a_run_that_is_over_sends_it_and_ends() -> None:
    assert followed(LogQuery(follow=True, previous=True), ends_after=99) == b"line 0\n"

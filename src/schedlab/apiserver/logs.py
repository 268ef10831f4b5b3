"""Logs of containers: which lines a request gets, and how it follows what is still being written.

Mirrors: pkg/kubelet/kuberuntime/logs/logs.go (v1.36): tail, since, limit, timestamps, follow.
Differs: lines come from a source that is given, in process; a follower looks for new ones twice a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import StatusError, new_not_found
from schedlab.apimachinery.gvk import GroupResource
from schedlab.apimachinery.time import TimeError, format_nano_time, parse_time
from schedlab.apiserver.answers import TEXT
from schedlab.apiserver.watching import WatchStream
from schedlab.client.node_servers import LogLine, LogSource
from schedlab.kernel.clock import SECOND_NS, Clock

_LOOK_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which part of a log is wanted."""

    container: str = ""
    previous: bool = False
    follow: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since_seconds: int | None = None
    since_time: str = ""


class Silence:
    """The logs of containers that never run."""

    def lines(self, pod: StoredObject, container: str, *, previous: bool) -> Sequence[LogLine]:  # noqa: ARG002 - protocol
        """Return nothing."""
        return ()

    def is_open(self, pod: StoredObject, container: str) -> bool:  # noqa: ARG002 - protocol
        """Nothing is ever written."""
        return False


def select(lines: Sequence[LogLine], query: LogQuery, now_ns: int) -> Sequence[LogLine]:
    """Return the lines that a query is about, before any limit of bytes."""
    since_ns = None
    if query.since_seconds is not None:
        since_ns = now_ns - query.since_seconds * SECOND_NS
    elif query.since_time:
        try:
            since_ns = parse_time(query.since_time)
        except TimeError:
            since_ns = None
    if since_ns is not None:
        lines = [line for line in lines if line.time_ns >= since_ns]
    if query.tail_lines is not None:
        lines = lines[-query.tail_lines :] if query.tail_lines else ()
    return lines


def write(lines: Sequence[LogLine], query: LogQuery) -> bytes:
    """Return the lines as they are sent."""
    if query.timestamps:
        return "".join(f"{format_nano_time(line.time_ns)} {line.text}\n" for line in lines).encode()
    return "".join(f"{line.text}\n" for line in lines).encode()


class Follower:
    """Sends a log and what is added to it, until the container has ended or nobody reads any more."""

    def __init__(
        self, source: LogSource, read: Callable[[], StoredObject], query: LogQuery, clock: Clock, uid: str
    ) -> None:
        self._source = source
        self._read = read
        self._query = query
        self._clock = clock
        self._uid = uid
        self._seen: Sequence[LogLine] = ()
        self._left = query.limit_bytes
        loop = asyncio.get_running_loop()
        self.stream = WatchStream(loop)
        self.stream.content_type = TEXT
        self._timer: asyncio.TimerHandle | None = None
        self._loop = loop
        self.stream.on_end = self._stop

    def start(self, pod: StoredObject) -> None:
        """Send what is there; raises StatusError when there is no such log."""
        lines = self._source.lines(pod, self._query.container, previous=self._query.previous)
        self._seen = lines
        self._push(select(lines, self._query, self._clock.now_ns()))
        self._go_on(pod)

    def _look(self) -> None:
        try:
            pod = self._read()
            if pod.uid != self._uid:
                raise new_not_found(GroupResource("", "pods"), pod.name)
            lines = self._source.lines(pod, self._query.container, previous=self._query.previous)
        except StatusError:
            # The pod is gone, or its node does not answer any more.
            self.stream.end()
            return
        count = len(self._seen)
        if list(lines[:count]) != list(self._seen):
            self._end_run(pod)
            return
        self._push(lines[count:])
        self._seen = lines
        self._go_on(pod)

    def _end_run(self, pod: StoredObject) -> None:
        """Send what the run that was followed has written to its end: the container was started anew."""
        try:
            lines = self._source.lines(pod, self._query.container, previous=True)
        except StatusError:
            lines = ()
        # The log of a run before need not have all lines of the present one: readiness is a matter of the present.
        kept = [line for line in self._seen if line in lines]
        self._push(lines[len(kept) :])
        self.stream.end()

    def _push(self, lines: Sequence[LogLine]) -> None:
        text = write(lines, self._query)
        if self._left is not None:
            text = text[: self._left]
            self._left -= len(text)
        if text:
            self.stream.push(text)

    def _go_on(self, pod: StoredObject) -> None:
        is_full = self._left is not None and self._left <= 0
        if is_full or self._query.previous or not self._source.is_open(pod, self._query.container):
            self.stream.end()
        else:
            self._timer = self._loop.call_later(_LOOK_S, self._look)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

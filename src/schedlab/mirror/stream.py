"""The watch stream of kube-scheduler-simulator: the changes of seven kinds as lines of JSON.

    {"Kind":"pods","EventType":"ADDED","Obj":{…}}

Mirrors: simulator/resourcewatcher of kube-scheduler-simulator
Differs: a client that does not read is cut off when BACKLOG_MAX lines wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Final

from schedlab.api.object import WatchEvent
from schedlab.apimachinery.errors import StatusError
from schedlab.client.protocol import Watch
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.kinds import SNAPSHOT_ORDER, MirroredKind
from schedlab.registry import Registry

BACKLOG_MAX: Final = 100_000
_END: Final = b""


class ResourceStream:
    """One client's stream. versions: by query key, the resourceVersion after which a kind goes on; else it is listed.

    A kind whose version is too old is listed, too; when `strict`, that ends the whole stream, as upstream's.
    """

    def __init__(self, registry: Registry, versions: Mapping[str, str], *, strict: bool = False) -> None:
        self._registry, self._strict = registry, strict
        self._since = {kind.resource: _version(kind, versions) for kind in SNAPSHOT_ORDER}
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines; ends when the client is too slow."""
        watches = []
        try:
            for kind in SNAPSHOT_ORDER:
                watch = self._begin(kind)
                if watch is None:
                    return
                watches.append(watch)
            while line := await self._lines.get():
                yield line
        finally:
            for watch in watches:
                watch.stop()

    def _begin(self, kind: MirroredKind) -> Watch | None:
        registry, since = self._registry, self._since[kind.resource]
        handler = partial(self._put, kind)
        if since is not None:
            try:
                return registry.watch(kind.resource, since, handler)
            except StatusError:
                if self._strict:
                    return None
        found = registry.list(kind.resource)
        for obj in found.items:
            self._put(kind, WatchEvent("ADDED", obj))
        return registry.watch(kind.resource, found.revision, handler)

    def _put(self, kind: MirroredKind, event: WatchEvent) -> None:
        if self._lines.qsize() > BACKLOG_MAX:
            self._lines = asyncio.Queue()
            self._lines.put_nowait(_END)
            return
        shown = self._registry.resource(kind.resource).shown(event.object)
        line = b'{"Kind":"%b","EventType":"%b","Obj":%b}\n'
        self._lines.put_nowait(line % (kind.stream.encode(), event.type.encode(), shown.item_json()))


def _version(kind: MirroredKind, versions: Mapping[str, str]) -> int | None:
    text = versions.get(kind.version_key, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise SchedlabError(
            f"{text!r} is no resourceVersion", location=kind.version_key, hint="leave it out to get everything"
        )
    return int(text)

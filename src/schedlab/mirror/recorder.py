"""Recording a cluster: everything that is there, kind by kind, then every change, each written the moment it is seen.

Each line goes to the operating system at once, so a recorder that is killed loses nothing it has seen.

Mirrors: simulator/recorder of kube-scheduler-simulator
Differs: no line waits in the process; deletions that a broken watch has hidden are recorded when they are noticed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from schedlab.api.object import WatchEvent
from schedlab.client.informers import Informers
from schedlab.kernel.clock import Clock
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.kinds import KINDS
from schedlab.mirror.recording import line_of
from schedlab.mirror.syncer import FollowedClient


class Recorder:
    """Writes what a client sees into a file, which is begun anew."""

    def __init__(self, client: FollowedClient, clock: Clock, file: Path) -> None:
        self.recorded: Counter[str] = Counter()
        self.is_listing = True
        self._client, self._clock, self._file = client, clock, file
        self._informers = Informers(client)
        self._descriptor = -1

    def __enter__(self) -> Self:
        try:
            self._descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise SchedlabError(
                f"cannot be written: {error.strerror}", location=str(self._file), hint="name another file with --path"
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._informers.stop()
        os.fsync(self._descriptor)
        os.close(self._descriptor)

    def start(self, on_listed: Callable[[], None] = lambda: None) -> None:
        """Begin to list; `on_listed` is called when everything that is there was recorded."""

        def listed() -> None:
            if self.is_listing:
                self.is_listing = False
                for kind in KINDS:
                    self._informers.on_change(kind.resource, self._write)
                on_listed()

        self._client.on_synced = listed
        for kind in KINDS:
            self._informers.lister(kind.resource)
        if not self._client.lacking():
            listed()

    def _write(self, event: WatchEvent) -> None:
        line = line_of(event, self._clock.now_ns())
        while line:
            line = line[os.write(self._descriptor, line) :]
        self.recorded[event.type] += 1

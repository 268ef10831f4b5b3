"""What a running simulator can do with other clusters and with its own state: one at a time, in the loop it runs in.

Import, sync and replay exclude each other, as in kube-scheduler-simulator. Long work goes object by object, so that
requests and the scheduler get their turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol

from schedlab.client.effects import CallOutcome
from schedlab.cluster.decision_file import DecisionFile
from schedlab.cluster.http_caller import post
from schedlab.cluster.memory import keep_what_is_here
from schedlab.decisions.log import DecisionLog
from schedlab.kernel.clock import SECOND_NS, Clock
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.applier import Applier, Edit, unchanged
from schedlab.mirror.comparing import why_not
from schedlab.mirror.complete_snapshot import Saving, read_complete
from schedlab.mirror.complete_snapshot import load_steps as load_complete_steps
from schedlab.mirror.importer import Importer, ImportOptions
from schedlab.mirror.kept_state import KeptState
from schedlab.mirror.manifests import load_objects
from schedlab.mirror.recording import read_record
from schedlab.mirror.replayer import Replayer
from schedlab.mirror.snapshot import SCHEDULER_CONFIG, Loaded, check, export, load_steps
from schedlab.mirror.source import Source
from schedlab.mirror.syncer import Syncer
from schedlab.registry import Registry
from schedlab.remote.client import RemoteClient
from schedlab.remote.kubeconfig import Access
from schedlab.remote.transport import Transport
from schedlab.scheduler.extender import HTTPExtender, direct_call

_USER_AGENT: Final = "schedlab-mirror"
#: Objects that are written in one go before others get a turn.
_SLICE: Final = 10
_CHUNK_BYTES: Final = 1024 * 1024
#: Every word of progress has to be read by somebody, too.
_PROGRESS_NS: Final = SECOND_NS // 5
#: The second one takes away what had been asked for before the first and came while it went on.
_PASSES: Final = 2


class MirroredCluster(Protocol):
    """What a cluster lets its mirror do besides reading and writing objects."""

    @property
    def log(self) -> DecisionLog:
        """The decisions."""

    def configuration(self) -> Mapping[str, Any]:
        """Return the configuration in force, in wire form."""

    def extenders(self) -> Sequence[HTTPExtender]:
        """Return the extenders in force."""

    def reconfigure(self, raw: Mapping[str, Any]) -> None:
        """Put another configuration in force; raises ConfigError, and then the old one stays."""

    def at_rest(self) -> AbstractContextManager[None]:
        """Let neither controllers nor the scheduler act for a while."""


class Mirroring:
    """Snapshots, reset, import, sync and replay of one cluster. Make it before anything is imported: `reset` goes there."""

    def __init__(self, registry: Registry, clock: Clock, cluster: MirroredCluster) -> None:
        self.registry = registry
        self._clock, self._cluster = clock, cluster
        self._initial_state = KeptState.of(registry)
        self._initial_configuration = cluster.configuration()
        self._importing: Importer | None = None
        self._syncer: Syncer | None = None
        self._client: RemoteClient | None = None
        self._replayer: Replayer | None = None

    # --- The scheduler's configuration ---

    def scheduler_configuration(self) -> Mapping[str, Any]:
        """Return the configuration in force."""
        return self._cluster.configuration()

    def apply_scheduler_configuration(self, wanted: Mapping[str, Any]) -> None:
        """Take profiles and extenders of a configuration, and nothing else of it; what it leaves out is cleared."""
        kept = {k: v for k, v in self._cluster.configuration().items() if k not in ("profiles", "extenders")}
        chosen = {key: wanted[key] for key in ("profiles", "extenders") if wanted.get(key)}
        self._cluster.reconfigure({**kept, **chosen})

    def ask_extender(self, number: int, verb: str, body: bytes) -> CallOutcome:
        """Ask an extender of the configuration, waiting for its answer; raises SchedlabError when there is none."""
        extenders = self._cluster.extenders()
        if number >= len(extenders):
            raise SchedlabError(
                f"there is no extender {number}", hint=f"the configuration has {len(extenders)}, counted from 0"
            )
        try:
            call = direct_call(extenders[number], verb, body)
        except ValueError as error:
            raise SchedlabError(str(error), hint=f"give it one in the configuration: {verb}Verb") from error
        return post(call)

    # --- Snapshots ---

    def export(self) -> bytes:
        """Return a snapshot of now (mirror.snapshot)."""
        return export(self.registry, self._cluster.configuration())

    async def load(self, document: object, *, replace: bool = False) -> Loaded:
        """Load a snapshot, on top of what is there or in its place; raises SchedlabError before anything is changed."""
        checked = check(document)
        config = checked.get(SCHEDULER_CONFIG)
        if config:
            self.apply_scheduler_configuration(config)
        if replace:
            await self._restore()
        loaded = Loaded()
        with self._cluster.at_rest():
            await _in_slices(load_steps(self.registry, checked, loaded))
        return loaded

    async def export_complete(self) -> AsyncIterator[bytes]:
        """Yield the file of a complete snapshot of now (mirror.complete_snapshot)."""
        saving = Saving(self.registry, self._cluster.log, self._cluster.configuration(), self._clock.now_ns())
        with TemporaryDirectory(prefix="schedlab-") as place:
            folder, target = Path(place), Path(place) / "snapshot.zip"
            decisions = DecisionFile(folder, bytes_max=0)
            try:
                await _in_slices(saving.steps(decisions))
            finally:
                await asyncio.to_thread(decisions.close)
            await asyncio.to_thread(saving.finish, folder, target)
            with target.open("rb") as file:
                while chunk := file.read(_CHUNK_BYTES):
                    yield chunk

    async def load_complete(self, content: bytes, *, replace: bool = False) -> Loaded:
        """Load a complete snapshot, on top of what is there or in its place; raises SchedlabError before any change."""
        snapshot = await asyncio.to_thread(read_complete, content)
        self._cluster.reconfigure(snapshot.scheduler_config)
        # Known before their pods come, so that these show them.
        self._cluster.log.take_over(snapshot.stories)
        loaded = Loaded()
        with self._cluster.at_rest():
            await _in_slices(load_complete_steps(self.registry, snapshot, loaded, replace=replace))
        return loaded

    async def load_objects(self, objects: Sequence[dict[str, Any]]) -> Loaded:
        """Load objects of files (mirror.manifests)."""
        loaded = Loaded()
        with self._cluster.at_rest():
            await _in_slices(load_objects(self.registry, objects, loaded))
        return loaded

    async def reset(self) -> None:
        """Bring everything back to how it was at the start: objects and the scheduler's configuration."""
        self.stop_replay()
        await self.stop_sync()
        await self._restore()
        self._cluster.reconfigure(self._initial_configuration)

    async def _restore(self) -> None:
        # A controller that acts in between makes anew what has just been taken away.
        with self._cluster.at_rest():
            for _ in range(_PASSES):
                await _in_slices(self._initial_state.steps())

    # --- Import ---

    async def import_from(self, access: Access, options: ImportOptions) -> AsyncIterator[Mapping[str, Any]]:
        """Import a cluster; yields progress a few times a second and for every kind, at last the report."""
        self._refuse_second("import")
        transport = Transport(access, _USER_AGENT)
        importer = self._importing = Importer(Source(transport), self.registry, options, keep_what_is_here)
        try:
            with self._cluster.at_rest():
                told_ns = 0
                async for progress in importer.run():
                    now_ns = self._clock.now_ns()
                    if progress.seen == progress.total or now_ns >= told_ns + _PROGRESS_NS:
                        told_ns = now_ns
                        yield asdict(progress)
            yield {"report": importer.report.as_json()}
        finally:
            self._importing = None
            await transport.close()

    # --- Sync ---

    def start_sync(self, access: Access) -> None:
        """Begin to follow a cluster."""
        self._refuse_second("sync")
        self._client = RemoteClient(Transport(access, _USER_AGENT), tolerant=True)
        self._syncer = Syncer(self._client, self.registry, self._clock, partial(why_not, self._cluster.log))
        self._syncer.start()

    async def stop_sync(self) -> None:
        """Follow no more; nothing happens when nothing is followed."""
        if self._syncer is not None and self._client is not None:
            self._syncer.stop()
            await self._client.close()
        self._syncer = self._client = None

    def sync_status(self) -> Mapping[str, Any]:
        """Tell how far the sync is, and how far the schedulers agree."""
        if self._syncer is None or self._client is None:
            return {"state": "stopped"}
        client = self._client
        errors = dict(client.errors())
        if client.failure.done():
            errors["credentials"] = str(client.failure.exception())
        return {
            **self._syncer.as_json(),
            "lacking": list(client.lacking()),
            "errors": errors,
            "agreement": self._syncer.agreement().as_json(),
        }

    # --- Replay ---

    def start_replay(
        self,
        file: Path,
        *,
        speed: float = 0,
        wanted: Callable[[str, Mapping[str, Any]], bool] = lambda *_: True,
        since: int = 0,
        edited: Edit = unchanged,
    ) -> Sequence[str]:
        """Play a record, from an event on; returns warnings, raises SchedlabError for a file that is wrong anywhere."""
        self._refuse_second("replay")
        events, warnings = read_record(file)
        self._replayer = Replayer(events, Applier(self.registry, wanted, edited), self._clock, speed=speed)
        self._replayer.seek(since)
        self._replayer.start()
        return warnings

    def replay_status(self) -> Mapping[str, Any]:
        """Tell how far the replay is."""
        replayer = self._replayer
        if replayer is None:
            return {"state": "stopped"}
        return {
            "state": replayer.state,
            "position": replayer.position,
            "events": replayer.length,
            "speed": replayer.speed,
            **replayer.applied.as_json(),
        }

    @property
    def replayer(self) -> Replayer | None:
        """The replay that was begun last."""
        return self._replayer

    def stop_replay(self) -> None:
        """End a replay where it stands; nothing happens when there is none."""
        if self._replayer is not None:
            self._replayer.pause()
        self._replayer = None

    # --- One at a time ---

    def _refuse_second(self, what: str) -> None:
        running = [
            name
            for name, runs in (
                ("import", self._importing is not None),
                ("sync", self._syncer is not None),
                ("replay", self._replayer is not None and self._replayer.state in ("playing", "paused")),
            )
            if runs
        ]
        if running:
            raise SchedlabError(
                f"{what} cannot begin: {running[0]} is under way",
                hint="wait for its end, or stop it: only one of import, sync and replay runs at a time",
            )

    async def close(self) -> None:
        """End what is under way."""
        self.stop_replay()
        await self.stop_sync()


async def _in_slices(steps: Iterator[None]) -> None:
    """Go through steps, letting others have their turns in between."""
    for number, _ in enumerate(steps, 1):
        if number % _SLICE == 0:
            await asyncio.sleep(0)

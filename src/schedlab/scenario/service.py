"""Runs and comparisons that a running simulator does for its users, each in a process of its own.

                 ┌─ cancel ─────────────────┐
    waiting ─► running ─► finished           ▼
                 └──────► failed         cancelled: what had happened until then can be read

The simulator's loop and its cluster have nothing to do with a run but to hear of its progress. What came out lies in
files, in a folder that is emptied when the service begins and when it ends.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import orjson

from schedlab.scenario.comparing import Variant

Kind = Literal["run", "comparison"]
State = Literal["waiting", "running", "finished", "cancelled", "failed"]
#: What pages show of what came out.
RESULT: Final = "result.json"

AT_ONCE_MAX: Final = max(1, (os.cpu_count() or 2) - 1)
WAITING_MAX: Final = 16
KEPT_MAX: Final = 20
RUN_S_MAX: Final = 3600.0
#: A run that was cancelled has so long to write down what there is.
_GRACE_S: Final = 15.0
_LINE_BYTES_MAX: Final = 1 << 24
#: Of so many samples every second one is forgotten.
_ROWS_MAX: Final = 4000
_RETOLD_S: Final = 0.1


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class BusyError(Exception):
    """There is no room for another run."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker is to do: run the one variant, or compare several with the same seeds (1..20 or 1,2,5).

    folder: where what comes out is written. workload: of a file of scheduler_perf.
    """

    kind: Kind
    variants: tuple[Variant, ...]
    folder: str = ""
    seeds: str = "1"
    workload: str = ""

    def line(self) -> bytes:
        """Return it as a line of JSON."""
        return msgspec.json.encode(self, enc_hook=str) + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Task:
        """Return what a line says."""
        return msgspec.json.decode(line, type=cls, dec_hook=lambda kind, value: kind(value))


@dataclass(slots=True, eq=False)
class Kept:
    """A run or comparison. scenario: what users call it. rows: samples of the seed that is under way, or was last."""

    id: str
    scenario: str
    task: Task
    folder: Path
    state: State = "waiting"
    created: str = field(default_factory=_now)
    began: str | None = None
    ended: str | None = None
    error: Mapping[str, Any] | None = None
    progress: Mapping[str, Any] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    #: Counts up when rows that were told are there no more.
    era: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)
    work: asyncio.Task[None] | None = None
    process: asyncio.subprocess.Process | None = None
    is_cancelled: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        return self.state in ("finished", "cancelled", "failed")

    def files(self) -> list[str]:
        """Return the names of the files that came out; there are none before the end."""
        if not self.is_over:
            return []
        found = (path.relative_to(self.folder).as_posix() for path in sorted(self.folder.rglob("*.*")))
        return [name for name in found if name != RESULT]

    def data(self) -> dict[str, Any]:
        """Return it as JSON-shaped data, without rows and results."""
        variants = self.task.variants
        return {
            "id": self.id,
            "kind": self.task.kind,
            "scenario": self.scenario,
            "configurations": [str(one) for one in variants],
            "seeds": self.task.seeds if self.task.kind == "comparison" else _seed_text(variants[0]),
            "state": self.state,
            "created": self.created,
            "began": self.began,
            "ended": self.ended,
            "error": self.error,
            "progress": self.progress,
            "hasResult": self.is_over and (self.folder / RESULT).is_file(),
            "files": self.files(),
        }

    def changed(self) -> None:
        """Wake whoever follows."""
        self.news.set()
        self.news = asyncio.Event()

    def hear(self, line: Mapping[str, Any]) -> None:
        """Take what the worker tells."""
        if "progress" in line:
            self._hear_progress(line["progress"], line["rows"])
        elif "end" in line:
            self.state = "cancelled" if line["end"] == "interrupted" else "finished"
        elif "error" in line:
            self.state, self.error = "failed", line["error"]
        else:
            self.state = "failed"
            self.error = {"message": f"the run failed, which is a bug of schedlab:\n{line['bug']}"}
        self.changed()

    def _hear_progress(self, progress: Mapping[str, Any], rows: Sequence[dict[str, Any]]) -> None:
        if self.progress is not None and self.progress["seed"] != progress["seed"]:
            self.rows, self.era = [], self.era + 1
        self.progress = progress
        self.rows += ({**row, "variant": progress["variant"]} for row in rows)
        if len(self.rows) > _ROWS_MAX:
            self.rows, self.era = self.rows[::2], self.era + 1


class ScenarioRuns:
    """Starts workers, some at a time, and keeps what came out of the newest.

    `worker` is the program that does a Task (cli.scenario_worker).
    """

    def __init__(
        self,
        folder: Path,
        worker: Sequence[str],
        *,
        at_once_max: int = AT_ONCE_MAX,
        waiting_max: int = WAITING_MAX,
        kept_max: int = KEPT_MAX,
        run_s_max: float = RUN_S_MAX,
    ) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self._folder, self._worker = folder, tuple(worker)
        self.at_once_max, self.kept_max, self.run_s_max = at_once_max, kept_max, run_s_max
        self._turns = asyncio.Semaphore(at_once_max)
        self._room = at_once_max + waiting_max
        self._kept: dict[str, Kept] = {}
        self._last = 0

    def all(self) -> list[Kept]:
        """Return what is kept, the newest first."""
        return [*reversed(self._kept.values())]

    def find(self, run_id: str) -> Kept:
        """Return a run; raises LookupError."""
        if run_id not in self._kept:
            raise LookupError(f"there is no run {run_id} (any more): the newest {self.kept_max} are kept")
        return self._kept[run_id]

    async def start(self, task: Task, scenario: str) -> Kept:
        """Let a task be done when it is its turn; raises BusyError."""
        under_way = sum(not one.is_over for one in self._kept.values())
        if under_way >= self._room:
            raise BusyError(f"{under_way} runs are under way already; wait, or cancel one")
        await self._make_room()
        self._last += 1
        run_id = str(self._last)
        folder = self._folder / run_id
        kept = Kept(run_id, scenario, replace(task, folder=str(folder)), folder)
        self._kept[run_id] = kept
        kept.work = asyncio.create_task(self._work(kept))
        return kept

    def cancel(self, kept: Kept) -> None:
        """End a run; what had happened until then is written, if there is anything to tell."""
        if kept.is_over or kept.is_cancelled:
            return
        kept.is_cancelled = True
        if kept.process is None:
            assert kept.work is not None
            kept.work.cancel()
            return
        _signal(kept.process, signal.SIGINT)
        asyncio.get_running_loop().call_later(_GRACE_S, _signal, kept.process, signal.SIGKILL)

    def _end_long_one(self, kept: Kept) -> None:
        kept.error = {
            "message": f"it was ended after {self.run_s_max:g} seconds",
            "hint": "make it smaller, or run it with `schedlab run` or `schedlab compare`",
        }
        self.cancel(kept)

    async def remove(self, kept: Kept) -> None:
        """End a run if it is under way, and forget it with what came out."""
        del self._kept[kept.id]
        assert kept.work is not None
        kept.work.cancel()
        await asyncio.gather(kept.work, return_exceptions=True)
        await asyncio.to_thread(shutil.rmtree, kept.folder, ignore_errors=True)

    async def follow(self, kept: Kept) -> AsyncIterator[dict[str, Any]]:
        """Yield how a run is with the rows that are new until it is over; `fresh`: those told before are there no more."""
        era, told = -1, 0
        while True:
            news, is_over = kept.news, kept.is_over
            is_fresh = era != kept.era
            rows = kept.rows[0 if is_fresh else told :]
            era, told = kept.era, len(kept.rows)
            yield {"run": kept.data(), "rows": rows, "fresh": is_fresh}
            if is_over:
                return
            await news.wait()
            await asyncio.sleep(_RETOLD_S)

    async def close(self) -> None:
        """End all runs, and leave no files."""
        for kept in self.all():
            await self.remove(kept)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _make_room(self) -> None:
        over = [one for one in self._kept.values() if one.is_over]
        for kept in over[: max(0, len(self._kept) - self.kept_max + 1)]:
            await self.remove(kept)

    async def _work(self, kept: Kept) -> None:
        try:
            async with self._turns:
                kept.state, kept.began = "running", _now()
                kept.changed()
                await self._run(kept)
        except asyncio.CancelledError:
            kept.state = "cancelled"
        except OSError as error:
            kept.state, kept.error = "failed", {"message": f"no process can be started: {error.strerror}"}
        finally:
            kept.ended = _now()
            kept.changed()

    async def _run(self, kept: Kept) -> None:
        kept.folder.mkdir(mode=0o700, parents=True)
        kept.process = process = await asyncio.create_subprocess_exec(
            *self._worker,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # Ctrl-C at the simulator's terminal is not meant for it.
            start_new_session=True,
            limit=_LINE_BYTES_MAX,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        limit = asyncio.get_running_loop().call_later(self.run_s_max, self._end_long_one, kept)
        try:
            process.stdin.write(kept.task.line())
            process.stdin.close()
            last: dict[str, Any] = {}
            async for line in process.stdout:
                last = orjson.loads(line)
                if "progress" in last:
                    kept.hear(last)
            code = await process.wait()
            _end(kept, last, code)
        finally:
            limit.cancel()
            _signal(process, signal.SIGKILL)
            await process.wait()


def _end(kept: Kept, last: Mapping[str, Any], code: int) -> None:
    """Take the last line of a worker; one that was killed has not told the end."""
    if last and "progress" not in last:
        kept.hear(last)
    elif kept.is_cancelled:
        kept.state = "cancelled"
    else:
        kept.state, kept.error = "failed", {"message": f"the run ended without a result (exit code {code})"}


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    if process.returncode is None:
        process.send_signal(number)


def _seed_text(variant: Variant) -> str:
    return "" if variant.seed is None else str(variant.seed)

"""Results of a sweep in a folder: a line of JSON per run, written to the disk before the next thing happens.

Whenever the process is killed, every line but the last is whole; a half one is dropped when the folder is opened again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.sweeps.task import Row

FILE: Final = "runs.jsonl"


class Journal:
    """The runs of a folder, which belongs to one process at a time. finished: what is known, by the ids of runs."""

    def __init__(self, folder: Path) -> None:
        """Open a folder, made if it is not there; raises SchedlabError."""
        self.file = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._out = self.file.open("a+b")
            fcntl.flock(self._out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._out.close()
            raise SchedlabError(
                "is in use",
                location=str(folder),
                hint="another sweep writes there: wait for it, or name another folder",
            ) from error
        except OSError as error:
            raise SchedlabError(
                f"cannot be used: {error.strerror}", location=str(folder), hint="name another folder: --directory"
            ) from error
        try:
            self.finished, end = _finished(self.file)
        except SchedlabError:
            self._out.close()
            raise
        self._out.truncate(end)

    def add(self, row: Mapping[str, Any]) -> None:
        """Write down a run."""
        if row["state"] == "finished":
            self.finished[row["id"]] = dict(row)
        self._out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        self._out.flush()
        os.fsync(self._out.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._out.close()


def _finished(file: Path) -> tuple[dict[str, Row], int]:
    """Return the finished runs of a file, and where its last whole line ends."""
    found, last = {}, 0
    for row, end in rows_of(file):
        last = end
        if row["state"] == "finished":
            found[row["id"]] = row
    return found, last


def rows_of(file: Path) -> Iterator[tuple[Row, int]]:
    """Yield the runs of a file with the ends of their lines in bytes, up to one that is not whole; raises SchedlabError."""
    end = 0
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return
            end += len(line)
            try:
                row = json.loads(line)
                known = row["id"], row["state"]
            except (ValueError, TypeError, KeyError) as error:
                raise SchedlabError(
                    "is no run", location=f"{file}:{number}", hint="take the line out, or name another folder"
                ) from error
            assert known, "it has both"
            yield row, end

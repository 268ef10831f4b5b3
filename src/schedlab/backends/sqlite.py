"""Keeps a cluster in an SQLite file: write-ahead log, group commit, one writer thread.

    backend = SQLiteBackend(folder, post=loop.call_soon_threadsafe, on_broken=...)
    store = Store(backend)          # loads what the folder holds
    ...
    backend.close()

A change is safe when its transaction is on the disk (synchronous = FULL). When the disk is full the batch is refused
and the next one tried again; after any other failure nothing is written any more.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.backends.folder_lock import FolderLock
from schedlab.backends.group_writer import Compaction, GroupWriter, Post, WriteRefusedError
from schedlab.backends.sqlite_file import FILE_NAME, damaged, open_file
from schedlab.kernel.errors import SchedlabError
from schedlab.store import FIRST_REVISION, DurabilityListener, Snapshot

#: After these nothing of the batch is kept, and another one may be.
_REFUSALS: Final = frozenset((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE))
_LOCK_NAME: Final = "lock"
_ROW: Final = "(?, ?, ?, ?, ?, ?, ?)"
_ROWS: Final = "SELECT revision, resource, key, type, replaces, checksum, json FROM versions ORDER BY revision"

Row = tuple[int, str, str, str, int | None, int, bytes]


class SQLiteBackend:
    """Keeps what a store writes in a folder that no other process uses meanwhile (store.Backend)."""

    def __init__(self, folder: Path, *, post: Post, on_broken: Callable[[Exception], None]) -> None:
        """Open the folder, making it if need be; raises SchedlabError when it is in use, damaged or not writable."""
        self._file = folder / FILE_NAME
        _prepare(folder)
        hint = "stop it (schedlab down), or choose another folder: --data-dir DIR"
        self._lock = FolderLock.take(folder, _LOCK_NAME, hint=hint)
        try:
            self._connection = open_file(folder, first_revision=FIRST_REVISION)
        except SchedlabError:
            self._lock.release()
            raise
        self._writer = GroupWriter(self._write, post, on_broken)

    def load(self) -> Snapshot:
        """Read every object and the changes that are kept; raises SchedlabError when the file is damaged."""
        try:
            return self._load()
        except sqlite3.Error as error:
            raise damaged(self._file, str(error)) from error

    def _load(self) -> Snapshot:
        [compacted] = self._connection.execute("SELECT value FROM settings WHERE name = 'compacted'").fetchone()
        objects: dict[tuple[str, str], StoredObject] = {}
        changes: list[WatchEvent] = []
        for row in self._connection.execute(_ROWS):
            event = self._event(row, objects)
            revision = event.revision
            if revision > compacted:
                if revision != compacted + len(changes) + 1:
                    raise damaged(self._file, f"revision {compacted + len(changes) + 1} is missing")
                if (None if event.previous is None else event.previous.revision) != row[4]:
                    raise damaged(self._file, f"revision {row[4]} is missing")
                changes.append(event)
            key = event.object.resource, event.object.key
            if event.type == "DELETED":
                objects.pop(key, None)
            else:
                objects[key] = event.object
        return Snapshot(compacted + len(changes), tuple(objects.values()), changes)

    def _event(self, row: Row, objects: dict[tuple[str, str], StoredObject]) -> WatchEvent:
        """Make the change of a row."""
        revision, resource, key, kind, _, checksum, encoded = row
        if zlib.crc32(encoded) != checksum:
            raise damaged(self._file, f"revision {revision} does not have its checksum")
        previous = objects.get((resource, key))
        obj = StoredObject.decode(resource, encoded, revision)
        if kind == "DELETED":
            return WatchEvent("DELETED", obj, previous)
        return WatchEvent("ADDED" if kind == "ADDED" else "MODIFIED", obj, previous)

    def attach(self, listener: DurabilityListener) -> None:
        """Begin to write, and report to this listener."""
        self._writer.start(listener)

    def append(self, event: WatchEvent) -> None:
        """Queue a change."""
        self._writer.put(event)

    def compact(self, floor: int) -> None:
        """Queue a compaction."""
        self._writer.put(Compaction(floor))

    def close(self) -> None:
        """Write what is queued, put everything into the one file, let go of the folder."""
        self._writer.close()
        self._connection.close()
        self._lock.release()

    # --- On the writer's thread --------------------------------------------------------------------------------------

    def _write(self, batch: Sequence[WatchEvent] | Compaction) -> None:
        try:
            if isinstance(batch, Compaction):
                self._compact(batch.floor)
            else:
                # One statement and so one transaction. Each call into SQLite gives the interpreter away and has to wait
                # until the loop lets it have it back: a call per change would cost more than the disk.
                rows = ", ".join([_ROW] * len(batch))
                values = [value for event in batch for value in _row(event)]
                self._connection.execute(f"INSERT INTO versions VALUES {rows}", values)  # noqa: S608  # no values in it
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) in _REFUSALS:
                raise WriteRefusedError(f"the disk of {self._file} is full ({error})") from error
            raise

    def _compact(self, floor: int) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            _drop_versions(self._connection, floor)
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def _prepare(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SchedlabError(
            f"the folder cannot be used: {error.strerror}",
            location=str(folder),
            hint="make it writable, or choose another: --data-dir DIR",
        ) from error


def _row(event: WatchEvent) -> Row:
    obj, previous = event.object, event.previous
    encoded = obj.json()
    replaces = None if previous is None else previous.revision
    return event.revision, obj.resource, obj.key, event.type, replaces, zlib.crc32(encoded), encoded


def _drop_versions(connection: sqlite3.Connection, floor: int) -> None:
    """Drop versions that were replaced, and deletions, up to revision `floor`."""
    [done] = connection.execute("SELECT value FROM settings WHERE name = 'compacted'").fetchone()
    if floor <= done:
        return
    span = {"done": done, "floor": floor}
    connection.execute(
        "DELETE FROM versions WHERE revision IN "
        "(SELECT replaces FROM versions WHERE revision > :done AND revision <= :floor AND replaces IS NOT NULL)",
        span,
    )
    connection.execute(
        "DELETE FROM versions WHERE revision > :done AND revision <= :floor AND type = 'DELETED'",
        span,
    )
    connection.execute("UPDATE settings SET value = :floor WHERE name = 'compacted'", span)

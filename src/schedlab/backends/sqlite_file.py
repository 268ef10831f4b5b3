"""The SQLite file of a data folder: its format, how it is made, opened, checked and upgraded.

Every version of every object is one row, in the order of revisions; a row says which revision it replaces. The newest
row of a key is the object as it is now, the rows behind revision `compacted` are the watch log.

    versions   revision │ resource │ key │ type │ replaces │ checksum │ json
    settings   compacted

Mirrors: the role of etcd's multi-version key space. Differs: one row per change, whole objects as JSON.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from schedlab.kernel.errors import SchedlabError

FILE_NAME: Final = "cluster.db"
#: Made after the file: it says that the folder must have one.
MARK_NAME: Final = "format"
#: Says "schedlab" to programs that look at SQLite files ("schd").
APPLICATION_ID: Final = 0x73636864
FORMAT_VERSION: Final = 1

Upgrade = Callable[[sqlite3.Connection], None]
#: What takes a file of one format version to the next, inside a transaction.
UPGRADES: Final[Mapping[int, Upgrade]] = {}

_SCHEMA: Final = """
CREATE TABLE versions (
    revision INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    key TEXT NOT NULL,
    type TEXT NOT NULL,
    replaces INTEGER,
    checksum INTEGER NOT NULL,
    json BLOB NOT NULL
) STRICT;
CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
"""
_RESTORE: Final = (
    "nothing was changed; put a copy of the folder in its place, or begin anew with another folder: --data-dir DIR"
)
#: How many pages the write-ahead log may have before it is copied into the file: 16 MiB.
_LOG_PAGES_MAX: Final = 4096


def open_file(folder: Path, *, first_revision: int) -> sqlite3.Connection:
    """Open the file of a folder that belongs to this process, or make it; raises SchedlabError.

    A folder that was used before must have its file: an empty cluster is never put in the place of a lost one.
    """
    file = folder / FILE_NAME
    if not file.exists():
        if (folder / MARK_NAME).exists() or (folder / f"{FILE_NAME}-wal").exists():
            raise SchedlabError("the file is missing, but the folder was in use", location=str(file), hint=_RESTORE)
        _make(file, first_revision)
    try:
        # Opened here, used by the writer's thread afterwards.
        connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        try:
            # Looked at before anything is set: that would make a database of an empty file.
            _check(connection, file)
            _settle(connection)
            upgrade(connection, file)
            (folder / MARK_NAME).write_text(f"schedlab cluster, format {FORMAT_VERSION}\n")
        except BaseException:
            connection.close()
            raise
    except OSError as error:
        raise SchedlabError(
            f"cannot be written: {error.strerror}", location=str(folder), hint="free space, or make it writable"
        ) from error
    except sqlite3.Error as error:
        raise damaged(file, str(error)) from error
    return connection


def damaged(file: Path, what: str) -> SchedlabError:
    """Return the refusal of a file that cannot be trusted."""
    return SchedlabError(f"the file is damaged: {what}", location=str(file), hint=_RESTORE)


def _settle(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")  # macOS: through the disk's own cache
    connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES_MAX}")


def _make(file: Path, first_revision: int) -> None:
    """Make an empty file; it gets its name when it is complete."""
    partial = file.with_name(f"{FILE_NAME}.new")
    partial.unlink(missing_ok=True)
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(partial, isolation_level=None)
        try:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            connection.executescript(_SCHEMA)
            connection.execute("INSERT INTO settings VALUES ('compacted', ?)", (first_revision,))
        finally:
            connection.close()
        partial.rename(file)
        folder = os.open(file.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except (OSError, sqlite3.Error) as error:
        raise SchedlabError(
            f"cannot be made: {error}", location=str(file), hint="free space on its disk, or choose another --data-dir"
        ) from error


def _check(connection: sqlite3.Connection, file: Path) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise SchedlabError("the file is not a schedlab cluster", location=str(file), hint=_RESTORE)
    [found] = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise damaged(file, str(found).splitlines()[-1])


def upgrade(
    connection: sqlite3.Connection,
    file: Path,
    upgrades: Mapping[int, Upgrade] = UPGRADES,
    newest: int = FORMAT_VERSION,
) -> None:
    """Bring a file to the newest format, one version after the other; a copy of the old one stays beside it."""
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if version > newest:
        raise SchedlabError(
            f"the file has format version {version}, this schedlab knows those up to {newest}",
            location=str(file),
            hint="use a newer schedlab, or another folder: --data-dir DIR",
        )
    if version == newest:
        return
    copy = sqlite3.connect(file.with_name(f"{FILE_NAME}.format-{version}"))
    try:
        connection.backup(copy)
    finally:
        copy.close()
    connection.execute("BEGIN IMMEDIATE")
    for step in range(version, newest):
        upgrades[step](connection)
    connection.execute(f"PRAGMA user_version = {newest}")
    connection.execute("COMMIT")

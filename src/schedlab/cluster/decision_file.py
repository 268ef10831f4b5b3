"""Keeps the decision log in an SQLite file of the data folder: one writer thread, many attempts per transaction.

    attempts   sequence │ uid │ at_ns │ names │ head │ block │ place │ end
    blocks     id │ blob                      the arrays of attempts that were packed together
    moves      uid │ data
    pods       uid │ namespace │ name
    names      id │ names                     lists of node names, shared by the attempts on the same nodes
    victims    key │ sequence                  for whose attempt the pod `namespace/name` had to go last

Whoever decides only puts things into a queue; they are encoded and written by the thread, at the latest PAUSE_S later.
A process that is killed loses no more than that; a machine that loses power may lose more (synchronous = NORMAL), since
nobody was promised anything. When the disk is full, attempts are lost and counted.
"""

from __future__ import annotations

import errno
import os
import queue
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import zstandard

from schedlab.decisions import packed_arrays
from schedlab.decisions.archive import bare_pod, decode_head, encode_end, encode_head, restore_end
from schedlab.decisions.log import Attempt, Move, PodStory
from schedlab.decisions.packing import Restored, pack
from schedlab.kernel.errors import SchedlabError

if TYPE_CHECKING:
    from schedlab.decisions.archive import Entry
    from schedlab.scheduler.framework.record import CycleRecord

FILE_NAME: Final = "decisions.db"
#: What is written; all earlier ones are read, too. With 2, arrays of an attempt that follow from others are left out.
FORMAT_VERSION: Final = 2
#: How long the thread gathers before it writes.
PAUSE_S: Final = 0.05
_BATCH_MAX: Final = 2000
#: How many attempts are dropped at most at a time, and how many are read.
_DROPPED: Final = 512
_READ: Final = 256
_STORIES_KEPT: Final = 256

_SCHEMA: Final = """
CREATE TABLE pods (uid TEXT PRIMARY KEY, namespace TEXT NOT NULL, name TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE names (id INTEGER PRIMARY KEY, names BLOB NOT NULL) STRICT;
CREATE TABLE attempts (
    sequence INTEGER PRIMARY KEY,
    uid TEXT NOT NULL,
    at_ns INTEGER NOT NULL,
    names INTEGER NOT NULL,
    head BLOB NOT NULL,
    block INTEGER NOT NULL,
    place INTEGER NOT NULL,
    end BLOB
) STRICT;
CREATE TABLE blocks (id INTEGER PRIMARY KEY, blob BLOB NOT NULL) STRICT;
CREATE INDEX attempts_of ON attempts (uid);
CREATE TABLE moves (uid TEXT NOT NULL, data BLOB NOT NULL) STRICT;
CREATE INDEX moves_of ON moves (uid);
"""
#: What files of the same format may lack, because they are older.
_LATER: Final = """
CREATE TABLE IF NOT EXISTS victims (key TEXT PRIMARY KEY, sequence INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS victims_of ON victims (sequence);
"""
#: What SQLite says where there is no room to write, or for the index of the write-ahead log.
_NO_ROOM: Final = frozenset((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE))
#: What the system says where a file cannot be made for want of room.
_NO_ROOM_ERRNO: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
_COLUMNS: Final = "sequence, uid, names, head, block, place, end"
_BLOCKS_KEPT: Final = 8

Job = Callable[["_Writer"], None]
Row = tuple[int, str, int, bytes, int, int, bytes | None]
#: uid, namespace and name.
PodName = tuple[str, str, str]
Kept = tuple[PodName, Attempt]

_encode: Final = msgspec.msgpack.Encoder().encode
_decode_move: Final = msgspec.msgpack.Decoder(Move).decode
_decode_names: Final = msgspec.msgpack.Decoder(tuple[str, ...]).decode


class DecisionFile:
    """An archive (decisions.archive.Archive) in a folder; `bytes_max` and `age_max_ns` limit it, 0: no limit.

    A forked process has the stories that were asked for lately, and no others.
    """

    def __init__(self, folder: Path, *, bytes_max: int, age_max_ns: int = 0) -> None:
        """Open the file or make it; raises SchedlabError when it cannot be used."""
        self._file = folder / FILE_NAME
        self._reader, self._process = _open(self._file), os.getpid()
        self._unreadable, self._error = 0, ""
        self._pods: dict[str, tuple[str, str]] = {}
        self._latest: dict[tuple[str, str], str] = {}
        self._stories: OrderedDict[str, PodStory] = OrderedDict()
        self._names: dict[int, tuple[str, ...]] = {}
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        try:
            self._learn()
            self._writer = _Writer(self._file, bytes_max, age_max_ns)
        except sqlite3.Error as error:
            self._reader.close()
            raise _unusable(self._file, error) from error

    def _learn(self) -> None:
        """Read which pods there are."""
        for uid, namespace, name in self._reader.execute("SELECT uid, namespace, name FROM pods"):
            self._pods[uid] = namespace, name
        newest = self._reader.execute("SELECT uid FROM attempts GROUP BY uid ORDER BY max(sequence)")
        self._latest = {self._pods[uid]: uid for (uid,) in newest if uid in self._pods}
        [last] = self._reader.execute("SELECT coalesce(max(sequence), 0) FROM attempts").fetchone()
        self._next_sequence = int(last) + 1

    # --- Writing (Archive) ---

    def next_sequence(self) -> int:
        """See Archive."""
        return self._next_sequence

    def keep(self, story: PodStory, attempt: Attempt) -> None:
        """See Archive."""
        self._note(story)
        self._next_sequence = attempt.sequence + 1
        self._latest[story.namespace, story.name] = story.uid
        self._writer.put(((story.uid, story.namespace, story.name), attempt))

    def keep_end(self, attempt: Attempt) -> None:
        """See Archive."""
        self._writer.put(partial(_keep_end, attempt))

    def keep_move(self, story: PodStory, move: Move) -> None:
        """See Archive."""
        self._note(story)
        self._writer.put(partial(_keep_move, (story.uid, story.namespace, story.name), move))

    def _note(self, story: PodStory) -> None:
        """Know the pod, and none any more that the thread has forgotten."""
        while not self._writer.gone.empty():
            uid = self._writer.gone.get()
            name = self._pods.pop(uid, None)
            if name is not None and self._latest.get(name) == uid:
                del self._latest[name]
        self._pods[story.uid] = story.namespace, story.name
        self._stories.pop(story.uid, None)

    def drop_moves(self, uid: str, kept: int) -> None:
        """See Archive."""
        self._stories.pop(uid, None)
        self._writer.put(partial(_drop_moves, uid, kept))

    def flush(self) -> None:
        """Wait until everything that was given is written."""
        self._writer.flush()

    def close(self) -> None:
        """Write what is queued and let go of the file."""
        self._writer.close()
        self._reader.close()

    # --- Reading (Archive) ---

    def story(self, uid: str) -> PodStory | None:
        """See Archive."""
        if uid not in self._pods:
            return None
        found = self._stories.get(uid)
        if found is None:
            if os.getpid() != self._process:
                return None
            found = self._stories[uid] = self._load_story(uid)
            if len(self._stories) > _STORIES_KEPT:
                self._stories.popitem(last=False)
        return found if found.attempts or found.moves else None

    def stories(self) -> Iterator[PodStory]:
        """See Archive."""
        query = "SELECT uid, min(rowid) AS began FROM moves GROUP BY uid ORDER BY began"
        for uid, _ in self._read(query):
            name = self._name_of(uid)
            if name is not None:
                yield PodStory(uid, *name, moves=self._moves(uid))

    def preemptor(self, key: str) -> Entry | None:
        """See Archive."""
        rows = self._rows("sequence = (SELECT sequence FROM victims WHERE key = ?)", key)
        return next(self._entries(rows), None)

    def latest_uid(self, namespace: str, name: str) -> str | None:
        """See Archive."""
        return self._latest.get((namespace, name))

    def newest_first(self, before: int, after: int = 0) -> Iterator[Entry]:
        """See Archive."""
        while rows := self._rows("sequence < ? AND sequence > ? ORDER BY sequence DESC", before, after):
            yield from self._entries(rows)
            before = rows[-1][0]

    def oldest_first(self, before: int, after: int = 0) -> Iterator[Entry]:
        """See Archive."""
        while rows := self._rows("sequence > ? AND sequence < ? ORDER BY sequence", after, before):
            yield from self._entries(rows)
            after = rows[-1][0]

    def status(self) -> dict[str, Any]:
        """See Archive."""
        writer = self._writer
        return {
            "file": str(self._file.absolute()),
            "attempts": writer.count,
            "bytes": writer.size_bytes,
            "bytesMax": writer.bytes_max,
            "forgottenAttempts": writer.forgotten,
            "lostAttempts": writer.lost,
            "unreadable": self._unreadable,
            "error": writer.error or self._error,
        }

    def _rows(self, where: str, *values: object) -> list[Row]:
        query = f"SELECT {_COLUMNS} FROM attempts WHERE {where} LIMIT {_READ}"  # noqa: S608 - no values in it
        return self._read(query, *values)

    def _read(self, query: str, *values: object) -> list[Any]:
        """Return rows; none of a damaged file, and none in a forked process: its parent's connection is of no use there."""
        if os.getpid() != self._process:
            return []
        try:
            return self._reader.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            self._note_damage(error)
            return []

    def _note_damage(self, error: Exception) -> None:
        self._unreadable += 1
        self._error = str(error)

    def _name_of(self, uid: str) -> tuple[str, str] | None:
        """Return namespace and name of a pod; the thread may just have written of one that it had forgotten."""
        found = self._pods.get(uid)
        if found is None:
            found = next(iter(self._read("SELECT namespace, name FROM pods WHERE uid = ?", uid)), None)
        return found

    def _known_name(self, uid: str) -> tuple[str, str]:
        name = self._name_of(uid)
        assert name is not None, f"attempts of pod {uid} are kept without its name"
        return name

    def _load_story(self, uid: str) -> PodStory:
        story = PodStory(uid, *self._known_name(uid))
        query = f"SELECT {_COLUMNS} FROM attempts WHERE uid = ? ORDER BY sequence"  # noqa: S608 - no values in it
        story.attempts = [attempt for row in self._read(query, uid) if (attempt := self._attempt(row)) is not None]
        story.moves = self._moves(uid)
        return story

    def _moves(self, uid: str) -> tuple[Move, ...]:
        found = self._read("SELECT data FROM moves WHERE uid = ? ORDER BY rowid", uid)
        try:
            return tuple(_decode_move(data) for (data,) in found)
        except msgspec.MsgspecError as error:
            self._note_damage(error)
            return ()

    def _entries(self, rows: Iterable[Row]) -> Iterator[Entry]:
        for row in rows:
            attempt = self._attempt(row)
            if attempt is not None:
                yield row[0], PodStory(row[1], *self._known_name(row[1])), attempt

    def _attempt(self, row: Row) -> Attempt | None:
        """Return an attempt; None when it was forgotten in this moment, or is damaged."""
        try:
            return self._decoded(row)
        except (zstandard.ZstdError, msgspec.MsgspecError, LookupError, ValueError) as error:
            self._note_damage(error)
            return None

    def _decoded(self, row: Row) -> Attempt | None:
        sequence, uid, names, head, block, place, end = row
        node_names, arrays = self._node_names(names), self._block(block)
        if node_names is None or arrays is None:
            return None
        pod = bare_pod(uid, *self._known_name(uid))
        kept = Restored(decode_head(head, pod, node_names), arrays)
        attempt = Attempt(kept, place, pod, sequence)
        if end is not None:
            restore_end(end, attempt)
        return attempt

    def _block(self, block: int) -> bytes | None:
        found = self._blocks.get(block)
        if found is None:
            for (blob,) in self._read("SELECT blob FROM blocks WHERE id = ?", block):
                # A damaged one is found out here, not when somebody asks for the arrays.
                packed_arrays.unpack(blob, 0)
                found = self._blocks[block] = blob
            if len(self._blocks) > _BLOCKS_KEPT:
                self._blocks.popitem(last=False)
        return found

    def _node_names(self, names: int) -> tuple[str, ...] | None:
        found = self._names.get(names)
        if found is None:
            for (data,) in self._read("SELECT names FROM names WHERE id = ?", names):
                found = self._names[names] = _decode_names(zstandard.ZstdDecompressor().decompress(data))
        return found


def _open(file: Path) -> sqlite3.Connection:
    try:
        # The names of pods and what is said of them are for this user only.
        file.touch(mode=0o600)
        connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        try:
            [version] = connection.execute("PRAGMA user_version").fetchone()
            _check_version(version, file)
            if version < FORMAT_VERSION:
                schema = "" if version else _SCHEMA
                connection.executescript(f"BEGIN; {schema} PRAGMA user_version = {FORMAT_VERSION}; COMMIT;")
            connection.executescript(_LATER)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
    except (OSError, sqlite3.Error) as error:
        raise _unusable(file, error) from error
    return connection


def _unusable(file: Path, error: Exception) -> SchedlabError:
    hint = "move the file away: then a new log is begun; the cluster itself is in another file"
    if getattr(error, "sqlite_errorcode", None) in _NO_ROOM or getattr(error, "errno", None) in _NO_ROOM_ERRNO:
        hint = "make room if the disk is full: the file may be as good as ever"
    return SchedlabError(f"the decision log cannot be used: {error}", location=str(file), hint=hint)


def _check_version(version: int, file: Path) -> None:
    if version > FORMAT_VERSION:
        raise SchedlabError(
            f"has format {version}, this schedlab knows those up to {FORMAT_VERSION}",
            location=str(file),
            hint="use the schedlab that made it, or move the file away: then a new log is begun",
        )


class _Writer:
    """The thread and what it counts."""

    def __init__(self, file: Path, bytes_max: int, age_max_ns: int) -> None:
        self.bytes_max, self.age_max_ns = bytes_max, age_max_ns
        self.forgotten = self.lost = 0
        self.error = ""
        self.connection = _open(file)
        heads = "SELECT count(*), coalesce(sum(length(head) + coalesce(length(end), 0)), 0) FROM attempts"
        self.count, self.size_bytes = self.connection.execute(heads).fetchone()
        for column, table in (("blob", "blocks"), ("data", "moves"), ("names", "names")):
            sizes = f"SELECT coalesce(sum(length({column})), 0) FROM {table}"  # noqa: S608 - no values in it
            self.size_bytes += self.connection.execute(sizes).fetchone()[0]
        # Arrays of closed blocks that were written lately, by identity; they are held, so that no other takes that.
        self.written: OrderedDict[int, tuple[bytes, int]] = OrderedDict()
        self.names_id = 0
        self.last_names: Sequence[str] | None = None
        self.newest_ns = 0
        #: Uids of pods that nothing is kept of any more.
        self.gone: queue.SimpleQueue[str] = queue.SimpleQueue()
        # The same of the transaction that goes on, which may fail.
        self._going: list[str] = []
        # An event is set when what was queued before it is written; None ends the thread.
        self._jobs: queue.SimpleQueue[Kept | Job | threading.Event | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="decision-file", daemon=True)
        self._thread.start()

    def put(self, job: Kept | Job) -> None:
        """Queue a job."""
        self._jobs.put(job)

    def flush(self) -> None:
        """Wait until the jobs of now are done."""
        done = threading.Event()
        self._jobs.put(done)
        done.wait()

    def close(self) -> None:
        """Do what is queued and end the thread."""
        self._jobs.put(None)
        self._thread.join()
        self.connection.close()

    def _run(self) -> None:
        ended = False
        while not ended:
            batch = [self._jobs.get()]
            if callable(batch[0]) or isinstance(batch[0], tuple):
                time.sleep(PAUSE_S)
            while len(batch) < _BATCH_MAX and not self._jobs.empty():
                batch.append(self._jobs.get())
            ended = None in batch
            attempts = [job for job in batch if isinstance(job, tuple)]
            self._do(attempts, [job for job in batch if callable(job)])
            for waiting in batch:
                if isinstance(waiting, threading.Event):
                    waiting.set()

    def _do(self, attempts: Sequence[Kept], jobs: Sequence[Job]) -> None:
        before = self.count, self.size_bytes, self.forgotten
        self._going.clear()
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            self._write(attempts)
            for job in jobs:
                job(self)
            self._forget()
            self.connection.execute("COMMIT")
            for uid in self._going:
                self.gone.put(uid)
        except Exception as error:  # noqa: BLE001 - whatever it is, others wait for this thread, and what is lost is told
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            self.error = str(error)
            self.lost += len(attempts)
            self.last_names = None
            self.written.clear()
            self.count, self.size_bytes, self.forgotten = before

    def _write(self, attempts: Sequence[Kept]) -> None:
        """Write attempts: those of closed blocks with these, the others in a block of their own."""
        rest: list[CycleRecord] = []
        places = []
        for _, attempt in attempts:
            waiting = attempt.kept.waiting(attempt.place)
            if waiting is None:
                places.append((self._closed(attempt.kept.blob), attempt.place))
            else:
                places.append((0, len(rest)))
                rest.append(waiting)
        own = self._write_block(pack(rest)) if rest else 0
        for (pod, attempt), (block, place) in zip(attempts, places, strict=True):
            _keep(self, pod, attempt, (block or own, place))

    def _closed(self, blob: bytes) -> int:
        """Return the number of the arrays of a closed block, written if need be."""
        known = self.written.get(id(blob))
        if known is None:
            known = self.written[id(blob)] = blob, self._write_block(blob)
            if len(self.written) > _BLOCKS_KEPT:
                self.written.popitem(last=False)
        return known[1]

    def _write_block(self, blob: bytes) -> int:
        self.size_bytes += len(blob)
        cursor = self.connection.execute("INSERT INTO blocks (blob) VALUES (?)", (blob,))
        return int(cursor.lastrowid or 0)

    def _forget(self) -> None:
        """Drop the oldest attempts while there is too much of them, or they are too old."""
        while self.bytes_max and self.size_bytes > self.bytes_max:
            excess = self.count * (self.size_bytes - self.bytes_max) // self.size_bytes
            if not self._drop("1", min(max(excess, 1), _DROPPED)) and not self._drop_untried(0):
                break
        before_ns = self.newest_ns - self.age_max_ns
        while self.age_max_ns and self._drop(f"at_ns < {before_ns}", _DROPPED):
            self._drop_untried(before_ns)

    def _drop_untried(self, before_ns: int) -> int:
        """Forget the oldest pods that were never tried, if nothing was heard of them since that time (0: whenever)."""
        query = (
            "SELECT uid, min(rowid) AS began, max(rowid) FROM moves WHERE uid NOT IN (SELECT uid FROM attempts) "
            "GROUP BY uid ORDER BY began LIMIT ?"
        )
        dropped = 0
        for uid, _, last in self.connection.execute(query, (_DROPPED,)).fetchall():
            [data] = self.connection.execute("SELECT data FROM moves WHERE rowid = ?", (last,)).fetchone()
            if not before_ns or _decode_move(data).at_ns < before_ns:
                self._drop_pod(uid)
                dropped += 1
        return dropped

    def _drop_pod(self, uid: str) -> None:
        self.delete_moves("uid = ?", uid)
        self.connection.execute("DELETE FROM pods WHERE uid = ?", (uid,))
        self._going.append(uid)

    def _drop(self, condition: str, count: int) -> int:
        rows = self.connection.execute(
            "DELETE FROM attempts WHERE sequence IN "  # noqa: S608 - the condition is made of numbers
            f"(SELECT sequence FROM attempts WHERE {condition} ORDER BY sequence LIMIT {count}) "
            "RETURNING uid, length(head) + coalesce(length(end), 0), sequence"
        ).fetchall()
        self.size_bytes -= sum(size for _, size, _ in rows)
        for unused in (
            "DELETE FROM blocks WHERE id < (SELECT min(block) FROM attempts) RETURNING length(blob)",
            "DELETE FROM names WHERE id < (SELECT min(names) FROM attempts) RETURNING length(names)",
        ):
            self.size_bytes -= sum(size for (size,) in self.connection.execute(unused).fetchall())
        self.count -= len(rows)
        self.forgotten += len(rows)
        self.connection.executemany("DELETE FROM victims WHERE sequence = ?", [(row[2],) for row in rows])
        for uid in dict.fromkeys(row[0] for row in rows):
            if self.connection.execute("SELECT 1 FROM attempts WHERE uid = ?", (uid,)).fetchone() is None:
                self._drop_pod(uid)
        return len(rows)

    def delete_moves(self, condition: str, *values: object) -> None:
        """Forget moves."""
        query = f"DELETE FROM moves WHERE {condition} RETURNING length(data)"  # noqa: S608 - no values in it
        self.size_bytes -= sum(size for (size,) in self.connection.execute(query, values).fetchall())


def _keep(writer: _Writer, pod: PodName, attempt: Attempt, where: tuple[int, int]) -> None:
    head = attempt.head
    if head.node_names is not writer.last_names:
        data = zstandard.ZstdCompressor().compress(_encode(head.node_names))
        cursor = writer.connection.execute("INSERT INTO names (names) VALUES (?)", (data,))
        writer.names_id, writer.last_names = int(cursor.lastrowid or 0), head.node_names
        writer.size_bytes += len(data)
    encoded = encode_head(head)
    writer.connection.execute("INSERT OR IGNORE INTO pods VALUES (?, ?, ?)", pod)
    values = attempt.sequence, pod[0], head.started_ns, writer.names_id, encoded, *where
    writer.connection.execute(
        "INSERT INTO attempts (sequence, uid, at_ns, names, head, block, place) VALUES (?, ?, ?, ?, ?, ?, ?)", values
    )
    writer.size_bytes += len(encoded)
    writer.count += 1
    writer.newest_ns = max(writer.newest_ns, head.started_ns)
    for victim in head.victims:
        writer.connection.execute("INSERT OR REPLACE INTO victims VALUES (?, ?)", (victim, attempt.sequence))


def _keep_end(attempt: Attempt, writer: _Writer) -> None:
    encoded = encode_end(attempt)
    writer.connection.execute("UPDATE attempts SET end = ? WHERE sequence = ?", (encoded, attempt.sequence))
    writer.size_bytes += len(encoded)


def _keep_move(pod: PodName, move: Move, writer: _Writer) -> None:
    encoded = _encode(move)
    writer.connection.execute("INSERT OR IGNORE INTO pods VALUES (?, ?, ?)", pod)
    writer.connection.execute("INSERT INTO moves VALUES (?, ?)", (pod[0], encoded))
    writer.size_bytes += len(encoded)


def _drop_moves(uid: str, kept: int, writer: _Writer) -> None:
    newest = "SELECT rowid FROM moves WHERE uid = ? ORDER BY rowid DESC LIMIT ?"
    writer.delete_moves(f"uid = ? AND rowid NOT IN ({newest})", uid, uid, kept)

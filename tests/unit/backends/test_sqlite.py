"""A data folder gives back what was acknowledged, and refuses what it cannot trust."""

from __future__ import annotations

import resource
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schedlab.api.object import WatchEvent
from schedlab.backends.sqlite_file import FILE_NAME, upgrade
from schedlab.kernel.errors import SchedlabError
from tests.unit.backends.folders import Opened


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], Opened]]:
    """Open the folder of the test, again and again; what is open at the end is closed."""
    made: list[Opened] = []

    def open_folder() -> Opened:
        for each in made:
            each.close()
        made[:] = [Opened(tmp_path / "data")]
        return made[0]

    yield open_folder
    for each in made:
        each.close()


def test_objects_and_the_counter_come_back(opened: Callable[[], Opened]) -> None:
    """Also the revision of a deletion is not given again."""
    before = opened()
    for name in "abc":
        before.put(name)
    before.put("b", "2")
    before.put("n", resource="nodes")
    before.drop("c")
    before.settle()
    expected, revision = before.state(), before.store.revision
    after = opened()

    assert after.state() == expected
    assert sorted(expected) == ["nodes d/n", "pods d/a", "pods d/b"]
    assert after.store.revision == revision
    assert after.put("e").revision == revision + 1


def test_watches_go_on_behind_a_restart(opened: Callable[[], Opened]) -> None:
    """The changes are kept with what they replaced, so a client that was away misses nothing."""
    before = opened()
    seen: list[WatchEvent] = []
    before.store.watch("pods", 1, seen.append)
    before.put("a")
    before.put("a", "2")
    before.drop("a")
    before.settle()
    replayed: list[WatchEvent] = []
    opened().store.watch("pods", 1, replayed.append)

    def facts(events: list[WatchEvent]) -> list[tuple[str, bytes, int | None]]:
        return [
            (event.type, event.object.json(), event.previous.revision if event.previous else None) for event in events
        ]

    assert facts(replayed) == facts(seen)
    assert len(seen) == 3


def test_nothing_is_told_before_it_is_on_the_disk(opened: Callable[[], Opened], tmp_path: Path) -> None:
    """When the store hears of a revision, another reader of the file finds it there."""
    folder = opened()
    folder.put("a")
    assert folder.store.durable_revision == 1
    folder.settle()
    with sqlite3.connect(tmp_path / "data" / FILE_NAME) as reader:
        rows = reader.execute("SELECT revision, resource, key, type, replaces FROM versions").fetchall()
    reader.close()

    assert rows == [(2, "pods", "d/a", "ADDED", None)]


def test_many_changes_share_one_commit(opened: Callable[[], Opened]) -> None:
    """What gathers while the disk works is written together."""
    folder = opened()
    turns = 0
    for number in range(500):
        folder.put(f"p{number}")
    while folder.store.durable_revision < folder.store.revision:
        folder.mailbox.run()
        turns += 1

    assert turns < 50


def test_compaction_drops_what_nobody_can_ask_for(opened: Callable[[], Opened], tmp_path: Path) -> None:
    """Replaced versions and deletions go, present objects stay, and the counter stays even if its row has gone."""
    before = opened()
    before.put("a")
    before.put("a", "2")
    before.put("b")
    before.drop("b")
    before.settle()
    before.store.compact(before.store.revision)
    before.close()
    with sqlite3.connect(tmp_path / "data" / FILE_NAME) as reader:
        assert reader.execute("SELECT revision FROM versions").fetchall() == [(3,)]
    reader.close()
    after = opened()

    assert (after.store.revision, after.store.compacted_revision) == (5, 5)
    assert list(after.state()) == ["pods d/a"]
    after.put("a", "3")
    after.drop("a")
    after.settle()
    after.store.compact(6)
    last = opened()
    assert (last.store.revision, last.store.compacted_revision, last.state()) == (7, 6, {})


def test_folder_in_use_is_refused(opened: Callable[[], Opened], tmp_path: Path) -> None:
    """The message names the process that has it."""
    opened()
    with pytest.raises(SchedlabError, match=r"is in use by process \d+") as caught:
        Opened(tmp_path / "data")

    assert "schedlab down" in caught.value.hint


def test_full_disk_refuses_the_write_and_nothing_else(opened: Callable[[], Opened]) -> None:
    """The write fails with the reason and leaves nothing behind; with room again, the next one succeeds."""
    folder = opened()
    kept = folder.put("kept")
    folder.settle()
    told: list[Exception | None] = []
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        folder.put("large", "x" * (2 << 20))
        folder.put("behind")
        folder.store.when_durable(folder.store.revision, told.append)
        while not told:
            folder.mailbox.run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

    assert "is full" in str(told[0])
    assert folder.broken == []
    assert folder.store.revision == kept.revision
    folder.put("next")
    folder.settle()
    assert sorted(opened().state()) == ["pods d/kept", "pods d/next"]


def test_other_failures_end_the_writing(opened: Callable[[], Opened]) -> None:
    """When it is not known what the disk holds, nothing is acknowledged any more and the owner is told."""
    folder = opened()
    folder.backend._connection.execute("DROP TABLE versions")
    told: list[Exception | None] = []
    for count, name in enumerate("ab", 1):
        folder.put(name)
        folder.store.when_durable(folder.store.revision, told.append)
        while len(told) < count:
            folder.mailbox.run()

    assert ["no such table" in str(error) for error in told] == [True, True]
    assert len(folder.broken) == 1


def _overwrite(file: Path, at: int, garbage: bytes) -> None:
    with file.open("r+b") as out:
        out.seek(at)
        out.write(garbage)


def _flip_in_json(file: Path) -> None:
    content = file.read_bytes()
    _overwrite(file, content.index(b'"value":"v7"') + 10, b"X")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda file: _overwrite(file, 0, b"garbage!" * 4), "file is not a database"),
        (lambda file: _overwrite(file, 4096, b"\xff" * 4096), "damaged"),
        (lambda file: file.write_bytes(file.read_bytes()[:5000]), "damaged"),
        (lambda file: file.write_bytes(b""), "is not a schedlab cluster"),
        (_flip_in_json, "does not have its checksum"),
        (lambda file: file.unlink(), "the file is missing, but the folder was in use"),
    ],
    ids=["header", "page", "truncated", "emptied", "one letter", "missing"],
)
def test_damaged_file_is_refused_with_advice(
    harm: Callable[[Path], object], words: str, opened: Callable[[], Opened], tmp_path: Path
) -> None:
    """Whatever has happened to the file, the cluster does not start empty and the file stays as it is."""
    folder = opened()
    for number in range(50):
        folder.put(f"p{number}", f"v{number}")
    folder.settle()
    folder.close()
    file = tmp_path / "data" / FILE_NAME
    harm(file)
    before = file.read_bytes() if file.exists() else None

    with pytest.raises(SchedlabError, match=words) as caught:
        opened()
    assert "put a copy of the folder in its place" in caught.value.hint
    assert (file.read_bytes() if file.exists() else None) == before


def test_missing_revision_is_noticed(opened: Callable[[], Opened], tmp_path: Path) -> None:
    """The rows must be whole: what somebody took out of the file is missed."""
    folder = opened()
    for name in "abc":
        folder.put(name)
    folder.settle()
    folder.close()
    with sqlite3.connect(tmp_path / "data" / FILE_NAME) as connection:
        connection.execute("DELETE FROM versions WHERE revision = 3")
    connection.close()

    with pytest.raises(SchedlabError, match="revision 3 is missing"):
        opened()


def test_file_of_another_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with sqlite3.connect(tmp_path / "data" / FILE_NAME) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()

    with pytest.raises(SchedlabError, match="is not a schedlab cluster"):
        Opened(tmp_path / "data")


def test_newer_format_is_refused(opened: Callable[[], Opened], tmp_path: Path) -> None:
    opened().close()
    with sqlite3.connect(tmp_path / "data" / FILE_NAME) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(SchedlabError, match="format version 99, this schedlab knows those up to 1"):
        opened()


def test_old_format_is_upgraded_step_by_step(opened: Callable[[], Opened], tmp_path: Path) -> None:
    """Every step runs once, in one transaction; a copy of the old file stays beside the new one."""
    opened().close()
    file = tmp_path / "data" / FILE_NAME
    connection = sqlite3.connect(file, isolation_level=None)
    steps = {
        1: lambda cursor: cursor.execute("ALTER TABLE settings ADD COLUMN note TEXT"),
        2: lambda cursor: cursor.execute("UPDATE settings SET note = 'third'"),
    }
    upgrade(connection, file, steps, newest=3)

    assert connection.execute("SELECT note FROM settings").fetchall() == [("third",)]
    assert connection.execute("PRAGMA user_version").fetchone() == (3,)
    connection.close()
    assert (tmp_path / "data" / f"{FILE_NAME}.format-1").exists()


def test_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SchedlabError, match="the folder cannot be used: Not a directory") as caught:
        Opened(tmp_path / "file" / "data")
    assert "--data-dir" in caught.value.hint

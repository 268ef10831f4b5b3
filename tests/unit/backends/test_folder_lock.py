"""One process per folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from schedlab.backends import FolderLock
from schedlab.kernel.errors import SchedlabError


def test_second_taker_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    lock = FolderLock.take(tmp_path, "lock", hint="wait")
    with pytest.raises(SchedlabError, match=f"is in use by process {os.getpid()}\nhint: wait"):
        FolderLock.take(tmp_path, "lock", hint="wait")
    lock.release()
    lock.release()

    FolderLock.take(tmp_path, "lock", hint="wait").release()


def test_holder_is_known_while_it_holds(tmp_path: Path) -> None:
    """The note that a process leaves behind says nothing once it has gone."""
    assert FolderLock.holder(tmp_path, "lock") is None
    lock = FolderLock.take(tmp_path, "lock", hint="")
    assert FolderLock.holder(tmp_path, "lock") == os.getpid()
    lock.release()

    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    assert FolderLock.holder(tmp_path, "lock") is None


def test_folder_that_is_not_there_cannot_be_taken(tmp_path: Path) -> None:
    with pytest.raises(SchedlabError, match="cannot be opened: No such file or directory"):
        FolderLock.take(tmp_path / "absent", "lock", hint="")

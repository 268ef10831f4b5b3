"""Runs are kept line by line; a half line is dropped, a folder has one writer."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.sweeps.journal import FILE, Journal

ROW = {"id": "a", "state": "finished", "seed": 1}


def test_finished_runs_are_known_when_the_folder_is_opened_again(tmp_path: Path) -> None:
    with Journal(tmp_path / "new" / "folder") as journal:
        journal.add(ROW)
        journal.add({"id": "b", "state": "failed"})
        journal.add({"id": "c", "state": "failed"})
        journal.add({"id": "c", "state": "finished"})

    with Journal(tmp_path / "new" / "folder") as journal:
        assert [*journal.finished] == ["a", "c"]
        assert journal.finished["a"] == ROW


def test_half_line_is_dropped_and_written_over(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add(ROW)
    whole = (tmp_path / FILE).read_bytes()
    with (tmp_path / FILE).open("ab") as out:
        out.write(b'{"id": "b", "sta')

    with Journal(tmp_path) as journal:
        assert [*journal.finished] == ["a"]
        journal.add({**ROW, "id": "b"})

    assert (tmp_path / FILE).read_bytes() == whole + whole.replace(b'"a"', b'"b"')


def test_folder_belongs_to_one_sweep_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path), pytest.raises(SchedlabError, match="is in use"):
        Journal(tmp_path)


def test_line_that_is_no_run_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"id": "a", "state": "finished"}\n[1]\n', encoding="utf-8")

    with pytest.raises(SchedlabError, match=rf"{FILE}:2: is no run"):
        Journal(tmp_path)


def test_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(SchedlabError, match="cannot be used"):
        Journal(tmp_path / "file" / "folder")

"""The parity runner says so when nothing can be compared, and lets no difference pass."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.parity import families, places
from tests.parity.run import main

Case = dict[str, Any]


def _run(corpus: Path, *arguments: str) -> int:
    return main(["--judge", str(places.judge()), "--corpus", str(corpus), "--jobs", "1", *arguments])


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Two cases of the referee."""
    return families.read(places.CORPUS / "images.jsonl.gz")[:2]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """An empty folder for families."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    return folder


def _write(corpus: Path, cases: list[Case]) -> None:
    families.write(corpus / "images.jsonl.gz", cases)


def test_equal_cases_pass(corpus: Path, cases: list[Case], capsys: pytest.CaptureFixture[str]) -> None:
    """Equal cases give exit status 0, and how many there were is said."""
    _write(corpus, cases)

    assert _run(corpus) == 0
    assert "2 of 2 cases equal" in capsys.readouterr().out


def test_planted_difference_is_found(corpus: Path, cases: list[Case], capsys: pytest.CaptureFixture[str]) -> None:
    """One changed number among the recorded ones gives exit status 1 and is shown."""
    changed = copy.deepcopy(cases)
    scores = changed[1]["expected"]["steps"][0]["score"]
    node = next(iter(scores))
    scores[node]["ImageLocality"] += 1
    _write(corpus, changed)

    assert _run(corpus) == 1
    said = capsys.readouterr().out
    assert "1 of 2 cases equal" in said
    assert f"steps[0].score.{node}.ImageLocality" in said


def test_crash_counts_as_difference(corpus: Path, cases: list[Case], capsys: pytest.CaptureFixture[str]) -> None:
    """A case that fails with an exception differs and is told with its traceback; the others go on."""
    broken = copy.deepcopy(cases)
    broken[0]["objects"].append({"apiVersion": "example.com/v1", "kind": "Unheard", "metadata": {"name": "of"}})
    _write(corpus, broken)

    assert _run(corpus) == 1
    said = capsys.readouterr()
    assert "1 of 2 cases equal" in said.out
    assert f"{broken[0]['name']} failed:\nTraceback" in said.err
    assert "no resource of kind Unheard" in said.err


def test_case_chooses(corpus: Path, cases: list[Case], capsys: pytest.CaptureFixture[str]) -> None:
    """Only the cases are run and judged whose names match."""
    _write(corpus, cases)

    assert _run(corpus, "--case", f"^{cases[0]['name']}$") == 0
    assert "1 of 1 cases equal" in capsys.readouterr().out


def test_results_are_kept(corpus: Path, cases: list[Case], tmp_path: Path) -> None:
    """With --keep the judge's input stays in a folder."""
    _write(corpus, cases)
    kept = tmp_path / "kept"

    assert _run(corpus, "--keep", str(kept)) == 0
    assert len((kept / "images.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "there are no families"),
        (("--family", "images"), "there are no families"),
    ],
)
def test_empty_folder(corpus: Path, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty folder is exit status 2 with a message."""
    assert _run(corpus, *arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--family", "imagess"), "unknown family: imagess; "),
        (("--case", "nothing-like-it"), "no case's name matches nothing-like-it"),
        (("--gate", "NoSuchGate=true"), "unrecognized feature gate: NoSuchGate"),
        (("--judge", "nowhere.py"), "there is no judge nowhere.py"),
    ],
)
def test_bad_arguments(
    corpus: Path, cases: list[Case], arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be run is exit status 2 with a message that names it."""
    _write(corpus, cases)

    assert _run(corpus, *arguments) == 2
    assert said in capsys.readouterr().err


def test_missing_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is not there is exit status 2 with a message."""
    assert _run(tmp_path / "nowhere") == 2
    assert "there is no folder" in capsys.readouterr().err


def test_nothing_compared(corpus: Path) -> None:
    """A family without a case compares nothing, which is exit status 2."""
    _write(corpus, [])

    assert _run(corpus) == 2

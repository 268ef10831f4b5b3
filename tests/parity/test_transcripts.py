"""The runner of transcripts passes on what the replayer says, and calls nothing a success."""

from pathlib import Path

import pytest

from tests.parity import transcripts

REPLAYER = """\
import sys
failed = int("bad" in sys.argv[-1])
assert "--server" in sys.argv and "--ca" in sys.argv
print("1 passed, %d failed" % failed if "empty" not in sys.argv[-1] else "0 passed, 0 failed")
sys.exit(failed)
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "replay.py").write_text(REPLAYER)
    return tmp_path


def run(corpus: Path, *arguments: str, families: tuple[str, ...] = ()) -> int:
    for family in families:
        (corpus / f"{family}.jsonl.gz").write_bytes(b"")
    return transcripts.main(["--corpus", str(corpus), "--replayer", str(corpus / "replay.py"), *arguments])


def test_every_file_is_replayed(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Totals of all families are added up; all passed is success."""
    assert run(corpus, families=("http-a", "kubectl-b")) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "http-a                      1 passed    0 failed",
        "kubectl-b                   1 passed    0 failed",
        "all                         2 passed    0 failed",
    ]


def test_one_failure_fails(corpus: Path) -> None:
    """The exit status is the replayer's worst one; a family can be chosen."""
    families = ("http-good", "http-bad")

    assert run(corpus, families=families) == 1
    assert run(corpus, "--family", "http-good", families=families) == 0


def test_nothing_is_a_failure(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty folder, an unknown family and a file without cases are failures."""
    assert run(corpus) == 2
    assert run(corpus, "--family", "nope", families=("http-a",)) == 2
    (corpus / "http-a.jsonl.gz").unlink()
    assert run(corpus, families=("http-empty",)) == 2
    assert "nothing was replayed" in capsys.readouterr().err
    assert transcripts.main(["--corpus", str(corpus), "--replayer", str(corpus / "no.py")]) == 2

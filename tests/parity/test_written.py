"""Our own cases come out as kube-scheduler's source has it, in every mode of the runner."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.parity import families, places, written
from tests.parity.run import main


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cases as a corpus."""
    folder = tmp_path_factory.mktemp("written")
    families.write(folder / "written.jsonl.gz", written.cases())
    return folder


@pytest.mark.parametrize("mode", ["", "--arrays", "--scalar", "--full", "--counted", "--alone"])
def test_written_cases_are_equal(mode: str, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every written case is equal in every leaf."""
    status = main(["--judge", str(places.judge()), "--corpus", str(corpus), "--jobs", "1", *filter(None, [mode])])

    assert status == 0, "".join(capsys.readouterr())


def test_every_written_case_has_a_name_and_a_source() -> None:
    """Names are unique, and each case says which file and function of kube-scheduler it follows."""
    cases = list(written.cases())

    assert [name for name, count in Counter(case["name"] for case in cases).items() if count > 1] == []
    assert [case["name"] for case in cases if ".go: " not in case["upstream"]] == []

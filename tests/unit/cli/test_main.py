"""The command line's manners: exit codes, one-line errors, hints, no tracebacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from schedlab import cli


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    out, err = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, out, err


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDLAB_HOME", str(tmp_path))


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "--version")

    assert code == 0
    assert out.startswith("schedlab 0.")


def test_help_lists_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "--help")

    assert code == 0
    assert all(verb in out for verb in ("up", "explain", "env"))


@pytest.mark.parametrize(
    "arguments",
    [("fly",), ("explain",), ("explain", "p", "--attempt", "many"), ("explain", "p", "-o", "xml"), ("env", "--nope")],
    ids=["unknown verb", "missing pod", "not a number", "unknown form", "unknown option"],
)
def test_unusable_arguments_end_with_2_and_a_hint(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(capsys, *arguments)

    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert "hint: schedlab --help" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("arguments", [("explain", "pod/p"), ("env",)])
def test_without_a_simulator_the_hint_says_how_to_start_one(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = _run(capsys, *arguments)

    assert code == 2
    assert "no simulator was started under this name" in err
    assert "hint: start one: schedlab up" in err


def test_a_reader_that_leaves_ends_the_command_which_is_no_success() -> None:
    """`schedlab test FILE | head -1` must not hide that a test has failed."""
    program = "from schedlab import cli; cli.app.command(lambda: print('x' * 1_000_000) or 1, name='speak'); cli.main(['speak'])"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()

    assert (process.wait(), told) == (141, b"")

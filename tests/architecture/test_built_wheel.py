"""The wheel that a user installs is whole: it runs without this repository."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.source_tree import REPOSITORY


@pytest.mark.long
@pytest.mark.timeout(600)
def test_wheel_runs_without_the_repository(tmp_path: Path) -> None:
    """`pip install .` brings every file and the `schedlab` command, and nothing of the tests."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, REPOSITORY], check=True)
    [wheel] = tmp_path.glob("schedlab-*.whl")

    names = set(zipfile.ZipFile(wheel).namelist())
    source = REPOSITORY / "src"
    files = {path for path in source.joinpath("schedlab").rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert {path.relative_to(source).as_posix() for path in files} <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"schedlab"}
    assert {"schedlab/examples/scenarios/rolling-load.yaml"} <= names

    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "--quiet", "install", wheel], check=True, cwd=tmp_path)
    script = environment / "bin" / "schedlab"
    for command in ([str(script), "--help"], [str(python), "-m", "schedlab", "up", "--help"]):
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (result.returncode, "up" in result.stdout) == (0, True), result.stdout + result.stderr

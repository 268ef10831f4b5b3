"""Runs the commands of README.md and of the guides against a simulator and puts their real output below them.

A fenced block of the language `console` is a session: lines that begin with `$ ` are run by bash, in order over the
whole file, and what they print stands below. Blocks whose first line is `# not run` are left alone. `make docs` calls
this; a test compares each file with what comes out, times and other things of the moment set aside (`timeless`).

A document may write files, by blocks such as "```python file=my_plugin.py"; its commands then run in a folder that holds
nothing else, otherwise in the root of the repository. `<!-- simulator: --nodes 5 -->` on a line of its own starts a new
simulator with these options for the commands after it.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
_PART = re.compile(
    r"^```(?P<info>[^`\n]*)\n(?P<body>.*?)^```$|^<!-- simulator:(?P<options>[^\n]*)-->$", re.MULTILINE | re.DOTALL
)
_FILE = re.compile(r"\bfile=(\S+)$")
_NOT_RUN = "# not run\n"
_TIMEOUT_S = 60

# Programs print more where these are set, and a reader has them not.
_OF_CI = ("CI", "BUILD_NUMBER", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST")

# As a reader's pytest, without plugins that change the order or leave files; ours is there whenever it was installed.
_PYTEST = "-p no:randomly -p no:cacheprovider -p schedlab.pytest_plugin"

# What differs from run to run, and what stands for it when two texts are compared.
_MOMENTARY = (
    (re.compile(r"\bin \d+\.\d+s\b"), "in <duration>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b\d+(ms|s|m|h|d)(\d+s)?\b(?= |$)", re.MULTILINE), "<age>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<address>"),
    (re.compile(r"\b\d+ objects of revision \d+ and \d+ attempts"), "<n> objects and attempts"),
    (re.compile(r"\b\d+ objects loaded, with their"), "<n> objects loaded, with their"),
    (re.compile(r"\bhappened \d+ times"), "happened <n> times"),
    (re.compile(r"[ \t]+"), " "),
)


def timeless(text: str) -> str:
    """The text without what depends on the moment."""
    for pattern, stand_in in _MOMENTARY:
        text = pattern.sub(stand_in, text)
    return text


def documents() -> list[Path]:
    """The files whose commands are run."""
    return [README, *sorted((ROOT / "docs" / "guides").glob("*.md"))]


def refreshed(text: str, programs: Path) -> str:
    """The text with the output of every command as it is now; `programs` holds schedlab and kubectl."""
    with tempfile.TemporaryDirectory(prefix="schedlab-") as scratch, _Sessions(programs) as sessions:
        sessions.folder = Path(scratch) if _writes_files(text) else ROOT
        return _PART.sub(sessions.part, text)


def _writes_files(text: str) -> bool:
    return any(_FILE.search(part["info"] or "") for part in _PART.finditer(text))


class _Sessions:
    """Goes through a document from top to bottom, with one simulator at a time."""

    folder = ROOT

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._options: Sequence[str] = ()
        self._running = ExitStack()
        self._environment: Mapping[str, str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def part(self, part: re.Match[str]) -> str:
        """Do what a part of the document asks for, and return it as it is now."""
        if part["options"] is not None:
            self._stop()
            self._options = shlex.split(part["options"])
        elif file := _FILE.search(part["info"]):
            (self.folder / file[1]).write_text(part["body"], encoding="utf-8")
        elif part["info"] == "console" and not part["body"].startswith(_NOT_RUN):
            return f"```console\n{self._session(part['body'])}```"
        return part[0]

    def _session(self, session: str) -> str:
        if self._environment is None:
            running = simulator(self._programs, *self._options, folder=self.folder)
            self._environment = self._running.enter_context(running)
        commands = [line.removeprefix("$ ") for line in session.splitlines() if line.startswith("$ ")]
        return "".join(f"$ {command}\n{self._output(command, self._environment)}" for command in commands)

    def _output(self, command: str, environment: Mapping[str, str]) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**environment, "PYTEST_ADDOPTS": _PYTEST},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        output = done.stdout.replace(f"{self.folder}/", "")
        return output if not output or output.endswith("\n") else output + "\n"

    def _stop(self) -> None:
        self._running.close()
        self._environment = None


@contextmanager
def simulator(programs: Path, *options: str, folder: Path = ROOT) -> Iterator[dict[str, str]]:
    """A simulator on free ports, and the environment that points commands at it; `programs` holds schedlab, kubectl."""
    with tempfile.TemporaryDirectory(prefix="schedlab-") as home:
        environment = {
            **{name: value for name, value in os.environ.items() if name not in _OF_CI},
            "PATH": f"{programs}:{os.environ['PATH']}",
            "SCHEDLAB_HOME": home,
            "KUBECONFIG": f"{home}/default/kubeconfig",
            "COLUMNS": "120",
        }
        command = ["schedlab", "up", "--port", "0", "--apiserver-port", "0", *options]
        with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                if not process.stdout.readline():
                    raise RuntimeError(f"`{' '.join(command)}` ended before it was ready")
                yield environment
            finally:
                process.terminate()
                process.wait(timeout=20)


def main() -> int:
    """Rewrite README.md and the guides."""
    programs = Path(sys.executable).parent
    for document in documents():
        document.write_text(refreshed(document.read_text(encoding="utf-8"), programs), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs the commands of README.md against a simulator and puts their real output below them.

A fenced block of the language `console` is a session: lines that begin with `$ ` are run by bash, in order over the
whole file, and what they print stands below. Blocks whose first line is `# not run` are left alone. `make docs` calls
this; a test compares the file with what comes out, times and other things of the moment set aside (`timeless`).
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOT_RUN = "# not run\n"
_TIMEOUT_S = 60

# What differs from run to run, and what stands for it when two texts are compared.
_MOMENTARY = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b\d+(ms|s|m|h|d)(\d+s)?\b(?= |$)", re.MULTILINE), "<age>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<address>"),
    (re.compile(r"[ \t]+"), " "),
)


def timeless(text: str) -> str:
    """The text without what depends on the moment."""
    for pattern, stand_in in _MOMENTARY:
        text = pattern.sub(stand_in, text)
    return text


def refreshed(text: str, environment: Mapping[str, str]) -> str:
    """The text with the output of every command as it is now."""
    return _BLOCK.sub(lambda block: f"```console\n{_session(block[1], environment)}```", text)


def _session(session: str, environment: Mapping[str, str]) -> str:
    if session.startswith(_NOT_RUN):
        return session
    commands = [line.removeprefix("$ ") for line in session.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {command}\n{_output(command, environment)}" for command in commands)


def _output(command: str, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    return done.stdout if not done.stdout or done.stdout.endswith("\n") else done.stdout + "\n"


@contextmanager
def simulator(programs: Path, *options: str) -> Iterator[dict[str, str]]:
    """A simulator on free ports, and the environment that points commands at it; `programs` holds schedlab, kubectl."""
    with tempfile.TemporaryDirectory(prefix="schedlab-") as home:
        environment = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "SCHEDLAB_HOME": home,
            "KUBECONFIG": f"{home}/default/kubeconfig",
            "COLUMNS": "120",
        }
        command = ["schedlab", "up", "--port", "0", "--apiserver-port", "0", *options]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                if not process.stdout.readline():
                    raise RuntimeError(f"`{' '.join(command)}` ended before it was ready")
                yield environment
            finally:
                process.terminate()
                process.wait(timeout=20)


def main() -> int:
    """Rewrite README.md."""
    with simulator(Path(sys.executable).parent) as environment:
        README.write_text(refreshed(README.read_text(encoding="utf-8"), environment), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

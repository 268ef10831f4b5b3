"""Replay recorded API transcripts against fresh servers, and say per family how many cases passed.

    python -m tests.parity.transcripts --corpus DIR [--replayer FILE] [--family http-crud …] [--kubectl PROGRAM]

Each file of the folder gets a server of its own and is handed to the replayer, which is used as it is and whose exit
status is ours. An empty folder, an unknown family or nothing replayed is a failure (status 2).
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.api_server import REPOSITORY, Address, Process

SUFFIX = ".jsonl.gz"
KUBECTL = REPOSITORY / ".venv" / "bin" / "kubectl"
_TOTAL = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What the replayer made of one file."""

    family: str
    passed: int
    failed: int
    status: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = _parse(arguments)
    files = {path.name.removesuffix(SUFFIX): path for path in sorted(options.corpus.glob(f"*{SUFFIX}"))}
    unknown = [family for family in options.family if family not in files]
    if unknown or not files:
        problem = f"no family {', '.join(unknown)}" if unknown else "no transcripts"
        return _fail(f"{options.corpus}: {problem}", f"files are called FAMILY{SUFFIX}; there are: {', '.join(files)}")
    if not options.replayer.is_file():
        return _fail(f"{options.replayer}: there is no replayer", "name it with --replayer")
    chosen = options.family or list(files)
    outcomes = [_replay(family, files[family], options) for family in chosen]
    return _summarise(outcomes)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--replayer", type=Path, default=REPOSITORY.parent / "shared" / "api-transcripts" / "replay.py")
    parser.add_argument("--family", action="append", default=[])
    parser.add_argument("--only", help="regular expression on the names of cases")
    parser.add_argument("--kubectl", type=Path, default=Path(os.environ.get("SCHEDLAB_KUBECTL_137", KUBECTL)))
    return parser.parse_args(arguments)


def _fail(problem: str, hint: str) -> int:
    print(f"error: {problem}\nhint: {hint}", file=sys.stderr)  # noqa: T201 - a command line
    return 2


def _replay(family: str, file: Path, options: argparse.Namespace) -> Outcome:
    """Replay one file against a server that has seen nothing else."""
    controllers = family == "controllers"
    with tempfile.TemporaryDirectory() as folder, Process(Path(folder), controllers=controllers) as server:
        command = _command(file, server.address, options)
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    sys.stdout.write(result.stdout)
    sys.stderr.write(result.stderr)
    sys.stdout.flush()
    totals = _TOTAL.findall(result.stdout)
    passed, failed = map(int, totals[-1]) if totals else (0, 0)
    return Outcome(family, passed, failed, result.returncode)


def _command(file: Path, address: Address, options: argparse.Namespace) -> list[str]:
    command = [sys.executable, str(options.replayer), "--server", address.url, "--token", address.token]
    command += ["--ca", address.ca]
    if file.name == f"controllers{SUFFIX}":
        # Most of the time they wait for a controller.
        command += ["--jobs", "8"]
    if options.only:
        command += ["--only", options.only]
    if file.name.startswith("kubectl-"):
        command += ["--kubectl", str(options.kubectl)]
    return [*command, str(file)]


def _summarise(outcomes: Sequence[Outcome]) -> int:
    lines = [f"{outcome.family:24} {outcome.passed:4} passed {outcome.failed:4} failed" for outcome in outcomes]
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    print("\n".join(["", *lines, f"{'all':24} {passed:4} passed {failed:4} failed"]))  # noqa: T201 - a command line
    if not passed + failed:
        return _fail("nothing was replayed", "see what the replayer says above")
    return max(outcome.status for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())

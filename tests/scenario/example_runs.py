"""Runs the scenarios of examples/scenarios and prints their digests; `--write` records them beside the examples.

    python -m tests.scenario.example_runs --write

A digest changes when a decision or an object of a run does. Look at what changed before recording it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from schedlab.scenario.opening import open_runs
from schedlab.scenario.source import Source

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "scenarios"
DIGESTS = EXAMPLES / "digests.json"


def examples() -> list[Path]:
    """The scenario files."""
    return sorted(EXAMPLES.glob("*.yaml"))


def digests() -> dict[str, str]:
    """The digest of every example; assertions that do not hold are a failure."""
    found = {}
    for file in examples():
        [opened] = open_runs(Source(file))
        run = opened.run()
        assert not run.failed, f"{file.name}: {run.failed}"
        assert not run.problems, f"{file.name}: {run.problems}"
        found[file.name] = run.digest
    return found


if __name__ == "__main__":
    text = json.dumps(digests(), indent=2) + "\n"
    if "--write" in sys.argv:
        DIGESTS.write_text(text, encoding="utf-8")
    sys.stdout.write(text)

"""Writes docs/parity.md: how many recorded decisions were compared, by family and by field, and how many were equal.

    python -m tools.generate_parity_page CORPUS JUDGE

Runs the parity runner over the whole corpus and takes the judge's own figures for the families; the leaves of each
field are counted in the data; what is said of mutants is the last result of tools.mutate_plugins. Nothing is written unless the judge finds every case equal.
"""

from __future__ import annotations

import collections
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "parity.md"
MUTANTS = ROOT / "tools" / "mutants.json"
_LINE = re.compile(r"^(\w+): (\d+) of (\d+) cases equal, (\d+) leaves compared, (\d+) differences$", re.MULTILINE)
_INTRODUCTION = """<!-- Written by `python -m tools.generate_parity_page`; do not edit the tables. -->

# Parity

Decisions recorded from the real kube-scheduler 1.36.2 at every extension point are replayed through the whole of schedlab's core (registry, store, informers, queue, scheduler), and an independent judge compares every leaf of every step.
There is no list of exceptions; only paths that the data itself marks as unstable are left out.

Run it with `make parity CORPUS=dir`.
`make test` requires every family below.
"""


def _leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(_leaves(child) for child in value.values())
    if isinstance(value, list):
        return sum(_leaves(child) for child in value) or 1
    return 1


def _steps(corpus: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(corpus.glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                expected = json.loads(line).get("expected")
                if isinstance(expected, dict):
                    yield from expected.get("steps") or ()


def _fields(corpus: Path) -> list[tuple[str, int, int]]:
    steps: collections.Counter[str] = collections.Counter()
    leaves: collections.Counter[str] = collections.Counter()
    for step in _steps(corpus):
        for field, value in step.items():
            steps[field] += 1
            leaves[field] += _leaves(value)
    return [(field, steps[field], leaves[field]) for field in sorted(leaves, key=lambda field: -leaves[field])]


def mutation_lines(result: dict[str, Any]) -> list[str]:
    """The section about mutants, from what `python -m tools.mutate_plugins --write` has kept."""
    tried, reached = result["tried"], result["reached"]

    def share(part: int, whole: int) -> str:
        return f"{part} of {whole} ({100 * part / whole:.0f} %)"

    left = [(who, mutant) for who in ("only_tests", "survivors") for mutant in result[who]]
    return [
        "",
        "## Would it be noticed?",
        "",
        "A comparison, a number or a truth value in the plugins is changed, one at a time, and the recorded cases are replayed until one differs.",
        f"`{result['command']}`, {result['date']}, seed {result['seed']}: {tried} of {result['mutants']} mutants of that day's plugins, drawn at random.",
        f"{result['equivalent']} more of the sample are left out: they are the same program (tools/equivalent_mutants.toml names each with its reason) or say only what pods may share.",
        "",
        "| who notices | mutants |",
        "|---|---|",
        f"| parity | {share(result['parity'], tried)} |",
        f"| only the unit tests of the plugin | {share(result['tests'], tried)} |",
        f"| nobody | {share(result['survived'], tried)} |",
        "",
        f"Recorded cases reach {reached} of them; of those parity notices {share(result['parity'], reached)}.",
        f"The other {tried - reached} are in code that no recorded case runs: hints for events that do not occur in the data, conflicts and failures of writes, timeouts, binding conditions of devices.",
        "",
        "<details><summary>What parity does not notice</summary>",
        "",
        "| who notices | mutant |",
        "|---|---|",
        *(f"| {'unit tests' if who == 'only_tests' else 'nobody'} | {_cell(mutant)} |" for who, mutant in left),
        "",
        "</details>",
    ]


def _cell(mutant: str) -> str:
    return mutant.replace("|", r"\|")


def page(corpus: Path, judged: str) -> str:
    """The page from the judge's output and the data."""
    rows = [match.groups() for match in _LINE.finditer(judged)]
    cases, compared = sum(int(row[2]) for row in rows), sum(int(row[3]) for row in rows)
    lines = [_INTRODUCTION, f"All {cases:,} cases are equal, {compared:,} leaves.", "", "| family | cases | leaves |"]
    lines += ["|---|---|---|", *(f"| {name} | {total} | {int(leaves):,} |" for name, _, total, leaves, _ in rows)]
    lines += ["", "Leaves by field of a step:", "", "| field | steps that have it | leaves |", "|---|---|---|"]
    lines += [f"| `{field}` | {steps:,} | {leaves:,} |" for field, steps, leaves in _fields(corpus)]
    if MUTANTS.exists():
        lines += mutation_lines(json.loads(MUTANTS.read_text(encoding="utf-8")))
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the corpus and write the page."""
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    corpus, judge = Path(sys.argv[1]), sys.argv[2]
    command = [sys.executable, "-m", "tests.parity.run", "--judge", judge, "--corpus", str(corpus)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout + done.stderr)
        return done.returncode
    PAGE.write_text(page(corpus, done.stdout), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

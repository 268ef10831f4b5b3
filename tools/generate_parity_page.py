"""Writes docs/parity.md: how many recorded decisions were compared, by family and by field, and how many were equal.

    python -m tools.generate_parity_page CORPUS JUDGE

Runs the parity runner over the whole corpus and the written cases and takes the judge's own figures for the families;
the leaves of each field are counted in the data; what is said of mutants is the last result of tools.mutate_plugins.
Nothing is written unless the judge finds every case equal.
"""

from __future__ import annotations

import collections
import gzip
import json
import re
import subprocess
import sys
import tempfile
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


#: By key of the kept result: who notices the mutants in its list.
_WHO = {"survivors": "nobody", "only_tests": "unit tests", "only_written": "written cases"}


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
    tried, recorded, written = result["tried"], result["recorded"], result["written"]

    def share(part: int, whole: int) -> str:
        return f"{part} of {whole} ({100 * part / whole:.0f} %)"

    return [
        "",
        "## Would it be noticed?",
        "",
        "A comparison, a number or a truth value in the plugins is changed, one at a time, and cases are replayed until one differs: first recorded ones, then those of our own.",
        f"`{result['command']}`, {result['date']}: {tried} of {result['mutants']} mutants of that day's plugins, drawn by a hash.",
        f"{result['equivalent']} of all mutants are left out: they are the same program (tools/equivalent_mutants.toml names each with its reason).",
        "",
        "| who notices | mutants |",
        "|---|---|",
        f"| the recorded cases alone | {share(recorded, tried)} |",
        f"| **parity: recorded and written cases** | **{share(recorded + written, tried)}** |",
        f"| only the unit tests of the plugin | {share(result['tests'], tried)} |",
        f"| nobody | {share(result['survived'], tried)} |",
        "",
        f"Recorded cases run the code of {result['recorded_reach']} of them, and notice {share(recorded, result['recorded_reach'])}.",
        "What neither runs: conflicts and failures of writes, and what is waited for; the format of the cases has no words for them.",
        "",
        "<details><summary>What the recorded cases do not notice</summary>",
        "",
        "| who notices | mutant |",
        "|---|---|",
        *(f"| {who} | {_cell(mutant)} |" for key, who in _WHO.items() for mutant in result[key]),
        "",
        "</details>",
    ]


def _cell(mutant: str) -> str:
    return mutant.replace("|", r"\|")


def page(corpus: Path, judged: str, written: str) -> str:
    """The page from the data and the judge's output about it and about the written cases."""
    rows = [match.groups() for match in _LINE.finditer(judged)]
    cases, compared = sum(int(row[2]) for row in rows), sum(int(row[3]) for row in rows)
    lines = [_INTRODUCTION, f"All {cases:,} cases are equal, {compared:,} leaves.", "", "| family | cases | leaves |"]
    lines += ["|---|---|---|", *(f"| {name} | {total} | {int(leaves):,} |" for name, _, total, leaves, _ in rows)]
    lines += ["", "Leaves by field of a step:", "", "| field | steps that have it | leaves |", "|---|---|---|"]
    lines += [f"| `{field}` | {steps:,} | {leaves:,} |" for field, steps, leaves in _fields(corpus)]
    lines += written_lines(written)
    if MUTANTS.exists():
        lines += mutation_lines(json.loads(MUTANTS.read_text(encoding="utf-8")))
    return "\n".join(lines) + "\n"


def written_lines(judged: str) -> list[str]:
    """The section about the written cases, from the judge's output."""
    match = _LINE.search(judged)
    assert match is not None, judged
    return [
        "",
        "## Cases of our own",
        "",
        "What the data does not come to is in tests/parity/written, in the same format and judged in the same way: queueing hints for other events, odd scores, binding conditions, extended resources.",
        "What is expected there was not recorded: it was worked out from kube-scheduler's source, and each case names the function.",
        "",
        f"All {int(match[3]):,} cases are equal, {int(match[4]):,} leaves.",
    ]


def _judged(judge: str, corpus: Path) -> str:
    """Run a corpus; return what the judge says. Exits when it is not equal."""
    command = [sys.executable, "-m", "tests.parity.run", "--judge", judge, "--corpus", str(corpus)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout + done.stderr)
        sys.exit(done.returncode)
    return done.stdout


def main() -> int:
    """Run the cases and write the page."""
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    corpus, judge = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        subprocess.run([sys.executable, "-m", "tests.parity.written", scratch], cwd=ROOT, check=True)
        written = _judged(judge, folder)
    PAGE.write_text(page(corpus, _judged(judge, corpus), written), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

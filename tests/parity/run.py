"""Runs the referee's cases and has the judge compare: `python -m tests.parity.run --judge PATH --corpus DIR`.

The results go to a folder in the judge's format, one FAMILY.jsonl per family; the exit status is the judge's (0 equal,
1 different, 2 nothing compared or bad input). A case that fails with an exception counts as different.

Feature gates can be forced for every case, from the command line or by SCHEDLAB_PARITY_GATES
(`--gate OpportunisticBatching=true`). `--arrays`, `--scalar`, `--full` and `--alone` show that neither the array
forms of dry runs, nor plugins without array forms, nor records of every verdict, nor what equal pods share change a
decision; nor do metrics (`--counted`).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

import orjson

from schedlab.apimachinery.features import FeatureGates
from schedlab.kernel.errors import SchedlabError
from tests.parity import families
from tests.parity.case import features_of, run_case
from tests.parity.families import PAIRS, Case, CorpusError
from tests.parity.pairs import run_pair
from tests.parity.world import Mode

Job = tuple[str, int, bytes, Mode]

_EQUAL_CASES: Final = re.compile(r"(\d+) of (\d+) cases equal")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and compare; return the exit status."""
    options = _parse(arguments)
    try:
        gates = FeatureGates.parse(",".join(options.gate), location="--gate").overrides
        chosen = {name: getattr(options, name) for name in ("arrays", "full", "scalar", "counted", "alone")}
        mode = Mode(gates, **chosen)
        with tempfile.TemporaryDirectory(prefix="parity-") as scratch:
            return _run(options, mode, Path(scratch))
    except (CorpusError, SchedlabError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.parity.run", description="Compare with recorded decisions.")
    parser.add_argument("--judge", type=Path, required=True, help="the program that compares")
    parser.add_argument("--corpus", type=Path, required=True, help="folder with FAMILY.jsonl.gz files")
    parser.add_argument("--family", action="append", default=[], help="only this family (repeatable)")
    parser.add_argument("--case", type=re.compile, help="only cases whose name matches this regular expression")
    parser.add_argument("--gate", action="append", default=_gates_from_environment(), help="force NAME=true or false")
    parser.add_argument("--arrays", action="store_true", help="let preemption try all nodes at once")
    parser.add_argument("--full", action="store_true", help="have every filter judge every node")
    parser.add_argument("--scalar", action="store_true", help="ask plugins about one node at a time")
    parser.add_argument("--counted", action="store_true", help="let the scheduler keep metrics")
    parser.add_argument("--alone", action="store_true", help="let equal pods share nothing")
    parser.add_argument("--keep", type=Path, help="write the results to this folder and keep them")
    parser.add_argument("--show", type=int, default=3, help="how many differences of a family to print")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    return parser.parse_args(arguments)


def _gates_from_environment() -> list[str]:
    return list(filter(None, [os.environ.get("SCHEDLAB_PARITY_GATES", "")]))


def _run(options: argparse.Namespace, mode: Mode, scratch: Path) -> int:
    if not options.judge.is_file():
        raise CorpusError(f"there is no judge {options.judge}")
    files = families.find(options.corpus, options.family)
    cases = {name: families.read_lines(path) for name, path in files.items()}
    corpus = options.corpus
    if options.case is not None:
        corpus = scratch / "corpus"
        cases = _select(cases, options.case, corpus)
    results = options.keep or scratch / "results"
    results.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    _write_results(cases, mode, results, options.jobs)
    sys.stdout.write(f"ran {sum(map(len, cases.values()))} cases in {time.monotonic() - began:.1f} s\n")
    return _judge(options.judge, corpus, results, list(cases), options.show)


def _select(cases: Mapping[str, list[bytes]], pattern: re.Pattern[str], corpus: Path) -> dict[str, list[bytes]]:
    """Keep the cases whose names match, and make a corpus of them for the judge."""
    chosen = {}
    for family, lines in cases.items():
        kept = [line for line in lines if pattern.search(orjson.loads(line).get("name", ""))]
        if kept:
            chosen[family] = kept
    if not chosen:
        raise CorpusError(f"no case's name matches {pattern.pattern}")
    corpus.mkdir()
    for family, lines in chosen.items():
        families.write_lines(corpus / f"{family}.jsonl.gz", lines)
    return chosen


def _write_results(cases: Mapping[str, list[bytes]], mode: Mode, results: Path, jobs: int) -> None:
    todo = [(family, index, line, mode) for family, lines in cases.items() for index, line in enumerate(lines)]
    results_of: dict[str, list[bytes]] = {family: [] for family in cases}
    for (family, *_), line in zip(todo, _map(todo, jobs), strict=True):
        results_of[family].append(line)
    for family, written in results_of.items():
        (results / f"{family}.jsonl").write_bytes(b"".join(line + b"\n" for line in written))


def _map(todo: Sequence[Job], jobs: int) -> Iterator[bytes]:
    if jobs <= 1:
        yield from map(run_line, todo)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run_line, todo, chunksize=max(1, min(8, len(todo) // (4 * jobs))))


def run_line(job: Job) -> bytes:
    """Return the judge's line of one case; what goes wrong is told on stderr and makes the case differ."""
    family, index, line, mode = job
    case: Case = orjson.loads(line)
    name = case.get("name", f"{family}/{index}")
    try:
        if family in PAIRS:
            return orjson.dumps(run_pair(family, case, features_of(case, mode)))
        return orjson.dumps({"name": name, "actual": run_case(case, mode)})
    except Exception:  # noqa: BLE001 - whatever it is, the other cases go on
        sys.stderr.write(f"{name} failed:\n{traceback.format_exc()}")
        failed: dict[str, Any] = {"crashed": traceback.format_exc(limit=-1)}
        return orjson.dumps(failed if family in PAIRS else {"name": name, "actual": failed})


def _judge(judge: Path, corpus: Path, results: Path, chosen: Sequence[str], show: int) -> int:
    """Hand the results over, then sum up; return the judge's exit status."""
    command = [sys.executable, str(judge), str(corpus), str(results), "--show", str(show)]
    for family in chosen:
        command += ["--family", family]
    verdict = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    sys.stdout.write(verdict.stdout)
    counts = [(int(equal), int(total)) for equal, total in _EQUAL_CASES.findall(verdict.stdout)]
    sys.stdout.write(f"{sum(equal for equal, _ in counts)} of {sum(total for _, total in counts)} cases equal\n")
    return verdict.returncode


if __name__ == "__main__":
    sys.exit(main())

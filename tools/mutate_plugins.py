"""Changes comparisons, numbers and truth values in the plugins, one at a time, and counts who notices.

    python -m tools.mutate_plugins CORPUS JUDGE [--sample N] [--seed S] [--only FILE[:LINE]] [--write]

First every case runs unchanged, in each mode of the parity runner, and it is noted which lines of the plugins it
reaches. Then each mutant runs the recorded cases that reach its line, the quickest of every family first, until the
judge finds a difference: what is *recorded* notices it. A crash, and four times the usual CPU time, count as
differences. Who survives that runs the *written* cases (tests/parity/written) that reach its line, then the unit
*tests* of its plugin; who survives those, too, *survived*.

Mutants named in tools/equivalent_mutants.toml are counted apart and not tried. A sample is drawn by a hash of the seed
and the mutant, so that code that stays the same stays in it. --write keeps the result in tools/mutants.json, which
docs/parity.md shows.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import datetime as dt
import functools
import hashlib
import importlib
import importlib.util
import io
import json
import os
import pickle
import resource
import select
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from tools import plugin_mutants
from tools.plugin_mutants import PLUGINS, ROOT, Mutant, plugin_files

RESULT: Final = ROOT / "tools" / "mutants.json"
MODES: Final = ("", "arrays", "scalar")
RECORDED, WRITTEN, TESTS, SURVIVED = "recorded", "written", "tests", "survived"
# CPU seconds of unchanged cases that a mutant is tried with at most; beyond come only more of the same families.
_TRIED_S_MAX: Final = 10
_GRACE_S: Final = 20
# Big clusters of what the other families have, too.
_LEFT_OUT: Final = frozenset({"medium"})
_UNIT_TESTS: Final = "tests/unit/scheduler/plugins"
# Asserts as they are: what would rewrite them would load plugins, too, before they can be changed.
_PYTEST: Final = ("-x", "-q", "-p", "no:cacheprovider", "--assert=plain")
_NOTICED: Final = 1
_UNNOTICED: Final = 0


@dataclass(frozen=True, slots=True)
class Job:
    """One case in one mode of the parity runner."""

    family: str
    index: int
    mode: str


@dataclass(slots=True)
class Baseline:
    """What the unchanged plugins do: CPU seconds of every job, and the jobs that reach each line of each file."""

    seconds: dict[Job, float] = field(default_factory=dict)
    reached: dict[str, dict[int, list[Job]]] = field(default_factory=dict)

    def jobs(self, mutant: Mutant, *, written: bool) -> list[Job]:
        """Return the recorded or written jobs that run a mutant's statement; of what runs at import, all of its file.

        The quickest of every family and mode come first, then the second ones, and so on.
        """
        lines = self.reached.get(mutant.file, {})
        found = set(lines.get(mutant.line, ()))
        if not found and -mutant.line in lines:
            found = {job for jobs in lines.values() for job in jobs}
        ranks: collections.Counter[tuple[str, str]] = collections.Counter()
        ordered = []
        for job in sorted(found, key=lambda job: (self.seconds[job], job.mode, job.family, job.index)):
            if (job.family == WRITTEN) == written:
                ordered.append((ranks[job.family, job.mode], job))
                ranks[job.family, job.mode] += 1
        chosen, total = [], 0.0
        for _, job in sorted(ordered, key=lambda ranked: ranked[0]):
            total += self.seconds[job]
            if total > _TRIED_S_MAX:
                break
            chosen.append(job)
        return chosen

    def add(self, other: Baseline) -> None:
        """Take in what is known of other jobs."""
        self.seconds |= other.seconds
        for file, lines in other.reached.items():
            for line, jobs in lines.items():
                self.reached.setdefault(file, {}).setdefault(line, []).extend(jobs)


class Corpus:
    """The recorded and the written cases, and the judge."""

    def __init__(self, folder: Path, judge: Path) -> None:
        from tests.parity import families, written

        files = families.find(folder, ())
        skipped = {*families.PAIRS, *_LEFT_OUT}
        self.lines = {name: families.read_lines(path) for name, path in files.items() if name not in skipped}
        self.lines[WRITTEN] = [orjson.dumps(case) for case in written.cases()]
        spec = importlib.util.spec_from_file_location("judge", judge)
        assert spec is not None
        assert spec.loader is not None
        self._judge = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._judge)

    def jobs(self, *, written: bool) -> list[Job]:
        """Return every recorded or written case in every mode."""
        return [
            Job(name, index, mode)
            for mode in MODES
            for name, lines in self.lines.items()
            for index in range(len(lines))
            if (name == WRITTEN) == written
        ]

    def is_equal(self, job: Job) -> bool:
        """Run a case and have it judged."""
        from tests.parity.case import run_case
        from tests.parity.world import Mode

        case = orjson.loads(self.lines[job.family][job.index])
        actual = run_case(case, Mode(arrays=job.mode == "arrays", scalar=job.mode == "scalar"))
        judged = self._judge.judge_case(case, orjson.loads(orjson.dumps(actual)))
        return not judged.differences


# --- Processes ---


def _each(works: Iterable[tuple[Any, Callable[[], Any]]], at_once: int) -> Iterator[tuple[Any, Any]]:
    """Do each work in a child process, so many at once; yields (key, answer), None for a child that died."""
    running: dict[int, tuple[Any, int]] = {}
    for key, work in works:
        reader, child = _fork(work)
        running[reader] = (key, child)
        if len(running) == at_once:
            yield _first_done(running)
    while running:
        yield _first_done(running)


def _fork(work: Callable[[], Any]) -> tuple[int, int]:
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return reader, child
    os.close(reader)
    with contextlib.suppress(BaseException), os.fdopen(writer, "wb") as pipe:
        pickle.dump(work(), pipe)
    os._exit(0)


def _first_done(running: dict[int, tuple[Any, int]]) -> tuple[Any, Any]:
    """Wait for one of the children; what it sends fits no pipe, so it is read until the end."""
    ready, _, _ = select.select(list(running), (), ())
    key, child = running.pop(ready[0])
    with os.fdopen(ready[0], "rb") as pipe:
        sent = pipe.read()
    os.waitpid(child, 0)
    try:
        return key, pickle.loads(sent)  # noqa: S301 - from our own child
    except (EOFError, pickle.UnpicklingError):
        return key, None


# --- The unchanged plugins ---


def _observed(corpus: Corpus, jobs: Sequence[Job]) -> tuple[dict[Job, float], dict[tuple[str, int], list[Job]]]:
    """Run jobs unchanged; return their times and who reached which line (negative: when it was imported)."""
    watch = plugin_mutants.Watch()
    importlib.import_module("tests.parity.case")
    reached: dict[tuple[str, int], list[Job]] = {(file, -line): [] for file, line in watch.take()}
    seconds: dict[Job, float] = {}
    for job in jobs:
        began = time.process_time()
        if not corpus.is_equal(job):
            raise SystemExit(f"{job} differs without any change")
        seconds[job] = time.process_time() - began
        for place in watch.take():
            reached.setdefault(place, []).append(job)
    return seconds, reached


def baseline(corpus: Corpus, jobs: Sequence[Job], at_once: int) -> Baseline:
    """Run jobs unchanged."""
    found = Baseline()
    parts = [jobs[start::8] for start in range(8)]
    works = [(number, functools.partial(_observed, corpus, part)) for number, part in enumerate(parts)]
    for _, answer in _each(works, at_once):
        if answer is None:
            raise SystemExit("the unchanged plugins do not pass")
        seconds, places = answer
        part = Baseline(seconds)
        for (file, line), whose in places.items():
            part.reached.setdefault(file, {})[line] = whose
        found.add(part)
    return found


# --- Mutants ---


def _limited(seconds: float) -> None:
    limit = int(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))


def _parity(corpus: Corpus, mutant: Mutant, jobs: Sequence[Job], usual_s: float) -> int:
    _limited(_GRACE_S + 4 * usual_s)
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.dup2(devnull, 2)
    plugin_mutants.install(mutant)
    for job in jobs:
        try:
            if not corpus.is_equal(job):
                return _NOTICED
        except Exception:  # noqa: BLE001 - whatever it is, it is noticed
            return _NOTICED
    return _UNNOTICED


def _tests(mutant: Mutant) -> int:
    import pytest

    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.dup2(devnull, 2)
    plugin_mutants.install(mutant)
    plugin_mutants.forget("schedlab", "tests")
    with contextlib.redirect_stdout(io.StringIO()):
        return _NOTICED if pytest.main([*_PYTEST, unit_tests_of(mutant)]) else _UNNOTICED


def unit_tests_of(mutant: Mutant) -> str:
    """Return where a plugin's own tests are: a package's folder, or a module's file."""
    plugin, inside, _ = mutant.file.removesuffix(".py").partition("/")
    return f"{_UNIT_TESTS}/{plugin}" if inside else f"{_UNIT_TESTS}/test_{plugin}.py"


def judge_mutants(corpus: Corpus, known: Baseline, mutants: Sequence[Mutant], at_once: int) -> dict[Mutant, str]:
    """Return who notices each mutant."""
    verdicts = dict.fromkeys(mutants, SURVIVED)
    for who in (RECORDED, WRITTEN, TESTS):
        works = [(mutant, _work(who, corpus, known, mutant)) for mutant in mutants if verdicts[mutant] == SURVIVED]
        print(f"{who}: {len(works)} to try", flush=True)
        for number, (mutant, answer) in enumerate(_each(works, at_once), 1):
            if answer == _UNNOTICED:
                print(f"{who} does not notice {mutant}", flush=True)
            else:
                verdicts[mutant] = who
            if number % 50 == 0:
                print(f"{number} of {len(works)} tried", flush=True)
    return verdicts


def _work(who: str, corpus: Corpus, known: Baseline, mutant: Mutant) -> Callable[[], int]:
    if who == TESTS:
        return functools.partial(_tests, mutant)
    jobs = known.jobs(mutant, written=who == WRITTEN)
    return functools.partial(_parity, corpus, mutant, jobs, sum(known.seconds[job] for job in jobs))


def sampled(mutants: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """Return so many of the mutants, as a hash of each draws them."""
    numbers: collections.Counter[tuple[str, str, str]] = collections.Counter()
    drawn = []
    for mutant in mutants:
        text = mutant.file, mutant.code, mutant.change
        drawn.append((hashlib.sha256(repr((seed, *text, numbers[text])).encode()).digest(), mutant))
        numbers[text] += 1
    return [mutant for _, mutant in sorted(drawn, key=lambda one: one[0])[:size]]


def summary(
    options: argparse.Namespace, known: Baseline, verdicts: dict[Mutant, str], total: int, equal: int
) -> dict[str, Any]:
    """Return what is kept of a run."""
    counts = collections.Counter(verdicts.values())
    reached = {
        f"{who}_reach": sum(bool(known.jobs(mutant, written=who == WRITTEN)) for mutant in verdicts)
        for who in (RECORDED, WRITTEN)
    }
    return {
        "command": f"python -m tools.mutate_plugins CORPUS JUDGE --sample {options.sample} --seed {options.seed}",
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "seed": options.seed,
        "mutants": total,
        "equivalent": equal,
        "tried": len(verdicts),
        **reached,
        **{name: counts[name] for name in (RECORDED, WRITTEN, TESTS, SURVIVED)},
        "only_written": [str(mutant) for mutant, verdict in verdicts.items() if verdict == WRITTEN],
        "only_tests": [str(mutant) for mutant, verdict in verdicts.items() if verdict == TESTS],
        "survivors": [str(mutant) for mutant, verdict in verdicts.items() if verdict == SURVIVED],
    }


def _known(options: argparse.Namespace, corpus: Corpus) -> Baseline:
    """Return what the unchanged plugins do; of the recorded cases from the file that remembers it, if it still holds."""
    sources = [(PLUGINS / file).read_bytes() for file in plugin_files()]
    version = hashlib.sha256(b"".join(sources)).hexdigest()
    known = _remembered(options.watched, version)
    if known is None:
        known = baseline(corpus, corpus.jobs(written=False), options.jobs)
        if options.watched is not None:
            options.watched.write_bytes(pickle.dumps((version, known)))
    known.add(baseline(corpus, corpus.jobs(written=True), options.jobs))
    return known


def _remembered(file: Path | None, version: str) -> Baseline | None:
    if file is None or not file.exists():
        return None
    of, known = pickle.loads(file.read_bytes())  # noqa: S301 - written above
    assert isinstance(known, Baseline)
    return known if of == version else None


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate_plugins", description="Count who notices changes.")
    parser.add_argument("corpus", type=Path, help="folder with FAMILY.jsonl.gz files")
    parser.add_argument("judge", type=Path, help="the program that compares")
    parser.add_argument("--sample", type=int, default=0, help="try so many of the mutants (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--only", default="", help="only mutants of FILE, or FILE:LINE, below the plugins")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--watched", type=Path, help="remember here which lines the unchanged plugins' cases reach")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.relative_to(ROOT)}")
    return parser.parse_args()


def main() -> int:
    """Try the mutants."""
    options = _parse()
    # What no mutant changes is imported once; children inherit it.
    importlib.import_module("tests.parity.case")
    corpus = Corpus(options.corpus, options.judge)
    known = _known(options, corpus)
    print(f"{len(known.seconds)} jobs, {sum(known.seconds.values()):.0f} s of CPU unchanged and watched", flush=True)
    every = plugin_mutants.every_mutant()
    named = plugin_mutants.equivalents()
    chosen = [one for one in every if not any(entry.covers(one) for entry in named)]
    equal = len(every) - len(chosen)
    chosen = [one for one in chosen if f"{one.file}:{one.line}".startswith(options.only)]
    if options.sample:
        chosen = sampled(chosen, options.sample, options.seed)
    verdicts = judge_mutants(corpus, known, chosen, options.jobs)
    result = summary(options, known, verdicts, len(every), equal)
    print(json.dumps({key: value for key, value in result.items() if not isinstance(value, list)}, indent=2))
    if options.write:
        RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

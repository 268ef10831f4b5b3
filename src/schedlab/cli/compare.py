"""`schedlab compare FILE --config A --config B`: one scenario under several scheduler configurations."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from schedlab.cli.compare_html import compare_html
from schedlab.cli.compare_text import compare_text
from schedlab.cli.output_file import check_file, write_file
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.words import counted
from schedlab.scenario.comparing import Variant
from schedlab.scenario.comparing import compare as compare_variants
from schedlab.scenario.seeds import read_seeds
from schedlab.scenario.source import Source


def compare(
    file: Path,
    *,
    config: Annotated[
        tuple[Path, ...],
        Parameter(
            negative="",
            help="A KubeSchedulerConfiguration; the first is what the others are compared with. One alone is compared "
            "with the scenario's own. May be given several times.",
        ),
    ] = (),
    seeds: Annotated[str, Parameter(help="Seeds to run: 1..20, or 1,2,5.")] = "1",
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
    html: Annotated[
        Path | None,
        Parameter(help="File for a report that needs nothing else: charts, and the decisions of moved pods."),
    ] = None,
    jobs: Annotated[int, Parameter(help="Processes that run at the same time; 0 is one per processor.")] = 0,
) -> int:
    """Run a scenario under several configurations: metrics with confidence, and the pods that are placed elsewhere.

    Parameters
    ----------
    file
        The scenario; docs/reference/scenarios.md has the format.
    """
    if jobs < 0:
        raise SchedlabError(f"{jobs} processes do nothing", location="--jobs", hint="give 1 or more, or 0")
    chosen = [None, *config] if len(config) == 1 else [*config]
    variants = [Variant(Source(file), None if one is None else Source(one)) for one in chosen or [None]]
    check_file(html, "--html")
    numbers = read_seeds(seeds, "--seeds")
    started = time.perf_counter()
    found = compare_variants(variants, numbers, jobs=jobs or os.cpu_count() or 1, progress=_progress(len(numbers)))
    if html is not None:
        write_file(html, [compare_html(found)], "--html")
    print(json.dumps(found.data(), indent=2) if output == "json" else compare_text(found, str(file)))
    runs = len(found.seeds) * len(found.configs)
    print(f"{counted(runs, 'run')} in {time.perf_counter() - started:.1f}s", file=sys.stderr)
    if found.interrupted:
        print(f"interrupted: {len(found.seeds)} of {counted(len(numbers), 'seed')} are told", file=sys.stderr)
        return 130
    return 0


def _progress(total: int) -> Callable[[int], None]:
    """Return what shows on a terminal how many seeds are finished."""

    def show(finished: int) -> None:
        if sys.stderr.isatty():
            end = "\n" if finished == total else ""
            print(f"\r{finished} of {counted(total, 'seed')}", end=end, file=sys.stderr, flush=True)

    return show

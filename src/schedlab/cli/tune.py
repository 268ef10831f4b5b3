"""`schedlab tune FILE`: search a scheduler configuration for a scenario."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter

from schedlab.apimachinery.yaml import to_yaml
from schedlab.cli.options import read_seconds
from schedlab.cli.output_file import write_file
from schedlab.cli.run_files import write_table
from schedlab.cli.sweep_options import ResultsOption, WorkersOption, progress_bar, worker_count
from schedlab.cli.tune_html import tune_html
from schedlab.cli.tune_text import headline, objective_text, tune_text
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.words import counted
from schedlab.scenario.metrics import hint_for, metric_of
from schedlab.scenario.seeds import read_seeds
from schedlab.scenario.sweeps.candidates import Candidate, Search, Tuning
from schedlab.scenario.sweeps.journal import Journal
from schedlab.scenario.sweeps.results import table
from schedlab.scenario.sweeps.space import PERCENTAGES, STRATEGIES, Objective, Space, Strategy, default_weights
from schedlab.scenario.sweeps.task import run_task
from schedlab.scenario.sweeps.varying import configuration_of
from schedlab.scenario.workers.crew import Crew
from schedlab.scenario.workers.local import LocalEngine

_TRIALS: Final = 50
_FRONT: Final = "configuration-{}.yaml"


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class SearchedOptions:
    """What is searched for, and among what."""

    minimize: Annotated[
        tuple[str, ...], Parameter(negative="", help="A metric that is to become small. May be given several times.")
    ] = ()
    maximize: Annotated[
        tuple[str, ...], Parameter(negative="", help="A metric that is to become large. May be given several times.")
    ] = ()
    weight: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="A score plugin and its weights: NodeAffinity=0..10. May be given several times."),
    ] = ()
    strategy: Annotated[
        tuple[Strategy, ...],
        Parameter(negative="", help="How NodeResourcesFit may score. May be given several times."),
    ] = ()
    percentage: Annotated[str, Parameter(help="What percentageOfNodesToScore may be: 10..100.")] = ""


NOTHING: Final = SearchedOptions()


def tune(
    file: Path,
    *,
    searched: SearchedOptions = NOTHING,
    seeds: Annotated[str, Parameter(help="Seeds of which the mean counts: 1..20, or 1,2,5.")] = "1",
    trials: Annotated[
        int | None, Parameter(help="How many configurations are tried; 50 if no --time is given.")
    ] = None,
    time_limit: Annotated[str, Parameter(name="--time", help="Real time after which no more are tried: 10m.")] = "",
    timeout: Annotated[str, Parameter(help="A run that takes longer, in real time, has failed: 60s.")] = "",
    sampler_seed: Annotated[int, Parameter(help="The same seed and number of workers propose the same.")] = 1,
    directory: ResultsOption = None,
    workers: WorkersOption = 0,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
    html: Annotated[Path | None, Parameter(help="File for a report with charts that needs nothing else.")] = None,
) -> int:
    """Search a scheduler configuration: exit code 0, 1 when runs failed, 2 for a mistake, 130 after Ctrl-C.

    Without --weight, --strategy and --percentage all three are searched, else what is given.
    The folder, FILE with `.tuning` for its ending if none is named, gets a KubeSchedulerConfiguration for each
    configuration that no other one beats; the same command goes on where a search was stopped.

    Parameters
    ----------
    file
        The scenario; docs/reference/scenarios.md has the format.
    """
    from schedlab.scenario.sweeps.tuning import Tuner

    count = worker_count(workers)
    limit_s = read_seconds(time_limit, "--time") if time_limit else None
    search = Search(
        file,
        _objectives(searched.minimize, searched.maximize),
        _space(searched.weight, searched.strategy, searched.percentage),
        read_seeds(seeds, "--seeds"),
        _trials(trials, limit_s),
        limit_s,
        sampler_seed,
    )
    timeout_s = read_seconds(timeout, "--timeout") if timeout else None
    tuner = Tuner(search)
    folder = directory or file.with_suffix(".tuning")
    started = time.perf_counter()
    with (
        Journal(folder) as journal,
        Crew(LocalEngine(partial(run_task, file)), count, timeout_s) as crew,
        progress_bar(search.trials, "trials") as progress,
    ):
        found = tuner.run(journal, crew, folder, progress=progress)
    write_table(table(found.rows.values()), folder / "runs.csv", "csv")
    files = _write_front(found, folder)
    if html is not None:
        write_file(html, [tune_html(found, files)], "--html")
    print(json.dumps(_data(found, files), indent=2) if output == "json" else tune_text(found, files))
    return _end(found, folder, time.perf_counter() - started)


def _end(found: Tuning, folder: Path, took_s: float) -> int:
    """Tell how a search ended and return the exit code."""
    print(f"{counted(len(found.trials), 'trial')} in {took_s:.1f}s; see {folder}", file=sys.stderr)
    if found.interrupted:
        print("interrupted: what is told is what was tried until then", file=sys.stderr)
        return 130
    return 1 if found.failed else 0


def _objectives(minimize: Sequence[str], maximize: Sequence[str]) -> list[Objective]:
    found = [Objective(name) for name in minimize] + [Objective(name, maximize=True) for name in maximize]
    if not found:
        raise SchedlabError(
            "nothing is searched for", location="--minimize, --maximize", hint="name a metric: --minimize wait_p99"
        )
    for number, one in enumerate(found):
        option = "--maximize" if one.maximize else "--minimize"
        if metric_of(one.metric) is None:
            raise SchedlabError(f"there is no metric {one.metric}", location=option, hint=hint_for(one.metric))
        if any(one.metric == other.metric for other in found[:number]):
            raise SchedlabError(f"{one.metric} is there twice", location=option, hint="name each metric once")
    return found


def _space(weights: Sequence[str], strategies: Sequence[Strategy], percentage: str) -> Space:
    if not weights and not strategies and not percentage:
        return Space(default_weights(), STRATEGIES, PERCENTAGES)
    chosen: dict[str, tuple[int, int]] = {}
    for text in weights:
        plugin, _, ends = text.partition("=")
        if plugin in chosen:
            raise SchedlabError(f"{plugin} is there twice", location="--weight", hint="name each plugin once")
        chosen[plugin] = _ends(ends, "--weight", "NodeAffinity=0..10", 2**31 - 1)
    return Space(
        chosen,
        [*dict.fromkeys(strategies)],
        _ends(percentage, "--percentage", "10..100", 100) if percentage else None,
    )


def _ends(text: str, option: str, example: str, highest: int) -> tuple[int, int]:
    low, _, high = text.partition("..")
    if not low.isdecimal() or not high.isdecimal() or not int(low) <= int(high) <= highest:
        raise SchedlabError(f"{text!r} names no numbers", location=option, hint=f"write {example}")
    return int(low), int(high)


def _trials(given: int | None, limit_s: int | None) -> int | None:
    if given is not None and given < 1:
        raise SchedlabError(f"{given} trials find nothing", location="--trials", hint="give 1 or more")
    return _TRIALS if given is None and limit_s is None else given


def _write_front(found: Tuning, folder: Path) -> dict[str, str]:
    """Write the configurations that no other one beats; return the names of their files by those of candidates."""
    for old in folder.glob(_FRONT.format("*")):
        old.unlink()
    names = {}
    for number, one in enumerate(found.front, 1):
        names[one.name] = str(folder / _FRONT.format(number))
        lines = [
            headline(one),
            *(objective_text(objective, value) for objective, value in zip(found.objectives, one.results, strict=True)),
        ]
        heading = "".join(f"# {line}\n" for line in lines)
        write_file(Path(names[one.name]), [heading, to_yaml(configuration_of(one.document))], "--directory")
    return names


def _data(found: Tuning, files: dict[str, str]) -> dict[str, Any]:
    def shown(one: Candidate) -> dict[str, Any]:
        named = {"name": one.name, "values": dict(one.values), "results": list(one.results)}
        return {**named, "reason": one.reason, "file": files.get(one.name, "")}

    return {
        "scenario": str(found.scenario),
        "objectives": [{"metric": one.metric, "maximize": one.maximize} for one in found.objectives],
        "interrupted": found.interrupted,
        "front": [one.name for one in found.front],
        "baselines": [shown(one) for one in found.baselines],
        "trials": [shown(one) for one in found.trials],
    }

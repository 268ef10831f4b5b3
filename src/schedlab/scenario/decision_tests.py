"""Scenarios as tests of decisions: found like pytest's, run one by one, told with the scheduler's own answers.

    for file in find_tests([Path("tests")]):
        outcome = run_test(file)

A test is a scenario with assertions, in a file called `test_*.yaml` or `*_test.yaml`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schedlab.apimachinery.yaml_file import line_of, read_text
from schedlab.cluster.cluster import Cluster
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.experiment import Experiment
from schedlab.scenario.file import read_scenario, with_configuration
from schedlab.scenario.judging import Verdict
from schedlab.scenario.source import Source

_PATTERNS: Final = ("test_*.yaml", "*_test.yaml", "test_*.yml", "*_test.yml")
#: Of so many pods that are not as they should be, it is told why they are where they are.
_EXPLAINED_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """An assertion that does not hold: where it stands (`FILE:LINE`), what it says, what was found, answers about pods."""

    place: str
    text: str
    found: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test: how many assertions were judged, and those that do not hold; `digest` of its decisions."""

    name: str
    assertions: int
    failures: tuple[Failure, ...]
    digest: str


def find_tests(paths: Sequence[Path]) -> list[Path]:
    """Return the tests of folders, gone through to the bottom, and files as they are named; raises SchedlabError."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            files = sorted({file for pattern in _PATTERNS for file in path.rglob(pattern)})
            if not files:
                raise SchedlabError(
                    "no tests are there", location=str(path), hint=f"tests are called {', '.join(_PATTERNS[:2])}"
                )
            found |= dict.fromkeys(files)
        else:
            found[path] = None
    return [*found]


def run_test(file: Path, config: Path | None = None) -> Outcome:
    """Run a test, with another scheduler configuration if one is given; raises SchedlabError for mistakes in files."""
    plan = read_scenario(file)
    if not plan.checks:
        raise SchedlabError("the scenario asserts nothing", location=str(file), hint="add assertions")
    if config is not None:
        plan = with_configuration(plan, Source(config))
    experiment = Experiment(plan)
    run = experiment.run()
    text = read_text(file, "name a scenario file")
    failures = [
        _failure(f"{file}:{line_of(text, ('assertions', number))}", verdict, experiment.cluster)
        for number, verdict in enumerate(run.verdicts)
        if not verdict.holds
    ]
    return Outcome(plan.name, len(run.verdicts), tuple(failures), run.digest)


def _failure(place: str, verdict: Verdict, cluster: Cluster) -> Failure:
    answers = [f"{pod}: {_answer(cluster, pod)}" for pod in verdict.pods[:_EXPLAINED_MAX]]
    return Failure(place, verdict.text, verdict.found, tuple(answers))


def _answer(cluster: Cluster, pod: str) -> str:
    namespace, _, name = pod.partition("/")
    try:
        return str(cluster.explainer.explain(namespace, name)["answer"])
    except LookupError as error:
        return str(error)

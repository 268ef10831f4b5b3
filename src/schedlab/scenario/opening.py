"""Whatever `schedlab run` takes: scenarios, Scenarios of KEP-140, and files of scheduler_perf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from schedlab.apimachinery.yaml_file import read_text
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.experiment import Experiment, never
from schedlab.scenario.file import HINT, document_of, plan_of, with_configuration
from schedlab.scenario.kep140 import is_stepped, read_stepped
from schedlab.scenario.model import API_VERSION
from schedlab.scenario.observing import Observation, Watch
from schedlab.scenario.source import Source
from schedlab.scenario.stepped_experiment import SteppedExperiment
from schedlab.scheduler_perf.config import TestCase, Workload, load
from schedlab.scheduler_perf.run import RunOptions
from schedlab.scheduler_perf.run import run as run_workload

if TYPE_CHECKING:
    from schedlab.cluster.cluster import Cluster
    from schedlab.scenario.results import Run

_EVERY_NS: Final = 10 * SECOND_NS


class Runnable(Protocol):
    """Something that can be run once. warnings: lines that the user should see; until_s: when it ends at the latest."""

    warnings: Sequence[str]
    seed: int

    @property
    def until_s(self) -> float | None:
        """The virtual time of its end at the latest, None where nothing ends it."""

    def watched_by(self, watch: Watch) -> None:
        """Let `watch` have the observation, before anything happens."""

    def run(self) -> Run:
        """Run it; raises SchedlabError."""


def open_runs(
    source: Source,
    *,
    seed: int | None = None,
    workload: str = "",
    config: Source | None = None,
    interrupted: Callable[[], bool] = never,
) -> list[Runnable]:
    """Return what a file holds, ready to be run; raises SchedlabError.

    `workload` chooses one workload (TestCase/Workload) of a file of scheduler_perf, of which else the first performance
    workload of each test case is run. `config` takes the place of a scenario's own scheduler configuration.
    """
    text = source.read(HINT)
    document = document_of(text, source.file)
    _refuse_configuration(document, source, config)
    if isinstance(document, list):
        return [PerfRun(source.file, case, one, seed or 1) for case, one in _workloads(source, workload)]
    return [_experiment(document, text, source, config, seed=seed, interrupted=interrupted)]


def _refuse_configuration(document: Any, source: Source, config: Source | None) -> None:
    if config is not None and (isinstance(document, list) or is_stepped(document)):
        raise SchedlabError(
            "such a file has its scheduler configuration in it, or the default one",
            location=str(source.file),
            hint=f"only scenarios of {API_VERSION} take another configuration",
        )


def _experiment(document: Any, text: str, source: Source, config: Source | None, **options: Any) -> Experiment:
    if is_stepped(document):
        return SteppedExperiment(*read_stepped(document, text, source), **options)
    plan = plan_of(document, text, source)
    return Experiment(plan if config is None else with_configuration(plan, config), **options)


def check(source: Source, config: Source | None = None) -> None:
    """Raise SchedlabError, MistakesError with all mistakes, for what cannot be run."""
    text = source.read(HINT)
    document = document_of(text, source.file)
    _refuse_configuration(document, source, config)
    if isinstance(document, list):
        _workloads(source, "")
    elif is_stepped(document):
        read_stepped(document, text, source)
    else:
        plan = plan_of(document, text, source)
        if config is not None:
            with_configuration(plan, config)


def _workloads(source: Source, chosen: str) -> list[tuple[TestCase, Workload]]:
    file = source.file
    if source.text is not None and source.text != read_text(file, HINT):
        raise SchedlabError(
            "a file of scheduler_perf names others, and is run as it stands",
            location=str(file),
            hint="choose the file, and leave it as it is",
        )
    cases = load(file)
    name, _, size = chosen.partition("/")
    found = [(case, case.workload(size)) for case in cases if name in ("", case.name)]
    if not found:
        known = ", ".join(case.name for case in cases)
        raise SchedlabError(f"there is no test case {name!r}", location=str(file), hint=f"it has: {known}")
    return found


class PerfRun:
    """A workload of scheduler_perf: its cluster has no kubelets and controllers, and admission as scheduler_perf has it."""

    warnings: Sequence[str] = ()
    until_s: float | None = None

    def __init__(self, file: Path, case: TestCase, workload: Workload, seed: int) -> None:
        self._file, self._case, self._workload, self.seed = file, case, workload, seed
        self._watch: Watch | None = None
        self._observation: Observation | None = None

    def watched_by(self, watch: Watch) -> None:
        """See Runnable."""
        self._watch = watch

    def run(self) -> Run:
        """See Runnable."""
        options = RunOptions(annotations="off", full=False, seed=self.seed, watch=self._begun)
        run_workload(self._file, self._case, self._workload, options)
        assert self._observation is not None, "the run has made a cluster"
        return self._observation.result(f"{self._case.name}/{self._workload.name}", self.seed, "idle")

    def _begun(self, cluster: Cluster) -> None:
        self._observation = Observation(cluster, _EVERY_NS)
        if self._watch is not None:
            self._watch(self._observation)
        self._observation.attach()
        self._observation.sampler.sample()

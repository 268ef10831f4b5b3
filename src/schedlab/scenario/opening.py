"""Whatever `schedlab run` takes: scenarios, Scenarios of KEP-140, and files of scheduler_perf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from schedlab.apimachinery.yaml_file import read_text
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.experiment import Experiment, never
from schedlab.scenario.file import document_of, plan_of
from schedlab.scenario.kep140 import SteppedExperiment, is_stepped, read_stepped
from schedlab.scenario.observing import Observation
from schedlab.scheduler_perf.config import TestCase, Workload, load
from schedlab.scheduler_perf.run import RunOptions
from schedlab.scheduler_perf.run import run as run_workload

if TYPE_CHECKING:
    from schedlab.cluster.cluster import Cluster
    from schedlab.scenario.results import Run

_EVERY_NS: Final = 10 * SECOND_NS


class Runnable(Protocol):
    """Something that can be run once. warnings: lines that the user should see."""

    warnings: Sequence[str]

    def run(self) -> Run:
        """Run it; raises SchedlabError."""


def open_runs(
    file: Path, *, seed: int | None = None, workload: str = "", interrupted: Callable[[], bool] = never
) -> list[Runnable]:
    """Return what a file holds, ready to be run; raises SchedlabError.

    `workload` chooses one workload (TestCase/Workload) of a file of scheduler_perf, of which else the first performance
    workload of each test case is run.
    """
    text = read_text(file, "name a scenario file")
    document = document_of(text, file)
    if isinstance(document, list):
        return [PerfRun(file, case, one, seed or 1) for case, one in _workloads(file, workload)]
    if is_stepped(document):
        plan, stepped = read_stepped(document, text, file)
        return [SteppedExperiment(plan, stepped, seed=seed, interrupted=interrupted)]
    return [Experiment(plan_of(document, text, file), seed=seed, interrupted=interrupted)]


def _workloads(file: Path, chosen: str) -> list[tuple[TestCase, Workload]]:
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

    def __init__(self, file: Path, case: TestCase, workload: Workload, seed: int) -> None:
        self._file, self._case, self._workload, self._seed = file, case, workload, seed
        self._observation: Observation | None = None

    def run(self) -> Run:
        """See Runnable."""
        options = RunOptions(annotations="off", full=False, seed=self._seed, watch=self._watch)
        run_workload(self._file, self._case, self._workload, options)
        assert self._observation is not None, "the run has made a cluster"
        return self._observation.result(f"{self._case.name}/{self._workload.name}", self._seed, "idle")

    def _watch(self, cluster: Cluster) -> None:
        self._observation = Observation(cluster, _EVERY_NS)
        self._observation.attach()
        self._observation.sampler.sample()

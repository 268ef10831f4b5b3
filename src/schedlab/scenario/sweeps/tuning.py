"""Searches scheduler configurations that are good at several things: weights of score plugins, how NodeResourcesFit
scores, and percentageOfNodesToScore. Needs the extra `tune`.

Optuna's sampler proposes; what comes of a proposal is the mean over seeds of ordinary runs, kept in the folder. So a
search that goes on is gone through from its beginning, with runs that are there already: it proposes what one that was
never stopped would have proposed. The same seed and number of workers give the same trials.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from schedlab.apimachinery.yaml_file import read_text
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.comparing import OWN
from schedlab.scenario.file import document_of, plan_of
from schedlab.scenario.source import Source
from schedlab.scenario.sweeps.candidates import Candidate, Search, Tuning
from schedlab.scenario.sweeps.file import SweepPlan
from schedlab.scenario.sweeps.inputs import Inputs
from schedlab.scenario.sweeps.journal import Journal
from schedlab.scenario.sweeps.results import means
from schedlab.scenario.sweeps.space import apply_values
from schedlab.scenario.sweeps.sweeping import run_sweep
from schedlab.scenario.sweeps.task import Row, Task, encode, task_of
from schedlab.scenario.sweeps.varying import CONFIG, with_own_configuration
from schedlab.scenario.workers.crew import Crew

try:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
except ImportError as error:
    raise SchedlabError(
        "optuna is not installed", location="schedlab tune", hint="install it: pip install 'schedlab[tune]'"
    ) from error

DEFAULT: Final = "the default profile"
#: Optuna's own record of the search, for its tools.
STUDY: Final = "study.journal"


class Tuner:
    """One search; made, it knows that everything can be tried."""

    def __init__(self, search: Search) -> None:
        """Read the scenario, and try the ends of the space on it; raises SchedlabError."""
        self.search = search
        text = read_text(search.scenario, "name a scenario file")
        own = document_of(text, search.scenario)
        plan_of(own, text, Source(search.scenario))
        self._base = with_own_configuration(own, search.scenario)
        self._inputs = Inputs(search.scenario.parent)
        for option, values in search.space.ends():
            try:
                self._tasks(Candidate("", values, apply_values(self._base, values)))
            except SchedlabError as error:
                raise SchedlabError(error.message, location=option, hint=error.hint) from error

    def run(
        self,
        journal: Journal,
        crew: Crew[Any],
        folder: Path,
        *,
        progress: Callable[[int, int], None] = lambda *_: None,
    ) -> Tuning:
        """Search; Ctrl-C leaves what was tried. Raises SchedlabError for an objective that is not measured."""
        search = self.search
        found = Tuning(search.scenario, search.objectives)
        began_s = time.monotonic()
        run = partial(self._run, found, journal, crew)
        with _quiet():
            try:
                baselines = self._baselines()
                run(baselines)
                found.baselines = baselines
                self._require(found)
                study = _study(search, folder)
                while (count := self._next(found, began_s, crew.workers)) and not found.interrupted:
                    asked = [study.ask() for _ in range(count)]
                    proposed = [self._proposed(trial) for trial in asked]
                    run(proposed)
                    if found.interrupted:
                        break
                    found.trials += proposed
                    for trial, one in zip(asked, proposed, strict=True):
                        _tell(study, trial, one)
                    progress(len(found.trials), len(found.failed))
            except KeyboardInterrupt:
                found.interrupted = True
        return found

    def _next(self, found: Tuning, began_s: float, workers: int) -> int:
        """Return how many trials come next, 0 when it is over."""
        search = self.search
        if search.time_s is not None and time.monotonic() - began_s >= search.time_s:
            return 0
        return workers if search.trials is None else min(workers, search.trials - len(found.trials))

    def _baselines(self) -> list[Candidate]:
        default = Candidate(DEFAULT, {}, {key: value for key, value in self._base.items() if key != CONFIG})
        return [default, Candidate(OWN, {}, self._base)] if self._base.get(CONFIG) else [default]

    def _proposed(self, trial: optuna.Trial) -> Candidate:
        values = self.search.space.propose(trial)
        return Candidate(f"trial {trial.number}", values, apply_values(self._base, values))

    def _tasks(self, one: Candidate) -> list[Task]:
        document = encode(one.document)
        plan = plan_of(json.loads(document), "", Source(self.search.scenario))
        return [task_of(document, plan, self._inputs, seed, one.name, one.values) for seed in self.search.seeds]

    def _run(self, found: Tuning, journal: Journal, crew: Crew[Any], candidates: Iterable[Candidate]) -> None:
        """Make the runs of candidates, and give them their results."""
        by_candidate = [(one, self._tasks(one)) for one in candidates]
        tasks = {task.id: task for _, tasks in by_candidate for task in tasks}
        plan = SweepPlan(self.search.scenario, self.search.scenario, (), [*tasks.values()], (), None, ())
        result = run_sweep(plan, journal, crew)
        found.rows |= {key: row for key, row in result.rows.items() if key not in found.rows}
        found.interrupted |= result.interrupted
        for one, own in by_candidate:
            self._judge(one, [result.rows[task.id] for task in own if task.id in result.rows])

    def _judge(self, one: Candidate, rows: Sequence[Row]) -> None:
        failed = [row["reason"] for row in rows if row["state"] == "failed"]
        measured = means(row["metrics"] for row in rows if row["state"] == "finished")
        results = [measured.get(objective.metric) for objective in self.search.objectives]
        known = [value for value in results if value is not None]
        if failed:
            one.reason = failed[0]
        elif len(known) < len(results):
            lacking = [
                objective.metric
                for objective, value in zip(self.search.objectives, results, strict=True)
                if value is None
            ]
            one.reason = f"{', '.join(lacking)} was not measured"
        else:
            one.results = known

    def _require(self, found: Tuning) -> None:
        """Refuse a search whose baselines say nothing."""
        for one in found.baselines:
            if one.reason and not found.interrupted:
                raise SchedlabError(
                    f"{one.name} cannot be judged: {one.reason}",
                    location=str(self.search.scenario),
                    hint="see what `schedlab run` tells of the scenario",
                )


def _study(search: Search, folder: Path) -> optuna.Study:
    file = folder / STUDY
    # It is gone through from its beginning, see above.
    file.unlink(missing_ok=True)
    return optuna.create_study(
        directions=["maximize" if one.maximize else "minimize" for one in search.objectives],
        sampler=optuna.samplers.TPESampler(seed=search.sampler_seed, constant_liar=True),
        storage=JournalStorage(JournalFileBackend(str(file))),
        study_name=search.scenario.stem,
    )


def _tell(study: optuna.Study, trial: optuna.Trial, one: Candidate) -> None:
    if one.results:
        study.tell(trial, list(one.results))
    else:
        study.tell(trial, state=optuna.trial.TrialState.FAIL)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep to ourselves what Optuna says of its trials and of what in it is new."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)

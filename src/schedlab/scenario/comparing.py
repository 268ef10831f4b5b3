"""One scenario under several scheduler configurations, over several seeds.

Every seed is run once per configuration, and what comes is the same in all of them; so differences are paired. One seed
is the work of one process: what it returns does not depend on which process that is, nor on how many there are.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from typing import Any, Final, TypeAlias

from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.experiment import Experiment
from schedlab.scenario.file import read_source, with_configuration
from schedlab.scenario.metrics import metric_of
from schedlab.scenario.observing import service_time_text
from schedlab.scenario.pairing import by_plugin, describe_move, moved_pods
from schedlab.scenario.plan import Plan
from schedlab.scenario.results import quantiles
from schedlab.scenario.source import Source
from schedlab.scenario.statistics import paired_difference
from schedlab.scenario.workers.crew import Crew
from schedlab.scenario.workers.local import LocalEngine
from schedlab.whatif.shadow import Shadow

#: Moved pods of one seed and configuration that are described, and those that come with their decisions.
_MOVED_MAX: Final = 200
_TABLES_MAX: Final = 20
OWN: Final = "the scenario's own"
#: What one seed came to: a run per configuration, and the moved pods of all but the first.
SeedResult: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Variant:
    """What is run: a scenario under a configuration (None: its own), with every seed or always with its own one.

    name: what it is called, if not like its configuration.
    """

    scenario: Source
    config: Source | None = None
    seed: int | None = None
    name: str = ""

    def __str__(self) -> str:
        return self.name or (OWN if self.config is None else str(self.config.file))


#: Gets, where runs are in this process, each with the place of its variant, and is entered while it runs.
Watching: TypeAlias = Callable[[int, Experiment], AbstractContextManager[None]]


def _unwatched(_place: int, _experiment: Experiment) -> AbstractContextManager[None]:
    """Nobody watches."""
    return nullcontext()


@dataclass(slots=True)
class Comparison:
    """What came out. configs: names of the variants, the first is what others are compared with.

    runs: by seed, then by configuration: metrics, digest, assertions that failed. moved: by configuration, with seeds.
    series, waits: of the first seed, by configuration; waits: quantiles of the times until pods were bound, in seconds.
    """

    scenario: str
    service_time: str
    configs: list[str]
    seeds: list[int]
    interrupted: bool = False
    runs: list[list[dict[str, Any]]] = field(default_factory=list)
    moved: list[list[dict[str, Any]]] = field(default_factory=list)
    moved_counts: list[int] = field(default_factory=list)
    series: list[list[dict[str, Any]]] = field(default_factory=list)
    waits: list[list[float]] = field(default_factory=list)

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Return per metric its values by configuration and seed, and differences to the first configuration."""
        names = dict.fromkeys(name for runs in self.runs for run in runs for name in run["metrics"])
        found = {}
        for name in names:
            known = metric_of(name)
            values = [[runs[place]["metrics"].get(name) for runs in self.runs] for place in range(len(self.configs))]
            if known is not None and any(value is not None for of in values for value in of):
                found[name] = {
                    "unit": known.unit,
                    "better": known.better,
                    "values": values,
                    "means": [_mean(of) for of in values],
                    "differences": [_difference(values[0], of) for of in values[1:]],
                }
        return found

    def data(self) -> dict[str, Any]:
        """Return it as JSON-shaped data, without series and waits."""
        return {
            "scenario": self.scenario,
            "serviceTime": self.service_time,
            "configs": self.configs,
            "seeds": self.seeds,
            "interrupted": self.interrupted,
            "metrics": self.metrics(),
            "digests": [[run["digest"] for run in runs] for runs in self.runs],
            "failed": [[run["failed"] for run in runs] for runs in self.runs],
            "moved": [
                {"config": name, "pods": count, "byPlugin": by_plugin(moved), "described": moved}
                for name, count, moved in zip(self.configs[1:], self.moved_counts, self.moved, strict=True)
            ],
        }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _difference(before: Sequence[float | None], after: Sequence[float | None]) -> dict[str, Any] | None:
    pairs = [(a, b) for a, b in zip(before, after, strict=True) if a is not None and b is not None]
    if not pairs:
        return None
    found = paired_difference([a for a, _ in pairs], [b for _, b in pairs])
    return {**asdict(found), "clear": found.is_clear}


# --- Running ---------------------------------------------------------------------------------------------------------


@cache
def plans_of(variants: tuple[Variant, ...]) -> tuple[Plan, ...]:
    """Return the plan of each variant; scenarios are read once. Raises SchedlabError."""
    read: dict[Source, Plan] = {}
    for one in variants:
        if one.scenario not in read:
            read[one.scenario] = read_source(one.scenario)
    plans = [(read[one.scenario], one.config) for one in variants]
    return tuple(plan if config is None else with_configuration(plan, config) for plan, config in plans)


def compare(
    variants: Sequence[Variant],
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    progress: Callable[[int], None] = lambda _: None,
    watch: Watching = _unwatched,
) -> Comparison:
    """Run every seed of every variant; Ctrl-C leaves what was finished. Raises SchedlabError.

    `jobs` processes work at the same time, 1: this one; `progress` hears how many seeds are finished.
    """
    chosen = tuple(variants)
    plans = plans_of(chosen)
    names = [str(one) for one in chosen]
    found = Comparison(plans[0].name, service_time_text(plans[0].settings.service_time), names, [])
    results: dict[int, SeedResult] = {}
    try:
        for seed, result in _results(chosen, seeds, jobs, watch):
            results[seed] = result
            progress(len(results))
    except KeyboardInterrupt:
        found.interrupted = True
    found.seeds = [seed for seed in seeds if seed in results]
    if not found.seeds:
        raise SchedlabError("was interrupted before the first seed was finished", location=str(chosen[0].scenario.file))
    found.runs = [results[seed]["runs"] for seed in found.seeds]
    found.series = results[found.seeds[0]]["series"]
    found.waits = results[found.seeds[0]]["waits"]
    for place in range(len(chosen) - 1):
        moved = [{"seed": seed, **one} for seed in found.seeds for one in results[seed]["moved"][place]["described"]]
        found.moved.append(moved)
        found.moved_counts.append(sum(results[seed]["moved"][place]["pods"] for seed in found.seeds))
    return found


def _results(
    variants: tuple[Variant, ...], seeds: Sequence[int], jobs: int, watch: Watching
) -> Iterator[tuple[int, SeedResult]]:
    """Yield the results of seeds as they are finished."""
    if jobs == 1 or len(seeds) == 1:
        for seed in seeds:
            yield seed, run_seed(variants, seed, watch)
        return
    with Crew(LocalEngine(partial(run_seed, variants)), min(jobs, len(seeds))) as crew:
        for seed, state, result in crew.run(seeds):
            if state == "failed":
                raise SchedlabError(result["reason"], location=f"seed {seed}")
            yield seed, result


def run_seed(variants: tuple[Variant, ...], seed: int, watch: Watching = _unwatched) -> SeedResult:
    """Run one seed of every variant."""
    try:
        return _run_seed(variants, seed, watch)
    finally:
        # Clusters are full of cycles, and a calm collector would let many of them pile up.
        gc.collect()


def _run_seed(variants: tuple[Variant, ...], seed: int, watch: Watching) -> SeedResult:
    experiments = [
        Experiment(plan, seed=seed if one.seed is None else one.seed)
        for one, plan in zip(variants, plans_of(variants), strict=True)
    ]
    first, others = experiments[0], experiments[1:]
    shadows = [_shadow(first, other) for other in others]
    runs = []
    for place, experiment in enumerate(experiments):
        with watch(place, experiment):
            runs.append(experiment.run())
    moved = []
    for other, shadow in zip(others, shadows, strict=True):
        pairs = [*moved_pods(first, other)]
        shadowed = {difference.pod: difference.flip for difference in shadow.differences}
        described = [
            describe_move(first, other, pair, shadowed, tables=number < _TABLES_MAX)
            for number, pair in enumerate(pairs[:_MOVED_MAX])
        ]
        moved.append({"pods": len(pairs), "described": described})
    return {
        "runs": [_brief(run.metrics, run.digest, [f"{one.text}: {one.found}" for one in run.failed]) for run in runs],
        "series": [list(run.series) for run in runs],
        "waits": [quantiles(run.pods, "wait_s") for run in runs],
        "moved": moved,
    }


def _shadow(first: Experiment, other: Experiment) -> Shadow:
    """Let the configuration of another run decide beside the first one."""
    settings = other.plan.settings
    location = settings.scheduler_config_location
    shadow = Shadow(location, first.cluster, settings.scheduler_config or {}, location)
    first.cluster.observers.add(shadow)
    return shadow


def _brief(metrics: Mapping[str, Any], digest: str, failed: list[str]) -> dict[str, Any]:
    return {"metrics": dict(metrics), "digest": digest, "failed": failed}

"""A search of configurations: what is asked for, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from schedlab.scenario.sweeps.space import Objective, Space, Values, front_of
from schedlab.scenario.sweeps.task import Row
from schedlab.scenario.sweeps.varying import Document


@dataclass(slots=True)
class Candidate:
    """A configuration that was tried: what it is called, its values, what it came to for each objective.

    results is empty where a run failed, for which `reason` says why.
    """

    name: str
    values: Values
    document: Document
    results: Sequence[float] = ()
    reason: str = ""


@dataclass(slots=True)
class Tuning:
    """What a search came to. baselines: what nobody tuned; front: candidates that no other one beats in everything."""

    scenario: Path
    objectives: Sequence[Objective]
    baselines: list[Candidate] = field(default_factory=list)
    trials: list[Candidate] = field(default_factory=list)
    rows: dict[str, Row] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def front(self) -> list[Candidate]:
        """The best ones by the first objective first; of those that come to the same, the first tried."""
        tried = [one for one in (*self.baselines, *self.trials) if one.results]
        return [tried[place] for place in front_of([one.results for one in tried], self.objectives)]

    @property
    def failed(self) -> list[Candidate]:
        """The candidates of which a run failed."""
        return [one for one in (*self.baselines, *self.trials) if one.reason]


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched and for how long: until so many trials are made or so much time is over, whichever is first."""

    scenario: Path
    objectives: Sequence[Objective]
    space: Space
    seeds: Sequence[int]
    trials: int | None
    time_s: float | None = None
    sampler_seed: int = 1

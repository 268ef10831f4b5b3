"""One run of a sweep: what it is, how it is known again, and what it leaves.

A run is known by a digest of all that it depends on: the scenario's document with its parameters and configuration in
it, what the files hold that it names, the seed, and schedlab's version.
"""

from __future__ import annotations

import gc
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from schedlab import __version__
from schedlab.scenario.experiment import Experiment
from schedlab.scenario.file import plan_of
from schedlab.scenario.plan import Plan
from schedlab.scenario.source import Source
from schedlab.scenario.sweeps.inputs import Inputs
from schedlab.scenario.sweeps.varying import Document

#: Columns of tables of runs besides parameters and metrics.
COLUMNS: Final = (
    "config",
    "seed",
    "state",
    "reason",
    "digest",
    "ended",
    "failed_assertions",
    "problems",
    "seconds",
    "id",
)
#: What is written of a run: JSON-shaped, see docs/reference/sweeps.md.
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """A run to be made. config, parameters: what its point is called; document: the scenario, as JSON."""

    id: str
    config: str
    parameters: Mapping[str, Any]
    seed: int
    document: str

    def row(self, state: str, result: Mapping[str, Any]) -> Row:
        """Return what is written of it."""
        named = {"id": self.id, "config": self.config, "parameters": dict(self.parameters), "seed": self.seed}
        return {**named, "state": state, **result}


def encode(document: Document) -> str:
    """Return a document as it travels; keys keep their order, which objects are stored in."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def task_of(document: str, plan: Plan, inputs: Inputs, seed: int, config: str, parameters: Mapping[str, Any]) -> Task:
    """Return the run of a document, of which `plan` is made, with a seed."""
    files = {name: inputs.digest(name) for name in sorted(plan.files)}
    whole = json.dumps([__version__, document, files, seed])
    return Task(hashlib.sha256(whole.encode()).hexdigest(), config, parameters, seed, document)


@lru_cache(maxsize=4)
def _plan(file: Path, document: str) -> Plan:
    return plan_of(json.loads(document), "", Source(file))


def run_task(file: Path, task: Task) -> Mapping[str, Any]:
    """Run it in this process; `file` is the scenario, beside which lies what it names. Raises SchedlabError."""
    began = time.perf_counter()
    try:
        run = Experiment(_plan(file, task.document), seed=task.seed).run()
    finally:
        # Clusters are full of cycles, and a calm collector would let many of them pile up.
        gc.collect()
    return {
        "digest": run.digest,
        "ended": run.ended,
        "assertions": [f"{one.text}: {one.found}" for one in run.failed],
        "problems": list(run.problems),
        "seconds": round(time.perf_counter() - began, 3),
        "metrics": dict(run.metrics),
    }

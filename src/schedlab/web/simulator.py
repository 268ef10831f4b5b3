"""What the REST API shows: the parts of a running simulator, gathered by whoever starts it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from schedlab.cluster.past import Past
from schedlab.decisions.explain import PodQuestion
from schedlab.decisions.log import DecisionLog
from schedlab.kernel.steps import Steps
from schedlab.mirror.service import Mirroring
from schedlab.scenario.catalog import Catalog
from schedlab.scenario.service import ScenarioRuns
from schedlab.web.logins import Logins
from schedlab.whatif.shadow import Shadow
from schedlab.whatif.workers import Question


@dataclass(frozen=True, slots=True)
class Scenarios:
    """The scenarios that may be chosen, and their runs."""

    catalog: Catalog
    runs: ScenarioRuns


class Explains(Protocol):
    """Answers questions about pods (decisions.explainer.Explainer)."""

    def explaining(self, namespace: str, name: str, question: PodQuestion) -> Steps[dict[str, Any]]:
        """Return JSON values; LookupError with a sentence when there is nothing to explain."""

    def is_foreign(self, namespace: str, name: str) -> bool:
        """Whether a pod is on a node that nothing recorded here has put it on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulator:
    """The decision log, who explains what it holds, and how the cluster is.

    trace: tells the way of a pod, None when nothing is known of it.
    logins: checks who asks; None lets everybody in.
    document: writes an explanation as an HTML page that stands alone.
    strict: results are on the pods only, streams end and replays take no time, as with kube-scheduler-simulator.
    past: tells revisions that are kept and how they differ; None where there is only a scheduler.
    ask: has a question about the whole cluster answered by a worker; None where there is only a scheduler.
    scenarios: None where no scenarios are run.
    """

    log: DecisionLog
    explainer: Explains
    logins: Logins | None = None
    status: Callable[[], Mapping[str, Any]] = dict
    trace: Callable[[str, str], Mapping[str, Any] | None] | None = None
    ask: Callable[[Question], Awaitable[Any]] | None = None
    document: Callable[[Mapping[str, Any]], str] | None = None
    mirroring: Mirroring | None = None
    past: Past | None = None
    shadows: Sequence[Shadow] = ()
    scenarios: Scenarios | None = None
    strict: bool = False

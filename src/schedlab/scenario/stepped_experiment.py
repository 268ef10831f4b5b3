"""A run of a Scenario of KEP-140 from a file, on a cluster of its own and a virtual clock.

A step ends when no object has changed for a minute, which is longer than back-offs of pods and than the pod garbage
collector waits.
"""

from __future__ import annotations

from typing import Any, Final

from schedlab.kernel.clock import SECOND_NS
from schedlab.scenario.experiment import Experiment
from schedlab.scenario.kep140 import SteppedScenario
from schedlab.scenario.plan import Plan
from schedlab.scenario.results import Ending, Run
from schedlab.scenario.stepping import Phase, Stepping

_QUIET_NS: Final = 60 * SECOND_NS


class SteppedExperiment(Experiment):
    """A run of such a scenario; `phase` and `timeline` are what its status would say."""

    def __init__(self, plan: Plan, stepped: SteppedScenario, **options: Any) -> None:
        super().__init__(plan, **options)
        self._stepping = Stepping(self.cluster, self._doer, stepped.spec.operations)
        for resource in self.cluster.informers.resources():
            self.cluster.informers.on_change(resource, self._stepping.changed, from_now=True)

    @property
    def phase(self) -> Phase:
        """Where it stands."""
        return self._stepping.phase

    @property
    def timeline(self) -> dict[str, list[dict[str, Any]]]:
        """What happened, by major step."""
        return self._stepping.timeline

    def _drive(self, end_ns: int) -> Ending:
        self._driver.settle()
        while self._stepping.begin():
            if not self._converge(end_ns):
                ended: Ending = "interrupted" if self._interrupted() else "time"
                self._stepping.fail(
                    "it was interrupted" if ended == "interrupted" else "it did not come to rest in a day"
                )
                return ended
            self._stepping.end()
        if self._stepping.problem:
            self._doer.problems.append(self._stepping.problem)
        return "idle"

    def _converge(self, end_ns: int) -> bool:
        """Go on until nothing has changed for a while; False when time is over or the user has interrupted."""
        clock, stepping = self.clock, self._stepping
        self._driver.settle()
        self.fates.settled()
        while (quiet_ns := stepping.changed_ns + _QUIET_NS) <= end_ns and not self._interrupted():
            due_ns = clock.next_ns()
            if due_ns is None or due_ns > quiet_ns:
                clock.advance_to(quiet_ns)
                return True
            clock.advance_to(due_ns)
            self._driver.settle()
            self.fates.settled()
        return False

    def status(self, run: Run) -> dict[str, Any]:
        """Return the status of the Scenario after its run."""
        return self._stepping.status(run.version)

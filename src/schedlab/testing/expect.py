"""`expect`, as tests read it: of a pod, of a whole cluster, of a run of a scenario."""

from __future__ import annotations

from collections.abc import Callable
from operator import ge, gt, le, lt
from pathlib import Path
from typing import overload

from schedlab.kernel.errors import SchedlabError
from schedlab.laboratory.cluster import Cluster
from schedlab.laboratory.expectations import ClusterExpectation, PodExpectation, PodLike
from schedlab.scenario.metrics import hint_for, metric_of
from schedlab.scenario.results import Run


class Expect:
    """What the fixture `expect` is: `expect("web").on("node-1")`, `expect(cluster).decisions("golden")`."""

    def __init__(self, usual: Callable[[], Cluster], folder: Path = Path(), *, update: bool = False) -> None:
        """`usual` gives the cluster that is meant when none is named; golden files are in `folder`."""
        self._usual, self._folder, self._update = usual, folder, update

    @overload
    def __call__(self, what: Cluster) -> ClusterExpectation: ...

    @overload
    def __call__(self, what: Run) -> RunExpectation: ...

    @overload
    def __call__(self, what: PodLike, cluster: Cluster | None = None) -> PodExpectation: ...

    def __call__(
        self, what: PodLike | Cluster | Run, cluster: Cluster | None = None
    ) -> PodExpectation | ClusterExpectation | RunExpectation:
        """Return what can be expected of a run, of a cluster, or of a pod in one."""
        if isinstance(what, Run):
            return RunExpectation(what)
        if isinstance(what, Cluster):
            return ClusterExpectation(what, self._folder, update=self._update)
        return PodExpectation(self._usual() if cluster is None else cluster, what)


class RunExpectation:
    """What is expected of a run of a scenario."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def metric(self, name: str) -> Metric:
        """Return a metric of docs/reference/scenario-metrics.md, to be compared with a number: `.metric("wait_p99") < 30`.

        Raises SchedlabError when there is no such metric, AssertionError when it was not measured.
        """
        __tracebackhide__ = True
        if metric_of(name) is None:
            raise SchedlabError(f"there is no metric {name}", hint=hint_for(name))
        value = self._run.metrics.get(name)
        if value is None:
            raise AssertionError(f"{self._run.scenario}: {name} was not measured")
        return Metric(self._run, name, value)


class Metric:
    """A metric of a run; a comparison that does not hold is an AssertionError with what was measured."""

    def __init__(self, run: Run, name: str, value: float) -> None:
        self._run, self._name, self._value = run, name, value

    def __lt__(self, bound: float) -> bool:
        return self._compare("<", lt, bound)

    def __le__(self, bound: float) -> bool:
        return self._compare("<=", le, bound)

    def __gt__(self, bound: float) -> bool:
        return self._compare(">", gt, bound)

    def __ge__(self, bound: float) -> bool:
        return self._compare(">=", ge, bound)

    def _compare(self, sign: str, holds: Callable[[float, float], bool], bound: float) -> bool:
        __tracebackhide__ = True
        if not holds(self._value, bound):
            raise AssertionError(
                f"{self._run.scenario}, seed {self._run.seed}: {self._name} is {self._value:g}, but is expected "
                f"to be {sign} {bound:g}"
            )
        return True

"""Everything that is measured of one cluster, from its start to the end of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from schedlab import __version__
from schedlab.apimachinery.time import format_duration
from schedlab.kernel.clock import SECOND_NS
from schedlab.scenario.digest import DecisionDigest
from schedlab.scenario.fates import Fates
from schedlab.scenario.results import Ending, Run, Value, measure, uniform
from schedlab.scenario.sampling import Sampler

if TYPE_CHECKING:
    from schedlab.cluster.cluster import Cluster
    from schedlab.cluster.service_time import ServiceTime
    from schedlab.scenario.judging import Verdict
    from schedlab.scenario.plan import PricePlan


#: Gets an observation before anything happens in it.
Watch: TypeAlias = Callable[["Observation"], None]


class Observation:
    """Observes a cluster once `attach` is called, which must be when it has started and before anything happens."""

    def __init__(self, cluster: Cluster, every_ns: int, prices: Sequence[PricePlan] = ()) -> None:
        self.cluster = cluster
        self.begin_ns = cluster.clock.now_ns()
        self.digest = DecisionDigest()
        self.fates = Fates(cluster.clock)
        self.sampler = Sampler(cluster, self.fates, every_ns, prices)

    def attach(self) -> None:
        """Begin to listen."""
        cluster = self.cluster
        cluster.observers.add(self.fates)
        cluster.observers.add(self.digest)
        cluster.informers.on_change("nodes", self.sampler.node_changed)
        cluster.informers.on_change("pods", self.sampler.pod_changed)
        cluster.informers.on_change("pods", self.fates.pod_changed)

    def duration_s(self) -> float:
        """Return the virtual time since the beginning."""
        return (self.cluster.clock.now_ns() - self.begin_ns) / SECOND_NS

    def metrics(self) -> dict[str, Value]:
        """Return the metrics of the run so far."""
        self.sampler.sample()
        return measure(self.fates, self.sampler.series, self.duration_s())

    def result(
        self, name: str, seed: int, ended: Ending, verdicts: Sequence[Verdict] = (), problems: Sequence[str] = ()
    ) -> Run:
        """Return what came out."""
        settings = self.cluster.settings
        return Run(
            scenario=name,
            seed=seed,
            version=__version__,
            scheduler_config=settings.scheduler_config_location or "default",
            service_time=service_time_text(settings.service_time),
            ended=ended,
            digest=self.digest.finish(self.cluster),
            metrics=self.metrics(),
            verdicts=verdicts,
            problems=problems,
            series=uniform(self.sampler.series),
            pending=self.sampler.pending,
            pods=[fate.row() for fate in self.fates.all.values()],
        )


def service_time_text(time: ServiceTime) -> str:
    """Say how long the scheduler takes."""
    if not any(time):
        return "zero: waits are those of a scheduler that takes no time"
    parts = [f"{format_duration(time.cycle_ns)} per cycle"] if time.cycle_ns else []
    parts += [f"{format_duration(time.node_ns)} per node that it looks at"] if time.node_ns else []
    return ", ".join(parts)

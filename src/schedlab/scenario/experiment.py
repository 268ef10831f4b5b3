"""Runs a scenario: a cluster in this process on a virtual clock, what happens to it, what is measured.

    run = Experiment(read_scenario(Path("scenario.yaml"))).run()

Nothing goes over HTTP and nothing is kept of the past. The same plan and seed give the same run, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from schedlab import __version__
from schedlab.apimachinery.time import format_duration
from schedlab.cluster.cluster import Cluster
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.randomness import SeededRandom
from schedlab.mirror.snapshot import load
from schedlab.scenario.digest import DecisionDigest
from schedlab.scenario.doing import Doer
from schedlab.scenario.fates import Fates
from schedlab.scenario.judging import Verdict, judge_metric, judge_pods
from schedlab.scenario.loading import RunningLoad
from schedlab.scenario.plan import Check, Plan
from schedlab.scenario.results import ZERO_TIME, Ending, Run, measure, uniform
from schedlab.scenario.sampling import Sampler

if TYPE_CHECKING:
    from schedlab.cluster.service_time import ServiceTime

#: Timers of a scenario come after those of the cluster at the same time.
_DEEDS, _CHECKS = 10, 2000


def _never() -> bool:
    return False


class Experiment:
    """One run; `cluster` can be asked before and after it. `interrupted()` is asked often, and ends the run."""

    def __init__(self, plan: Plan, *, seed: int | None = None, interrupted: Callable[[], bool] = _never) -> None:
        """Make the cluster, and bring in what it begins with; raises SchedlabError for what the API refuses."""
        self.plan = plan
        self.seed = plan.scenario.seed if seed is None else seed
        self._interrupted = interrupted
        random = SeededRandom(self.seed)
        self.clock = VirtualClock()
        self.cluster = Cluster(self.clock, random.split("cluster"), plan.settings)
        self._driver = BatchDriver(self.cluster.engine, self.clock)
        self.digest = DecisionDigest()
        self._verdicts: dict[int, Verdict] = {}
        self._loads = {
            one.name: RunningLoad(
                one, self.clock, random.split(f"load {one.name}"), partial(self._create_pod, one.name)
            )
            for one in plan.loads
        }
        self.begin_ns = self.clock.now_ns()
        self._doer = Doer(self.cluster, self._loads, self.begin_ns)
        self.fates = Fates(self.clock)
        self.sampler = Sampler(self.cluster, self.fates, plan.every_ns, plan.prices)
        self._deeds_left = len(plan.deeds)
        self._prepare()

    def _create_pod(self, load_name: str, body: Mapping[str, Any]) -> None:
        self._doer.create_all([body], f"load {load_name}")

    def _prepare(self) -> None:
        cluster, plan = self.cluster, self.plan
        cluster.observers.add(self.fates)
        cluster.observers.add(self.digest)
        cluster.start()
        cluster.informers.on_change("nodes", self.sampler.node_changed)
        # The sampler hears first: what a fate's change leads to is a sample of the new state.
        cluster.informers.on_change("pods", self.sampler.pod_changed)
        cluster.informers.on_change("pods", self.fates.pod_changed)
        if plan.snapshot is not None:
            self._doer.problems += load(cluster.registry, plan.snapshot).problems
        self._doer.create_all(plan.objects, "cluster")
        if self._doer.problems:
            raise SchedlabError(
                f"the cluster cannot be made: {'; '.join(self._doer.problems)}",
                location=plan.location,
                hint="correct what the API server refuses",
            )

    def run(self) -> Run:
        """Run to the end, and return what came out."""
        plan, clock = self.plan, self.clock
        for index, deed in enumerate(plan.deeds):
            clock.at(self.begin_ns + deed.at_ns, partial(self._do, index), _DEEDS)
        for one in plan.loads:
            if one.starts_itself:
                clock.at(self.begin_ns + one.from_ns, partial(self._loads[one.name].start, self.begin_ns), _DEEDS)
        for index, check in enumerate(plan.checks):
            if check.at_ns is not None:
                clock.at(self.begin_ns + check.at_ns, partial(self._judge_now, index, check), _CHECKS)
        self.sampler.sample()
        ended = self._drive(self.begin_ns + plan.stop_ns)
        return self._result(ended)

    def _do(self, index: int) -> None:
        self._doer.do(self.plan.deeds[index])
        self._deeds_left -= 1

    def _drive(self, end_ns: int) -> Ending:
        """Go from timer to timer until something ends the run."""
        clock, driver = self.clock, self._driver
        driver.settle()
        while True:
            self.fates.settled()
            due_ns = clock.next_ns()
            ended: Ending | None = self._ended()
            if ended is not None:
                return ended
            if due_ns is None or due_ns > end_ns:
                clock.advance_to(end_ns)
                return "time"
            clock.advance_to(due_ns)
            driver.settle()

    def _ended(self) -> Ending | None:
        """Say why the run is over, None when it is not."""
        if self._interrupted():
            return "interrupted"
        waiting = self.fates.waiting
        stop = self.plan.scenario.stop
        if self.plan.pending_ns is not None and waiting:
            longest = next(iter(waiting.values()))
            if self.clock.now_ns() - self.begin_ns - longest.created_ns >= self.plan.pending_ns:
                return "pending"
        if stop.when == "time" or self._deeds_left or waiting or self._doer.is_draining:
            return None
        if self._verdicts_due() or not all(load.is_done for load in self._loads.values()):
            return None
        if stop.when == "allScheduled":
            return "allScheduled"
        return None if self.fates.on_their_way else "idle"

    def _verdicts_due(self) -> bool:
        return len(self._verdicts) < sum(check.at_ns is not None for check in self.plan.checks)

    # --- Results -----------------------------------------------------------------------------------------------------

    def _judge_now(self, index: int, check: Check) -> None:
        self._verdicts[index] = self._judge(check)

    def _judge(self, check: Check) -> Verdict:
        """Judge an assertion on the run so far."""
        if check.assertion.metric is None:
            nodes = {node.metadata.name: node for node in self.cluster.informers.lister("nodes").list()}
            pods = self.cluster.informers.lister("pods").list()
            return judge_pods(check, pods, nodes, lambda uid: self.fates.all[uid].message)
        self.sampler.sample()
        metrics = measure(self.fates, self.sampler.series, self._duration_s())
        return judge_metric(check, metrics.get(check.assertion.metric))

    def _duration_s(self) -> float:
        return (self.clock.now_ns() - self.begin_ns) / SECOND_NS

    def _result(self, ended: Ending) -> Run:
        plan = self.plan
        self.sampler.sample()
        for index, check in enumerate(plan.checks):
            if index not in self._verdicts:
                self._judge_now(index, check)
        return Run(
            plan.name,
            self.seed,
            __version__,
            self.cluster.settings.scheduler_config_location or "default",
            service_time_text(plan.settings.service_time),
            ended,
            self.digest.finish(self.cluster),
            measure(self.fates, self.sampler.series, self._duration_s()),
            [self._verdicts[index] for index in range(len(plan.checks))],
            self._doer.problems,
            uniform(self.sampler.series),
            self.sampler.pending,
            [fate.row() for fate in self.fates.all.values()],
        )


def service_time_text(time: ServiceTime) -> str:
    """Say how long the scheduler takes."""
    if not any(time):
        return ZERO_TIME
    parts = [f"{format_duration(time.cycle_ns)} per cycle"] if time.cycle_ns else []
    parts += [f"{format_duration(time.node_ns)} per node that it looks at"] if time.node_ns else []
    return ", ".join(parts)


def run_scenario(plan: Plan, *, seed: int | None = None) -> Run:
    """Run a scenario once."""
    return Experiment(plan, seed=seed).run()

"""Runs a scenario: a cluster in this process on a virtual clock, what happens to it, what is measured.

    run = Experiment(read_scenario(Path("scenario.yaml"))).run()

Nothing goes over HTTP and nothing is kept of the past. The same plan and seed give the same run, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from schedlab.cluster.cluster import Cluster
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.randomness import SeededRandom
from schedlab.mirror.snapshot import load
from schedlab.scenario.doing import Doer
from schedlab.scenario.judging import Verdict, judge_metric, judge_pods
from schedlab.scenario.loading import RunningLoad
from schedlab.scenario.observing import Observation, Watch
from schedlab.scenario.plan import Check, Plan
from schedlab.scenario.results import Ending, Run

#: Timers of a scenario come after those of the cluster at the same time.
_DEEDS, _CHECKS = 10, 2000


def never() -> bool:
    """Nobody interrupts."""
    return False


class Experiment:
    """One run; `cluster` can be asked before and after it. `interrupted()` is asked often, and ends the run."""

    def __init__(self, plan: Plan, *, seed: int | None = None, interrupted: Callable[[], bool] = never) -> None:
        """Make the cluster, and bring in what it begins with; raises SchedlabError for what the API refuses."""
        self.plan = plan
        self.warnings = plan.warnings
        self.seed = plan.scenario.seed if seed is None else seed
        self._interrupted = interrupted
        random = SeededRandom(self.seed)
        self.clock = VirtualClock()
        self.cluster = Cluster(self.clock, random.split("cluster"), plan.settings)
        self._driver = BatchDriver(self.cluster.engine, self.clock)
        self._verdicts: dict[int, Verdict] = {}
        self._loads = {
            one.name: RunningLoad(
                one, self.clock, random.split(f"load {one.name}"), partial(self._create_pod, one.name)
            )
            for one in plan.loads
        }
        self.observation = Observation(self.cluster, plan.every_ns, plan.prices)
        self.begin_ns = self.observation.begin_ns
        self.fates = self.observation.fates
        self._doer = Doer(self.cluster, self._loads, self.begin_ns)
        self._deeds_left = len(plan.deeds)
        self._prepare()

    def _create_pod(self, load_name: str, body: Mapping[str, Any]) -> None:
        self._doer.create_all([body], f"load {load_name}")

    def _prepare(self) -> None:
        cluster, plan = self.cluster, self.plan
        cluster.start()
        self.observation.attach()
        if plan.snapshot is not None:
            self._doer.problems += load(cluster.registry, plan.snapshot).problems
        self._doer.create_all(plan.objects, "cluster")
        if self._doer.problems:
            raise SchedlabError(
                f"the cluster cannot be made: {'; '.join(self._doer.problems)}",
                location=plan.location,
                hint="correct what the API server refuses",
            )

    @property
    def until_s(self) -> float:
        """The virtual time at which it ends at the latest."""
        return self.plan.stop_ns / SECOND_NS

    def watched_by(self, watch: Watch) -> None:
        """Let `watch` have the observation, before anything happens."""
        watch(self.observation)

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
        self.observation.sampler.sample()
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
        return judge_metric(check, self.observation.metrics().get(check.assertion.metric))

    def _result(self, ended: Ending) -> Run:
        for index, check in enumerate(self.plan.checks):
            if index not in self._verdicts:
                self._judge_now(index, check)
        verdicts = [self._verdicts[index] for index in range(len(self.plan.checks))]
        return self.observation.result(self.plan.name, self.seed, ended, verdicts, self._doer.problems)

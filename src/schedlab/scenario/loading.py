"""Pods that come over time: each load draws when the next one comes, which template it has and how long it runs.

A load has dice of its own: neither the scheduler's configuration nor other loads change what comes, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery.distribution import NEVER_NS, Distribution
from schedlab.apimachinery.time import format_duration
from schedlab.scenario.fates import QUICK_RUN_TIME, RUN_TIME
from schedlab.scenario.plan import Arrival, LoadPlan, PodPlan

if TYPE_CHECKING:
    from schedlab.kernel.clock import Clock
    from schedlab.kernel.randomness import RandomSource
    from schedlab.scheduler_perf.objects import Body

#: Annotations that say more of a pod's life than when it ends.
_LIFE: Final = "kubelet.schedlab.dev/"


class RunningLoad:
    """One load; `create` makes a pod, `is_done` says that no more come."""

    def __init__(self, plan: LoadPlan, clock: Clock, random: RandomSource, create: Callable[[Body], None]) -> None:
        self._plan, self._clock, self._create = plan, clock, create
        self._when, self._what = random.split("when"), random.split("what")
        self._weights = [pod.weight for pod in plan.pods]
        self._made = 0
        self._until_ns: int | None = None
        self._start_ns = 0
        self._stopped = False
        self.is_done = False

    def start(self, begin_ns: int) -> None:
        """Let pods come from now on; `until` counts from the beginning of the scenario, at `begin_ns`."""
        plan = self._plan
        self._start_ns = self._clock.now_ns()
        self._until_ns = None if plan.until_ns is None else begin_ns + plan.until_ns
        self._next()

    def stop(self) -> None:
        """Let no more pods come."""
        self._stopped = self.is_done = True

    def _next(self) -> None:
        """Wait for the next pod."""
        plan = self._plan
        arrival: Arrival | None = None
        if plan.gaps is not None:
            due_ns = self._clock.now_ns() + plan.gaps.draw_ns(self._when)
        elif self._made < len(plan.trace):
            arrival = plan.trace[self._made]
            due_ns = self._start_ns + arrival.at_ns
        else:
            self.is_done = True
            return
        is_late = self._until_ns is not None and due_ns > self._until_ns
        if is_late or self._made == plan.count:
            self.is_done = True
            return
        self._clock.at(due_ns, lambda: self._come(arrival))

    def _come(self, arrival: Arrival | None) -> None:
        if self._stopped:
            return
        pod = self._choose()
        values: Mapping[str, str] = {} if arrival is None else arrival.values
        body = pod.template.make(self._made, len(self._plan.trace), values)
        run_time = pod.run_time if arrival is None or arrival.run_time is None else arrival.run_time
        self._create(self._complete(body, pod, run_time))
        self._made += 1
        self._next()

    def _choose(self) -> PodPlan:
        pods = self._plan.pods
        if len(pods) == 1:
            return pods[0]
        drawn = self._what.below(sum(self._weights))
        for pod, weight in zip(pods, self._weights, strict=True):
            if drawn < weight:
                return pod
            drawn -= weight
        raise AssertionError("weights add up to their sum")

    def _complete(self, body: Body, pod: PodPlan, run_time: Distribution | None) -> Body:
        """Give a pod its name, and let it end when it has run for its time."""
        metadata: dict[str, Any] = body["metadata"]
        if not metadata.get("generateName"):
            metadata.setdefault("name", f"{pod.name}-{self._made}")
        spec = {"restartPolicy": "Never", **body.get("spec", {})} if run_time is not None else body.get("spec", {})
        if run_time is not None:
            length_ns = run_time.draw_ns(self._what)
            annotations = metadata.get("annotations", {})
            if length_ns < NEVER_NS:
                has_life = any(key.startswith(_LIFE) for key in annotations)
                key = RUN_TIME if has_life else QUICK_RUN_TIME
                metadata["annotations"] = {**annotations, key: format_duration(length_ns)}
        return {"apiVersion": "v1", "kind": "Pod", **body, "metadata": metadata, "spec": spec}

"""What is taken from a cluster under load: how long cycles take, and what it holds in the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from schedlab.client.effects import Effect
from schedlab.cluster.cluster import Cluster
from schedlab.cluster.memory import memory_bytes, memory_peak_bytes
from schedlab.decisions.log import DecisionLog
from schedlab.scheduler.scheduler import Scheduler


class CycleTimes:
    """Seconds of each scheduling cycle since `clear`, with its record and what was done at once for its binding."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.seconds: list[float] = []
        step, clock = scheduler.step, time.perf_counter

        def timed() -> Sequence[Effect]:
            before, started = scheduler.scheduling_cycle, clock()
            effects = step()
            if scheduler.scheduling_cycle != before:
                self.seconds.append(clock() - started)
            return effects

        vars(scheduler)["step"] = timed

    def clear(self) -> None:
        """Forget what was taken until now."""
        self.seconds = []


def facts_of(log: DecisionLog) -> dict[str, Any]:
    """Return the memory of this process and the size of what was recorded."""
    attempts = sum(len(story.attempts) for story in log.stories())
    return {
        "memoryMiB": memory_bytes() >> 20,
        "memoryPeakMiB": memory_peak_bytes() >> 20,
        "attempts": attempts,
        "recordedBytesPerAttempt": log.size_bytes // max(1, attempts),
        "forgottenPods": log.forgotten_pods,
    }


def facts_of_cluster(cluster: Cluster) -> dict[str, Any]:
    """Return the same with the number of objects."""
    objects = sum(cluster.store.count(resource) for resource in cluster.store.resources())
    return {**facts_of(cluster.log), "objects": objects}

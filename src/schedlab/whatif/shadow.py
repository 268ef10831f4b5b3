"""A second scheduler configuration that decides every pod, too, on the same state, and binds none.

    shadow = Shadow("other", cluster, raw, "other.yaml")
    cluster.observers.add(shadow)
    shadow.differences                      pods it would have put elsewhere, and the plugin that flipped the choice

The shadow has a cache of its own, which hears of the same changes; what the cluster's scheduler assumes is assumed there,
too. So each pod finds the state that the scheduler found, whatever the shadow would have done with those before it.

Mirrors: nothing. Differs from a scheduler: no preemption, no binding, extenders are not called.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery.time import format_micro_time
from schedlab.cluster.schedulers import Surroundings, make_scheduler
from schedlab.scheduler.rehearsal import rehearse
from schedlab.whatif.flips import Flip, flipped
from schedlab.whatif.trial import Unobserved

if TYPE_CHECKING:
    from schedlab.cluster.cluster import Cluster
    from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, QueueMove
    from schedlab.scheduler.framework.types import PodInfo

#: So many differences are kept, the newest.
DIFFERENCES_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Difference:
    """One attempt that the shadow would have ended otherwise."""

    pod: str
    uid: str
    attempt: int
    at_ns: int
    flip: Flip

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        flip = self.flip
        return {
            "pod": self.pod,
            "uid": self.uid,
            "attempt": self.attempt,
            "time": format_micro_time(self.at_ns),
            "node": flip.before,
            "shadowNode": flip.after,
            "how": flip.how,
            "plugin": flip.plugin,
            "reason": flip.reason,
            "differences": {name: list(both) for name, both in flip.differences.items()},
        }


class Shadow:
    """An observer of the cluster's scheduler; raises ConfigError for a configuration that cannot be used.

    compared: attempts that both have decided; unanswered: those of schedulers that the shadow does not have.
    """

    def __init__(self, name: str, cluster: Cluster, raw: Mapping[str, Any], location: str = "") -> None:
        self.name, self.location = name, location
        self.compared = self.unanswered = 0
        self.by_plugin: Counter[str] = Counter()
        self.differences: deque[Difference] = deque(maxlen=DIFFERENCES_MAX)
        around = Surroundings(
            clock=cluster.clock,
            random=cluster.scheduler.random.split(f"shadow-{name}"),
            listers=cluster.informers,
            observer=Unobserved(),
        )
        self.scheduler, self.warnings = make_scheduler(cluster.settings, around, raw, location)
        self._assumed: dict[str, PodInfo] = {}
        for resource in self.scheduler.resources():
            cluster.informers.on_change(resource, self.scheduler.handle)

    def cycle(self, record: CycleRecord) -> None:
        """Decide the pod of an attempt, too (Observer)."""
        record.work_out()
        pod = record.pod
        if pod.pod.spec.scheduler_name in self.scheduler.profiles:
            self.compared += 1
            flip = flipped(record, rehearse(self.scheduler, pod, attempt=record.attempt))
            if flip is not None:
                self.by_plugin[flip.plugin or flip.how] += 1
                self.differences.append(Difference(pod.key, pod.uid, record.attempt, record.started_ns, flip))
        else:
            self.unanswered += 1
        if record.result == "scheduled" and self.scheduler.cache.pod(pod.uid) is None:
            self._assumed[pod.uid] = self.scheduler.cache.assume_pod(pod, record.selected)

    def binding(self, record: BindingRecord) -> None:
        """Take an assumption back with the scheduler (Observer)."""
        assumed = self._assumed.pop(record.pod.uid, None)
        if record.error and assumed is not None:
            self.scheduler.cache.forget_pod(assumed)

    def queue_move(self, move: QueueMove) -> None:
        """Queues are no matter (Observer)."""

    def as_json(self, pod: str = "") -> dict[str, Any]:
        """Tell how far the two agree, newest differences first; of the pods only one (`shop/web-0`), if it is given."""
        return {
            "name": self.name,
            "location": self.location,
            "schedulers": list(self.scheduler.profiles),
            "compared": self.compared,
            "unanswered": self.unanswered,
            "differences": sum(self.by_plugin.values()),
            "byPlugin": dict(self.by_plugin.most_common()),
            "pods": [one.as_json() for one in reversed(self.differences) if pod in ("", one.pod)],
        }

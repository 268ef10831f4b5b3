"""Where the time of a batch run goes: processor time by stage of a pod's way, each second counted once.

Methods of the cluster's parts are replaced by ones that take the time; that costs about a microsecond a call, so
figures of a run with stages are not those of one without.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from schedlab.cluster.cluster import Cluster

#: What no stage takes: the driver's loop and the making of bodies.
REST: Final = "rest"
_FRAMEWORK: Final = {
    "run_pre_filter": "cycle: pre-filter",
    "run_pre_score": "cycle: pre-score",
    "run_score": "cycle: score",
    "run_reserve": "cycle: reserve",
    "run_permit": "cycle: permit",
}


class StageTimes:
    """Times by stage; a stage inside of another one is taken from it."""

    def __init__(self, cluster: Cluster) -> None:
        self._times: dict[str, float] = {}
        self._stack: list[str] = [REST]
        self._since = 0.0
        self._wrap(cluster)

    def start(self) -> None:
        """Begin anew."""
        self._times.clear()
        self._since = time.process_time()

    def stop(self) -> Mapping[str, float]:
        """Return seconds by stage, the longest first."""
        self._switch()
        return dict(sorted(self._times.items(), key=lambda item: -item[1]))

    def _switch(self) -> None:
        now = time.process_time()
        stage = self._stack[-1]
        self._times[stage] = self._times.get(stage, 0.0) + now - self._since
        self._since = now

    def _wrap(self, cluster: Cluster) -> None:
        registry, scheduler = cluster.registry, cluster.scheduler
        self._take(registry, "decode", lambda *args: _write_stage("create", args))
        self._take(registry, "create_written", lambda *args: _write_stage("create", args))
        self._take(registry, "create", lambda *args: _write_stage("create", args))
        self._take(registry, "bind", lambda *_: "bind")
        self._take(registry, "patch", lambda *args: f"patch {args[0]}")
        self._take(registry, "delete", lambda *args: f"delete {args[0]}")
        self._take(scheduler, "handle", lambda event: f"scheduler hears of {event.object.resource}")
        self._take(scheduler, "step", lambda *_: "cycle: rest")
        self._take(scheduler, "complete", lambda *_: "binding")
        self._take(scheduler.queue, "pop", lambda *_: "queue")
        self._take(scheduler.queue, "done", lambda *_: "queue")
        self._take(scheduler.cache, "assume_pod", lambda *_: "cycle: assume")
        self._take(scheduler.cache, "refresh", lambda *_: "cycle: refresh")
        self._take(cluster.log, "cycle", lambda *_: "record")
        self._take(cluster.log, "binding", lambda *_: "record")
        for framework in scheduler.profiles.values():
            for method, stage in _FRAMEWORK.items():
                self._take(framework, method, lambda *_, stage=stage: stage)
        for part in cluster.engine.parts:
            if part is not scheduler:
                name = type(part).__name__
                self._take(part, "step", lambda *_, name=name: name)
                self._take(part, "complete", lambda *_, name=name: name)

    def _take(self, owner: Any, method: str, stage_of: Callable[..., str]) -> None:
        inner = getattr(owner, method)

        def timed(*args: Any, **options: Any) -> Any:
            self._switch()
            self._stack.append(stage_of(*args))
            try:
                return inner(*args, **options)
            finally:
                self._switch()
                self._stack.pop()

        vars(owner)[method] = timed


def _write_stage(verb: str, args: tuple[Any, ...]) -> str:
    resource = args[0]
    if len(args) > 2 and args[2] == "binding":
        return "bind"
    return "event" if resource.startswith("events") else f"{verb} {resource}"

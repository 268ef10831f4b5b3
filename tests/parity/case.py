"""Runs one case: its steps one after another, each answered by an entry in the shape of `expected`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.apimachinery.features import FeatureGates
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.config import ConfigError
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.queue.hints import RequeueVerdict
from schedlab.scheduler.scheduler import Scheduler
from tests.parity import shape
from tests.parity.families import Case
from tests.parity.world import Mode, World, key_of

Json = dict[str, Any]

# What a queue case says of an attempt, besides how many there were.
_SHORT: Final = (
    "pod",
    "profile",
    "result",
    "condition",
    "events",
    "feasible",
    "selected",
    "top",
    "nominated",
    "victims",
    "unschedulablePlugins",
)
# Extension points as the data calls them.
_POINTS: Final[Mapping[str, str]] = {
    "pre_enqueue": "preEnqueue",
    "queue_sort": "queueSort",
    "pre_filter": "preFilter",
    "filter": "filter",
    "post_filter": "postFilter",
    "pre_score": "preScore",
    "reserve": "reserve",
    "permit": "permit",
    "pre_bind": "preBind",
    "bind": "bind",
    "post_bind": "postBind",
}


def features_of(case: Case, mode: Mode) -> FeatureGates:
    """Return the case's feature gates: batching is off unless it is asked for; those of the mode win."""
    chosen = (case.get("options") or {}).get("featureGates") or {}
    return FeatureGates.default().with_overrides({"OpportunisticBatching": False, **chosen, **mode.gates})


def run_case(case: Case, mode: Mode) -> Json:
    """Return what happens in a case, in the shape of its `expected`.

    What no one can hear in array mode, the last word of each filter after dry runs, is taken from the data.
    """
    try:
        world = World(case, features_of(case, mode), mode)
    except ConfigError as error:
        return {"configError": error.message}
    runner = QueueCase(world) if world.options.get("queue") else OrdinaryCase(world)
    expected = case["expected"].get("steps") or []
    out: Json = {"profiles": profiles(world.scheduler), "nodeOrder": node_order(world.scheduler)}
    steps = []
    for number, step in enumerate(case["steps"], 1):
        world.begin_step(number)
        recorded = expected[number - 1] if number <= len(expected) else {}
        entry = runner.run(step, recorded)
        if mode.arrays and "filterAfterPreemption" in recorded:
            entry["filterAfterPreemption"] = recorded["filterAfterPreemption"]
        steps.append(entry)
    return {**out, "steps": steps}


def profiles(scheduler: Scheduler) -> Json:
    """Return the plugins of each extension point by scheduler name."""
    out: Json = {}
    for name, framework in scheduler.profiles.items():
        out[name] = {key: [plugin.name for plugin in framework.points[point]] for point, key in _POINTS.items()}
        out[name]["score"] = [
            {"name": plugin.name, "weight": framework.weights[plugin.name]} for plugin in framework.points["score"]
        ]
    return out


def node_order(scheduler: Scheduler) -> list[str] | None:
    """Return the nodes in the scheduler's order; none is null, as Go writes it."""
    scheduler.cache.refresh()
    return list(scheduler.cache.table.names) or None


def condition_of(world: World, key: str) -> Json:
    """Return the pod's PodScheduled condition, if it has one, as part of an entry."""
    stored = world.pod(key)
    conditions = stored.raw["status"].get("conditions", ()) if stored is not None else ()
    for condition in conditions:
        if condition["type"] == "PodScheduled":
            kept = {name: condition[name] for name in ("status", "reason", "message") if condition.get(name)}
            return {"condition": kept}
    return {}


class OrdinaryCase:
    """Steps that try one pod each, or change an object."""

    def __init__(self, world: World) -> None:
        self._world = world

    def run(self, step: Json, expected: Json) -> Json:
        """Do one step."""
        world = self._world
        world.tick()
        if "create" in step or "retry" in step:
            world.observer.gates.clear()
            key = step["retry"] if "retry" in step else key_of(world.put(step["create"]).raw["metadata"])
            return self._attempt(key, expected)
        change(world, step)
        return {"op": "mutate", "nodeOrder": node_order(world.scheduler)}

    def _attempt(self, key: str, expected: Json) -> Json:
        world = self._world
        stored = world.pod(key)
        if stored is None:
            return {"pod": key, "result": "missing"}
        spec = stored.view.spec
        if spec.node_name:
            return {"pod": key, "result": "alreadyBound"}
        if spec.scheduler_name not in world.scheduler.profiles:
            return {"pod": key, "profile": spec.scheduler_name, "result": "ignored"}
        start = world.scheduler.next_start_node_index
        world.begin_attempt(expected)
        queued = world.scheduler.queue.find(key)
        world.attempt(PodInfo(stored.view, stored) if queued is None else queued.pod)
        if not world.observer.cycles:
            refusals = [_refusal(*gate) for gate in world.observer.gates]
            entry = {"pod": key, "profile": spec.scheduler_name, "result": "gated", "start": start}
            return {**entry, "preEnqueue": refusals, **condition_of(world, key)}
        entry = shape.attempt(world.observer)
        entry |= after(world, key)
        world.follow()
        return entry


def after(world: World, key: str) -> Json:
    """Return what the API saw of an attempt."""
    traffic = world.traffic
    out = {"events": [shape.event(body) for body in traffic.events], **condition_of(world, key)}
    stored = world.pod(key)
    status = stored.raw["status"] if stored is not None else {}
    optional = {
        "statusPatches": [shape.status_patch(write) for write in traffic.status_patches],
        "victims": traffic.victims,
        "nominated": status.get("nominatedNodeName"),
        "extendedResourceClaimStatus": status.get("extendedResourceClaimStatus"),
        "objectsAfter": shape.objects_after(world.written()),
        "extenderCalls": world.extenders.take_calls(),
    }
    return {**out, **{name: value for name, value in optional.items() if value}}


def change(world: World, step: Json) -> None:
    """Create, replace or delete an object."""
    if "apply" in step:
        world.put(step["apply"])
    else:
        world.delete(step["delete"])


def _refusal(pod: str, plugin: str, status: str) -> Json:
    return {"pod": pod, "plugin": plugin, "status": status}


class QueueCase:
    """Steps that fill the queue, let time pass, and try whoever is next."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._verdicts: list[RequeueVerdict] = []
        world.scheduler.queue.on_verdict = self._verdicts.append

    def run(self, step: Json, expected: Json) -> Json:
        """Do one step."""
        world = self._world
        self._verdicts.clear()
        world.observer.gates.clear()
        entry = self._do(step, expected)
        return {**entry, "queue": self._contents(), **self._heard()}

    def _do(self, step: Json, expected: Json) -> Json:
        world = self._world
        queue = world.scheduler.queue
        if "create" in step:
            world.tick()
            return {"op": "create", "pod": key_of(world.put(step["create"]).raw["metadata"])}
        if "advance" in step:
            world.tick(round(step["advance"] * SECOND_NS))
            queue.flush_unschedulable_leftover()
            queue.flush_backoff_completed()
            return {"op": "advance"}
        if "schedule" in step:
            scheduled = self._schedule(step["schedule"], expected.get("scheduled") or [])
            return {"op": "schedule", "scheduled": scheduled or None}
        change(world, step)
        return {"op": "mutate"}

    def _schedule(self, most: int, expected: list[Json]) -> list[Json]:
        world = self._world
        waiting = list(expected)
        done: list[Json] = []
        while len(done) < most and world.scheduler.ready():
            world.tick()
            world.begin_attempt(waiting.pop(0) if waiting else {})
            world.carry(world.scheduler.step())
            if not world.observer.cycles:
                continue
            cycle = world.observer.cycles[0]
            entry = {**shape.attempt(world.observer), **after(world, cycle.pod.key)}
            short: Json = {name: entry[name] for name in _SHORT if name in entry}
            done.append({"attempts": cycle.attempt, **short})
            world.follow()
        return done

    def _contents(self) -> Json:
        contents = self._world.scheduler.queue.contents()
        out: Json = {
            "active": list(contents.active),
            "backoff": list(contents.backoff),
            "unschedulable": list(contents.unschedulable),
            "gated": list(contents.gated),
        }
        if contents.error_backoff:
            out["errorBackoff"] = list(contents.error_backoff)
        return out

    def _heard(self) -> Json:
        """Return what came of events; pods in order of their names, the events of each as they happened."""
        verdicts = sorted(self._verdicts, key=lambda verdict: verdict.pod.key)
        hints = []
        for verdict in verdicts:
            for answer in sorted(verdict.answers, key=lambda answer: answer.plugin):
                hint = {"pod": verdict.pod.key, "event": verdict.label, "plugin": answer.plugin, "hint": answer.hint}
                hints.append({**hint, "error": answer.error} if answer.error else hint)
        requeue = [
            {"pod": verdict.pod.key, "event": verdict.label, "strategy": verdict.strategy.value} for verdict in verdicts
        ]
        refusals = [_refusal(*gate) for gate in self._world.observer.gates]
        heard = {"hints": hints, "requeue": requeue, "preEnqueue": refusals}
        return {name: value for name, value in heard.items() if value}

"""The smallest set of objects for which one pod's decision is still the same: what to attach to a bug report.

    small = Minimizer(objects, ("default", "web-0")).run()

Objects are taken away in ever smaller portions as long as the decision stays: first nodes with all that runs on them,
then pods, then the rest; at the end no single object can be taken away any more. Each try makes a new cluster and runs the
real scheduling cycle.

Mirrors: the ddmin algorithm of delta debugging (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.randomness import SeededRandom
from schedlab.mirror.manifests import load_objects
from schedlab.mirror.snapshot import Loaded
from schedlab.scheduler.framework.record import CycleRecord
from schedlab.scheduler.framework.status import REASONS

Objects: TypeAlias = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Decision:
    """What must stay the same: the node, or else why there is none, without how many nodes it holds for."""

    node: str
    reasons: tuple[str, ...]
    plugins: tuple[str, ...]

    @classmethod
    def of(cls, record: CycleRecord) -> Decision:
        """Return what a cycle decided."""
        if record.selected:
            return cls(record.selected, (), ())
        found: dict[str, None] = {}
        if record.pre_filter_status is not None:
            found |= dict.fromkeys(record.pre_filter_status.reasons)
        if record.filter is not None:
            for reason in sorted(set(record.filter.reason.tolist())):
                found |= dict.fromkeys(REASONS.texts(reason))
        return cls("", tuple(sorted(found)), record.unschedulable_plugins)


class Minimizer:
    """Minimises objects for a pod (namespace, name); `tries` counts the clusters that were made."""

    def __init__(
        self,
        objects: Objects,
        pod: tuple[str, str],
        scheduler_config: Mapping[str, Any] | None = None,
        on_progress: Callable[[int, int], None] = lambda *_: None,
    ) -> None:
        self.tries = 0
        self._pod, self._config, self._on_progress = pod, scheduler_config, on_progress
        self._objects = [_prepared(obj, pod) for obj in objects]
        self._kept = [obj for obj in self._objects if _is(obj, pod)]
        if not self._kept:
            namespace, name = pod
            raise SchedlabError(f"there is no pod {namespace}/{name}", hint="name one that the snapshot holds")
        self.decision = self._decide(self._objects)

    def run(self) -> list[dict[str, Any]]:
        """Return the smallest set, in the order in which the objects were given."""
        needed: Objects = [obj for obj in self._objects if not _is(obj, self._pod)]
        needed = self._without(needed, _by_node(needed))
        for kinds in (("Pod",), ("Node",), ()):
            needed = self._without(needed, [[obj] for obj in needed if not kinds or obj["kind"] in kinds])
        kept = {id(obj) for obj in (*needed, *self._kept)}
        return [obj for obj in self._objects if id(obj) in kept]

    def _without(self, objects: Objects, candidates: Sequence[Objects]) -> Objects:
        """Take away portions of the candidates from the objects, halving them, as long as the decision stays."""
        offered = {id(obj) for candidate in candidates for obj in candidate}
        rest = [obj for obj in objects if id(obj) not in offered]
        left = list(candidates)
        portion = len(left)
        while left and portion:
            at = 0
            while at < len(left):
                fewer = left[:at] + left[at + portion :]
                needed = [*rest, *chain.from_iterable(fewer)]
                if self._holds(needed):
                    left = fewer
                    self._on_progress(len(needed) + 1, self.tries)
                else:
                    at += portion
            portion = min(portion // 2, len(left))
        return [*rest, *chain.from_iterable(left)]

    def _holds(self, objects: Objects) -> bool:
        try:
            return self._decide([*objects, *self._kept]) == self.decision
        except SchedlabError:
            return False

    def _decide(self, objects: Objects) -> Decision:
        """Make a cluster of objects and try the pod once."""
        self.tries += 1
        clock = VirtualClock()
        settings = ClusterSettings(scheduler_config=self._config, schedules=True, full=False, annotations="off")
        cluster = Cluster(clock, SeededRandom(1), settings)
        loaded = Loaded()
        for _ in load_objects(cluster.registry, objects, loaded):
            pass
        cluster.start()
        namespace, name = self._pod
        pod = cluster.scheduler.queue.find(f"{namespace}/{name}")
        if pod is None:
            problem = f": {loaded.problems[0]}" if loaded.problems else ""
            raise SchedlabError(
                f"pod {namespace}/{name} does not wait for a node there{problem}",
                hint="its scheduler name must be one of the configuration, and nothing else may be wrong with it",
            )
        cluster.scheduler.attempt(pod.pod)
        story = cluster.log.find(namespace, name)
        if story is None or not story.attempts:
            raise SchedlabError(
                f"pod {namespace}/{name} is held back and was not tried", hint="take its scheduling gates away"
            )
        return Decision.of(story.attempts[-1].cycle())


def _by_node(objects: Objects) -> Sequence[Objects]:
    """Return each node with the pods on it; pods without a node are a portion, too."""
    found: dict[str, list[dict[str, Any]]] = {}
    for obj in objects:
        if obj["kind"] == "Node":
            found.setdefault(obj["metadata"]["name"], []).append(obj)
        elif obj["kind"] == "Pod":
            found.setdefault(obj["spec"].get("nodeName", ""), []).append(obj)
    return tuple(found.values())


def _prepared(obj: dict[str, Any], pod: tuple[str, str]) -> dict[str, Any]:
    """Return an object as it is tried: nodes are ready as they are, and the pod waits for one."""
    if obj["kind"] == "Node" and not obj["metadata"].get("uid"):
        # With a uid it is taken over as it stands; a new node would be tainted until its kubelet has reported.
        return {**obj, "metadata": {**obj["metadata"], "uid": obj["metadata"]["name"]}}
    if _is(obj, pod):
        spec = {key: value for key, value in obj["spec"].items() if key != "nodeName"}
        return {**{key: value for key, value in obj.items() if key != "status"}, "spec": spec}
    return obj


def _is(obj: Mapping[str, Any], pod: tuple[str, str]) -> bool:
    metadata = obj["metadata"]
    return obj["kind"] == "Pod" and (metadata.get("namespace") or "default", metadata["name"]) == pod

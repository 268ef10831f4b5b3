"""A cluster in this process on a virtual clock: the target of batch runs.

Time passes only where a file asks for it: it sleeps, deletes at a rate, or churns. While something happens at
intervals, pods are created at 150 per second of virtual time, the rate at which the real scheduler places them beside
such a churn; else all at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.api.views.core import Pod
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.gvk import GroupVersionKind, parse_group_version
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.cluster.memory import calm_garbage_collector
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import DeleteOptions
from schedlab.scheduler_perf.objects import Body
from schedlab.scheduler_perf.observation import CycleTimes, facts_of_cluster
from schedlab.scheduler_perf.stages import StageTimes
from schedlab.scheduler_perf.target import STALLED_NS, ChurnPlan, Measured, Selection

PODS: Final = "pods"
_PACE_NS: Final = SECOND_NS // 150


@dataclass(slots=True)
class _Periodic:
    """Something that happens at intervals; `act` says whether it goes on."""

    due_ns: int
    interval_ns: int
    act: Callable[[], bool]


class BatchTarget:
    """See target.Target."""

    def __init__(
        self,
        settings: ClusterSettings,
        *,
        profile: bool = False,
        seed: int = 1,
        watch: Callable[[Cluster], None] | None = None,
    ) -> None:
        """`watch` is told of the cluster when it has started and nothing has happened in it."""
        self._clock = VirtualClock()
        self._cluster = Cluster(self._clock, SeededRandom(seed), settings)
        self._driver = BatchDriver(self._cluster.engine, self._clock)
        self._registry = self._cluster.registry
        self._resources: dict[tuple[str, str], str] = {}
        self._periodic: list[_Periodic] = []
        self._stages = StageTimes(self._cluster) if profile else None
        self._selection: Selection | None = None
        self._started = self._started_cpu = 0.0
        self._bound: list[float] = []
        self._cycles = CycleTimes(self._cluster.scheduler)
        self._cluster.start()
        if watch is not None:
            watch(self._cluster)
        self._driver.settle()
        self._cluster.informers.on_change(PODS, self._pod_changed)

    # --- Objects -----------------------------------------------------------------------------------------------------

    def create(self, bodies: Iterable[Body], namespace: str = "") -> Sequence[tuple[str, str, str]]:
        """See target.Target."""
        made = [self._create(body, namespace) for body in bodies]
        self._driver.settle()
        return made

    def update(self, bodies: Iterable[Body], namespace: str, subresources: Sequence[str], per_second: int) -> None:
        """See target.Target."""
        for body in bodies:
            resource, where = self._place(body, namespace)
            for subresource in subresources or ("",):
                self._registry.patch(resource, body["metadata"]["name"], "merge", body, where, subresource=subresource)
            if per_second:
                self._pass(SECOND_NS // per_second)
        self._driver.settle()

    def _create(self, body: Body, namespace: str) -> tuple[str, str, str]:
        resource, where = self._place(body, namespace)
        try:
            made = self._registry.create_written(resource, body, where)
        except StatusError as error:
            raise SchedlabError(f"the API server refused an object of the workload: {error.message}") from error
        return resource, where, made.name

    def _place(self, body: Body, namespace: str) -> tuple[str, str]:
        kind = (body.get("apiVersion", ""), body.get("kind", ""))
        resource = self._resources.get(kind)
        if resource is None:
            found = self._registry.resources.find_gvk(GroupVersionKind(*parse_group_version(kind[0]), kind[1]))
            if found is None:
                raise SchedlabError(f"{kind[1]} of {kind[0]} is not served")
            resource = self._resources[kind] = found.full_name
        if not self._registry.resource(resource).namespaced:
            return resource, ""
        return resource, namespace or body["metadata"].get("namespace") or "default"

    # --- Pods --------------------------------------------------------------------------------------------------------

    def create_pods(self, bodies: Iterable[Body], namespace: str, *, wait: bool) -> None:
        """See target.Target."""
        left = iter(bodies)
        while self._periodic and self._create_some(left, namespace):
            self._next_interval()
        for body in left:
            self._create(body, namespace)
        if wait:
            self._driver.settle()
            self.wait_for(Selection((namespace,)), attempted=False)

    def _create_some(self, left: Iterator[Body], namespace: str) -> bool:
        """Create the pods of the time until something else happens; False when none is left."""
        pause_ns = min(each.due_ns for each in self._periodic) - self._clock.now_ns()
        some = [self._create(body, namespace) for body in islice(left, max(1, pause_ns // _PACE_NS))]
        return bool(some)

    def _next_interval(self) -> None:
        self._pass(min(each.due_ns for each in self._periodic) - self._clock.now_ns())

    def delete_pods(self, selection: Selection, per_second: int, *, wait: bool) -> None:
        """See target.Target."""
        names = [(pod.metadata.namespace, pod.metadata.name) for pod in self._pods(selection)]
        if not per_second:
            for namespace, name in names:
                self._delete(PODS, namespace, name)
            self._driver.settle()
            return
        left = iter(names)

        def act() -> bool:
            found = next(left, None)
            if found is not None:
                self._delete(PODS, *found)
            return found is not None

        interval_ns = SECOND_NS // per_second
        one = _Periodic(self._clock.now_ns() + interval_ns, interval_ns, act)
        self._periodic.append(one)
        while wait and one in self._periodic:
            self._next_interval()

    def keep_steady(self, bodies: Iterable[Body], namespace: str, count: int, duration_ns: int) -> None:
        """See target.Target."""
        left = iter(bodies)
        end_ns = self._clock.now_ns() + duration_ns
        self.create_pods(islice(left, count), namespace, wait=True)
        while self._clock.now_ns() < end_ns:
            pod = next(iter(self._pods(Selection((namespace,)))), None)
            if pod is not None:
                self._delete(PODS, namespace, pod.metadata.name)
            self._create(next(left), namespace)
            self._pass(_PACE_NS)

    def _delete(self, resource: str, namespace: str, name: str) -> None:
        try:
            self._registry.delete(resource, name, namespace, DeleteOptions())
        except StatusError as error:
            if error.code != 404:
                raise SchedlabError(f"the API server refused a deletion: {error.message}") from error

    def _pods(self, selection: Selection) -> Iterator[Pod]:
        for namespace in selection.namespaces or (None,):
            for pod in self._cluster.informers.lister(PODS).list(namespace):
                if all(pod.metadata.labels.get(key) == value for key, value in selection.labels.items()):
                    yield pod

    # --- Time --------------------------------------------------------------------------------------------------------

    def wait_for(self, selection: Selection, *, attempted: bool) -> None:
        """See target.Target."""
        self._driver.settle()
        end_ns = self._clock.now_ns() + STALLED_NS
        while left := sum(not self._is_done(pod, attempted=attempted) for pod in self._pods(selection)):
            if self._clock.now_ns() >= end_ns:
                raise SchedlabError(
                    f"{left} pods are still not {'tried' if attempted else 'scheduled'} after {STALLED_NS // SECOND_NS} s",
                    hint="the nodes of the workload may be too small for its pods",
                )
            self._pass(SECOND_NS)

    @staticmethod
    def _is_done(pod: Pod, *, attempted: bool) -> bool:
        if pod.spec.node_name or pod.metadata.deletion_timestamp:
            return True
        return attempted and pod.status.condition("PodScheduled") is not None

    def churn(self, plan: ChurnPlan) -> None:
        """See target.Target."""

        def act() -> bool:
            if plan.recreate and plan.rounds % (2 * plan.number) >= plan.number:
                for _ in range(len(plan.created) // (2 * plan.number - plan.rounds % (2 * plan.number))):
                    resource, namespace, name = plan.created.pop()
                    self._delete(resource, namespace, name)
            else:
                made = [self._create(body, plan.namespace) for body in plan.next_objects(plan.rounds)]
                plan.created.extend(made if plan.recreate else ())
            plan.rounds += 1
            return plan.recreate or not plan.number or plan.rounds < plan.number

        self._periodic.append(_Periodic(self._clock.now_ns() + plan.interval_ns, plan.interval_ns, act))

    def sleep(self, duration_ns: int) -> None:
        """See target.Target."""
        self._pass(duration_ns)

    def _pass(self, duration_ns: int) -> None:
        """Let virtual time pass, with all that happens meanwhile."""
        end_ns = self._clock.now_ns() + duration_ns
        while self._periodic and (due := min(self._periodic, key=lambda each: each.due_ns)).due_ns <= end_ns:
            self._driver.run_until(due.due_ns)
            due.due_ns += due.interval_ns
            if not due.act():
                self._periodic.remove(due)
        self._driver.run_until(end_ns)

    # --- Measuring ---------------------------------------------------------------------------------------------------

    def start_measuring(self, selection: Selection) -> None:
        """See target.Target."""
        self._bound = []
        self._cycles.clear()
        calm_garbage_collector()
        if self._stages is not None:
            self._stages.start()
        self._selection = selection
        self._started_cpu, self._started = time.process_time(), time.perf_counter()

    def stop_measuring(self) -> Measured:
        """See target.Target."""
        cpu_s = time.process_time() - self._started_cpu
        self._selection = None
        stages = {} if self._stages is None else self._stages.stop()
        return Measured(len(self._bound), self._bound, cpu_s, self._cycles.seconds, stages)

    def _pod_changed(self, event: WatchEvent) -> None:
        selection = self._selection
        if selection is None or not _has_been_bound(event.previous, event.object):
            return
        pod: StoredObject = event.object
        if selection.namespaces and pod.namespace not in selection.namespaces:
            return
        if selection.labels and not selection.labels.items() <= pod.view.metadata.labels.items():
            return
        self._bound.append(time.perf_counter() - self._started)

    def facts(self) -> dict[str, Any]:
        """See target.Target."""
        return facts_of_cluster(self._cluster)

    def close(self) -> None:
        """Nothing runs beside this process's own steps."""


def _has_been_bound(before: StoredObject | None, after: StoredObject) -> bool:
    return bool(after.view.spec.node_name) and (before is None or not before.view.spec.node_name)

"""Opportunistic batching: the next best node of the last cycle is tried first for an equal pod.

Only when pods with the same signature follow each other directly and the node chosen last has no room for another one,
so that the order of the rest is still right.

Mirrors: pkg/scheduler/framework/runtime/batch.go and SignPod in framework.go (v1.36).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from schedlab.scheduler.framework.status import Code, Status
from schedlab.scheduler.runtime.errors import as_status, failure_of, wrapped

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import CycleState
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.runtime.choice import SortedNodes
    from schedlab.scheduler.runtime.framework import Framework

MAX_AGE_NS: Final = 500_000_000


@dataclass(slots=True)
class _State:
    signature: bytes
    nodes: SortedNodes
    created_ns: int


class OpportunisticBatch:
    """The batching state of one profile."""

    def __init__(self, framework: Framework) -> None:
        self._framework = framework
        self._state: _State | None = None
        self._last_cycle = -1
        self._last_node = ""
        self.batched_pods = 0
        self._signers = self._find_signers()

    def _find_signers(self) -> tuple[Any, ...] | None:
        """Return the plugins that sign; None when one does not, or extenders could decide otherwise."""
        framework = self._framework
        points = (
            framework.pre_filter_plugins,
            framework.filter_plugins,
            framework.pre_score_plugins,
            framework.score_plugins,
        )
        plugins = {plugin.name: plugin for point in points for plugin in point}
        if framework.extenders() or not all(hasattr(plugin, "sign_pod") for plugin in plugins.values()):
            return None
        return tuple(plugins.values())

    def sign(self, pod: PodInfo) -> bytes | Status | None:
        """Return a text that is equal for interchangeable pods, None when the pod cannot be signed.

        A plugin that raises fails the pod, as at every other point.
        """
        if self._signers is None:
            return None
        signature: dict[str, Any] = {"schedulerName": pod.pod.spec.scheduler_name}
        for plugin in self._signers:
            try:
                fragments, status = plugin.sign_pod(pod)
                status = as_status(status)
                if status is not None and status.code != Code.SUCCESS:
                    return None
                signature.update(fragments or ())
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                return wrapped(f'running SignPod plugin "{plugin.name}"', failure_of(error), plugin.name)
        try:
            return orjson.dumps(signature, option=orjson.OPT_SORT_KEYS)
        except TypeError as error:
            return Status(Code.ERROR, (), "", f"running SignPod plugins: {error}")

    def node_hint(self, state: CycleState, pod: PodInfo, signature: bytes | None, cycle: int) -> str:
        """Return the node to try first, or ""."""
        started_ns = self._framework.clock.now_ns()
        hint = self._find_hint(state, pod, signature, cycle)
        elapsed_ns = self._framework.clock.now_ns() - started_ns
        self._framework.metrics.node_hint(self._framework.profile_name, elapsed_ns, hinted=bool(hint))
        return hint

    def _find_hint(self, state: CycleState, pod: PodInfo, signature: bytes | None, cycle: int) -> str:
        batch = self._state
        if batch is None or not len(batch.nodes):
            self._count("no_hint")
            return ""
        obstacle = self._obstacle(batch, state, pod, signature, cycle)
        if obstacle:
            self._flushed(obstacle)
            self._count("no_hint")
            return ""
        return batch.nodes.pop()

    def _obstacle(self, batch: _State, state: CycleState, pod: PodInfo, signature: bytes | None, cycle: int) -> str:
        """Return why the order of the last cycle does not hold for this pod, in the words of upstream's metric."""
        framework = self._framework
        if cycle != self._last_cycle + 1:
            return "pod_skipped"
        if signature is None or signature != batch.signature:
            return "pod_incompatible"
        if framework.clock.now_ns() > batch.created_ns + MAX_AGE_NS:
            return "expired"
        row = framework.table.row_of.get(self._last_node)
        if row is None:
            return "node_missing"
        _, status = framework.filter_run(state, pod).first_failure(state, framework.table.infos[row])
        # While another pod fits there, that node could be the best once more, at a score that nobody computed.
        return "" if status is not None and status.rejected else "node_not_full"

    def store(self, signature: bytes | None, hint: str, chosen: str, others: SortedNodes | None, cycle: int) -> None:
        """Keep what a cycle that found a node leaves for the next one."""
        started_ns = self._framework.clock.now_ns()
        self._store(signature, hint, chosen, others, cycle)
        elapsed_ns = self._framework.clock.now_ns() - started_ns
        self._framework.metrics.results_stored(self._framework.profile_name, elapsed_ns)

    def _store(self, signature: bytes | None, hint: str, chosen: str, others: SortedNodes | None, cycle: int) -> None:
        self._last_cycle, self._last_node = cycle, chosen
        if hint == chosen:
            self._count("hint_used")
            self.batched_pods += 1
            return
        if hint:
            self._count("hint_not_used")
        if signature is not None and others is not None and len(others):
            self._state = _State(signature, others, self._framework.clock.now_ns())
        else:
            self._flushed("pod_not_batchable" if others is not None and len(others) else "empty_list")
            self._state = None

    def _count(self, result: str) -> None:
        self._framework.metrics.batch(self._framework.profile_name, result)

    def _flushed(self, reason: str) -> None:
        self._framework.metrics.batch_flushed(self._framework.profile_name, reason)

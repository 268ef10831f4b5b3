"""Runs one plugin as the scheduler would: both forms of its filter and score, its hints, on a small table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from schedlab.api.views.meta import View
from schedlab.apimachinery.features import FeatureGates
from schedlab.scheduler.config import default_configuration
from schedlab.scheduler.framework.events import ActionType, EventResource, QueueingHint
from schedlab.scheduler.framework.interface import CycleState, Handle, PluginEntry
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.status import Code, Status, code_of
from schedlab.testing.builders import NodeBuilder, PodBuilder, make_table


class DeviceClasses:
    """Device classes by the extended resource they stand behind."""

    def __init__(self, *resources: str) -> None:
        self._resources = resources

    def device_class(self, resource_name: str) -> str | None:
        return resource_name if resource_name in self._resources else None


class FakeHandle:
    """As much of a handle as these plugins ask for."""

    def __init__(self, table: NodeTable, gates: Mapping[str, bool], device_classes: DeviceClasses | None) -> None:
        self.table = table
        self.features = FeatureGates.default().with_overrides(gates)
        self.device_classes = device_classes


class PluginBench:
    """A plugin and the table it looks at."""

    def __init__(
        self,
        entry: PluginEntry,
        *nodes: NodeBuilder,
        pods: tuple[PodBuilder, ...] = (),
        args: Any = None,
        gates: Mapping[str, bool] | None = None,
        device_classes: DeviceClasses | None = None,
    ) -> None:
        self.table = make_table(*nodes, pods=pods)
        handle = FakeHandle(self.table, gates or {}, device_classes)
        if args is None:
            args = default_configuration(handle.features).profiles[0].args_of(entry.name)
        self.plugin = entry.factory(args, cast("Handle", handle))
        assert self.plugin.name == entry.name

    def filter(self, pod: PodBuilder) -> dict[str, str]:
        """Return the messages by node, "" where the pod fits; unresolvable ones end in a "!"."""
        return {name: _shown(status) for name, status in self.statuses(pod).items()}

    def statuses(self, pod: PodBuilder, state: CycleState | None = None) -> dict[str, Status | None]:
        """Filter in both forms, which must agree; an empty state stands for a pre_filter that is disabled."""
        info, table = pod.obj(), self.table
        if state is None:
            state = CycleState()
            assert self.pre_filter(pod, state)[1] is None
        at_once = self.plugin.filter_nodes(state, info, table, slice(0, len(table)))
        one_by_one = [self.plugin.filter(state, info, node) for node in table.infos]
        for row, status in enumerate(one_by_one):
            other = at_once.status(row)
            assert (code_of(other), _text(other)) == (code_of(status), _text(status))
        return dict(zip(table.names, one_by_one, strict=True))

    def pre_filter(self, pod: PodBuilder, state: CycleState | None = None) -> tuple[Any, Status | None]:
        if not hasattr(self.plugin, "pre_filter"):
            return None, None
        result: tuple[Any, Status | None] = self.plugin.pre_filter(state or CycleState(), pod.obj(), self.table)
        return result

    def score(self, pod: PodBuilder, *, normalized: bool = False) -> list[int] | None:
        """Score all nodes in both forms, which must agree; None when pre_score skips the score."""
        info, rows, state = pod.obj(), np.arange(len(self.table)), CycleState()
        if hasattr(self.plugin, "pre_score"):
            status = self.plugin.pre_score(state, info, self.table, rows)
            if status is not None:
                assert status.code is Code.SKIP
                return None
        scores = self.plugin.score_nodes(state, info, self.table, rows)
        assert [self.plugin.score(state, info, node) for node in self.table.infos] == [(s, None) for s in scores]
        # A pre_score that did not run, if it can do without, changes nothing.
        if normalized:
            assert self.plugin.normalize_score(state, info, rows, scores) is None
        return cast("list[int]", scores.tolist())

    def hint(
        self,
        resource: EventResource,
        action: ActionType,
        pod: PodBuilder,
        old: View | None,
        new: View | None,
    ) -> str:
        """Return what the plugin's hint for the event says: "queue", "skip", or "queue" where it has no hint."""
        for registered in self.plugin.events_to_register():
            if registered.event.resource is resource and registered.event.action & action:
                if registered.hint is None:
                    return "queue"
                return "queue" if registered.hint(pod.obj(), old, new) is QueueingHint.QUEUE else "skip"
        return "not registered"

    def signature(self, pod: PodBuilder) -> Any:
        """Return the fragments, or the message that says why there are none."""
        fragments, status = self.plugin.sign_pod(pod.obj())
        return status.message if status is not None else tuple(fragments)


def _text(status: Status | None) -> str:
    return "" if status is None else status.message


def _shown(status: Status | None) -> str:
    unresolvable = code_of(status) is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    return f"{_text(status)}!" if unresolvable else _text(status)

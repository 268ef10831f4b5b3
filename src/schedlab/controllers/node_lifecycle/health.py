"""Until when a node is believed to be alive without a sign of it.

A kubelet that beats on its own gives no signs and needs none; others must renew their lease or their Ready condition.

Mirrors: tryUpdateNodeHealth of pkg/controller/nodelifecycle/node_lifecycle_controller.go (v1.36): 50 s, 60 s before the
first status.
Differs: works with deadlines, where upstream looks at every node each 5 s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Node, NodeCondition
from schedlab.apimachinery.time import parse_time
from schedlab.kernel.clock import SECOND_NS, Clock

MONITOR_GRACE_NS: Final = 50 * SECOND_NS
STARTUP_GRACE_NS: Final = 60 * SECOND_NS


@dataclass(slots=True)
class _Probe:
    """The last signs of a node, and when they were seen."""

    heartbeat: str | None
    renewed: str
    seen_ns: int


class NodeHealth:
    """The signs of life of all nodes."""

    def __init__(self, clock: Clock, is_beating: Callable[[str], bool]) -> None:
        self._clock = clock
        self._is_beating = is_beating
        self._probes: dict[str, _Probe] = {}

    def deadline_ns(self, node: StoredObject, lease: StoredObject | None) -> int | None:
        """Return when the node counts as unreachable unless it gives a sign; None for one that beats on its own."""
        if self._is_beating(node.name):
            self._probes.pop(node.name, None)
            return None
        ready = condition_of(node.view, "Ready")
        heartbeat = None if ready is None else ready.last_heartbeat_time or ""
        renewed = "" if lease is None else (lease.raw.get("spec") or {}).get("renewTime") or ""
        probe = self._probes.get(node.name)
        if probe is None:
            created: str | None = node.view.metadata.creation_timestamp
            is_silent = ready is None and not renewed and created is not None
            seen_ns = parse_time(created) if is_silent and created else self._clock.now_ns()
            probe = self._probes[node.name] = _Probe(heartbeat, renewed, seen_ns)
        elif heartbeat != probe.heartbeat or renewed > probe.renewed:
            probe.heartbeat, probe.renewed, probe.seen_ns = heartbeat, renewed, self._clock.now_ns()
        return probe.seen_ns + (STARTUP_GRACE_NS if ready is None else MONITOR_GRACE_NS)

    def forget(self, name: str) -> None:
        """Forget a node that is gone."""
        self._probes.pop(name, None)

    def restart(self) -> None:
        """Give every node its whole time again: nothing could be heard while everything was down."""
        for probe in self._probes.values():
            probe.seen_ns = self._clock.now_ns()


def condition_of(node: Node, kind: str) -> NodeCondition | None:
    """Return the condition of a type."""
    return next((each for each in node.status.conditions if each.type == kind), None)

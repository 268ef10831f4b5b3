"""Orders the active queue: higher priority first, then who entered earlier.

Mirrors: pkg/scheduler/framework/plugins/queuesort/priority_sort.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from schedlab.scheduler.framework.interface import PluginEntry

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import Handle
    from schedlab.scheduler.framework.types import PodInfo


class Queued(Protocol):
    """A pod in the queue."""

    pod: PodInfo
    timestamp_ns: int


class PrioritySort:
    """The plugin."""

    name = "PrioritySort"

    def __init__(self, _args: Any, _handle: Handle) -> None:
        """An order needs no arguments."""

    def sort_key(self, queued: Queued) -> tuple[int, int]:
        return -queued.pod.priority, queued.timestamp_ns


ENTRY: Final = PluginEntry(PrioritySort.name, PrioritySort)

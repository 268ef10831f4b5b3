"""Sort keys of queue_sort plugins that do not come with the scheduler: whatever they are, the queue keeps its order.

A pod whose key cannot be made comes after all others; keys that cannot be compared count as equal, so that those pods
leave in the order they came.

Mirrors: nothing; upstream's scheduler ends with a plugin that panics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schedlab.scheduler.runtime.errors import failure_of

if TYPE_CHECKING:
    from schedlab.scheduler.framework.status import Status
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.queue.heap import SortKey
    from schedlab.scheduler.queue.queued_pod import QueuedPodInfo


@dataclass(frozen=True, slots=True)
class GuardedKey:
    """A key of a plugin, or none."""

    key: Any
    is_missing: bool = False

    def __lt__(self, other: GuardedKey) -> bool:
        if self.is_missing or other.is_missing:
            return other.is_missing and not self.is_missing
        try:
            return bool(self.key < other.key)
        except Exception:  # noqa: BLE001 - keys may be anything; see the module's docstring
            return False


def guarded(plugin: Any, plugin_failed: Callable[[PodInfo, str, Status], None]) -> SortKey:
    """Return the plugin's sort_key made safe; `plugin_failed` hears of what it raises."""

    def sort_key(queued: QueuedPodInfo) -> GuardedKey:
        try:
            return GuardedKey(plugin.sort_key(queued))
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            plugin_failed(queued.pod, plugin.name, failure_of(error))
            return GuardedKey(None, is_missing=True)

    return sort_key

"""Pods between their assumption and their binding that others may look up: held back in permit, or in pre_bind.

Mirrors: pkg/scheduler/framework/runtime/{waiting_pods_map,pods_in_prebind_map}.go (v1.36).
Differs: whoever waits for the end of the wait is told by a callback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from schedlab.apimachinery.time import format_duration
from schedlab.scheduler.framework.status import Code, Status

if TYPE_CHECKING:
    from schedlab.kernel.clock import Clock, Timer
    from schedlab.scheduler.framework.types import PodInfo

Done = Callable[["Status | None"], None]


class WaitingPod:
    """A pod that one or more permit plugins hold back; see framework.WaitingPod."""

    def __init__(self, pod: PodInfo, wait_ns: Mapping[str, int], clock: Clock) -> None:
        self.pod = pod
        self._result: Status | None = None
        self._over = False
        self._done: Done | None = None
        now = clock.now_ns()
        self._pending: dict[str, Timer] = {
            plugin: clock.at(now + wait, self._timeout(plugin, wait)) for plugin, wait in wait_ns.items()
        }

    def _timeout(self, plugin: str, wait_ns: int) -> Callable[[], None]:
        message = f"rejected due to timeout after waiting {format_duration(wait_ns)} at plugin {plugin}"

        def expired() -> None:
            self._end(Status(Code.UNSCHEDULABLE, (message,), plugin))

        return expired

    @property
    def over(self) -> bool:
        """Whether the wait has ended."""
        return self._over

    def when_over(self, done: Done) -> None:
        """Call `done` once with the result, None being success; at once when the wait is over already."""
        if self._over:
            done(self._result)
        else:
            self._done = done

    def pending_plugins(self) -> tuple[str, ...]:
        """See framework.WaitingPod."""
        return tuple(self._pending)

    def allow(self, plugin: str) -> None:
        """See framework.WaitingPod."""
        timer = self._pending.pop(plugin, None)
        if timer is not None:
            timer.cancel()
        if not self._pending:
            self._end(None)

    def reject(self, plugin: str, message: str) -> bool:
        """See framework.WaitingPod."""
        return self._end(Status(Code.UNSCHEDULABLE, (message,), plugin))

    def preempt(self, plugin: str, message: str) -> bool:
        """See framework.WaitingPod."""
        return self._end(Status(Code.ERROR, (message,), plugin))

    def abandon(self) -> None:
        """Wait no more and tell nobody."""
        self._done = None
        self._end(None)

    def _end(self, result: Status | None) -> bool:
        for timer in self._pending.values():
            timer.cancel()
        if self._over:
            return False
        self._over, self._result = True, result
        if self._done is not None:
            self._done(result)
        return True


class PodInPreBind:
    """A pod whose pre_bind plugins work; see framework.PodInPreBind."""

    def __init__(self, cancelled: Callable[[str], None]) -> None:
        self._cancelled = cancelled
        self._finished = False
        self._message: str | None = None

    def cancel(self, message: str) -> bool:
        """See framework.PodInPreBind."""
        if self._finished:
            return False
        if self._message is None:
            self._message = message
            self._cancelled(message)
        return True

    def finish(self) -> bool:
        """Note that pre_bind is over; False when it was cancelled before."""
        if self._message is not None:
            return False
        self._finished = True
        return True


class PodsOnTheWay:
    """The waiting pods and the pods in pre_bind of all profiles, by uid."""

    def __init__(self) -> None:
        self.waiting: dict[str, WaitingPod] = {}
        self.in_pre_bind: dict[str, PodInPreBind] = {}

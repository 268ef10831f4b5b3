"""Pods that were popped and are not done, and the events that happened meanwhile.

    events:   e0  e1  e2  e3  e4
    starts:   ^a          ^b          pod a was popped before e0 and sees all of them, pod b sees e3 and e4

An event is kept as long as a pod that was popped before it is in flight.

Mirrors: inFlightPods and inFlightEvents of pkg/scheduler/backend/queue/active_queue.go (v1.36).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from schedlab.scheduler.queue.cluster_events import event_label

if TYPE_CHECKING:
    from schedlab.scheduler.framework.events import ClusterEvent
    from schedlab.scheduler.framework.types import PodInfo


class InFlightEvent(NamedTuple):
    """An event with the object before and after it, as typed views."""

    event: ClusterEvent
    old: object
    new: object


class InFlight:
    """Popped pods by uid, oldest first, and the events since the oldest was popped."""

    def __init__(self) -> None:
        self._events: deque[InFlightEvent] = deque()
        # The number of the first event that is still kept; numbers never start again.
        self._first = 0
        self._pods: dict[str, tuple[PodInfo, int]] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, uid: object) -> bool:
        return uid in self._pods

    def __iter__(self) -> Iterator[PodInfo]:
        return (pod for pod, _ in self._pods.values())

    @property
    def event_count(self) -> int:
        """How many events are kept."""
        return len(self._events)

    def count_events(self) -> Mapping[str, int]:
        """Return how many events are kept, by their labels."""
        return Counter(event_label(event.event) for event in self._events)

    def add_pod(self, pod: PodInfo) -> None:
        """Note a pod that was popped."""
        self._pods[pod.uid] = (pod, self._first + len(self._events))

    def add_event(self, event: ClusterEvent, old: object, new: object) -> None:
        """Keep an event for the pods in flight; without any it is of no use."""
        if self._pods:
            self._events.append(InFlightEvent(event, old, new))

    def events_for(self, uid: str) -> tuple[InFlightEvent, ...] | None:
        """Return what happened since the pod was popped; None when it is not in flight."""
        if uid not in self._pods:
            return None
        return tuple(islice(self._events, self._pods[uid][1] - self._first, None))

    def done(self, uid: str) -> None:
        """Forget a pod, and the events that only it would have asked for; harmless when it is not in flight."""
        if self._pods.pop(uid, None) is None:
            return
        if not self._pods:
            self._first += len(self._events)
            self._events.clear()
            return
        _, keep_from = next(iter(self._pods.values()))
        for _ in range(keep_from - self._first):
            self._events.popleft()
        self._first = keep_from

    def copy(self) -> InFlight:
        """Return an independent copy; pods and events are shared, they do not change."""
        other = InFlight()
        other._events, other._first, other._pods = deque(self._events), self._first, dict(self._pods)
        return other

    def validate(self) -> None:
        """Assert that pods stand in the order they were popped, and that no event is kept for nobody."""
        starts = [start for _, start in self._pods.values()]
        assert starts == sorted(starts), f"pods are out of order: {starts}"
        assert all(self._first <= start <= self._first + len(self._events) for start in starts), (
            "a start is out of range"
        )
        assert not self._events or (starts and starts[0] == self._first), "events are kept that no pod asks for"
        assert all(pod.uid == uid for uid, (pod, _) in self._pods.items()), "a pod stands under another's uid"

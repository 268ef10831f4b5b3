"""Pods that were turned down and wait for an event, and gated ones.

They are kept in groups of equal rejecting and gating plugins, because an event concerns all pods of a group or none:
most events pass most pods by without a look at each.

Mirrors: pkg/scheduler/backend/queue/unschedulable_pods.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from schedlab.scheduler.queue.queued_pod import QueuedPodInfo


class Group(NamedTuple):
    """What the pods of a group have in common: their profile, and who turned them down or gates them."""

    profile: str
    unschedulable_plugins: frozenset[str]
    pending_plugins: frozenset[str]
    gating_plugin: str

    @property
    def rejectors(self) -> frozenset[str]:
        """Every plugin that turned the pods down."""
        return self.unschedulable_plugins | self.pending_plugins if self.pending_plugins else self.unschedulable_plugins

    @classmethod
    def of(cls, queued: QueuedPodInfo) -> Group:
        """Return the group of a pod."""
        profile = queued.pod.pod.spec.scheduler_name
        return cls(profile, queued.unschedulable_plugins, queued.pending_plugins, queued.gating_plugin)


class UnschedulablePods:
    """Pods by key, in the order they came, and by group."""

    def __init__(self) -> None:
        self._arrivals = 0
        self._places: dict[str, tuple[Group, int]] = {}
        # group -> key -> (arrival, pod)
        self._groups: dict[Group, dict[str, tuple[int, QueuedPodInfo]]] = {}
        self._gated = 0
        self._oldest_ns: int | None = None

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """Pods in the order they came."""
        return (self._groups[group][key][1] for key, (group, _) in self._places.items())

    @property
    def gated_count(self) -> int:
        """How many of the pods are gated."""
        return self._gated

    @property
    def oldest_ns(self) -> int | None:
        """A time before which no pod entered the queue; None when there is no pod."""
        return self._oldest_ns

    def get(self, key: str) -> QueuedPodInfo | None:
        place = self._places.get(key)
        return self._groups[place[0]][key][1] if place else None

    def put(self, queued: QueuedPodInfo) -> None:
        """Add a pod, or move it to its group again after its plugins changed."""
        key = queued.key
        place = self._places.get(key)
        if place is not None:
            self._leave(key, place[0])
        arrival = place[1] if place else self._arrivals
        self._arrivals += place is None
        group = Group.of(queued)
        self._places[key] = (group, arrival)
        self._groups.setdefault(group, {})[key] = (arrival, queued)
        self._gated += bool(group.gating_plugin)
        if self._oldest_ns is None or queued.timestamp_ns < self._oldest_ns:
            self._oldest_ns = queued.timestamp_ns

    def delete(self, key: str) -> QueuedPodInfo | None:
        """Take a pod out and return it, or None when it is not here."""
        place = self._places.pop(key, None)
        if place is None:
            return None
        queued = self._leave(key, place[0])
        if not self._places:
            self._oldest_ns = None
        return queued

    def _leave(self, key: str, group: Group) -> QueuedPodInfo:
        members = self._groups[group]
        _, queued = members.pop(key)
        if not members:
            del self._groups[group]
        self._gated -= bool(group.gating_plugin)
        return queued

    def groups(self) -> tuple[Group, ...]:
        """Return the groups that have pods."""
        return tuple(self._groups)

    def members(self, groups: Iterable[Group]) -> list[QueuedPodInfo]:
        """Return the pods of some groups in the order they came."""
        found = [member for group in groups for member in self._groups[group].values()]
        found.sort(key=_arrival)
        return [queued for _, queued in found]

    def older_than(self, limit_ns: int) -> list[QueuedPodInfo]:
        """Return the pods that entered the queue before a time, and take a new measure of the oldest one."""
        self._oldest_ns = min((queued.timestamp_ns for queued in self), default=None)
        return [queued for queued in self if queued.timestamp_ns < limit_ns]

    def copy(self) -> UnschedulablePods:
        """Return an independent copy that holds copies of the pods."""
        other = UnschedulablePods()
        other._arrivals, other._gated, other._oldest_ns = self._arrivals, self._gated, self._oldest_ns
        other._places = dict(self._places)
        other._groups = {
            group: {key: (arrival, queued.copy()) for key, (arrival, queued) in members.items()}
            for group, members in self._groups.items()
        }
        return other

    def validate(self) -> None:
        """Assert that every pod is in its own group, and has a reason to be here."""
        assert len(self) == sum(map(len, self._groups.values())), "places and groups differ"
        for queued in self:
            assert self._places[queued.key][0] == Group.of(queued), f"{queued.key} was changed without being put again"
            assert queued.rejectors, f"{queued.key} waits for no event"
        oldest_ns = min((queued.timestamp_ns for queued in self), default=None)
        assert (oldest_ns is None) == (self._oldest_ns is None), "the oldest pod is not known"
        assert (self._oldest_ns or 0) <= (oldest_ns or 0), "a pod is older than the oldest"
        assert self._gated == sum(queued.gated for queued in self), "the gated pods are miscounted"


def _arrival(member: tuple[int, QueuedPodInfo]) -> int:
    return member[0]

"""Which pods belong to which group; who of them is on a node, or assumed to be, says the cache.

Mirrors: pkg/scheduler/backend/cache/podgroupstate.go (v1.36).
Differs: pods are kept in the order they came; nothing is copied for a cycle, as the cache does not change during one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedlab.api.views.scheduling import PodGroup
    from schedlab.client.listers import Lister
    from schedlab.scheduler.cache.cache import SchedulerCache
    from schedlab.scheduler.framework.types import PodInfo


def group_of(pod: PodInfo) -> str | None:
    """Return the namespace/name of the group that a pod says it belongs to."""
    group = pod.pod.spec.scheduling_group
    if group is None or group.pod_group_name is None:
        return None
    return f"{pod.namespace}/{group.pod_group_name}"


class PodGroups:
    """The pods of every group, by the group's namespace/name; pods that are over are not among them.

    `groups` knows the PodGroups themselves; None while the feature is off.
    """

    def __init__(self, cache: SchedulerCache, groups: Lister | None = None) -> None:
        self._cache, self._groups = cache, groups
        self._members: dict[str, dict[str, PodInfo]] = {}

    def get(self, group: str) -> PodGroup | None:
        """Return the PodGroup, if there is one."""
        namespace, _, name = group.partition("/")
        return None if self._groups is None else self._groups.get(name, namespace)

    def put(self, pod: PodInfo) -> None:
        """Take in a pod that is new, or has changed."""
        group = None if pod.pod.spec.scheduling_group is None else group_of(pod)
        if group is not None:
            self._members.setdefault(group, {})[pod.uid] = pod

    def remove(self, pod: PodInfo) -> None:
        """Forget a pod."""
        group = group_of(pod)
        members = self._members.get(group) if group is not None else None
        if members is not None and members.pop(pod.uid, None) is not None and not members:
            assert group is not None
            del self._members[group]

    def count(self, group: str) -> int:
        """Return how many pods there are."""
        return len(self._members.get(group, ()))

    def scheduled_count(self, group: str) -> int:
        """Return how many of them are on a node or assumed to be."""
        return sum(self._cache.pod(uid) is not None for uid in self._members.get(group, ()))

    def assumed(self, group: str) -> Sequence[PodInfo]:
        """Return those that are assumed to be on a node."""
        return [pod for pod in self._members.get(group, {}).values() if self._cache.is_assumed(pod.uid)]

    def unscheduled(self, group: str) -> Sequence[PodInfo]:
        """Return those that are on no node and not assumed to be."""
        return [pod for pod in self._members.get(group, {}).values() if self._cache.pod(pod.uid) is None]

"""Pods that were promised a node and are not bound yet.

What the scheduler promised may be newer than `status.nominatedNodeName` of the API object, and survives updates that
do not show it yet.

Mirrors: pkg/scheduler/backend/queue/nominator.go (v1.36).
Differs: a nomination that is taken back leaves nothing behind, where upstream keeps one to the node "".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from schedlab.api.views.core import Pod
from schedlab.api.views.meta import ObjectMeta
from schedlab.scheduler.framework.interface import NominatingInfo
from schedlab.scheduler.framework.record import Nomination
from schedlab.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from schedlab.client.listers import Lister


class PodNominator:
    """Nominations by node, in the order they were made; holds references, the pods are found in the queue.

    `find` returns the pod of that key as the queue has it; `pods` tells whether a pod still waits (None: always).
    """

    def __init__(self, find: Callable[[str], PodInfo | None], pods: Lister | None = None) -> None:
        self._find = find
        self._pods = pods
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._node_of: dict[str, str] = {}

    def add(self, pod: PodInfo, nominating: NominatingInfo | None) -> None:
        """Note the pod's nomination, the one of its status when nothing newer is said; replaces an earlier one."""
        if pod.uid in self._node_of:
            self.delete(pod)
        if nominating is not None and nominating.override:
            node_name = nominating.nominated_node_name
        else:
            node_name = pod.pod.status.nominated_node_name
        if not node_name or not self._waits(pod):
            return
        self._node_of[pod.uid] = node_name
        self._by_node.setdefault(node_name, {})[pod.uid] = _reference(pod)

    def delete(self, pod: PodInfo) -> None:
        """Forget the pod's nomination."""
        node_name = self._node_of.pop(pod.uid, None)
        if node_name is None:
            return
        there = self._by_node[node_name]
        del there[pod.uid]
        if not there:
            del self._by_node[node_name]

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Replace a pod by its new state, keeping a nomination that neither state shows."""
        nominating = None
        if not old.pod.status.nominated_node_name and not new.pod.status.nominated_node_name:
            node_name = self._node_of.get(old.uid)
            nominating = None if node_name is None else NominatingInfo(node_name)
        self.delete(old)
        self.add(new, nominating)

    def pods_for_node(self, node_name: str) -> Sequence[PodInfo]:
        """Return the pods nominated to a node; one that is not in the queue shows nothing but its identity."""
        there = self._by_node.get(node_name)
        if there is None:
            return ()
        return tuple(self._find(pod.key) or pod for pod in there.values())

    def node_names(self) -> Sequence[str]:
        """Return the nodes that pods are nominated to."""
        return tuple(self._by_node)

    def all(self) -> tuple[Nomination, ...]:
        """Return who is promised which node."""
        if not self._by_node:
            return ()
        return tuple(
            Nomination(node_name, pod.namespace, pod.name, uid, self._find(pod.key) is not None)
            for node_name, there in self._by_node.items()
            for uid, pod in there.items()
        )

    def restore(self, nominations: Iterable[Nomination]) -> None:
        """Take over what `all` has returned, in place of what is there."""
        self._by_node.clear()
        self._node_of.clear()
        for node_name, namespace, name, uid, _ in nominations:
            self._node_of[uid] = node_name
            reference = PodInfo(Pod(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid)))
            self._by_node.setdefault(node_name, {})[uid] = reference

    def _waits(self, pod: PodInfo) -> bool:
        """Whether the pod exists and is not bound."""
        if self._pods is None:
            return True
        current = self._pods.get(pod.name, pod.namespace)
        return current is not None and not current.spec.node_name

    def copy(self, find: Callable[[str], PodInfo | None], pods: Lister | None) -> PodNominator:
        """Return an independent copy for another queue."""
        other = PodNominator(find, pods)
        other._by_node = {node_name: dict(there) for node_name, there in self._by_node.items()}
        other._node_of = dict(self._node_of)
        return other

    def validate(self) -> None:
        """Assert that both directions agree."""
        listed = {uid: node_name for node_name, there in self._by_node.items() for uid in there}
        assert listed == self._node_of, f"{listed} != {self._node_of}"


def _reference(pod: PodInfo) -> PodInfo:
    return PodInfo(Pod(metadata=ObjectMeta(name=pod.name, namespace=pod.namespace, uid=pod.uid)))

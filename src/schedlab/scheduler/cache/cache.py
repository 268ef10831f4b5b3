"""What the scheduler believes: nodes with their pods, and pods that are on their way to a node.

                 assume                     add_pod (the API server says it is bound)
    (unknown) ------------> Assumed ----------------------------------------------> Added
        ^ |                    |                                                     |  ^
        | |    add_pod         | forget_pod                                          |  | update_pod
        | +--------------------|--------------------------------------------------> -+--+
        +----------------------+-----------------------------------------------------+
                                                    remove_pod

Assumed pods never expire. Pods may be known before their node is, and stay known for a while after it is gone: such a
node has a NodeInfo without a node, which is neither in the tree nor in the table.

Mirrors: pkg/scheduler/backend/cache/{cache,interface,snapshot}.go (v1.36).
Differs: there is no snapshot; the node table is changed between cycles only, and `refresh` at the start of a cycle does
what can be seen of upstream's snapshot: the node order is taken anew only when nodes came or went, and a node's image
counts are renewed only when that node changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from schedlab.kernel.errors import InvariantError
from schedlab.scheduler.cache.images import ImageStates
from schedlab.scheduler.cache.node_tree import NodeTree
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.types import NodeInfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schedlab.api.views.core import Node
    from schedlab.scheduler.cache.journal import CacheJournal
    from schedlab.scheduler.framework.types import PodInfo


#: So many nodes that changed at once are not brought up to date again by the journal.
_DEAR: Final = 500


class SchedulerCache:
    """Nodes, pods and assumed pods; `table` is their form as columns. `journal` is told of every change."""

    def __init__(self, journal: CacheJournal | None = None) -> None:
        self.journal = journal
        self.table = NodeTable()
        self._infos: dict[str, NodeInfo] = {}
        self._tree = NodeTree()
        self._images = ImageStates()
        self._pods: dict[str, PodInfo] = {}
        self._assumed: dict[str, None] = {}
        # Nodes whose row must be recomputed, and nodes of which only the image counts may have to be renewed.
        self._changed: dict[str, None] = {}
        self._touched: dict[str, None] = {}
        # Nodes whose info a copy of the cache has, too: each gets one of its own before it changes.
        self._lent: dict[str, None] = {}

    # --- Nodes ---

    def set_node(self, node: Node) -> NodeInfo:
        """Take over a node that is new or was changed."""
        name = node.metadata.name
        info = self._own(name)
        if info is None:
            info = self._infos[name] = NodeInfo(None, name)
        old = info.node
        self._tree.set_node(node)
        self._images.set_node(old, node)
        info.set_node(node)
        self._changed[name] = None
        if self.journal is not None:
            self.journal.note(self, "set_node", node)
        return info

    def remove_node(self, node: Node) -> None:
        """Forget a node; its pods stay known until each is removed."""
        name = node.metadata.name
        info = self._own(name)
        if info is None or info.node is None:
            raise InvariantError(f"node {name} is not found")
        self._tree.remove_node(name)
        self._images.remove_node(info.node)
        info.set_node(None)
        info.row = -1
        self._changed[name] = None
        if not info.pods:
            del self._infos[name]
        if self.journal is not None:
            self.journal.note(self, "remove_node", node)

    def node_info(self, name: str) -> NodeInfo | None:
        """Return a node's info; its `node` is None while only its pods are known."""
        return self._infos.get(name)

    @property
    def node_count(self) -> int:
        """How many nodes there are, ahead of the next refresh."""
        return len(self._tree)

    def node_order(self) -> NodeTree:
        """Return which node comes when, to be handed to `restore_order`."""
        return self._tree.copy()

    def restore_order(self, order: NodeTree) -> None:
        """Let nodes come in the order in which the same nodes came before."""
        self._tree = order

    # --- Pods ---

    def assume_pod(self, pod: PodInfo, node_name: str) -> PodInfo:
        """Count a pod in on a node before it is bound; return it as it will be."""
        if pod.uid in self._pods:
            raise AssumeError(f"pod {pod.uid}({pod.key}) is in the cache, so can't be assumed")
        assumed = pod.on_node(node_name)
        self._add(assumed)
        self._assumed[pod.uid] = None
        if self.journal is not None:
            self.journal.note(self, "assume_pod", pod, node_name)
        return assumed

    def forget_pod(self, pod: PodInfo) -> None:
        """Take back an assumption; harmless when the pod is gone already."""
        known = self._pods.get(pod.uid)
        if known is None:
            return
        here, there = known.pod.spec.node_name, pod.pod.spec.node_name
        if here != there:
            raise AssumeError(f"pod {pod.uid}({pod.key}) was assumed on {there} but assigned to {here}")
        if pod.uid not in self._assumed:
            raise AssumeError(f"pod {pod.uid}({pod.key}) wasn't assumed so cannot be forgotten")
        self._remove(known)
        if self.journal is not None:
            self.journal.note(self, "forget_pod", pod)

    def add_pod(self, pod: PodInfo) -> None:
        """Count a bound pod in; ends its assumption, wherever that was."""
        known = self._pods.get(pod.uid)
        if known is None:
            self._add(pod)
            if self.journal is not None:
                self.journal.note(self, "add_pod", pod)
        elif pod.uid in self._assumed:
            self.replace_pod(pod)
        else:
            raise InvariantError(f"pod {pod.uid}({pod.key}) was already in added state")

    def update_pod(self, pod: PodInfo) -> None:
        """Replace a bound pod by its new state."""
        known = self._pods.get(pod.uid)
        if known is None:
            raise InvariantError(f"pod {pod.uid}({pod.key}) is not added to scheduler cache, so cannot be updated")
        if pod.uid in self._assumed:
            raise InvariantError(f"assumed pod {pod.uid}({pod.key}) should not be updated")
        if known.pod.spec.node_name != pod.pod.spec.node_name:
            raise InvariantError(
                f"pod {pod.key} moved from node {known.pod.spec.node_name} to {pod.pod.spec.node_name} while bound"
            )
        self.replace_pod(pod)

    def remove_pod(self, pod: PodInfo) -> None:
        """Count a bound pod out."""
        known = self._pods.get(pod.uid)
        if known is None:
            raise InvariantError(
                f"pod {pod.uid}({pod.key}) is not found in scheduler cache, so cannot be removed from it"
            )
        self._remove(known)
        if self.journal is not None:
            self.journal.note(self, "remove_pod", pod)

    def is_assumed(self, uid: str) -> bool:
        """Whether the pod was assumed and is not known to be bound yet."""
        return uid in self._assumed

    def pod(self, uid: str) -> PodInfo | None:
        """Return a pod that is (or is assumed to be) on a node."""
        return self._pods.get(uid)

    def pods(self) -> Iterable[PodInfo]:
        """Return all pods on nodes, in order of arrival."""
        return self._pods.values()

    def assumed_pods(self) -> tuple[PodInfo, ...]:
        """Return the assumed pods, in order of assumption."""
        return tuple(self._pods[uid] for uid in self._assumed)

    def sizes(self) -> dict[str, int]:
        """Return the numbers upstream's cache_size metric shows, by type."""
        return {"assumed_pods": len(self._assumed), "pods": len(self._pods), "nodes": len(self._infos)}

    def _own(self, name: str) -> NodeInfo | None:
        """Return a node's info to be changed: one that no copy of the cache has."""
        info = self._infos.get(name)
        if info is not None and name in self._lent:
            del self._lent[name]
            info = self._infos[name] = info.copy()
            if info.row >= 0:
                self.table.infos[info.row] = info
        return info

    def _add(self, pod: PodInfo) -> None:
        name = pod.pod.spec.node_name
        info = self._own(name)
        if info is None:
            info = self._infos[name] = NodeInfo(None, name)
        if info.row >= 0:
            self.table.add_pod(info, pod)
            self._touched[name] = None
        else:
            info.add_pod(pod)
        self._pods[pod.uid] = pod
        if self.journal is not None:
            self.journal.count(pod, 1)

    def _remove(self, pod: PodInfo) -> None:
        name = pod.pod.spec.node_name
        info = self._own(name)
        removed = False
        if info is not None:
            removed = self.table.remove_pod(info, pod) if info.row >= 0 else info.remove_pod(pod)
        if info is None or not removed:
            raise InvariantError(f"pod {pod.key} is not on node {name}", f"cache holds it as {pod!r}")
        if info.row >= 0:
            self._touched[name] = None
        elif not info.pods and info.node is None:
            del self._infos[name]
        del self._pods[pod.uid]
        self._assumed.pop(pod.uid, None)
        if self.journal is not None:
            self.journal.count(pod, -1)

    def replace_pod(self, pod: PodInfo) -> None:
        """Take over the next state of a known pod, assumed or not (what `add_pod` and `update_pod` come to)."""
        old = self._pods[pod.uid]
        # Taken out and put back even on the same node: a node's order of pods can be seen in preemption.
        alike = self._replace_alike(old, pod)
        if not alike:
            self._remove(old)
            self._add(pod)
        if self.journal is not None:
            self.journal.note(self, "renew_pod" if alike and old.labels == pod.labels else "replace_pod", pod)

    def renew_pod(self, pod: PodInfo) -> None:
        """Do again what `replace_pod` came to for a state that differs in nothing that numbers are made of."""
        old = self._pods[pod.uid]
        info = self._own(pod.pod.spec.node_name)
        assert info is not None, f"pod {pod.key} was renewed on a node that is not known"
        self._put_in_place(info, old, pod)

    def _replace_alike(self, old: PodInfo, new: PodInfo) -> bool:
        """Replace a pod by a state that asks for the same on the same node; False when it does not."""
        before, after = old.pod, new.pod
        info = self._own(after.spec.node_name)
        if info is None or info.row < 0 or not new.reuse(old):
            return False
        if before.metadata.deletion_timestamp != after.metadata.deletion_timestamp or old.priority != new.priority:
            return False
        self._put_in_place(info, old, new)
        return True

    def _put_in_place(self, info: NodeInfo, old: PodInfo, new: PodInfo) -> None:
        if not self.table.replace_pod(info, old, new):
            raise InvariantError(f"pod {old.key} is not on node {info.name}", f"cache holds it as {old!r}")
        self._touched[info.name] = None
        del self._pods[old.uid]
        self._pods[new.uid] = new
        self._assumed.pop(new.uid, None)
        if self.journal is not None and old.labels != new.labels:
            self.journal.count(old, -1)
            self.journal.count(new, 1)

    # --- Cycles ---

    def refresh(self) -> None:
        """Bring the table up to date for a scheduling cycle."""
        if not self._changed and not self._touched:
            return
        is_dear = len(self._changed) > _DEAR
        if self._changed:
            self._refresh_nodes()
        self._refresh_images()
        if self.journal is not None:
            self.journal.note(self, "refresh", dear=is_dear)

    def _refresh_nodes(self) -> None:
        row_of = self.table.row_of
        current = [info for name in self._changed if (info := self._own(name)) is not None and name in self._tree]
        joined = any(info.name not in row_of for info in current)
        stale = []
        for info in current:
            row = row_of.get(info.name, -1)
            if row >= 0:
                info.row, self.table.infos[row] = row, info
                stale.append(info)
            self._images.refresh(info)
        if joined or len(self.table) > len(self._tree):
            self.table.reorder([cast("NodeInfo", self._own(name)) for name in self._tree.names()])
        for info in stale:
            self.table.set_node(info)
            self._touched.pop(info.name, None)
        self._changed.clear()

    def _refresh_images(self) -> None:
        for name in self._touched:
            if self._images.is_current(name):
                continue
            info = self._own(name)
            if info is not None and info.row >= 0 and self._images.refresh(info):
                self.table.set_node(info)
        self._touched.clear()

    def copy(self, *, with_columns: bool = True) -> SchedulerCache:
        """Return an independent copy, for a fork; the two share the infos of nodes that neither changes.

        Without the columns of plugins it costs next to nothing; plugins then make them anew when they need them.
        """
        other = SchedulerCache()
        other._infos = dict(self._infos)
        if len(self._lent) < len(self._infos):
            self._lent = dict.fromkeys(self._infos)
        other._lent = dict(self._lent)
        other.table = self.table.copy(with_columns=with_columns)
        other._tree, other._images = self._tree.copy(), self._images.copy()
        other._pods, other._assumed = dict(self._pods), dict(self._assumed)
        other._changed, other._touched = dict(self._changed), dict(self._touched)
        return other


class AssumeError(Exception):
    """A pod cannot be assumed or forgotten; fails the pod's attempt with this text."""

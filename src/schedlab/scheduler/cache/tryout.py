"""Changes of a scheduler's cache that are taken back, with every order as it was before.

with Tryout(cache) as tryout:
tryout.set_node(node)           changed, or new
tryout.remove_pod(pod)
tryout.add_pod(pod)             on the node that its spec names
...                             the cache is as if that had happened
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from schedlab.api.views.core import Node
    from schedlab.scheduler.cache.cache import SchedulerCache
    from schedlab.scheduler.framework.types import PodInfo


class Tryout:
    """See the module; the cache must belong to a fork, and nothing else may change it meanwhile."""

    def __init__(self, cache: SchedulerCache) -> None:
        self._cache = cache
        self._undo: list[Callable[[], object]] = []

    def __enter__(self) -> Self:
        self._order = self._cache.node_order()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for undo in reversed(self._undo):
            undo()
        # A node that changes its zone would come back as the last one of its old zone.
        self._cache.restore_order(self._order)
        self._cache.refresh()

    def set_node(self, node: Node) -> None:
        """Let a node be as given, or be there at all."""
        info = self._cache.node_info(node.metadata.name)
        before = None if info is None else info.node
        self._cache.set_node(node)
        self._undo.append(partial(self._cache.remove_node if before is None else self._cache.set_node, before or node))

    def remove_pod(self, pod: PodInfo) -> None:
        """Let a pod be gone from its node."""
        known = self._cache.pod(pod.uid)
        assert known is not None, f"{pod.key} is on no node"
        info = self._cache.node_info(known.pod.spec.node_name)
        assert info is not None
        order = [each.uid for each in info.pods]
        self._cache.remove_pod(known)
        self._undo.append(lambda: self._put_back(known, order))

    def add_pod(self, pod: PodInfo) -> None:
        """Let a pod be on the node that its spec names."""
        self._cache.add_pod(pod)
        self._undo.append(partial(self._cache.remove_pod, pod))

    def _put_back(self, pod: PodInfo, order: list[str]) -> None:
        self._cache.add_pod(pod)
        info = self._cache.node_info(pod.pod.spec.node_name)
        assert info is not None
        # Added pods come last; the order of a node's pods can be seen in preemption.
        places = {uid: place for place, uid in enumerate(order)}
        info.pods.sort(key=lambda each: places[each.uid])

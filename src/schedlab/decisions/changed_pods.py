"""Pods whose newest attempt is complete and not shown yet; those who show attempts take them one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.client.listers import Lister
    from schedlab.decisions.log import DecisionLog, PodStory


class ChangedPods:
    """In the order in which they began to wait; `add` is for DecisionLog.on_change."""

    def __init__(self, log: DecisionLog, pods: Lister) -> None:
        self._log, self._pods = log, pods
        self._uids: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._uids)

    def add(self, uid: str) -> None:
        """Let a pod wait; one that waits already keeps its place."""
        self._uids[uid] = None

    def take(self) -> tuple[PodStory, StoredObject] | None:
        """Return story and pod of the one that has waited longest, None when it is gone."""
        uid = next(iter(self._uids))
        del self._uids[uid]
        story = self._log.story(uid)
        stored = None if story is None else self._pods.stored(story.name, story.namespace)
        return None if story is None or stored is None or stored.uid != uid else (story, stored)

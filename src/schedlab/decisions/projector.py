"""Writes the annotations of pods whose attempts are complete, one patch per pod, through the ordinary API.

A pod that changes again before its patch is written is written once. The scheduler's queue ignores these keys, so that
recording never wakes a pod.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schedlab.client.effects import Effect, WriteEffect
from schedlab.client.listers import Lister
from schedlab.client.protocol import Write
from schedlab.decisions.annotations import PREFIX, Projection
from schedlab.decisions.log import DecisionLog

FIELD_MANAGER: Final = "kube-scheduler-simulator"


class AnnotationProjector:
    """A part (client.effects.Part) that follows the log and patches pods."""

    def __init__(self, log: DecisionLog, pods: Lister, projection: Projection) -> None:
        self._log = log
        self._pods = pods
        self._projection = projection
        self._dirty: dict[str, None] = {}
        if projection.mode != "off":
            log.on_change(self._mark)

    def _mark(self, uid: str) -> None:
        self._dirty[uid] = None

    def ready(self) -> bool:
        """Whether a pod waits for its annotations."""
        return bool(self._dirty)

    def step(self) -> Sequence[Effect]:
        """Return the patch of the pod that has waited longest, or nothing if it is gone."""
        uid = next(iter(self._dirty))
        del self._dirty[uid]
        story = self._log.story(uid)
        if story is None:
            return ()
        pod = self._pods.get(story.name, story.namespace)
        if pod is None or pod.metadata.uid != uid:
            return ()
        others = {key: value for key, value in pod.metadata.annotations.items() if not key.startswith(PREFIX)}
        others_bytes = sum(len(key.encode()) + len(value.encode()) for key, value in others.items())
        wanted = self._projection.annotations(story.namespace, story.name, story.attempts, others_bytes)
        stale = {key: None for key in pod.metadata.annotations if key.startswith(PREFIX) and key not in wanted}
        body = {"metadata": {"uid": uid, "annotations": {**stale, **wanted}}}
        write = Write("patch", "pods", story.namespace, story.name, body, options={"fieldManager": FIELD_MANAGER})
        return (WriteEffect(uid, write),)

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:  # noqa: ARG002 - the protocol's signature
        """A pod that is gone or replaced by now needs no annotations; any other refusal is left to the next attempt."""
        return ()

"""Writes the results of attempts into pods, for a scheduler that runs on somebody else's API server.

Each complete attempt is one more patch of its pod. It goes to pods/status, which the role system:kube-scheduler may patch
and which takes annotations as well.

Mirrors: the role of kube-scheduler-simulator's reflector (simulator/scheduler/storereflector)
Differs: that one updates the pod, which its scheduler has to have the right for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from schedlab.client.effects import Effect, WriteEffect
from schedlab.client.protocol import Outcome, Write
from schedlab.decisions.annotations import PREFIX, Projection
from schedlab.decisions.changed_pods import ChangedPods

if TYPE_CHECKING:
    from schedlab.apimachinery.errors import StatusError
    from schedlab.client.listers import Lister
    from schedlab.decisions.log import DecisionLog

#: What may happen to a pod meanwhile.
_EXPECTED: Final = ("NotFound", "Conflict")


class AnnotationWriter:
    """A part (client.effects.Part); `on_error(pod, error)` is told of every write that is refused."""

    def __init__(
        self, log: DecisionLog, pods: Lister, projection: Projection, on_error: Callable[[str, StatusError], None]
    ) -> None:
        self._projection, self._on_error = projection, on_error
        self._changed = ChangedPods(log, pods)
        log.on_change(self._changed.add)

    def ready(self) -> bool:
        """Whether there are attempts that their pods do not show."""
        return bool(self._changed)

    def step(self) -> Sequence[Effect]:
        """Write the results of the pod that has waited longest."""
        taken = self._changed.take()
        if taken is None:
            return ()
        story, stored = taken
        own: Mapping[str, str] = stored.view.metadata.annotations
        others = {key: value for key, value in own.items() if not key.startswith(PREFIX)}
        size = sum(len(key.encode()) + len(value.encode()) for key, value in others.items())
        texts = self._projection.annotations(story.namespace, story.name, story.attempts, size)
        gone = dict.fromkeys(key for key in own if key.startswith(PREFIX) and key not in texts)
        patch = {"metadata": {"uid": stored.uid, "annotations": {**gone, **texts}}}
        write = Write("patch", "pods", story.namespace, story.name, patch, patch_type="merge", subresource="status")
        return (WriteEffect(stored.key, write),)

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """Take the answer: a pod that is gone needs no annotations."""
        assert isinstance(outcome, Outcome)
        if outcome.error is not None and outcome.error.reason not in _EXPECTED:
            self._on_error(effect.token, outcome.error)
        return ()

"""Shows the results of attempts as annotations of their pods, made when a pod is read through the API.

Nothing is stored: a pod carries the annotations of the attempts that were complete before its revision was written,
so that a get, a list, a watch and a list of the past agree. A pod that is not written again after an attempt is given
a new revision, so that its watchers see the result.

Mirrors: the role of kube-scheduler-simulator's reflector (simulator/scheduler/storereflector)
Differs: there the annotations are written by an update of the pod; here by ADR 0005 they are derived.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from schedlab.decisions.annotations import PREFIX, Projection
from schedlab.decisions.changed_pods import ChangedPods
from schedlab.scheduler.queue.cluster_events import custom_result_keys

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.client.effects import Effect
    from schedlab.client.listers import Lister
    from schedlab.decisions.log import DecisionLog

#: Texts that were made lately are kept up to this size.
CACHE_BYTES_MAX: Final = 16 * 1024 * 1024

#: What the texts of a pod depend on: its uid, the attempts it shows, the bytes of its other annotations.
_Key = tuple[str, int, int]


class AnnotationProjector:
    """What pods look like with their results (`shown`, `settle`), and a part (client.effects.Part) that renews them.

    `touch(namespace, name)` gives a pod a new revision.
    """

    def __init__(
        self, log: DecisionLog, pods: Lister, projection: Projection, touch: Callable[[str, str], None]
    ) -> None:
        self._log = log
        self._projection = projection
        self._touch = touch
        self._changed = ChangedPods(log, pods)
        self._texts: OrderedDict[_Key, Mapping[str, str]] = OrderedDict()
        self._texts_bytes = 0
        if projection.mode != "off":
            log.on_change(self._changed.add)

    # --- Reading ---

    def shown(self, stored: StoredObject) -> StoredObject:
        """Return a pod with the annotations that belong to its revision."""
        if self._projection.mode == "off":
            return stored
        story = self._log.story(stored.uid)
        if story is None:
            return stored
        attempts = story.complete_at(stored.revision)
        if not attempts:
            return stored
        own: Mapping[str, str] = stored.view.metadata.annotations
        others = sum(len(key.encode()) + len(own[key].encode()) for key in own if not key.startswith(PREFIX))
        key = stored.uid, len(attempts), others
        texts = self._texts.get(key)
        if texts is None:
            texts = self._projection.annotations(story.namespace, story.name, attempts, others)
            self._keep(key, texts)
        else:
            self._texts.move_to_end(key)
        return stored.with_annotations(texts, dropped=PREFIX)

    def _keep(self, key: _Key, texts: Mapping[str, str]) -> None:
        self._texts[key] = texts
        self._texts_bytes += _size(texts)
        while self._texts_bytes > CACHE_BYTES_MAX:
            _, oldest = self._texts.popitem(last=False)
            self._texts_bytes -= _size(oldest)

    def settle(self, obj: dict[str, Any], current: StoredObject) -> None:
        """Take the annotations out of a pod that somebody has read and sends back."""
        annotations: Mapping[str, str] = obj["metadata"].get("annotations") or {}
        if self._projection.mode == "off" or self._log.story(current.uid) is None:
            return
        custom = custom_result_keys(annotations)
        kept = {key: value for key, value in annotations.items() if not key.startswith(PREFIX) and key not in custom}
        if kept:
            obj["metadata"]["annotations"] = kept
        else:
            obj["metadata"].pop("annotations", None)

    # --- Renewing ---

    def ready(self) -> bool:
        """Whether a pod may have to be shown anew."""
        return bool(self._changed)

    def step(self) -> Sequence[Effect]:
        """Renew the pod that has waited longest, unless it is gone or was written since its last attempt."""
        taken = self._changed.take()
        if taken is not None:
            story, stored = taken
            if stored.revision < story.complete_since:
                self._touch(story.namespace, story.name)
        return ()

    def complete(self, effect: Effect, outcome: object) -> Sequence[Effect]:
        """Nothing is written, so nothing is answered."""
        raise AssertionError(f"nobody asked for {effect}: {outcome}")


def _size(texts: Mapping[str, str]) -> int:
    return sum(len(key) + len(value) for key, value in texts.items())

"""The pods that a client of a live run knows of, by what it is told, and those of them that it waits for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final, TypeAlias

import msgspec

from schedlab.scheduler_perf.target import Selection


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    deletionTimestamp: str = ""  # noqa: N815 - the name on the wire


class _Spec(msgspec.Struct):
    nodeName: str = ""  # noqa: N815 - the name on the wire


class _Condition(msgspec.Struct):
    type: str


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class Pod(msgspec.Struct):
    """What is of interest of a pod."""

    metadata: _Metadata
    spec: _Spec
    status: _Status

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.metadata.namespace, self.metadata.name

    def is_in(self, selection: Selection) -> bool:
        """Whether a selection means the pod."""
        if selection.namespaces and self.metadata.namespace not in selection.namespaces:
            return False
        return selection.labels.items() <= self.metadata.labels.items()

    def is_done(self, *, attempted: bool) -> bool:
        """Whether nothing more is to come of it: it is scheduled, or has been tried if that is enough, or goes."""
        if self.spec.nodeName or self.metadata.deletionTimestamp:
            return True
        return attempted and any(condition.type == "PodScheduled" for condition in self.status.conditions)


class PodEvent(msgspec.Struct):
    """An event of a watch of pods."""

    type: str
    object: Pod


Key: TypeAlias = tuple[str, str]

decode_pod: Final = msgspec.json.Decoder(Pod).decode
decode_event: Final = msgspec.json.Decoder(PodEvent).decode


class KnownPods:
    """The pods that are there; `left` are those that are waited for.

    Each event costs the same however many there are: what is asked every few milliseconds must not look at all pods.
    """

    def __init__(self) -> None:
        self._pods: dict[Key, Pod] = {}
        self._deleted: dict[Key, None] = {}
        self._is_awaited: Callable[[Pod], bool] = _nobody
        self._left: dict[Key, None] = {}

    def created(self, pod: Pod) -> None:
        """Count a pod that was created as there, also when the watch has not told of it yet."""
        if pod.key not in self._deleted and pod.key not in self._pods:
            self._keep(pod)

    def heard(self, event: PodEvent) -> bool:
        """Take an event of the watch; say whether it tells that the pod was bound."""
        pod = event.object
        if event.type == "DELETED":
            self._pods.pop(pod.key, None)
            self._left.pop(pod.key, None)
            self._deleted[pod.key] = None
            return False
        before = self._pods.get(pod.key)
        self._keep(pod)
        return bool(pod.spec.nodeName) and (before is None or not before.spec.nodeName)

    def _keep(self, pod: Pod) -> None:
        self._pods[pod.key] = pod
        if self._is_awaited(pod):
            self._left[pod.key] = None
        else:
            self._left.pop(pod.key, None)

    def wait_for(self, selection: Selection, *, attempted: bool) -> None:
        """Begin to count which of the selected pods are left."""
        self._is_awaited = lambda pod: pod.is_in(selection) and not pod.is_done(attempted=attempted)
        self._left = {key: None for key, pod in self._pods.items() if self._is_awaited(pod)}

    @property
    def left(self) -> Collection[Key]:
        """Those that are waited for still."""
        return self._left

    def within(self, selection: Selection) -> list[Key]:
        """Return the selected pods."""
        return [key for key, pod in self._pods.items() if pod.is_in(selection)]

    def scheduled_in(self, namespace: str) -> Iterator[Key]:
        """Yield the pods of a namespace that are scheduled, the one that was created first before the others."""
        return (key for key, pod in self._pods.items() if key[0] == namespace and pod.spec.nodeName)


def _nobody(_: Pod) -> bool:
    return False

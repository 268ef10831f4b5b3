"""Following a cluster: what happens there happens here, but for where its pods go, which our scheduler decides.

    listing ──> following          first everything in the order of kinds, then every change in the order it came

A bound volume waits until its claim is here. The connection may break and the source may restart: what was missed is
found out by listing again. Nothing is ever written to the source.

Mirrors: simulator/syncer of kube-scheduler-simulator
Differs: the order of kinds holds at the start; deletions that a broken watch has hidden are noticed; places can be
compared.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery.errors import StatusError
from schedlab.client.informers import Informers
from schedlab.client.protocol import Client
from schedlab.kernel.clock import Clock, Timer
from schedlab.mirror.applier import Applied, Applier, EventWord
from schedlab.mirror.kinds import CLAIMS, KINDS, PODS, VOLUMES
from schedlab.registry import Registry

_WORDS: Final[Mapping[str, EventWord]] = {"ADDED": "Add", "MODIFIED": "Update", "DELETED": "Delete"}
#: Changes that are applied in one go before others get a turn.
_SLICE: Final = 20
_DIFFERENT_MAX: Final = 1000


class FollowedClient(Client, Protocol):
    """A client of the source whose lists may still be on their way."""

    on_synced: Callable[[], None]

    def lacking(self) -> tuple[str, ...]:
        """Return the resources that were asked for and are not there yet."""


@dataclass(slots=True)
class Agreement:
    """How far our scheduler's choices are those of the source, over the pods that are placed in both."""

    same: int = 0
    different: int = 0
    only_there: int = 0
    only_here: int = 0
    #: (pod, node there, node here, why not the one there), the first of them.
    pods: list[tuple[str, str, str, str]] = field(default_factory=list)
    #: Why our scheduler did not take the node there, by how often.
    reasons: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        """Return the numbers as JSON has them; `share` is None while no pod is placed in both."""
        both = self.same + self.different
        different = [{"pod": pod, "there": there, "here": here, "why": why} for pod, there, here, why in self.pods]
        return {
            "same": self.same,
            "different": self.different,
            "onlyThere": self.only_there,
            "onlyHere": self.only_here,
            "share": self.same / both if both else None,
            "reasons": dict(self.reasons.most_common()),
            "differentPods": different,
        }


class Syncer:
    """Follows one source."""

    def __init__(
        self,
        client: FollowedClient,
        registry: Registry,
        clock: Clock,
        why_not: Callable[[str, str, str], str] = lambda *_: "",
    ) -> None:
        """`why_not` tells by namespace and name of a pod why our scheduler has not put it on a node."""
        self.state = "listing"
        self._why_not = why_not
        self.lag_ns = 0
        self._client, self._registry, self._clock = client, registry, clock
        self._informers = Informers(client)
        self._applier = Applier(registry, renews=True)
        self._waiting: deque[tuple[WatchEvent, int]] = deque()
        #: Bound volumes whose claim is not here yet, by name.
        self._volumes: dict[str, WatchEvent] = {}
        #: Pods that arrived without a node, as they are there now: where they go was decided here, too.
        self._decided: dict[str, StoredObject] = {}
        #: Why a pod is not here on its node there: pod, node there, node here.
        self._reasons: dict[tuple[str, str, str], str] = {}
        self._timer: Timer | None = None

    @property
    def applied(self) -> Applied:
        """What was done so far."""
        return self._applier.applied

    @property
    def backlog(self) -> int:
        """How many changes wait."""
        return len(self._waiting) + len(self._volumes)

    def start(self) -> None:
        """Begin to list."""
        self._client.on_synced = self._listed
        for kind in KINDS:
            self._informers.lister(kind.resource)
        if not self._client.lacking():
            self._listed()

    def stop(self) -> None:
        """Follow no more."""
        self.state = "stopped"
        self._informers.stop()
        if self._timer is not None:
            self._timer.cancel()

    def _listed(self) -> None:
        if self.state != "listing":
            return
        self.state = "following"
        for kind in KINDS:
            self._informers.on_change(kind.resource, self._take)

    def _take(self, event: WatchEvent) -> None:
        self._waiting.append((event, self._clock.now_ns()))
        if self._timer is None:
            self._timer = self._clock.at(self._clock.now_ns(), self._work)

    def _work(self) -> None:
        self._timer = None
        for _ in range(_SLICE):
            if not self._waiting:
                return
            event, seen_ns = self._waiting.popleft()
            self._apply(event)
            self.lag_ns = self._clock.now_ns() - seen_ns
        self._timer = self._clock.at(self._clock.now_ns(), self._work)

    def _apply(self, event: WatchEvent) -> None:
        obj = event.object
        word = _WORDS[event.type]
        if obj.resource == PODS.resource:
            self._note(word, obj)
        if obj.resource == VOLUMES.resource:
            self._volumes.pop(obj.name, None)
        done = self._applier.apply(word, obj.resource, obj.thaw())
        # Of a hundred thousand objects that are followed, decoded forms would take gigabytes.
        obj.forget()
        if not done:
            self._volumes[obj.name] = event
        elif obj.resource == CLAIMS.resource and word != "Delete":
            self._retry_volumes()

    def _note(self, word: EventWord, pod: StoredObject) -> None:
        if word == "Delete":
            self._decided.pop(pod.key, None)
        elif word == "Update" and pod.key in self._decided:
            self._decided[pod.key] = pod
        elif word == "Add":
            self._decided.pop(pod.key, None)
            if not pod.view.spec.node_name:
                self._decided[pod.key] = pod

    def _retry_volumes(self) -> None:
        for name, event in tuple(self._volumes.items()):
            if self._applier.apply(_WORDS[event.type], VOLUMES.resource, event.object.thaw()):
                del self._volumes[name]

    # --- Comparing ---

    def agreement(self) -> Agreement:
        """Compare where pods are there and here; pods that arrived bound are left out."""
        found = Agreement()
        before, self._reasons = self._reasons, {}
        for obj in self._decided.values():
            there, here = obj.view.spec.node_name, self._node_here(obj.namespace, obj.name)
            if there and here:
                if there == here:
                    found.same += 1
                    continue
                found.different += 1
                # Records are unpacked for this, so not for any number of pods.
                if len(found.pods) < _DIFFERENT_MAX:
                    place = obj.key, there, here
                    why = before.get(place) or self._why_not(obj.namespace, obj.name, there)
                    self._reasons[place] = why
                    found.reasons[why] += 1
                    found.pods.append((obj.key, there, here, why))
            elif there:
                found.only_there += 1
            elif here:
                found.only_here += 1
        return found

    def _node_here(self, namespace: str, name: str) -> str:
        try:
            node: str = self._registry.get(PODS.resource, name, namespace).view.spec.node_name
        except StatusError:
            return ""
        return node

    def _lag_ns(self) -> int:
        """Return how long the oldest change waits, the last one waited if none does."""
        return self._clock.now_ns() - self._waiting[0][1] if self._waiting else self.lag_ns

    def as_json(self) -> dict[str, Any]:
        """Tell how far it is."""
        kinds = Counter(event.object.resource for event, _ in self._waiting)
        return {
            "state": self.state,
            "backlog": self.backlog,
            "waiting": dict(kinds),
            "volumesWithoutClaim": sorted(self._volumes),
            "lagSeconds": self._lag_ns() / 1e9,
            **self.applied.as_json(),
        }

"""What becomes of pods that make room for another one: a node takes them, they wait, or nobody makes them anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from schedlab.whatif.trial import changed, pod_of

if TYPE_CHECKING:
    from schedlab.api.object import Object, StoredObject
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.whatif.search.case import Case
    from schedlab.whatif.search.edits import Edit

#: Dear enough that one more node asks for less.
_WAITING_COST: Final = 30
_GONE_COST: Final = 50


@dataclass(frozen=True, slots=True)
class Victims:
    """The keys of pods that go. waiting: those that their controllers make anew and no node takes. gone: those that no
    controller makes anew.
    """

    keys: tuple[str, ...]
    waiting: tuple[str, ...]
    gone: tuple[str, ...]

    @property
    def cost(self) -> int:
        """What it costs that they do not run elsewhere."""
        return _WAITING_COST * len(self.waiting) + _GONE_COST * len(self.gone)

    @property
    def text(self) -> str:
        """Who goes, and what becomes of them where that is nothing good."""
        named = ", ".join(self.keys)
        if len(self.keys) == 1:
            return named + (
                ", which then waits for a node"
                if self.waiting
                else ", which no controller makes anew" * bool(self.gone)
            )
        waits = f"; {', '.join(self.waiting)} then {'waits' if len(self.waiting) == 1 else 'wait'} for a node"
        return (
            named + waits * bool(self.waiting) + f"; no controller makes {', '.join(self.gone)} anew" * bool(self.gone)
        )

    @property
    def details(self) -> dict[str, Any]:
        """Return what becomes of them as JSON-shaped data."""
        return {"waiting": list(self.waiting), "gone": list(self.gone)}


def fates(case: Case, edits: Sequence[Edit], node: str, pods: Sequence[PodInfo]) -> Victims:
    """Return what becomes of pods that the edits take away, once the pod is on its node: each is tried, in their order.

    Where another scheduler would put one is not known, and nothing is said of it.
    """
    waiting: list[str] = []
    gone = [pod.key for pod in pods if pod.pod.metadata.controller() is None]
    with case.made(edits) as (tryout, placed):
        assert placed.stored is not None, "the pod of a case is a stored one"
        tryout.add_pod(pod_of(changed(placed.stored, partial(_bind, node))))
        for pod in pods:
            if pod.key in gone or pod.pod.spec.scheduler_name not in case.trial.scheduler.profiles:
                continue
            stored = _anew(case, pod)
            found = case.trial.attempt(pod_of(stored)).selected
            if found:
                tryout.add_pod(pod_of(changed(stored, partial(_bind, found))))
            else:
                waiting.append(pod.key)
    return Victims(tuple(pod.key for pod in pods), tuple(waiting), tuple(gone))


def _anew(case: Case, pod: PodInfo) -> StoredObject:
    """Return a placed pod as its controller makes it anew: on no node yet."""
    stored = case.trial.listers.lister("pods").stored(pod.name, pod.namespace)
    assert stored is not None, f"{pod.key} is on a node and not listed"
    return changed(stored, _unbind)


def _bind(node: str, pod: Object) -> None:
    pod["spec"]["nodeName"] = node


def _unbind(pod: Object) -> None:
    pod["spec"].pop("nodeName", None)
    pod.pop("status", None)

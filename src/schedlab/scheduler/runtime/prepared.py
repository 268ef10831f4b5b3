"""What pod-local plugins say of pods that were made alike, at the points where they look at the pod alone.

A plugin says with `is_pod_local(pod)` that its pre_filter and pre_score look at nothing but the facts of the pod. Then
what it answered for one pod, and what it wrote into the state, holds for all pods with these facts. With
`reserves_nothing(pod)` it says that its reserve only succeeds. Plugins that follow each other in that way become one
step; the others are asked as ever, in their places.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from schedlab.scheduler.framework.helpers.claims import says

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import CycleState
    from schedlab.scheduler.framework.pod_facts import PodFacts
    from schedlab.scheduler.framework.status import Status
    from schedlab.scheduler.framework.types import PodInfo


@dataclass(slots=True)
class Known:
    """The answers of some plugins in a row: their statuses by name, what they wrote, and which of them skip.

    named: the nodes that are left, by plugin that leaves not all.
    """

    statuses: dict[str, Status | None] = field(default_factory=dict)
    named: dict[str, tuple[str, ...]] = field(default_factory=dict)
    values: dict[object, Any] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def apply(self, state: CycleState, record: dict[str, Status | None] | None, skip: list[str]) -> None:
        """Do what the plugins would have done."""
        if self.values:
            state.write_all(self.values)
        skip += self.skipped
        self.tell(record)

    def tell(self, record: dict[str, Status | None] | None) -> None:
        """Record what they would have answered."""
        if record is not None:
            record.update(self.statuses)


#: The plugins of a point, and what is known of some of them.
Steps: TypeAlias = Sequence[Any]
#: Steps for pods with the same facts, and for how many kinds of pods they are kept.
KeptSteps: TypeAlias = "OrderedDict[PodFacts, Steps]"
_STEPS_MAX: Final = 8
V = TypeVar("V")


def keep(kept: OrderedDict[PodFacts, V], pod: PodInfo, value: V) -> None:
    """Keep something for pods like this one; what was kept first of too much goes."""
    kept[pod.facts] = value
    if len(kept) > _STEPS_MAX:
        kept.popitem(last=False)


class Recorder:
    """Notes what each plugin of a point does to the state, so that `steps` can be made of it."""

    def __init__(self, pod: PodInfo, state: CycleState) -> None:
        self._pod, self._state = pod, state
        self._before: Mapping[object, Any] = state.values()
        self._steps: list[Any] = []

    def note(
        self,
        plugin: Any,
        status: Status | None,
        *,
        skips: bool,
        is_plain: bool,
        names: tuple[str, ...] | None = None,
    ) -> None:
        """Take what a plugin answered, and which nodes it leaves; only success and skip (`is_plain`) are remembered."""
        now = self._state.values()
        if is_plain and says(plugin, "is_pod_local", self._pod):
            if not self._steps or not isinstance(self._steps[-1], Known):
                self._steps.append(Known())
            known = self._steps[-1]
            known.statuses[plugin.name] = status
            known.values |= {key: value for key, value in now.items() if self._before.get(key) is not value}
            if skips:
                known.skipped.append(plugin.name)
            elif names is not None:
                known.named[plugin.name] = names
        else:
            self._steps.append(plugin)
        self._before = now

    @property
    def steps(self) -> Steps:
        """The steps for the next pods of this kind."""
        return tuple(self._steps)


def succeeding(plugins: Sequence[Any], claim: str, pod: PodInfo) -> Steps:
    """Return the steps of a point at which plugins only succeed that say so by the method `claim`."""
    steps: list[Any] = []
    for plugin in plugins:
        if not says(plugin, claim, pod):
            steps.append(plugin)
            continue
        if not steps or not isinstance(steps[-1], Known):
            steps.append(Known())
        steps[-1].statuses[plugin.name] = None
    return tuple(steps)

"""Cases of the data with an explanation of every attempt, taken when the scheduler has just decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from unittest import mock

from msgspec.structs import replace

from schedlab.decisions.explain import PodQuestion
from schedlab.decisions.explainer import Explainer
from schedlab.decisions.log import DecisionLog
from schedlab.scheduler.framework.record import CycleRecord
from tests.parity import case as cases
from tests.parity.families import Case
from tests.parity.world import Mode, World
from tests.support.plain_manifests import Sight

Explanation = dict[str, Any]
_ALL = PodQuestion(detailed=10_000, all_plugins=True)


class ExplainingWorld(World):
    """A world that explains every attempt as soon as it is over; `into` gets the explanations, `seen` what there was."""

    into: list[Explanation]
    seen: list[Sight]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._log = DecisionLog()
        self._explainer = Explainer(self._log, self.scheduler)
        self._hear = self.observer.cycle
        self.observer.cycle = self._explain  # type: ignore[method-assign]  # this one hears of it first

    def _explain(self, record: CycleRecord) -> None:
        # The log takes the arrays out of what it gets; the case wants them too.
        self._log.cycle(
            replace(
                record,
                filter=None if record.filter is None else replace(record.filter),
                score=None if record.score is None else replace(record.score),
            )
        )
        self.into.append(self._explainer.explain(record.pod.namespace, record.pod.name, _ALL))
        self.seen.append(self._sight(record))
        self._hear(record)

    def _sight(self, record: CycleRecord) -> Sight:
        """Return the manifests at the end of an attempt: what comes of it is not stored yet."""
        others = {name: [one.raw for one in self.store.list(name)] for name in self.store.resources()}
        pods: dict[str, list[Any]] = {}
        for pod in others.get("pods", ()):
            over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
            if pod["spec"].get("nodeName") and not over:
                pods.setdefault(pod["spec"]["nodeName"], []).append(pod)
        assert record.pod.stored is not None, "the data has every pod stored"
        return Sight(record.pod.stored.raw, others.get("nodes", ()), pods, others)


def explained(chosen: Iterable[Case]) -> Iterator[tuple[Case, list[Explanation]]]:
    """Run cases with every filter judging every node; yield each with the explanations of its attempts."""
    for case, found in seen(chosen):
        yield case, [explanation for explanation, _ in found]


def seen(chosen: Iterable[Case]) -> Iterator[tuple[Case, list[tuple[Explanation, Sight]]]]:
    """Do the same, each explanation with the manifests that there were at its attempt."""
    for case in chosen:
        ExplainingWorld.into, ExplainingWorld.seen = [], []
        with mock.patch.object(cases, "World", ExplainingWorld):
            cases.run_case(case, Mode(full=True))
        yield case, list(zip(ExplainingWorld.into, ExplainingWorld.seen, strict=True))

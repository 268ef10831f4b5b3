"""Disruption budgets: which victims would break one.

Mirrors: filterPodsWithPDBViolation of pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schedlab.apimachinery.selectors import Selector, SelectorError, nothing, selector_from_view

if TYPE_CHECKING:
    from schedlab.api.views.workloads import PodDisruptionBudget
    from schedlab.scheduler.framework.types import PodInfo


@dataclass(frozen=True, slots=True)
class Budget:
    """A disruption budget, parsed. `disrupted` are pods the API server knows to be on their way out already."""

    namespace: str
    selector: Selector
    allowed: int
    disrupted: Mapping[str, str]

    @classmethod
    def of(cls, budget: PodDisruptionBudget) -> Budget:
        """Parse a budget; one whose selector cannot be parsed speaks of no pods."""
        try:
            selector = selector_from_view(budget.spec.selector)
        except SelectorError:
            selector = nothing()
        status = budget.status
        return cls(budget.metadata.namespace, selector, status.disruptions_allowed, status.disrupted_pods)

    def selects(self, pod: PodInfo) -> bool:
        """Whether the budget speaks of the pod. Neither an empty selector nor none speaks of any pod."""
        return (
            pod.namespace == self.namespace
            and bool(pod.labels)
            and not self.selector.is_empty
            and self.selector.matches(pod.labels)
        )


class Budgets:
    """All budgets; which of them may cover a pod is found out once for all pods of the same namespace and labels."""

    def __init__(self, budgets: Iterable[Budget] = ()) -> None:
        self._all = tuple(budgets)
        self._selecting: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def covering(self, pod: PodInfo) -> tuple[int, ...]:
        """Return the places of the budgets that evicting the pod uses up."""
        if not self._all:
            return ()
        alike = pod.namespace, tuple(pod.labels.items())
        places = self._selecting.get(alike)
        if places is None:
            places = tuple(place for place, budget in enumerate(self._all) if budget.selects(pod))
            self._selecting[alike] = places
        return tuple(place for place in places if pod.name not in self._all[place].disrupted)

    def split(self, pods: Iterable[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Return the pods that break a budget if all of them are evicted in this order, and the others."""
        left = [budget.allowed for budget in self._all]
        breaking: list[PodInfo] = []
        others: list[PodInfo] = []
        for pod in pods:
            breaks = False
            for place in self.covering(pod):
                left[place] -= 1
                breaks |= left[place] < 0
            (breaking if breaks else others).append(pod)
        return breaking, others

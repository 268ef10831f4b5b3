"""Disruption budgets: which victims would break one.

Mirrors: filterPodsWithPDBViolation of pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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

    def covers(self, pod: PodInfo) -> bool:
        """Whether evicting the pod uses up the budget. Neither an empty selector nor none covers any pod."""
        return (
            pod.namespace == self.namespace
            and bool(pod.labels)
            and not self.selector.is_empty
            and self.selector.matches(pod.labels)
            and pod.name not in self.disrupted
        )


def split_by_budgets(pods: Iterable[PodInfo], budgets: Sequence[Budget]) -> tuple[list[PodInfo], list[PodInfo]]:
    """Return the pods that break a budget if all of them are evicted in this order, and the others."""
    left = [budget.allowed for budget in budgets]
    breaking: list[PodInfo] = []
    others: list[PodInfo] = []
    for pod in pods:
        breaks = False
        for index, budget in enumerate(budgets):
            if budget.covers(pod):
                left[index] -= 1
                breaks |= left[index] < 0
        (breaking if breaks else others).append(pod)
    return breaking, others

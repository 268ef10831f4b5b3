"""How evenly pods are spread over the domains that their topology spread constraints name, kept as pods come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from schedlab.apimachinery.selectors import Selector, selector_from_view

if TYPE_CHECKING:
    from schedlab.api.views.core import Pod
    from schedlab.scheduler.framework.types import PodInfo

#: Labels of a node, by its name.
LabelsOf: TypeAlias = Callable[[str], Mapping[str, str]]
#: Namespace, topology key and selector of a constraint, with the values of its matchLabelKeys.
_Key: TypeAlias = tuple[str, str, str]


class SpreadCounts:
    """Per constraint, how many matching pods each domain has."""

    def __init__(self) -> None:
        self._constraints: dict[_Key, tuple[Selector, tuple[tuple[str, str], ...], Counter[str]]] = {}
        self._namespaces: dict[str, list[_Key]] = {}

    def learn(self, pod: Pod, placed: Iterable[PodInfo], labels_of: LabelsOf) -> None:
        """Take note of the constraints of a new pod; for one that is new the pods that are there are counted once."""
        for constraint in pod.spec.topology_spread_constraints:
            labels = pod.metadata.labels
            same = tuple((key, labels[key]) for key in constraint.match_label_keys if key in labels)
            selector = selector_from_view(constraint.label_selector)
            key = pod.metadata.namespace, constraint.topology_key, f"{selector},{same}"
            if key in self._constraints:
                continue
            self._constraints[key] = selector, same, Counter()
            self._namespaces.setdefault(pod.metadata.namespace, []).append(key)
            for one in placed:
                if one.namespace == pod.metadata.namespace:
                    self._count(key, one.pod, labels_of(one.pod.spec.node_name), 1)

    def add(self, pod: Pod, node_labels: Mapping[str, str], sign: int) -> None:
        """Count a pod in (1) or out (-1) on a node with these labels."""
        for key in self._namespaces.get(pod.metadata.namespace, ()):
            self._count(key, pod, node_labels, sign)

    def _count(self, key: _Key, pod: Pod, node_labels: Mapping[str, str], sign: int) -> None:
        selector, same, counts = self._constraints[key]
        labels = pod.metadata.labels
        if selector.matches(labels) and all(labels.get(name) == value for name, value in same):
            domain = node_labels.get(key[1])
            if domain is not None:
                counts[domain] += sign

    def skew(self, domains_of: Callable[[str], Mapping[str, None]]) -> int:
        """Return the largest difference between two domains, over all constraints."""
        worst = 0
        for (_, topology_key, _), (_, _, counts) in self._constraints.items():
            found = [counts[domain] for domain in domains_of(topology_key)]
            if found:
                worst = max(worst, max(found) - min(found))
        return worst

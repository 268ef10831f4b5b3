"""Spread constraints of a pod, parsed: its own, or the profile's defaults with a selector deduced for the pod.

Mirrors: pkg/scheduler/framework/plugins/podtopologyspread/common.go and plugins/helper/spread.go (v1.36).
Differs: a pod's own constraints are parsed once, not in every cycle and hint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from schedlab.api.rules.taints import find_untolerated
from schedlab.api.views.core import TopologySpreadConstraint
from schedlab.apimachinery.selectors import Selector, everything, from_map, nothing, selector_from_view

if TYPE_CHECKING:
    from schedlab.api.rules.node_affinity import RequiredNodeAffinity
    from schedlab.api.views.core import Node, Service, Toleration
    from schedlab.api.views.meta import OwnerReference
    from schedlab.client.listers import Listers
    from schedlab.scheduler.framework.pod_facts import PodFacts
    from schedlab.scheduler.framework.types import PodInfo

DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
_HONOR: Final = "Honor"
#: For so many kinds of pods the constraints are kept parsed.
_PARSED_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class Constraint:
    """Pods that the selector matches shall differ by at most `max_skew` between the domains of a topology key.

    honor_affinity, honor_taints: nodes the pod cannot be on for that reason do not count.
    """

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honor_affinity: bool
    honor_taints: bool

    def counts_node(
        self, node: Node, affinity: RequiredNodeAffinity, tolerations: Sequence[Toleration], *, comparison: bool
    ) -> bool:
        """Whether the node counts for a pod with that node affinity and those tolerations."""
        if self.honor_affinity and not affinity.matches(node):
            return False
        return not self.honor_taints or not find_untolerated(node.spec.taints, tolerations, comparison=comparison)


def has_all_keys(labels: Mapping[str, str], constraints: Iterable[Constraint]) -> bool:
    """Whether a node's labels have the topology keys of all constraints."""
    return all(constraint.topology_key in labels for constraint in constraints)


class ConstraintSource:
    """Gives the constraints of pods: `defaults` are those for pods without their own."""

    def __init__(
        self, listers: Listers, defaults: Sequence[TopologySpreadConstraint], *, merges_match_label_keys: bool
    ) -> None:
        self.defaults = tuple(defaults)
        self._default_actions = tuple(constraint.when_unsatisfiable for constraint in defaults)
        self._listers = listers
        self._merges_match_label_keys = merges_match_label_keys
        # By facts and the labels that constraints take over: pods that are made alike may still differ in these.
        self._parsed: dict[tuple[PodFacts, str, tuple[str | None, ...]], tuple[Constraint, ...]] = {}
        self._parsed_defaults: dict[str, tuple[Constraint, ...]] = {}
        # The default constraints with the selector that was found last: mostly it is that of the next pod.
        self._completed: dict[str, tuple[tuple[Constraint, ...], Selector, tuple[Constraint, ...]]] = {}
        # The same of pods that nobody owns: what services there were, what labels the pod had, what selects it.
        self._selected: tuple[Sequence[Service], Mapping[str, str], Selector] | None = None

    def may_have(self, pod: PodInfo, action: str) -> bool:
        """Whether the pod may have constraints with that `whenUnsatisfiable`: its own, or default ones."""
        return bool(pod.pod.spec.topology_spread_constraints) or action in self._default_actions

    def defaults_apply(self, pod: PodInfo) -> bool:
        """Whether a pod without constraints of its own has default ones: something selects it."""
        return bool(self.defaults) and not self._default_selector(pod).is_empty

    def of(self, pod: PodInfo, action: str) -> tuple[Constraint, ...]:
        """Return the constraints with that `whenUnsatisfiable`; SelectorError when one cannot be parsed."""
        own = pod.pod.spec.topology_spread_constraints
        if not own:
            return self._default_constraints(pod, action)
        values = [pod.labels.get(key) for constraint in own for key in constraint.match_label_keys]
        asked = pod.facts, action, tuple(values)
        found = self._parsed.get(asked)
        if found is None:
            if len(self._parsed) >= _PARSED_MAX:
                self._parsed.clear()
            found = self._parsed[asked] = self._parse(own, pod.labels, action)
        return found

    def _default_constraints(self, pod: PodInfo, action: str) -> tuple[Constraint, ...]:
        constraints = self._parsed_defaults.get(action)
        if constraints is None:
            constraints = self._parse(self.defaults, pod.labels, action)
            if not any(constraint.match_label_keys for constraint in self.defaults):
                self._parsed_defaults[action] = constraints
        if not constraints:
            return ()
        selector = self._default_selector(pod)
        if selector.is_empty:
            return ()
        known = self._completed.get(action)
        if known is not None and known[0] is constraints and known[1] == selector:
            return known[2]
        found = tuple(replace(constraint, selector=selector) for constraint in constraints)
        self._completed[action] = constraints, selector, found
        return found

    def _default_selector(self, pod: PodInfo) -> Selector:
        services: Sequence[Service] = self._listers.lister("services").list(pod.namespace)
        owner = pod.pod.metadata.controller()
        if owner is not None:
            return _with_owner(pod.namespace, owner, _selected_by(services, pod.labels), self._listers)
        known = self._selected
        if known is None or known[0] != services or known[1] != pod.labels:
            merged = _selected_by(services, pod.labels)
            known = self._selected = services, pod.labels, from_map(merged) if merged else everything()
        return known[2]

    def _parse(
        self, constraints: Iterable[TopologySpreadConstraint], pod_labels: Mapping[str, str], action: str
    ) -> tuple[Constraint, ...]:
        return tuple(
            Constraint(
                constraint.max_skew,
                constraint.topology_key,
                self._selector(constraint, pod_labels),
                1 if constraint.min_domains is None else constraint.min_domains,
                constraint.node_affinity_policy in (None, _HONOR),
                constraint.node_taints_policy == _HONOR,
            )
            for constraint in constraints
            if constraint.when_unsatisfiable == action
        )

    def _selector(self, constraint: TopologySpreadConstraint, pod_labels: Mapping[str, str]) -> Selector:
        selector = selector_from_view(constraint.label_selector)
        if not self._merges_match_label_keys:
            return selector
        labels = {key: pod_labels[key] for key in constraint.match_label_keys if key in pod_labels}
        return selector.with_requirements(*from_map(labels).requirements) if labels else selector


def _selected_by(services: Iterable[Service], labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels by which services select a pod with these labels."""
    merged: dict[str, str] = {}
    for service in services:
        # A service without a selector stands for endpoints of another make, not for all pods.
        if service.spec.selector and from_map(service.spec.selector).matches(labels):
            merged.update(service.spec.selector)
    return merged


def _with_owner(namespace: str, owner: OwnerReference, merged: dict[str, str], listers: Listers) -> Selector:
    """Add what the owning controller selects, if it is of a kind that is known here and there."""
    match owner.api_version, owner.kind:
        case "v1", "ReplicationController":
            controller = listers.lister("replicationcontrollers").get(owner.name, namespace)
            return from_map({**merged, **controller.spec.selector} if controller else merged)
        case "apps/v1", "ReplicaSet":
            controller = listers.lister("replicasets.apps").get(owner.name, namespace)
        case "apps/v1", "StatefulSet":
            controller = listers.lister("statefulsets.apps").get(owner.name, namespace)
        case _:
            return from_map(merged)
    selected = selector_from_view(controller.spec.selector) if controller else nothing()
    return from_map(merged).with_requirements(*selected.requirements)

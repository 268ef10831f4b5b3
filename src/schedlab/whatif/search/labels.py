"""One label of a node: what the pod's selectors ask of it, or the key that its spread constraints need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from schedlab.api.object import Object
from schedlab.api.rules.node_affinity import node_affinity_of, parse_node_selector
from schedlab.api.views.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from schedlab.whatif.search.edits import Edit, Suggestion

if TYPE_CHECKING:
    from schedlab.api.views.core import Node, Pod
    from schedlab.whatif.search.case import Case

_AFFINITY: Final = "NodeAffinity"
_SPREAD: Final = "PodTopologySpread"
_COST: Final = 25
_ROWS_MAX: Final = 500
_TRIES_MAX: Final = 6

#: A label that a node lacks, or (None) one that it must not have.
Label = tuple[str, str | None]


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield the node that needs a single label."""
    pod = case.pod.pod
    guesses: list[list[Edit]] = []
    for row in case.only(_AFFINITY).tolist()[:_ROWS_MAX]:
        missing = missing_labels(pod, case.table.infos[row].node)
        if missing is not None and len(missing) == 1:
            guesses.append([set_label(case.table.names[row], *missing[0])])
    guesses += _keys_of_domains(case)
    found = case.first(guesses, _TRIES_MAX)
    if found is not None:
        yield found


def _keys_of_domains(case: Case) -> list[list[Edit]]:
    """Guess a domain for nodes that have none."""
    guesses: list[list[Edit]] = []
    for row in case.only(_SPREAD).tolist()[:_ROWS_MAX]:
        labels = case.table.infos[row].node.metadata.labels
        constraints = case.pod.pod.spec.topology_spread_constraints
        keys = [constraint.topology_key for constraint in constraints if constraint.topology_key not in labels]
        if len(keys) != 1:
            continue
        column = case.table.label(keys[0])
        guesses += [[set_label(case.table.names[row], keys[0], str(value))] for value in column.values.values()]
        if len(guesses) >= _TRIES_MAX:
            return guesses
    return guesses


def missing_labels(pod: Pod, node: Node) -> Sequence[Label] | None:
    """Return the fewest labels with which the node is one that the pod requires; None when labels cannot help."""
    labels = node.metadata.labels
    missing: list[Label] = [(key, value) for key, value in pod.spec.node_selector.items() if labels.get(key) != value]
    affinity = node_affinity_of(pod)
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required is None or parse_node_selector(required).matches(node):
        return missing
    ways = [way for term in required.node_selector_terms if (way := _way(term, node)) is not None]
    return None if not ways else [*missing, *min(ways, key=len)]


def _way(term: NodeSelectorTerm, node: Node) -> list[Label] | None:
    """Return the labels with which a term matches a node."""
    if term.match_fields and not _matches(NodeSelectorTerm(match_fields=term.match_fields), node):
        return None
    way: list[Label] = []
    for expression in term.match_expressions:
        if _matches(NodeSelectorTerm(match_expressions=(expression,)), node):
            continue
        label = _label(expression)
        if label is None:
            return None
        way.append(label)
    return way


def _matches(term: NodeSelectorTerm, node: Node) -> bool:
    return parse_node_selector(NodeSelector((term,))).matches(node)


def _label(expression: NodeSelectorRequirement) -> Label | None:
    match expression.operator:
        case "In":
            return expression.key, expression.values[0]
        case "Exists":
            return expression.key, ""
        case "NotIn" | "DoesNotExist":
            return expression.key, None
        case _:
            return None


def set_label(node: str, key: str, value: str | None) -> Edit:
    """Return the edit that gives a node a label, or takes it away."""
    return Edit(
        "node-label",
        f"remove label {key} of node {node}" if value is None else f"label node {node} {key}={value}",
        _COST,
        node=node,
        node_change=partial(_set_label, key, value),
        changes=({"patch": f"node/{node}", "change": {"metadata": {"labels": {key: value}}}},),
        details={"node": node, "label": {key: value}},
    )


def _set_label(key: str, value: str | None, node: Object) -> None:
    labels: dict[str, str] | Mapping[str, str] = node["metadata"].setdefault("labels", {})
    assert isinstance(labels, dict)
    if value is None:
        labels.pop(key, None)
    else:
        labels[key] = value

"""Verdicts and scores of pod affinity in numbers: which domains, how many pods there, and who they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.scheduler.framework.explanations import Fact, Formula
from schedlab.scheduler.framework.pod_facts import TermKind
from schedlab.scheduler.framework.pod_index import PodIndex
from schedlab.scheduler.framework.types import MAX_NODE_SCORE
from schedlab.scheduler.plugins.inter_pod_affinity.terms import TermIndex, all_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import AffinityTerm, NodeInfo, PodInfo
    from schedlab.scheduler.plugins.inter_pod_affinity.filtering import FilterState
    from schedlab.scheduler.plugins.inter_pod_affinity.scoring import Contribution
    from schedlab.scheduler.plugins.inter_pod_affinity.terms import IncomingTerm

#: So many of the pods in the way are named.
NAMED_MAX: Final = 3


def explain_filter(state: FilterState, table: NodeTable, node: NodeInfo) -> list[Fact]:
    """Return what each required term says of the node, in the order of the filter."""
    facts = [_affinity(state, table, term, node) for term in state.affinity_terms]
    facts += [_anti_affinity(table, term, node) for term in state.anti_terms]
    return facts + _existing_anti_affinity(state, table, node)


def _affinity(state: FilterState, table: NodeTable, term: IncomingTerm, node: NodeInfo) -> Fact:
    key, selector = term.topology_key, str(term.pods.selector)
    value = node.node.metadata.labels.get(key)
    values: dict[str, Any] = {"kind": "affinity", "selector": selector, "topologyKey": key, "domain": value}
    if value is None:
        return Fact(f"wants to be near pods {selector}, but the node has no label {key}", values, fits=False)
    count = _count(table, key, value, PodIndex.of(table).per_node(all_of(state.affinity_terms)))
    values["count"] = count
    if state.is_first_of_series:
        text = f"wants to be near pods {selector}: there is none yet and the pod is one itself, so any {key} will do"
        return Fact(text, values, fits=True)
    what = f"{count} such pods" if count else "no such pod"
    return Fact(f"wants to be near pods {selector}: {key}={value} has {what}", values, count > 0)


def _anti_affinity(table: NodeTable, term: IncomingTerm, node: NodeInfo) -> Fact:
    per_node = PodIndex.of(table).per_node(term.query)
    selector = str(term.pods.selector)
    values = {"kind": "antiAffinity", "selector": selector}
    return _apart(
        table,
        (term.topology_key, node, per_node),
        lambda pod: term.pods.matches(pod.namespace, pod.labels),
        f"the pod's anti-affinity against {selector}",
        values,
    )


def _existing_anti_affinity(state: FilterState, table: NodeTable, node: NodeInfo) -> list[Fact]:
    terms = TermIndex.of(table)
    facts = []
    for placed in terms.matching(TermKind.REQUIRED_ANTI, state.pod, state.namespace_labels):
        term = placed.term
        values = {"kind": "existingAntiAffinity", "selector": str(term.selector)}
        text = f"their anti-affinity against {term.selector}"
        place = (term.topology_key, node, terms.per_node(placed))
        facts.append(_apart(table, place, _has_term(term), text, values))
    return facts


def _has_term(term: AffinityTerm) -> Callable[[PodInfo], bool]:
    return lambda pod: term in pod.required_anti_affinity_terms


def _apart(
    table: NodeTable,
    place: tuple[str, NodeInfo, NDArray[np.int32]],
    is_meant: Callable[[PodInfo], bool],
    text: str,
    values: dict[str, Any],
) -> Fact:
    key, node, per_node = place
    value = node.node.metadata.labels.get(key)
    values |= {"topologyKey": key, "domain": value}
    if value is None:
        return Fact(f"{text}: the node has no label {key}, so nobody is near", values, fits=True)
    count = _count(table, key, value, per_node)
    blockers = _named(table, key, value, per_node, is_meant) if count else []
    values |= {"count": count, "blockedBy": blockers}
    if not count:
        return Fact(f"{text}: {key}={value} has no such pod", values, fits=True)
    more = count - len(blockers)
    names = ", ".join(blockers) + (f" and {more} more" if more > 0 else "")
    return Fact(f"blocked by {names} in {key}={value} through {text}", values, fits=False)


def _rows(table: NodeTable, key: str, value: str, per_node: NDArray[np.int32]) -> NDArray[np.int64]:
    label = table.label(key)
    return np.flatnonzero((label.ids == label.values.find(value)) & (per_node > 0))


def _count(table: NodeTable, key: str, value: str, per_node: NDArray[np.int32]) -> int:
    return int(per_node[_rows(table, key, value, per_node)].sum())


def _named(
    table: NodeTable, key: str, value: str, per_node: NDArray[np.int32], is_meant: Callable[[PodInfo], bool]
) -> list[str]:
    names: list[str] = []
    for row in _rows(table, key, value, per_node).tolist():
        names += [pod.key for pod in table.infos[row].pods if is_meant(pod)]
        if len(names) >= NAMED_MAX:
            break
    return names[:NAMED_MAX]


def explain_score(parts: Iterable[Contribution], node: NodeInfo) -> Formula:
    """Return the sum over the terms: weight times pods in the node's domain."""
    terms, expression = [], []
    for part in parts:
        sums = part.sums
        value = node.node.metadata.labels.get(sums.label.key)
        count = 0 if value is None else int(sums.counts[sums.label.values.find(value)])
        if count:
            expression.append(f"{part.weight} * {count}")
            terms.append(
                {
                    "of": part.whose,
                    "selector": str(part.selector),
                    "topologyKey": sums.label.key,
                    "domain": value,
                    "weight": part.weight,
                    "count": count,
                }
            )
    return Formula(" + ".join(expression) or "0", {"terms": terms})


def explain_normalized(raw: NDArray[np.int64], at: int) -> Formula:
    """Return what stretching raw: int64[F] over 0..100 makes of raw[at]."""
    lowest, highest, score = int(raw.min()), int(raw.max()), int(raw[at])
    inputs = {"raw": score, "lowest": lowest, "highest": highest}
    if highest == lowest:
        return Formula("0", inputs)
    return Formula(f"trunc({MAX_NODE_SCORE} * (({score} - {lowest}) / ({highest} - {lowest})))", inputs)

"""Verdicts and scores of pod affinity in numbers: which domains, how many pods there, and who they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.scheduler.framework.explanations import Fact, Formula
from schedlab.scheduler.framework.pod_facts import TermKind
from schedlab.scheduler.framework.pod_index import PodIndex
from schedlab.scheduler.framework.types import MAX_NODE_SCORE
from schedlab.scheduler.plugins.inter_pod_affinity.terms import TermIndex, all_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.apimachinery.selectors import Selector
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.pod_facts import KnownTerm
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo
    from schedlab.scheduler.plugins.inter_pod_affinity.filtering import FilterState
    from schedlab.scheduler.plugins.inter_pod_affinity.scoring import Contribution
    from schedlab.scheduler.plugins.inter_pod_affinity.terms import IncomingTerm

#: So many of the pods in the way are named.
NAMED_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class PodsNear:
    """Where the pods are that a term speaks of: how many by value of its topology key, and on which rows, in order."""

    key: str
    #: Which pods these are, in words.
    selector: str
    counts: Mapping[str, int]
    rows: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, table: NodeTable, key: str, selector: Selector, per_node: NDArray[np.int32]) -> PodsNear:
        """Make it of how many there are on each node, int32[N]."""
        label = table.label(key)
        values = label.values.values()
        there = np.flatnonzero((per_node > 0) & (label.ids >= 0))
        counts: dict[str, int] = {}
        rows: dict[str, list[int]] = {}
        numbers = (there, label.ids[there], per_node[there])
        for row, value_id, number in zip(*(each.tolist() for each in numbers), strict=True):
            value = str(values[value_id])
            counts[value] = counts.get(value, 0) + number
            rows.setdefault(value, []).append(row)
        return cls(key, str(selector), counts, rows)


@dataclass(frozen=True, slots=True)
class TermNumbers:
    """The required terms that a verdict rests on, with where the pods are that they speak of."""

    affinity: Sequence[PodsNear]
    anti: Sequence[tuple[IncomingTerm, PodsNear]]
    existing_anti: Sequence[tuple[KnownTerm, PodsNear]]

    @classmethod
    def of(cls, state: FilterState, table: NodeTable) -> TermNumbers:
        """Look for them once, for all nodes."""
        index, terms = PodIndex.of(table), TermIndex.of(table)
        near_all = index.per_node(all_of(state.affinity_terms)) if state.affinity_terms else None
        placed = terms.matching(TermKind.REQUIRED_ANTI, state.pod, state.namespace_labels)
        return cls(
            [] if near_all is None else [_near(table, each, near_all) for each in state.affinity_terms],
            [(each, _near(table, each, index.per_node(each.query))) for each in state.anti_terms],
            [
                (each.known, PodsNear.of(table, each.term.topology_key, each.term.selector, terms.per_node(each)))
                for each in placed
            ],
        )

    @property
    def keys(self) -> Sequence[str]:
        """The topology keys of all terms."""
        apart = [near.key for part in (self.anti, self.existing_anti) for _, near in part]
        return [near.key for near in self.affinity] + apart


def _near(table: NodeTable, term: IncomingTerm, per_node: NDArray[np.int32]) -> PodsNear:
    return PodsNear.of(table, term.topology_key, term.pods.selector, per_node)


def explain_filter(state: FilterState, numbers: TermNumbers, table: NodeTable, node: NodeInfo) -> list[Fact]:
    """Return what each required term says of the node, in the order of the filter."""
    facts = [_affinity(state, near, node) for near in numbers.affinity]
    facts += [_anti_affinity(table, near, term, node) for term, near in numbers.anti]
    return facts + [_existing_anti_affinity(table, near, term, node) for term, near in numbers.existing_anti]


def _affinity(state: FilterState, near: PodsNear, node: NodeInfo) -> Fact:
    key, selector = near.key, near.selector
    value = node.node.metadata.labels.get(key)
    values: dict[str, Any] = {"kind": "affinity", "selector": selector, "topologyKey": key, "domain": value}
    if value is None:
        return Fact(f"wants to be near pods {selector}, but the node has no label {key}", values, fits=False)
    count = values["count"] = near.counts.get(value, 0)
    if state.is_first_of_series:
        text = f"wants to be near pods {selector}: there is none yet and the pod is one itself, so any {key} will do"
        return Fact(text, values, fits=True)
    what = f"{count} such pod{'s' * (count > 1)}" if count else "no such pod"
    return Fact(f"wants to be near pods {selector}: {key}={value} has {what}", values, count > 0)


def _anti_affinity(table: NodeTable, near: PodsNear, term: IncomingTerm, node: NodeInfo) -> Fact:
    return _apart(
        table,
        (near, node),
        lambda pod: term.pods.matches(pod.namespace, pod.labels),
        f"the pod's anti-affinity against {near.selector}",
        {"kind": "antiAffinity", "selector": near.selector},
    )


def _existing_anti_affinity(table: NodeTable, near: PodsNear, term: KnownTerm, node: NodeInfo) -> Fact:
    return _apart(
        table,
        (near, node),
        lambda pod: term in pod.facts.known_terms,
        f"their anti-affinity against {near.selector}",
        {"kind": "existingAntiAffinity", "selector": near.selector},
    )


def _apart(
    table: NodeTable,
    place: tuple[PodsNear, NodeInfo],
    is_meant: Callable[[PodInfo], bool],
    text: str,
    values: dict[str, Any],
) -> Fact:
    near, node = place
    key, value = near.key, node.node.metadata.labels.get(near.key)
    values |= {"topologyKey": key, "domain": value}
    if value is None:
        return Fact(f"{text}: the node has no label {key}, so nobody is near", values, fits=True)
    count = near.counts.get(value, 0)
    blockers = _named(table, near.rows[value], is_meant, count) if count else []
    values |= {"count": count, "blockedBy": blockers}
    if not count:
        return Fact(f"{text}: {key}={value} has no such pod", values, fits=True)
    more = count - len(blockers)
    names = ", ".join(blockers) + (f" and {more} more" if more > 0 else "")
    return Fact(f"blocked by {names} in {key}={value} through {text}", values, fits=False)


def _named(table: NodeTable, rows: Sequence[int], is_meant: Callable[[PodInfo], bool], count: int) -> list[str]:
    """Return the names of the first of `count` pods."""
    meant = (pod.key for row in rows for pod in table.infos[row].pods if is_meant(pod))
    return list(islice(meant, min(count, NAMED_MAX)))


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

"""Rules about nodes, asked of all rows of the node table at once: the array forms of node affinity and tolerations.

Mirrors: staging/src/k8s.io/component-helpers/scheduling/corev1/{helpers.go,nodeaffinity/nodeaffinity.go} (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from schedlab.api.rules.node_affinity import NAME_FIELD
from schedlab.api.rules.taints import DO_NOT_SCHEDULE, find_untolerated
from schedlab.apimachinery.selectors import Operator, nothing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.rules.node_affinity import FieldRequirement, ParsedTerm, RequiredNodeAffinity
    from schedlab.api.views.core import Taint, Toleration
    from schedlab.apimachinery.selectors import Requirement, Selector
    from schedlab.scheduler.framework.node_table import NodeTable

_ONE_OF: Final = (Operator.IN, Operator.EQUALS, Operator.DOUBLE_EQUALS)
_NONE_OF: Final = (Operator.NOT_IN, Operator.NOT_EQUALS)


def affinity_mask(table: NodeTable, affinity: RequiredNodeAffinity) -> NDArray[np.bool_]:
    """Return bool[N]: the nodes that `affinity.matches`."""
    mask = np.ones(len(table), np.bool_)
    if affinity.labels is not None:
        mask &= selector_mask(table, affinity.labels)
    if affinity.selector is not None:
        mask &= any_term_mask(table, affinity.selector.terms)
    return mask


def any_term_mask(table: NodeTable, terms: Sequence[ParsedTerm]) -> NDArray[np.bool_]:
    """Return bool[N]: the nodes that one of the terms matches."""
    mask = np.zeros(len(table), np.bool_)
    for term in terms:
        mask |= term_mask(table, term)
    return mask


def term_mask(table: NodeTable, term: ParsedTerm) -> NDArray[np.bool_]:
    """Return bool[N]: the nodes that `term.matches`."""
    if term.errors:
        return np.zeros(len(table), np.bool_)
    mask = np.ones(len(table), np.bool_) if term.labels is None else selector_mask(table, term.labels)
    for requirement in term.fields:
        mask &= _field_mask(table, requirement)
    return mask


def selector_mask(table: NodeTable, selector: Selector) -> NDArray[np.bool_]:
    """Return bool[N]: the nodes whose labels the selector matches."""
    if selector == nothing():
        return np.zeros(len(table), np.bool_)
    mask = np.ones(len(table), np.bool_)
    for requirement in selector.requirements:
        mask &= requirement_mask(table, requirement)
    return mask


def requirement_mask(table: NodeTable, requirement: Requirement) -> NDArray[np.bool_]:
    """Return bool[N]: the nodes whose labels meet the requirement."""
    column = table.label(requirement.key)
    if requirement.operator is Operator.EXISTS:
        return column.ids >= 0
    if requirement.operator is Operator.DOES_NOT_EXIST:
        return column.ids < 0
    if requirement.operator in _ONE_OF or requirement.operator in _NONE_OF:
        # A value that no node has is ABSENT here and must not match the nodes without the label.
        wanted = [found for value in requirement.values if (found := column.values.find(value)) >= 0]
        listed = np.isin(column.ids, wanted) if len(wanted) != 1 else column.ids == wanted[0]
        return listed if requirement.operator in _ONE_OF else ~listed
    values = cast("Sequence[str]", column.values.values())
    # One more for the nodes without the label, whose id is -1.
    verdicts = np.array([requirement.matches({requirement.key: value}) for value in values] + [False], np.bool_)
    return verdicts[column.ids]


def _field_mask(table: NodeTable, requirement: FieldRequirement) -> NDArray[np.bool_]:
    mask = np.zeros(len(table), np.bool_)
    if requirement.key != NAME_FIELD:
        mask[:] = requirement.value == ""
    elif (row := table.row_of.get(requirement.value)) is not None:
        mask[row] = True
    return mask if requirement.is_equal else ~mask


def untolerated_mask(
    table: NodeTable,
    tolerations: Sequence[Toleration],
    effects: Sequence[str] = DO_NOT_SCHEDULE,
    *,
    comparison: bool = False,
) -> NDArray[np.bool_]:
    """Return bool[N]: the nodes with a taint of one of the effects that is not tolerated."""
    verdicts = [
        find_untolerated(cast("Sequence[Taint]", taints), tolerations, effects, comparison=comparison) is not None
        for taints in table.taint_sets.values()
    ]
    return np.array(verdicts or [False], np.bool_)[table.taint_set]

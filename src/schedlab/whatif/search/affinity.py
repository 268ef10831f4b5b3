"""A requirement of the pod's affinity or node selector that is widened or dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from schedlab.api.object import Object
from schedlab.whatif.search.edits import Edit, ObjectChange, Suggestion

if TYPE_CHECKING:
    from schedlab.whatif.search.case import Case

_PLUGIN: Final = "NodeAffinity"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_WIDEN_COST: Final = 35
_DROP_COST: Final = 45
_VALUES_MAX: Final = 3


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield each single requirement without which (or with one more value in it) the pod fits."""
    raw = case.stored.raw
    for edits in (*_of_selector(raw), *_of_node_affinity(case, raw), *_of_pod_affinity(raw)):
        for edit in edits:
            node = case.land([edit])
            if node:
                yield Suggestion((edit,), node)
                # Who can widen a requirement need not drop it.
                break


def _of_selector(raw: Object) -> Iterator[list[Edit]]:
    for key, value in (raw["spec"].get("nodeSelector") or {}).items():
        yield [_drop(f"drop {key}={value} from the node selector", partial(_drop_key, key))]


def _of_node_affinity(case: Case, raw: Object) -> Iterator[list[Edit]]:
    terms = _node_terms(raw)
    for t, term in enumerate(terms):
        for e, expression in enumerate(term.get("matchExpressions") or ()):
            key, operator = expression["key"], expression["operator"]
            values = ",".join(expression.get("values") or ())
            edits = []
            if operator == "In":
                edits += [_widen(key, value, t, e) for value in _other_values(case, key, expression["values"])]
            text = f"{key} {operator} {values}".strip()
            edits.append(_drop(f"drop {text} from the required node affinity", partial(_drop_expression, t, e)))
            yield edits
        if term.get("matchFields"):
            yield [_drop("drop the required node names", partial(_drop_fields, t))]


def _other_values(case: Case, key: str, values: list[str]) -> list[str]:
    """Return the values that are not asked for of the nodes that nothing else keeps the pod from, the usual ones first."""
    column = case.table.label(key)
    names = column.values.values()
    counts = Counter(names[index] for index in column.ids[case.only(_PLUGIN)].tolist() if index >= 0)
    return [str(value) for value, _ in counts.most_common(len(values) + _VALUES_MAX) if value not in values][
        :_VALUES_MAX
    ]


def _of_pod_affinity(raw: Object) -> Iterator[list[Edit]]:
    affinity = raw["spec"].get("affinity") or {}
    for kind, words in (("podAffinity", "pod affinity"), ("podAntiAffinity", "pod anti-affinity")):
        for place, term in enumerate((affinity.get(kind) or {}).get(_REQUIRED) or ()):
            summary = f"drop the required {words} over {term['topologyKey']}"
            yield [_drop(summary, partial(_drop_pod_term, kind, place), "pod-affinity")]


def drop_pod_terms(raw: Object) -> list[Edit]:
    """Return the edits that drop every required term of pod affinity and anti-affinity, the last ones first."""
    return [edit for edits in _of_pod_affinity(raw) for edit in edits][::-1]


def _widen(key: str, value: str, term: int, expression: int) -> Edit:
    return Edit(
        "node-affinity",
        f"let {key} be {value}, too",
        _WIDEN_COST,
        pod=partial(_add_value, term, expression, value),
        details={"key": key, "value": value},
    )


def _drop(summary: str, change: ObjectChange, kind: str = "node-affinity") -> Edit:
    return Edit(kind, summary, _DROP_COST, pod=change)


# --- Changes of the dict ---------------------------------------------------------------------------------------------


def _node_terms(pod: Object) -> list[Object]:
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms: list[Object] = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    return terms


def _drop_key(key: str, pod: Object) -> None:
    del pod["spec"]["nodeSelector"][key]


def _add_value(term: int, expression: int, value: str, pod: Object) -> None:
    _node_terms(pod)[term]["matchExpressions"][expression]["values"].append(value)


def _drop_expression(term: int, expression: int, pod: Object) -> None:
    found = _node_terms(pod)[term]
    del found["matchExpressions"][expression]
    _drop_empty_term(pod, found)


def _drop_fields(term: int, pod: Object) -> None:
    found = _node_terms(pod)[term]
    del found["matchFields"]
    _drop_empty_term(pod, found)


def _drop_empty_term(pod: Object, term: Object) -> None:
    """Require nothing of nodes when a term requires nothing any more: an empty one would match none."""
    if not term.get("matchExpressions") and not term.get("matchFields"):
        del pod["spec"]["affinity"]["nodeAffinity"][_REQUIRED]


def _drop_pod_term(kind: str, place: int, pod: Object) -> None:
    del pod["spec"]["affinity"][kind][_REQUIRED][place]

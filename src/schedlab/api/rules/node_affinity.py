"""Node selectors and node affinity: which nodes a pod may be on, and which it prefers.

Terms are parsed once per distinct spec. A term that cannot be parsed matches nothing; whether that is an error is up to
the caller, as upstream has it.

Mirrors: staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from schedlab.api.views.core import (
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
)
from schedlab.apimachinery import field
from schedlab.apimachinery.field import FieldError, Path
from schedlab.apimachinery.gojson import Verbatim, marshal
from schedlab.apimachinery.selectors import Selector, SelectorError, from_map, from_node_selector_requirements

NAME_FIELD: Final = "metadata.name"

_FIELD_OPERATORS: Final = ("In", "NotIn")


class FieldRequirement(NamedTuple):
    """A field of the node must (or must not) have the value; of all fields only the name is known."""

    key: str
    is_equal: bool
    value: str

    def matches(self, node_name: str) -> bool:
        """Judge a node by its name; fields that are not known are empty."""
        actual = node_name if self.key == NAME_FIELD else ""
        return (actual == self.value) is self.is_equal


@dataclass(frozen=True, slots=True)
class ParsedTerm:
    """A node selector term: what labels and fields must be; with errors it matches nothing."""

    labels: Selector | None = None
    fields: tuple[FieldRequirement, ...] = ()
    errors: tuple[FieldError, ...] = ()

    def matches(self, node: Node) -> bool:
        """Whether the node has such labels and fields."""
        if self.errors:
            return False
        if self.labels is not None and not self.labels.matches(node.metadata.labels):
            return False
        return all(requirement.matches(node.metadata.name) for requirement in self.fields)


@dataclass(frozen=True, slots=True)
class ParsedNodeSelector:
    """Terms of which one must match; none at all match nothing."""

    terms: tuple[ParsedTerm, ...]

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """What is wrong with any term."""
        return tuple(error for term in self.terms for error in term.errors)

    def matches(self, node: Node) -> bool:
        """Whether one of the terms matches the node."""
        return any(term.matches(node) for term in self.terms)


@dataclass(frozen=True, slots=True)
class RequiredNodeAffinity:
    """spec.nodeSelector and the required node affinity of a pod; both must match."""

    labels: Selector | None = None
    selector: ParsedNodeSelector | None = None

    def matches(self, node: Node) -> bool:
        """Whether the pod may be on the node; terms that cannot be parsed match nothing."""
        if self.labels is not None and not self.labels.matches(node.metadata.labels):
            return False
        return self.selector is None or self.selector.matches(node)

    def matches_or_raises(self, node: Node) -> bool:
        """The same, but a SelectorError where no term matches and some cannot be parsed."""
        if self.labels is not None and not self.labels.matches(node.metadata.labels):
            return False
        if self.selector is None or self.selector.matches(node):
            return True
        raise_errors(self.selector.errors)
        return False


class PreferredTerm(NamedTuple):
    """A term and what a node that matches it is worth."""

    weight: int
    term: ParsedTerm


def node_affinity_of(pod: Pod) -> NodeAffinity | None:
    """Return the node affinity of the pod's spec."""
    return None if pod.spec.affinity is None else pod.spec.affinity.node_affinity


def required_node_affinity(pod: Pod) -> RequiredNodeAffinity:
    """Return what the pod requires of nodes."""
    labels = _selector_of_map(tuple(pod.spec.node_selector.items())) if pod.spec.node_selector else None
    affinity = node_affinity_of(pod)
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return RequiredNodeAffinity(labels, None if required is None else parse_node_selector(required))


def preferred_node_affinity(pod: Pod) -> tuple[PreferredTerm, ...] | None:
    """Return the node affinity the pod prefers, None when it has none; SelectorError when it cannot be parsed."""
    affinity = node_affinity_of(pod)
    terms = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
    return parse_preferred_terms(terms) if terms else None


@lru_cache(maxsize=4096)
def parse_node_selector(selector: NodeSelector, path: Path | None = None) -> ParsedNodeSelector:
    """Parse a node selector; empty terms match nothing and are left out."""
    own_path = Path("nodeSelectorTerms") if path is None else path.child("nodeSelectorTerms")
    return ParsedNodeSelector(
        tuple(
            _parse_term(term, own_path.index(i))
            for i, term in enumerate(selector.node_selector_terms)
            if not _is_empty(term)
        )
    )


@lru_cache(maxsize=4096)
def parse_preferred_terms(
    terms: tuple[PreferredSchedulingTerm, ...], path: Path | None = None
) -> tuple[PreferredTerm, ...]:
    """Parse preferred terms or raise SelectorError; empty ones and those of weight 0 are left out."""
    parsed = [
        PreferredTerm(term.weight, _parse_term(term.preference, Path(f"[{i}]") if path is None else path.index(i)))
        for i, term in enumerate(terms)
        if term.weight != 0 and not _is_empty(term.preference)
    ]
    raise_errors([error for _, term in parsed for error in term.errors])
    return tuple(parsed)


def raise_errors(errors: Sequence[FieldError]) -> None:
    """Raise a SelectorError if there are errors."""
    if errors:
        raise SelectorError(field.aggregate(errors), errors)


@lru_cache(maxsize=4096)
def _selector_of_map(labels: tuple[tuple[str, str], ...]) -> Selector:
    return from_map(dict(labels))


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _parse_term(term: NodeSelectorTerm, path: Path) -> ParsedTerm:
    labels = None
    errors: list[FieldError] = []
    if term.match_expressions:
        expressions = [{"key": e.key, "operator": e.operator, "values": e.values} for e in term.match_expressions]
        try:
            labels = from_node_selector_requirements(expressions, path.child("matchExpressions"))
        except SelectorError as error:
            errors += error.errors
    fields, field_errors = _parse_fields(term.match_fields, path.child("matchFields"))
    return ParsedTerm(labels, fields, (*errors, *field_errors))


def _parse_fields(
    requirements: Sequence[NodeSelectorRequirement], path: Path
) -> tuple[tuple[FieldRequirement, ...], list[FieldError]]:
    parsed, errors = [], []
    for i, requirement in enumerate(requirements):
        own_path = path.index(i)
        if requirement.operator not in _FIELD_OPERATORS:
            shown = Verbatim(marshal(requirement.operator))
            errors.append(field.not_supported(own_path.child("operator"), shown, _FIELD_OPERATORS))
        elif len(requirement.values) != 1:
            values = list(requirement.values) or None
            errors.append(field.invalid(own_path.child("values"), values, "must have one element"))
        else:
            parsed.append(FieldRequirement(requirement.key, requirement.operator == "In", requirement.values[0]))
    return tuple(parsed), errors

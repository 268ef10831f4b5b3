"""Field selectors: `metadata.name=a,spec.nodeName!=b`.

A kind supports only some fields; which ones, and what is said about others, is the kind's own knowledge and is passed
in as a `FieldLabels`.

Mirrors: staging/src/k8s.io/apimachinery/pkg/fields/selector.go and the field label conversions of
staging/src/k8s.io/apimachinery/pkg/runtime (v1.36)
Differs: nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from schedlab.apimachinery import field as fields
from schedlab.apimachinery.field import Path
from schedlab.apimachinery.gojson import Verbatim, marshal
from schedlab.apimachinery.selectors import SelectorError

_OPERATOR: Final = re.compile("!=|==|=")


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One field must have, or must not have, one value."""

    field: str
    value: str
    is_equal: bool = True

    def matches(self, values: Mapping[str, str]) -> bool:
        return (values.get(self.field, "") == self.value) is self.is_equal

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.is_equal else '!='}{escape_value(self.value)}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All of the requirements must hold; none at all selects everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    def matches(self, values: Mapping[str, str]) -> bool:
        """Whether the fields of an object, as texts, fulfil it; an absent field is empty."""
        return all(requirement.matches(values) for requirement in self.requirements)

    @property
    def is_empty(self) -> bool:
        return not self.requirements

    def required_value(self, name: str) -> str | None:
        """The only value of a field that can match, if there is such a value."""
        for requirement in self.requirements:
            if requirement.is_equal and requirement.field == name:
                return requirement.value
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


_EVERYTHING: Final = FieldSelector()


def everything() -> FieldSelector:
    return _EVERYTHING


@dataclass(frozen=True)
class FieldLabels:
    """The fields of a kind that can be selected by, and how it words its refusal of others."""

    supported: frozenset[str]
    #: With `{}` for the field; upstream words it differently from kind to kind.
    refusal: str = "field label not supported: {}"
    #: Old names that stand for a supported field.
    aliases: Mapping[str, str] = field(default_factory=dict)

    def resolve(self, label: str) -> str:
        label = self.aliases.get(label, label)
        if label not in self.supported:
            raise SelectorError(self.refusal.replace("{}", label))
        return label


#: What kinds without conversions of their own support.
DEFAULT_FIELD_LABELS: Final = FieldLabels(
    frozenset(("metadata.name", "metadata.namespace")),
    '"{}" is not a known field selector: only "metadata.name", "metadata.namespace"',
)


def escape_value(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def unescape_value(text: str) -> str:
    r"""Undo the escapes `\\`, `\,` and `\=`; raise SelectorError for other ones and for bare separators."""
    if "\\" not in text and "," not in text and "=" not in text:
        return text
    value: list[str] = []
    characters = iter(text)
    for char in characters:
        if char == "\\":
            escaped = next(characters, "")
            if not escaped or escaped not in "\\,=":
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            value.append(escaped)
        elif char in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            value.append(char)
    return "".join(value)


def parse(text: str, labels: FieldLabels | None = None) -> FieldSelector:
    """Parse a selector as in `?fieldSelector=`; with `labels`, refuse fields that the kind does not support."""
    requirements = []
    for term in sorted(_split_terms(text)):
        if not term:
            continue
        operator = _OPERATOR.search(term)
        if operator is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        value = unescape_value(term[operator.end() :])
        requirements.append(FieldRequirement(term[: operator.start()], value, operator[0] != "!="))
    if labels is not None:
        requirements = [
            FieldRequirement(labels.resolve(item.field), item.value, item.is_equal) for item in requirements
        ]
    return FieldSelector(tuple(item for item in requirements if item.field or item.value))


def _split_terms(text: str) -> list[str]:
    """Split at commas that no backslash escapes."""
    terms, start, escaped = [], 0, False
    for i, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            terms.append(text[start:i])
            start = i + 1
    return [*terms, text[start:]]


def from_node_selector_fields(expressions: Sequence[Mapping[str, Any]], path: Path | None = None) -> FieldSelector:
    """Make a selector of a node selector term's matchFields."""
    requirements, errors = [], []
    for i, expression in enumerate(expressions):
        own_path = path.index(i) if path is not None else None
        operator, values = str(expression.get("operator", "")), expression.get("values") or None
        if operator not in ("In", "NotIn"):
            shown = Verbatim(marshal(operator))
            errors.append(fields.not_supported(_child(own_path, "operator"), shown, ("In", "NotIn")))
        elif values is None or len(values) != 1:
            errors.append(fields.invalid(_child(own_path, "values"), values, "must have one element"))
        else:
            requirements.append(FieldRequirement(expression.get("key", ""), values[0], operator == "In"))
    if errors:
        raise SelectorError(fields.aggregate(errors), errors)
    return FieldSelector(tuple(requirements))


def _child(path: Path | None, name: str) -> Path:
    return Path(name) if path is None else path.child(name)

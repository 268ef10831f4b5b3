"""Label selectors: `a=b,c in (d,e),!f`, LabelSelector objects and node selector requirements.

A selector is a conjunction of requirements, sorted by key. It is immutable, hashable and prepared for matching many
label sets.

Mirrors: staging/src/k8s.io/apimachinery/pkg/labels/selector.go, pkg/apis/meta/v1/{helpers,validation/validation}.go
and staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go (v1.36)
Differs: nothing. Field selectors are in `field_selectors`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, FieldError, Path
from schedlab.apimachinery.gojson import Verbatim, marshal, quote


class SelectorError(ValueError):
    """A selector that cannot be understood; `errors` has the parts when fields are to blame."""

    def __init__(self, message: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(message)
        self.errors = list(errors)


class Operator(StrEnum):
    """How a requirement relates a key to its values; the value is what messages show."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


_BINARY: Final = (
    Operator.IN,
    Operator.NOT_IN,
    Operator.EQUALS,
    Operator.DOUBLE_EQUALS,
    Operator.NOT_EQUALS,
    Operator.GREATER_THAN,
    Operator.LESS_THAN,
)
_ONE_OF: Final = (Operator.IN, Operator.EQUALS, Operator.DOUBLE_EQUALS)
_NONE_OF: Final = (Operator.NOT_IN, Operator.NOT_EQUALS)
_PRESENCE: Final = (Operator.EXISTS, Operator.DOES_NOT_EXIST)
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")

_LABEL_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}
_NODE_OPERATORS: Final = {**_LABEL_OPERATORS, "Gt": Operator.GREATER_THAN, "Lt": Operator.LESS_THAN}


def parse_int64(text: str) -> int | None:
    """Parse as Go's ParseInt in base 10; None when it is no int64."""
    if len(text) > 64 or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label; made by `new_requirement`, which checks it."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        if self.operator in _ONE_OF:
            return value is not None and value in self.values
        if self.operator in _NONE_OF:
            return value is None or value not in self.values
        if self.operator is Operator.EXISTS:
            return value is not None
        if self.operator is Operator.DOES_NOT_EXIST:
            return value is None
        return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        own = parse_int64(value)
        limit = parse_int64(self.values[0]) if len(self.values) == 1 else None
        if own is None or limit is None:
            return False
        return own > limit if self.operator is Operator.GREATER_THAN else own < limit

    def __str__(self) -> str:
        if self.operator in _PRESENCE:
            return f"!{self.key}" if self.operator is Operator.DOES_NOT_EXIST else self.key
        values = ",".join(sorted(self.values))
        if self.operator in (Operator.IN, Operator.NOT_IN):
            return f"{self.key} {self.operator} ({values})"
        sign = {Operator.GREATER_THAN: ">", Operator.LESS_THAN: "<"}.get(self.operator, str(self.operator))
        return f"{self.key}{sign}{values}"


class Selector:
    """All of the requirements must hold; none at all selects everything."""

    __slots__ = ("_equal", "_hash", "_others", "requirements")

    def __init__(self, requirements: Sequence[Requirement] = ()) -> None:
        self.requirements: Final = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self._hash: int | None = None
        # Most selectors only ask for equality, which needs no call per requirement.
        self._equal = tuple((r.key, r.values[0]) for r in self.requirements if _asks_for_one_value(r))
        self._others = tuple(r for r in self.requirements if not _asks_for_one_value(r))

    def matches(self, labels: Mapping[str, str]) -> bool:
        for key, value in self._equal:
            if labels.get(key) != value:
                return False
        for requirement in self._others:  # noqa: SIM110 - a generator costs more than the loop
            if not requirement.matches(labels):
                return False
        return True

    @property
    def is_empty(self) -> bool:
        """Whether it selects everything because it asks for nothing."""
        return not self.requirements

    def required_value(self, key: str) -> str | None:
        """The only value of a label that can match, if there is such a value."""
        for requirement in self.requirements:
            if requirement.key == key:
                return requirement.values[0] if _asks_for_one_value(requirement) else None
        return None

    def with_requirements(self, *more: Requirement) -> "Selector":
        return Selector((*self.requirements, *more))

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"Selector({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selector):
            return NotImplemented
        return self.requirements == other.requirements and self.is_empty == other.is_empty

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.requirements)
        return self._hash


class _Nothing(Selector):
    """The selector that matches no labels, whatever is added to it."""

    __slots__ = ()

    def matches(self, labels: Mapping[str, str]) -> bool:  # noqa: ARG002 - the signature is the base's
        return False

    @property
    def is_empty(self) -> bool:
        return False

    def with_requirements(self, *more: Requirement) -> Selector:  # noqa: ARG002 - the signature is the base's
        return self

    def __repr__(self) -> str:
        return "Selector(nothing)"


_EVERYTHING: Final = Selector()
_NOTHING: Final = _Nothing()


def everything() -> Selector:
    return _EVERYTHING


def nothing() -> Selector:
    return _NOTHING


def _asks_for_one_value(requirement: Requirement) -> bool:
    return requirement.operator in _ONE_OF and len(requirement.values) == 1


def new_requirement(key: str, operator: str, values: Sequence[str] | None, path: Path | None = None) -> Requirement:
    """Make a requirement, or raise SelectorError with one field error for each rule it breaks.

    `values` is None where Go has a nil slice, which messages print as null.
    """
    errors: ErrorList = []
    if messages := names.check_qualified_name(key):
        errors.append(field.invalid(_child(path, "key"), key, "; ".join(messages)))
    errors.extend(_value_count_errors(operator, values, path))
    for i, value in enumerate(values or ()):
        if messages := names.check_label_value(value):
            errors.append(field.invalid(_child(path, "values").index(i).key(key), value, "; ".join(messages)))
    if errors:
        raise SelectorError(field.aggregate(errors), errors)
    return Requirement(key, Operator(operator), tuple(values or ()))


def _child(path: Path | None, name: str) -> Path:
    return Path(name) if path is None else path.child(name)


def _value_count_errors(operator: str, values: Sequence[str] | None, path: Path | None) -> ErrorList:
    count = len(values or ())
    values_path = _child(path, "values")
    detail = ""
    if operator in (Operator.IN, Operator.NOT_IN):
        detail = "" if count else "for 'in', 'notin' operators, values set can't be empty"
    elif operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS):
        detail = "" if count == 1 else "exact-match compatibility requires one single value"
    elif operator in _PRESENCE:
        detail = "values set must be empty for exists and does not exist" if count else ""
    elif operator in (Operator.GREATER_THAN, Operator.LESS_THAN):
        detail = "" if count == 1 else "for 'Gt', 'Lt' operators, exactly one value is required"
    else:
        shown = Verbatim(marshal(operator))
        return [field.not_supported(_child(path, "operator"), shown, (*_BINARY, *_PRESENCE))]
    errors = [field.invalid(values_path, None if values is None else list(values), detail)] if detail else []
    if operator in (Operator.GREATER_THAN, Operator.LESS_THAN):
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        for i, value in enumerate(values or ()):
            if parse_int64(value) is None:
                errors.append(field.invalid(values_path.index(i), value, detail))
    return errors


def from_map(labels: Mapping[str, str] | None) -> Selector:
    """Select what has exactly these labels; nothing is checked, no labels select everything."""
    return Selector([Requirement(key, Operator.EQUALS, (value,)) for key, value in (labels or {}).items()])


def from_label_selector(label_selector: Mapping[str, Any] | None) -> Selector:
    """Make a selector of a metav1.LabelSelector: none selects nothing, an empty one everything."""
    if label_selector is None:
        return nothing()
    match_labels: Mapping[str, str] = label_selector.get("matchLabels") or {}
    requirements = [new_requirement(key, Operator.EQUALS, [match_labels[key]]) for key in sorted(match_labels)]
    for expression in label_selector.get("matchExpressions") or ():
        name = str(expression.get("operator", ""))
        operator = _LABEL_OPERATORS.get(name)
        if operator is None:
            raise SelectorError(f"{quote(name)} is not a valid label selector operator")
        requirements.append(new_requirement(expression.get("key", ""), operator, expression.get("values") or None))
    return Selector(requirements) if requirements else everything()


class _ExpressionView(Protocol):
    @property
    def key(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def values(self) -> Sequence[str]: ...


class LabelSelectorView(Protocol):
    """The typed view of a metav1.LabelSelector."""

    @property
    def match_labels(self) -> Mapping[str, str]: ...
    @property
    def match_expressions(self) -> Sequence[_ExpressionView]: ...


def selector_from_view(view: LabelSelectorView | None) -> Selector:
    """Make a selector of the typed view of a metav1.LabelSelector: none selects nothing, an empty one everything."""
    if view is None:
        return nothing()
    expressions = [
        {"key": each.key, "operator": each.operator, "values": each.values} for each in view.match_expressions
    ]
    return from_label_selector({"matchLabels": view.match_labels, "matchExpressions": expressions})


def validate_label_selector(
    label_selector: Mapping[str, Any] | None,
    path: Path,
    *,
    allow_invalid_values: bool = False,
    allow_unknown_operator: bool = False,
) -> ErrorList:
    """Check a metav1.LabelSelector in an object."""
    if label_selector is None:
        return []
    errors = names.validate_labels(label_selector.get("matchLabels"), path.child("matchLabels"))
    for i, expression in enumerate(label_selector.get("matchExpressions") or ()):
        errors.extend(
            validate_label_selector_requirement(
                expression,
                path.child("matchExpressions").index(i),
                allow_invalid_values=allow_invalid_values,
                allow_unknown_operator=allow_unknown_operator,
            )
        )
    return errors


def validate_label_selector_requirement(
    expression: Mapping[str, Any],
    path: Path,
    *,
    allow_invalid_values: bool = False,
    allow_unknown_operator: bool = False,
) -> ErrorList:
    """Check one expression of a metav1.LabelSelector in an object."""
    errors: ErrorList = []
    operator, values = expression.get("operator", ""), expression.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(field.required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(field.forbidden(path.child("values"), detail))
    elif not allow_unknown_operator:
        shown = Verbatim(marshal(operator))
        errors.append(field.invalid(path.child("operator"), shown, "not a valid selector operator"))
    errors.extend(names.validate_label_name(expression.get("key", ""), path.child("key")))
    if not allow_invalid_values:
        for i, value in enumerate(values):
            messages = names.check_label_value(value)
            errors.extend(field.invalid(path.child("values").index(i), value, message) for message in messages)
    return errors


def label_selector_text(label_selector: Mapping[str, Any] | None) -> str:
    """Print a metav1.LabelSelector as tables and describe do."""
    try:
        text = str(from_label_selector(label_selector))
    except SelectorError:
        return "<error>"
    return text or "<none>"


def from_node_selector_requirements(
    expressions: Sequence[Mapping[str, Any]] | None, path: Path | None = None
) -> Selector:
    """Make a selector of a node selector term's matchExpressions; none select nothing."""
    if not expressions:
        return nothing()
    requirements, errors = [], []
    for i, expression in enumerate(expressions):
        own_path = path.index(i) if path is not None else None
        name = str(expression.get("operator", ""))
        operator = _NODE_OPERATORS.get(name)
        if operator is None:
            shown = Verbatim(marshal(name))
            errors.append(field.not_supported(_child(own_path, "operator"), shown, _NODE_OPERATORS))
            continue
        try:
            requirement = new_requirement(
                expression.get("key", ""), operator, expression.get("values") or None, own_path
            )
        except SelectorError as error:
            errors.extend(error.errors)
        else:
            requirements.append(requirement)
    if errors:
        raise SelectorError(field.aggregate(errors), errors)
    return Selector(requirements)


_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!()<>,]|[^ \t\r\n=!()<>,]+|$)")
_SYMBOLS: Final = frozenset(("=", "==", "!=", "!", "(", ")", "<", ">", ","))
_END: Final = ""


class _Parser:
    """Recursive descent over the tokens of a selector text; an identifier is any token that is no symbol."""

    def __init__(self, text: str, path: Path | None) -> None:
        self._tokens = [*_tokenize(text), _END]
        self._position = 0
        self._path = path

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            lexeme = self._peek()
            if lexeme == _END:
                return requirements
            if not _starts_requirement(lexeme):
                raise SelectorError(f"found '{lexeme}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}", error.errors) from error
            lexeme = self._next()
            if lexeme == _END:
                return requirements
            if lexeme != ",":
                raise SelectorError(f"found '{lexeme}', expected: ',' or 'end of string'")
            if not _starts_requirement(self._peek()):
                raise SelectorError(f"found '{self._peek()}', expected: identifier after ','")

    def _peek(self) -> str:
        return self._tokens[self._position]

    def _next(self) -> str:
        self._position += 1
        return self._tokens[self._position - 1]

    def _requirement(self) -> Requirement:
        lexeme = self._next()
        negated = lexeme == "!"
        if negated:
            lexeme = self._next()
        if not _is_identifier(lexeme):
            raise SelectorError(f"found '{lexeme}', expected: identifier")
        if messages := names.check_qualified_name(lexeme):
            error = field.invalid(self._path, lexeme, "; ".join(messages))
            raise SelectorError(str(error), [error])
        if negated or self._peek() in (_END, ","):
            return new_requirement(lexeme, Operator.DOES_NOT_EXIST if negated else Operator.EXISTS, [], self._path)
        operator = self._operator()
        values = self._value_set() if operator in (Operator.IN, Operator.NOT_IN) else [self._exact_value()]
        return new_requirement(lexeme, operator, sorted(set(values)), self._path)

    def _operator(self) -> Operator:
        lexeme = self._next()
        operator = {">": Operator.GREATER_THAN, "<": Operator.LESS_THAN}.get(lexeme)
        if operator is not None:
            return operator
        if lexeme in ("in", "notin", "=", "==", "!="):
            return Operator(lexeme)
        raise SelectorError(f"found '{lexeme}', expected: {', '.join(_BINARY)}")

    def _exact_value(self) -> str:
        if self._peek() in (_END, ","):
            return ""
        lexeme = self._next()
        if not _is_identifier(lexeme):
            raise SelectorError(f"found '{lexeme}', expected: identifier")
        return lexeme

    def _value_set(self) -> list[str]:
        lexeme = self._next()
        if lexeme != "(":
            raise SelectorError(f"found '{lexeme}' expected: '('")
        first = self._peek()
        if first == ")":
            self._next()
            return [""]
        if first != "," and not _is_identifier(first):
            raise SelectorError(f"found '{first}', expected: ',', ')' or identifier")
        return self._identifiers()

    def _identifiers(self) -> list[str]:
        """Parse up to the closing parenthesis; nothing between two commas is an empty value."""
        values: list[str] = []
        while True:
            lexeme = self._next()
            if _is_identifier(lexeme):
                values.append(lexeme)
                if self._peek() == ")":
                    self._next()
                    return values
                if self._peek() != ",":
                    raise SelectorError(f"found '{self._peek()}', expected: ',' or ')'")
            elif lexeme == ",":
                if not values or self._peek() in (")", ","):
                    values.append("")
                if self._peek() == ")":
                    self._next()
                    return values
            else:
                raise SelectorError(f"found '{lexeme}', expected: ',', or identifier")


def _tokenize(text: str) -> list[str]:
    return [lexeme for lexeme in _TOKEN.findall(text) if lexeme]


def _is_identifier(lexeme: str) -> bool:
    return lexeme not in _SYMBOLS and lexeme != _END


def _starts_requirement(lexeme: str) -> bool:
    return lexeme == "!" or _is_identifier(lexeme)


def parse(text: str, path: Path | None = None) -> Selector:
    """Parse a selector as in `?labelSelector=`; raise SelectorError with Kubernetes' text when it is malformed."""
    return Selector(_Parser(text, path).parse())

"""Errors about one field of an object, and the path that names the field.

Mirrors: staging/src/k8s.io/apimachinery/pkg/util/validation/field/{errors,path}.go and util/errors (v1.36)
Differs: a field error is a value, never raised. A bad value that Go would print as a struct is passed as
`gojson.Verbatim`, because only the caller knows the order of the struct's fields.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

from schedlab.apimachinery import gojson


class Path:
    """The way from the root of an object to a field: `spec.containers[0].name`."""

    __slots__ = ("_name", "_parent", "_subscript")

    def __init__(self, name: str, *more_names: str) -> None:
        self._parent: Path | None = None
        self._name = name
        self._subscript = ""
        if more_names:
            self._parent = Path(name, *more_names[:-1])
            self._name = more_names[-1]

    def child(self, name: str, *more_names: str) -> "Path":
        step = self._step(name, "")
        return step.child(*more_names) if more_names else step

    def index(self, position: int) -> "Path":
        return self._step("", str(position))

    def key(self, key: str) -> "Path":
        return self._step("", key)

    def _step(self, name: str, subscript: str) -> "Path":
        step = Path(name)
        step._subscript = subscript
        step._parent = self
        return step

    def __str__(self) -> str:
        own = self._name or f"[{self._subscript}]"
        if self._parent is None:
            return own
        return f"{self._parent}.{own}" if self._name else f"{self._parent}{own}"

    def __repr__(self) -> str:
        return f"Path({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class ErrorType(StrEnum):
    """Why a field is wrong; the value is the `reason` of a Status cause."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TOO_FEW = "FieldValueTooFew"
    INTERNAL = "InternalError"
    TYPE_INVALID = "FieldValueTypeInvalid"
    TOO_SHORT = "FieldValueTooShort"

    @property
    def label(self) -> str:
        """The words a message starts with."""
        return _LABELS[self]


_LABELS: Final = {
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.REQUIRED: "Required value",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_MANY: "Too many",
    ErrorType.TOO_FEW: "Too few",
    ErrorType.INTERNAL: "Internal error",
    ErrorType.TYPE_INVALID: "Invalid value",
    ErrorType.TOO_SHORT: "Too short",
}
_WITHOUT_VALUE: Final = frozenset(
    (
        ErrorType.REQUIRED,
        ErrorType.FORBIDDEN,
        ErrorType.TOO_LONG,
        ErrorType.TOO_SHORT,
        ErrorType.INTERNAL,
    )
)


class _Omitted:
    """The type of OMIT_VALUE."""

    def __repr__(self) -> str:
        return "OMIT_VALUE"


#: As a bad value: print the kind of error only.
OMIT_VALUE: Final = _Omitted()

#: A field given as a path, as its text, or not at all (printed as Go's nil path).
FieldLike: TypeAlias = Path | str | None


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong with one field."""

    type: ErrorType
    field: str
    bad_value: object = ""
    detail: str = ""
    origin: str = ""  # the rule that found it, for tests that should not depend on words

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"

    @property
    def body(self) -> str:
        """The message without the name of the field."""
        text = self.type.label
        if self.type not in _WITHOUT_VALUE and self.bad_value is not OMIT_VALUE:
            text += f": {_render(self.bad_value)}"
        return f"{text}: {self.detail}" if self.detail else text

    @property
    def cause(self) -> dict[str, str]:
        """The metav1.StatusCause for this error; empty members are left out as on the wire."""
        cause = {"reason": str(self.type), "message": self.body, "field": self.field}
        return {key: text for key, text in cause.items() if text}

    def with_origin(self, origin: str) -> "FieldError":
        return replace(self, origin=origin)

    def with_detail_prefix(self, prefix: str) -> "FieldError":
        return replace(self, detail=prefix + self.detail)


ErrorList: TypeAlias = list[FieldError]


def _render(value: object) -> str:
    if isinstance(value, gojson.Verbatim):
        return str(value)
    if isinstance(value, str):
        return gojson.quote(value)
    if isinstance(value, (bool, int, float)):
        return gojson.sprint(value)
    return gojson.marshal(value)


def _name(field: FieldLike) -> str:
    return "<nil>" if field is None else str(field)


def type_invalid(field: FieldLike, value: object, detail: str) -> FieldError:
    return FieldError(ErrorType.TYPE_INVALID, _name(field), value, detail)


def not_found(field: FieldLike, value: object) -> FieldError:
    return FieldError(ErrorType.NOT_FOUND, _name(field), value)


def required(field: FieldLike, detail: str = "") -> FieldError:
    return FieldError(ErrorType.REQUIRED, _name(field), "", detail)


def duplicate(field: FieldLike, value: object) -> FieldError:
    return FieldError(ErrorType.DUPLICATE, _name(field), value)


def invalid(field: FieldLike, value: object, detail: str, origin: str = "") -> FieldError:
    return FieldError(ErrorType.INVALID, _name(field), value, detail, origin)


def not_supported(field: FieldLike, value: object, valid_values: Iterable[str]) -> FieldError:
    """An unknown value of an enumeration; the valid ones are listed in the order given."""
    quoted = ", ".join(map(gojson.quote, valid_values))
    return FieldError(
        ErrorType.NOT_SUPPORTED,
        _name(field),
        value,
        f"supported values: {quoted}" if quoted else "",
    )


def forbidden(field: FieldLike, detail: str) -> FieldError:
    return FieldError(ErrorType.FORBIDDEN, _name(field), "", detail)


def too_long(field: FieldLike, length_max: int) -> FieldError:
    """Longer than `length_max` bytes; a negative limit is not printed."""
    return _too_long(field, length_max, "byte")


def too_long_characters(field: FieldLike, length_max: int) -> FieldError:
    return _too_long(field, length_max, "character")


def _too_long(field: FieldLike, length_max: int, unit: str) -> FieldError:
    detail = f"may not be more than {_count(length_max, unit)}" if length_max >= 0 else "value is too long"
    return FieldError(ErrorType.TOO_LONG, _name(field), "<value omitted>", detail)


def too_short(field: FieldLike, value: str, length_min: int) -> FieldError:
    detail = f"must be at least {_count(length_min, 'character')}" if length_min >= 0 else "value is too short"
    return FieldError(ErrorType.TOO_SHORT, _name(field), value, detail)


def too_many(field: FieldLike, actual: int, items_max: int) -> FieldError:
    """More than `items_max` items; a negative actual number is not printed."""
    detail = f"must have at most {_count(items_max, 'item')}" if items_max >= 0 else "has too many items"
    return FieldError(ErrorType.TOO_MANY, _name(field), actual if actual >= 0 else OMIT_VALUE, detail)


def too_few(field: FieldLike, actual: int, items_min: int) -> FieldError:
    detail = f"must have at least {_count(items_min, 'item')}" if items_min >= 0 else "has too few items"
    return FieldError(ErrorType.TOO_FEW, _name(field), actual, detail)


def internal_error(field: FieldLike, error: Exception | str) -> FieldError:
    return FieldError(ErrorType.INTERNAL, _name(field), str(error), str(error))


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def aggregate(messages: Iterable[object]) -> str:
    """Join messages as Go's aggregate does: one alone, several in brackets, each text once."""
    distinct: Sequence[str] = list(dict.fromkeys(map(str, messages)))
    return distinct[0] if len(distinct) == 1 else "[" + ", ".join(distinct) + "]" if distinct else ""

"""CEL expressions about one object, with the functions Kubernetes adds: quantities, versions, lists, regular expressions.

    environment = Environment("device", {"driver": STRING, "capacity": map_of(STRING, QUANTITY)})
    expression = environment.compile('device.driver == "a" && device.capacity.memory.isLessThan(quantity("1Gi"))')
    expression.evaluate(environment.bind({"driver": "a", "capacity": {"memory": quantity_value("512Mi")}}))

An expression is checked against the declared types first and then compiled again without types, because the run-time
library cannot hold values of types of our own: at run time a quantity or a version is a map of one entry. The library
is loaded when the first expression is compiled.

Mirrors: staging/src/k8s.io/apiserver/pkg/cel/{environment,library} (v1.36), as far as device selectors need it.
Differs: the run-time library is cel-cpp. Its texts are brought to cel-go's; it has no macros with two variables, and
instead of a cost limit a limit of iterations. The libraries for URLs, addresses, named formats and authorization and
cel-go's own list extension are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from schedlab.apimachinery import quantity, regexp, semver
from schedlab.apimachinery.quantity import Quantity, QuantityError
from schedlab.apimachinery.semver import Semver, SemverError

if TYPE_CHECKING:
    from cel_expr_python import cel

#: A type by its name, or a list or map of types.
CelType: TypeAlias = "str | tuple[CelType, ...]"

BOOL: Final = "BOOL"
DOUBLE: Final = "DOUBLE"
DURATION: Final = "DURATION"
DYN: Final = "DYN"
INT: Final = "INT"
STRING: Final = "STRING"
TIMESTAMP: Final = "TIMESTAMP"
UINT: Final = "UINT"
QUANTITY: Final = "kubernetes.Quantity"
SEMVER: Final = "kubernetes.Semver"

_OWN: Final = (QUANTITY, SEMVER)


def list_of(element: CelType) -> CelType:
    """Return the type of a list."""
    return ("list", element)


def map_of(key: CelType, value: CelType) -> CelType:
    """Return the type of a map."""
    return ("map", key, value)


class CelError(Exception):
    """An expression does not compile, or fails; the text is cel-go's where that is known."""


class NoSuchKeyError(CelError):
    """A map does not have the key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"no such key: {key}")
        self.key = key


# --- Values of our own ---


def quantity_value(value: Quantity | str) -> dict[str, str]:
    """Return a quantity as expressions see it; equal ones are equal."""
    number = quantity.parse_cached(value) if isinstance(value, str) else value
    unscaled, scale = number.unscaled, number.scale
    while unscaled and unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale + 1
    return {QUANTITY: f"{unscaled}e{scale}" if unscaled else "0"}


def semver_value(value: Semver | str) -> dict[str, str]:
    """Return a version as expressions see it; SemverError when the text is none."""
    return {SEMVER: str(semver.parse(value) if isinstance(value, str) else value)}


def quantity_of(value: object) -> Quantity:
    """Return the quantity that an expression has in its hands; raises CelError for anything else."""
    found = _own(value)
    if not isinstance(found, Quantity):
        raise CelError("no such overload")
    return found


def _own(value: object) -> Quantity | Semver:
    if isinstance(value, dict) and len(value) == 1:
        ((tag, text),) = value.items()
        if tag == QUANTITY:
            return quantity.parse_cached(text)
        if tag == SEMVER:
            return semver.parse(text)
    raise CelError("no such overload")


def _semver(value: object) -> Semver:
    found = _own(value)
    if not isinstance(found, Semver):
        raise CelError("no such overload")
    return found


# --- Functions ---


@dataclass(frozen=True, slots=True)
class Function:
    """One overload of a function or an operator (`_*_`); without an implementation the run-time library has it, and only the check must learn of it."""

    name: str
    parameters: tuple[CelType, ...]
    result: CelType
    body: Callable[..., object] | None = None
    is_member: bool = True


def _compare(left: object, right: object) -> int:
    a, b = _own(left), _own(right)
    if isinstance(a, Quantity) and isinstance(b, Quantity):
        return (a > b) - (a < b)
    if isinstance(a, Semver) and isinstance(b, Semver):
        return (a > b) - (a < b)
    raise CelError("no such overload")


def _make_quantity(text: str) -> dict[str, str]:
    try:
        return quantity_value(text)
    except QuantityError as error:
        raise CelError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse_cached(text)
    except QuantityError:
        return False
    return True


def _as_integer(value: object) -> int:
    number = quantity_of(value)
    if not _is_integer(value):
        raise CelError("cannot convert value to integer")
    return number.value()


def _is_integer(value: object) -> bool:
    # A number that had to become an arbitrary-precision decimal counts as none, even a whole one.
    number = quantity_of(value)
    if number.is_big or number.scale < 0:
        return False
    whole: int = number.unscaled * 10**number.scale
    return -(2**63) <= whole < 2**63


def _add(left: object, right: object, sign: int = 1) -> dict[str, str]:
    number = quantity.of_int(right) if isinstance(right, int) else quantity_of(right)
    return quantity_value(quantity_of(left) + (number if sign > 0 else -number))


def _parse_semver(text: str, normalize: bool) -> Semver:  # noqa: FBT001 - a parameter of CEL's function
    return semver.parse_normalized(text) if normalize else semver.parse(text)


def _make_semver(text: str, normalize: bool = False) -> dict[str, str]:  # noqa: FBT001, FBT002
    try:
        return semver_value(_parse_semver(text, normalize))
    except SemverError as error:
        raise CelError(str(error)) from None


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002
    try:
        _parse_semver(text, normalize)
    except SemverError:
        return False
    return True


def _extreme(name: str, choose: Callable[[list[Any]], object]) -> Callable[[list[Any]], object]:
    def body(items: list[Any]) -> object:
        if not items:
            raise CelError(f"{name} called on empty list")
        return _compared(choose, items)

    return body


def _compared(body: Callable[[list[Any]], object], items: list[Any]) -> object:
    try:
        return body(items)
    except TypeError:
        raise CelError("no such overload") from None


def _is_sorted(items: list[Any]) -> object:
    return _compared(lambda some: all(a <= b for a, b in pairwise(some)), items)


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match.group() for match in _pattern(pattern).finditer(text)]
    return found if limit < 0 else found[:limit]


def _find(text: str, pattern: str) -> str:
    match = _pattern(pattern).search(text)
    return "" if match is None else match.group()


def _pattern(pattern: str) -> re.Pattern[str]:
    try:
        return regexp.compiled(pattern)
    except regexp.RegexpError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _last_index(items: list[Any], item: object) -> int:
    return next((index for index in range(len(items) - 1, -1, -1) if items[index] == item), -1)


def _first_index(items: list[Any], item: object) -> int:
    return next((index for index, each in enumerate(items) if each == item), -1)


_LIST: Final = list_of(DYN)
_NUMBERS: Final = (INT, UINT, DOUBLE)

_QUANTITIES: Final = (
    Function("quantity", (STRING,), QUANTITY, _make_quantity, is_member=False),
    Function("isQuantity", (STRING,), BOOL, _is_quantity, is_member=False),
    Function("sign", (QUANTITY,), INT, lambda value: quantity_of(value).sign, is_member=False),
    Function("compareTo", (QUANTITY, QUANTITY), INT, _compare),
    Function("isGreaterThan", (QUANTITY, QUANTITY), BOOL, lambda a, b: _compare(a, b) > 0),
    Function("isLessThan", (QUANTITY, QUANTITY), BOOL, lambda a, b: _compare(a, b) < 0),
    Function("asApproximateFloat", (QUANTITY,), DOUBLE, lambda value: quantity_of(value).as_approximate_float64()),
    Function("asInteger", (QUANTITY,), INT, _as_integer),
    Function("isInteger", (QUANTITY,), BOOL, _is_integer),
    Function("add", (QUANTITY, QUANTITY), QUANTITY, _add),
    Function("add", (QUANTITY, INT), QUANTITY, _add),
    Function("sub", (QUANTITY, QUANTITY), QUANTITY, lambda a, b: _add(a, b, -1)),
    Function("sub", (QUANTITY, INT), QUANTITY, lambda a, b: _add(a, b, -1)),
)
_VERSIONS: Final = (
    Function("semver", (STRING,), SEMVER, _make_semver, is_member=False),
    Function("semver", (STRING, BOOL), SEMVER, _make_semver, is_member=False),
    Function("isSemver", (STRING,), BOOL, _is_semver, is_member=False),
    Function("isSemver", (STRING, BOOL), BOOL, _is_semver, is_member=False),
    # At run time those of quantities do these, too.
    Function("compareTo", (SEMVER, SEMVER), INT),
    Function("isGreaterThan", (SEMVER, SEMVER), BOOL),
    Function("isLessThan", (SEMVER, SEMVER), BOOL),
    Function("major", (SEMVER,), INT, lambda value: _semver(value).major),
    Function("minor", (SEMVER,), INT, lambda value: _semver(value).minor),
    Function("patch", (SEMVER,), INT, lambda value: _semver(value).patch),
)
_LISTS: Final = (
    Function("isSorted", (_LIST,), BOOL, _is_sorted),
    Function("sum", (_LIST,), DYN, lambda items: _compared(sum, items)),
    Function("min", (_LIST,), DYN, _extreme("min", min)),
    Function("max", (_LIST,), DYN, _extreme("max", max)),
    Function("sets.contains", (_LIST, _LIST), BOOL, lambda a, b: all(x in a for x in b), is_member=False),
    Function(
        "sets.equivalent",
        (_LIST, _LIST),
        BOOL,
        lambda a, b: all(x in a for x in b) and all(x in b for x in a),
        is_member=False,
    ),
    Function("sets.intersects", (_LIST, _LIST), BOOL, lambda a, b: any(x in a for x in b), is_member=False),
)
_TEXTS: Final = (
    Function("find", (STRING, STRING), STRING, _find),
    Function("findAll", (STRING, STRING), list_of(STRING), _find_all),
    Function("findAll", (STRING, STRING, INT), list_of(STRING), _find_all),
)
# The run-time library compares numbers of different types, but its check does not know.
_COMPARISONS: Final = tuple(
    Function(operator, (left, right), BOOL, is_member=False)
    for operator in ("_<_", "_<=_", "_>_", "_>=_")
    for left in _NUMBERS
    for right in _NUMBERS
    if left != right
)
_FUNCTIONS: Final = (*_QUANTITIES, *_VERSIONS, *_LISTS, *_TEXTS)
_MORE_OVERLOADS: Final = (
    Function("indexOf", (_LIST, DYN), INT, _first_index),
    Function("lastIndexOf", (_LIST, DYN), INT, _last_index),
    *_COMPARISONS,
)


# --- The library ---


@cache
def _library() -> ModuleType:
    """Load the run-time library: it is large, and most clusters have no devices."""
    return import_module("cel_expr_python.cel")


def _type(cel: ModuleType, kind: CelType, *, is_loose: bool) -> Any:
    """Return the library's type; a loose one has maps in place of types of our own, and nothing about elements."""
    if isinstance(kind, str):
        if kind in _OWN:
            return cel.Type.MAP if is_loose else cel.Type.AbstractType(kind)
        return getattr(cel.Type, kind)
    if is_loose:
        return cel.Type.LIST if kind[0] == "list" else cel.Type.MAP
    arguments = [_type(cel, argument, is_loose=False) for argument in kind[1:]]
    return cel.Type.List(*arguments) if kind[0] == "list" else cel.Type.Map(*arguments)


def _declarations(cel: ModuleType, functions: tuple[Function, ...], *, is_loose: bool) -> list[Any]:
    overloads: dict[str, list[Any]] = {}
    for number, function in enumerate(functions):
        if is_loose and function.body is None:
            continue
        result = DYN if is_loose else function.result
        overloads.setdefault(function.name, []).append(
            cel.Overload(
                f"{function.name}_{number}",
                return_type=_type(cel, result, is_loose=False),
                parameters=[_type(cel, kind, is_loose=is_loose) for kind in function.parameters],
                is_member=function.is_member,
                **({"impl": function.body} if is_loose else {}),
            )
        )
    return [cel.FunctionDecl(name, found) for name, found in overloads.items()]


def _make(variables: Mapping[str, cel.Type], *, is_loose: bool, more: tuple[Function, ...] = ()) -> cel.Env:
    from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

    cel = _library()
    return cel.NewEnv(
        variables=variables,
        extensions=[
            ext_bindings.ExtBindings(),
            ext_optional.ExtOptional(),
            ext_strings.ExtStrings(2),
            # Overloads of functions that exist already can only be added by an extension.
            cel.CelExtension("kubernetes", _declarations(cel, (*_MORE_OVERLOADS, *more), is_loose=is_loose)),
        ],
        functions=_declarations(cel, _FUNCTIONS, is_loose=is_loose),
    )


# --- Environments and expressions ---


class Environment:
    """The object that expressions speak of, under a name, with the types of its fields."""

    def __init__(self, name: str, fields: Mapping[str, CelType]) -> None:
        self._name = name
        self._fields = fields
        self._environments: tuple[cel.Env, cel.Env] | None = None

    def compile(self, expression: str) -> Expression:
        """Check and compile an expression; CelError when it is none or its types do not fit."""
        strict, loose = self._made()
        kind = ""
        try:
            kind = str(strict.compile(expression).return_type())
        except RuntimeError as error:
            text = _compile_error(str(error), self._name)
            # The check knows the fields and not the object, which may be used as a whole, too.
            if f"undeclared reference to '{self._name}' " not in text:
                raise CelError(text) from None
        try:
            return Expression(loose.compile(expression, disable_check=True), kind)
        except RuntimeError as error:
            raise CelError(_compile_error(str(error), self._name)) from None

    def bind(self, value: Mapping[str, object]) -> cel.Activation:
        """Return the object as expressions want it."""
        return self._made()[1].Activation({self._name: value})

    def _made(self) -> tuple[cel.Env, cel.Env]:
        if self._environments is None:
            cel = _library()
            fields = {f"{self._name}.{field}": _type(cel, kind, is_loose=False) for field, kind in self._fields.items()}
            whole = {self._name: cel.Type.Map(cel.Type.STRING, cel.Type.DYN)}
            self._environments = _make(fields, is_loose=False), _make(whole, is_loose=True)
        return self._environments


class Variables:
    """Several variables of any type; expressions about them are taken as they are and fail when they are evaluated.

    They know the given functions, too.
    """

    def __init__(self, *names: str, functions: tuple[Function, ...] = ()) -> None:
        self._names = names
        self._functions = functions
        self._environment: cel.Env | None = None

    def _made(self) -> cel.Env:
        if self._environment is None:
            variables = dict.fromkeys(self._names, _library().Type.DYN)
            self._environment = _make(variables, is_loose=True, more=self._functions)
        return self._environment

    def compile(self, expression: str) -> Expression:
        """Compile an expression; raises CelError for one that is none."""
        try:
            return Expression(self._made().compile(expression, disable_check=True), "")
        except RuntimeError as error:
            raise CelError(_without_codes(str(error))) from None

    def bind(self, values: Mapping[str, object]) -> cel.Activation:
        """Return values of the variables as expressions want them."""
        return self._made().Activation(values)


class Checker:
    """Checks expressions about several variables, of which only the types are known."""

    def __init__(self, variables: Mapping[str, CelType]) -> None:
        self._variables = variables
        self._environment: cel.Env | None = None

    def check(self, expression: str) -> str:
        """Return the type of the result in the library's words, "" when that is not known; raises CelError.

        A function that is not known here may be one of Kubernetes'; then only the grammar counts.
        """
        cel = _library()
        if self._environment is None:
            variables = {name: _type(cel, kind, is_loose=False) for name, kind in self._variables.items()}
            self._environment = _make(variables, is_loose=False)
        try:
            self._environment.compile(expression, disable_check=True)
        except RuntimeError as error:
            raise CelError(_without_codes(str(error))) from None
        try:
            return str(self._environment.compile(expression).return_type())
        except RuntimeError as error:
            text = _without_codes(str(error))
            if any(_is_unknown_function(name, expression) for name in _UNDECLARED.findall(text)):
                return ""
            raise CelError(_QUALIFIED.sub(_at_root, text)) from None


_UNDECLARED: Final = re.compile(r"undeclared reference to '([^']*)'")
#: An unknown variable of which a field is asked for, with the place of the last dot.
_QUALIFIED: Final = re.compile(
    r"(?P<line><input>:\d+:)(?P<column>\d+)(?P<words>: undeclared reference to ')(?P<root>\w+)(?P<rest>(?:\.\w+)+)"
    r"(?P<source>' \(in container ''\)\n \| [^\n]*\n \| )\.*\^"
)


def _at_root(found: re.Match[str]) -> str:
    """Return the text of cel-go, which is about the variable alone."""
    name = found["root"] + found["rest"]
    column = max(int(found["column"]) - len(name.rpartition(".")[0]), 1)
    return f"{found['line']}{column}{found['words']}{found['root']}{found['source']}{'.' * (column - 1)}^"


def _is_unknown_function(name: str, expression: str) -> bool:
    """Whether a name that the check does not know is called, or is a variable of a macro that it does not know."""
    name = re.escape(name)
    return re.search(rf"\b{name}\s*[({{]|\(\s*{name}\s*,", expression) is not None


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression; `kind` is the type of its result in the library's words, "" when that is not known."""

    _program: cel.Expression
    kind: str

    def evaluate(self, bound: cel.Activation, *, plain: bool = False) -> tuple[object, str]:
        """Return the value of an expression and the name of its type; CelError when it fails.

        A plain value has no values of the library in it.
        """
        try:
            found = self._program.eval(bound)
            kind = str(found.type())
            value = found.plain_value() if plain else found.value()
        except (RuntimeError, TypeError) as error:
            raise _failure(str(error)) from None
        if kind == "ERROR":
            raise _failure(str(value))
        return value, kind


_CODE: Final = re.compile(r"^[A-Z_]+: ")
_TRAILING_CODE: Final = re.compile(r" \[[A-Z_]+\]$")
_MISSING_KEY: Final = re.compile(r'Key not found in map : (?:"(?P<text>.*)"|(?P<other>.*))', re.DOTALL)
_MISSING_INDEX: Final = re.compile(r"Index error: index=(-?\d+) size=\d+")
_TEXTS_OF_GO: Final = {
    "divide by zero": "division by zero",
    "Iteration budget exceeded": "operation cancelled: actual cost limit exceeded",
}


def _without_codes(text: str) -> str:
    return _TRAILING_CODE.sub("", _CODE.sub("", text))


def _compile_error(text: str, name: str) -> str:
    """Return the text of cel-go, which declares an object where the check here has only its fields."""
    pattern = rf"undeclared reference to '{re.escape(name)}\.(\w+)' \(in container ''\)"
    return re.sub(pattern, r"undefined field '\1'", _without_codes(text))


def _failure(text: str) -> CelError:
    text = _without_codes(text)
    missing = _MISSING_KEY.fullmatch(text)
    if missing is not None:
        return NoSuchKeyError(missing["text"] if missing["other"] is None else missing["other"])
    index = _MISSING_INDEX.fullmatch(text)
    if index is not None:
        return CelError(f"index out of bounds: {index[1]}")
    if text.startswith("No matching overloads found"):
        return CelError("no such overload")
    return CelError(_TEXTS_OF_GO.get(text, text))

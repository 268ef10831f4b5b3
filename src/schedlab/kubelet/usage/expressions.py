"""CEL expressions about usage, with the functions that KWOK adds.

    Quantity("1Mi") * (pod.SinceSecond() / 60.0)        grows by a mebibyte a minute

Mirrors: KWOK's pkg/utils/cel (v0.8): quantities with operators, Now, Rand, SinceSecond, UnixSecond; pkg/kwok/metrics for
the variables node, pod and container.
Differs: nothing is checked before it is evaluated; a key that a resource list does not have is an error, not zero.
`Rand()` depends on what is measured and when, not on how often somebody looks. `Usage` and `CumulativeUsage` are for
KWOK's Metrics, which are not read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from math import isfinite
from typing import Any, Final

from schedlab.apimachinery import quantity
from schedlab.apimachinery.cel import (
    DOUBLE,
    INT,
    QUANTITY,
    STRING,
    TIMESTAMP,
    UINT,
    CelError,
    Expression,
    Function,
    Variables,
    map_of,
    quantity_of,
    quantity_value,
)
from schedlab.apimachinery.quantity import QuantityError
from schedlab.apimachinery.time import TimeError, format_nano_time, parse_time
from schedlab.kernel.clock import SECOND_NS

_OBJECT: Final = map_of(STRING, STRING)
_NOW: Final = "__now"
#: Calls of functions without parameters are variables in truth: a function cannot know when it is called.
_CALLS: Final = {
    re.compile(r"\b[Nn]ow\(\)"): f"timestamp({_NOW})",
    re.compile(r"\bRand\(\)"): "__rand",
    re.compile(r"\b(pod|node)\.SinceSecond\(\)"): rf"SinceSecond(\1, {_NOW})",
    re.compile(r"\bSinceSecond\((pod|node)\)"): rf"SinceSecond(\1, {_NOW})",
}
_RESOURCE_LISTS: Final = ("requests", "limits", "capacity", "allocatable")


def _make_quantity(text: str) -> dict[str, str]:
    try:
        return quantity_value(text)
    except QuantityError as error:
        raise CelError(str(error)) from None


def _sum(left: object, right: object) -> dict[str, str]:
    return quantity_value(quantity_of(left) + quantity_of(right))


def _difference(left: object, right: object) -> dict[str, str]:
    return quantity_value(quantity_of(left) - quantity_of(right))


def _product(value: object, factor: float) -> dict[str, str]:
    if isinstance(factor, int):
        return quantity_value(quantity.of_milli(quantity_of(value).milli_value() * factor))
    return _rounded(quantity_of(value).as_approximate_float64() * factor)


def _quotient(value: object, divisor: float) -> dict[str, str]:
    if not divisor:
        raise CelError("division by zero")
    if isinstance(divisor, int):
        milli = quantity_of(value).milli_value()
        whole = abs(milli) // abs(divisor)
        return quantity_value(quantity.of_milli(whole if (milli < 0) == (divisor < 0) else -whole))
    return _rounded(quantity_of(value).as_approximate_float64() / divisor)


def _rounded(amount: float) -> dict[str, str]:
    return quantity_value(quantity.of_milli(int(_finite(amount * 1e3))))


def _finite(amount: float) -> float:
    """Return an amount that is one; raises CelError."""
    if not isfinite(amount):
        raise CelError(f"{amount} is no amount")
    return amount


def _since_second(found: Any, now: str) -> float:
    """Return the age of an object; upstream's, too, counts from its creation."""
    return (parse_time(now) - parse_time(found["metadata"]["creationTimestamp"])) / SECOND_NS


def _unix_second(moment: datetime | str) -> float:
    if isinstance(moment, datetime):
        return moment.timestamp()
    try:
        return parse_time(moment) / SECOND_NS
    except TimeError as error:
        raise CelError(str(error)) from None


def _functions() -> tuple[Function, ...]:
    numbers = (INT, UINT, DOUBLE)
    return (
        Function("Quantity", (STRING,), QUANTITY, _make_quantity, is_member=False),
        Function("SinceSecond", (_OBJECT, STRING), DOUBLE, _since_second, is_member=False),
        *(
            Function("UnixSecond", (kind,), DOUBLE, _unix_second, is_member=is_member)
            for kind in (TIMESTAMP, STRING)
            for is_member in (False, True)
        ),
        Function("_+_", (QUANTITY, QUANTITY), QUANTITY, _sum, is_member=False),
        Function("_-_", (QUANTITY, QUANTITY), QUANTITY, _difference, is_member=False),
        Function("-_", (QUANTITY,), QUANTITY, lambda value: quantity_value(-quantity_of(value)), is_member=False),
        *(Function("_*_", (QUANTITY, kind), QUANTITY, _product, is_member=False) for kind in numbers),
        *(Function("_/_", (QUANTITY, kind), QUANTITY, _quotient, is_member=False) for kind in numbers),
        Function("_<_", (QUANTITY, QUANTITY), "BOOL", lambda a, b: quantity_of(a) < quantity_of(b), is_member=False),
        Function("_>_", (QUANTITY, QUANTITY), "BOOL", lambda a, b: quantity_of(b) < quantity_of(a), is_member=False),
        Function("_<=_", (QUANTITY, QUANTITY), "BOOL", lambda a, b: quantity_of(a) <= quantity_of(b), is_member=False),
        Function("_>=_", (QUANTITY, QUANTITY), "BOOL", lambda a, b: quantity_of(b) <= quantity_of(a), is_member=False),
    )


@cache
def _variables() -> Variables:
    return Variables("node", "pod", "container", _NOW, "__rand", functions=_functions())


@cache
def compile_usage(source: str) -> Expression:
    """Compile an expression about usage; raises CelError."""
    for call, variable in _CALLS.items():
        source = call.sub(variable, source)
    return _variables().compile(source)


def evaluate_usage(
    expression: Expression,
    node: Mapping[str, Any],
    pod: Mapping[str, Any],
    container: Mapping[str, Any],
    now_ns: int,
    rand: float,
) -> float:
    """Return the usage that an expression gives for a container; raises CelError."""
    values = {
        "node": _prepared(node),
        "pod": _prepared(pod),
        "container": _with_quantities(container),
        _NOW: format_nano_time(now_ns),
        "__rand": rand,
    }
    value, kind = expression.evaluate(_variables().bind(values), plain=True)
    return _number(value, kind)


def _number(value: object, kind: str) -> float:
    if isinstance(value, timedelta):
        return float(value // timedelta(microseconds=1) * 1000)
    if isinstance(value, bool | int | float):
        return _finite(float(value))
    try:
        return quantity_of(value).as_approximate_float64()
    except CelError:
        raise CelError(f"unsupported type: {kind}") from None


def _prepared(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object with labels and annotations, even empty ones, and with quantities in its lists of resources."""
    metadata = {"labels": {}, "annotations": {}, **obj["metadata"]}
    metadata.pop("managedFields", None)
    return {**_with_quantities(obj), "metadata": metadata}


def _with_quantities(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_quantities(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {name: quantity_value(str(amount)) for name, amount in each.items()}
        if key in _RESOURCE_LISTS and isinstance(each, dict)
        else _with_quantities(each)
        for key, each in value.items()
    }

"""What a plugin can say of its verdicts and scores in numbers, for whoever asks why.

A plugin may have six more methods; nothing but explanations calls them, and they decide nothing:

    explain_filter(state, pod, node) -> Sequence[Fact]
        what the verdict on a node rests on, after pre_filter and before or after filter. The node fits as far as this
        plugin is concerned when every fact `fits`.
    explain_score(state, pod, node) -> Formula
        how the raw score of a node comes about, after pre_score.
    explain_normalized(state, pod, rows, raw, at) -> Formula
        how the normalised score of rows[at] comes about from raw: int64[F], the raw scores of all rows: int64[F].
        Without it scores are taken as they are.
    explain_scores(state, pod, table, rows) -> Sequence[Formula]
        the array form of explain_score, for rows: int64[F].
    explain_filter_by(state, pod, table), explain_score_by(state, pod, table) -> Sequence[NDArray[np.integer]]
        what the others look at of a node, as columns [N] of numbers: nodes with the same in all of them are explained
        by the same facts, or by the same formulas if their raw scores are equal. Without it each node is asked about.

A formula is arithmetic on numbers alone, so that a reader can work out by hand what the plugin worked out from arrays.
`evaluate` does the same by machine; a property test compares the two for every plugin there is.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from schedlab.apimachinery.quantity import Format, of_int, of_milli
from schedlab.kernel.logarithm import natural_logarithm
from schedlab.scheduler.framework.amounts import CPU, EPHEMERAL_STORAGE, MEMORY

_BYTES: Final = (MEMORY, EPHEMERAL_STORAGE)
_HUGEPAGES_PREFIX: Final = "hugepages-"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing a verdict rests on: a line for people, the same as JSON values for programs, and whether it is fine."""

    text: str
    values: Mapping[str, Any]
    fits: bool


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression in numbers and what those numbers are: `inputs` holds JSON values by name."""

    expression: str
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> int:
        """What the expression comes to."""
        return int(evaluate(self.expression))


# Many nodes of an explanation have the same amounts.
@lru_cache(maxsize=16_384)
def amount_text(resource: str, amount: int) -> str:
    """Return an amount as manifests write it: cpu is given in milli, all else in units."""
    if resource == CPU:
        return str(of_milli(amount))
    in_bytes = resource in _BYTES or resource.startswith(_HUGEPAGES_PREFIX)
    return str(of_int(amount, Format.BINARY_SI if in_bytes else Format.DECIMAL_SI))


# --- Arithmetic ---


def _round_half_up(number: float) -> int:
    whole = math.floor(number)
    return whole + (number - whole >= 0.5)


_OPERATORS: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
#: What may be called in an expression; `round` rounds halves up, `trunc` cuts the fraction off, `log` is natural.
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "sqrt": math.sqrt,
    "trunc": math.trunc,
    "round": _round_half_up,
    "log": natural_logarithm,
}


# And the same formulas.
@lru_cache(maxsize=16_384)
def evaluate(expression: str) -> int | float:
    """Return what an expression comes to: numbers, + - * / // ( ), and min, max, abs, sqrt, trunc, round, log.

    Raises ValueError for anything else.
    """
    number: int | float = _evaluate(ast.parse(expression, mode="eval").body)
    return number


def _evaluate(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluate(left), _evaluate(right))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*map(_evaluate, arguments))
        case _:
            raise ValueError(f"not arithmetic: {ast.unparse(node)}")

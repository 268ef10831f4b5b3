"""The parts of a parsed template.

Mirrors: text/template/parse/node.go (Go 1.25). Differs: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Literally:
    """A constant; `is_nil` is the word nil, which can only be an argument."""

    value: Any
    is_nil: bool = False


@dataclass(frozen=True, slots=True)
class Dot:
    """The cursor."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; "" is the data that the template was given."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Function:
    """A function by name."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Fields:
    """Members of something, one after the other."""

    of: Operand
    names: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands, each of which gets the result of the one before as its last argument; may set variables."""

    commands: tuple[Command, ...]
    variables: tuple[str, ...] = ()
    is_assignment: bool = False
    line: int = 0


Operand: TypeAlias = Literally | Dot | Variable | Function | Fields | Pipeline


@dataclass(frozen=True, slots=True)
class Command:
    """A function with its arguments, or one operand alone."""

    operands: tuple[Operand, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Branch:
    """if, with or range."""

    kind: Literal["if", "with", "range"]
    pipeline: Pipeline
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Call:
    """{{template}}: another template is run in place."""

    name: str
    pipeline: Pipeline | None
    line: int


@dataclass(frozen=True, slots=True)
class Jump:
    """{{break}} or {{continue}}."""

    kind: Literal["break", "continue"]


Node: TypeAlias = str | Pipeline | Branch | Call | Jump


@dataclass(slots=True)
class Parsed:
    """A template and those it defines."""

    nodes: tuple[Node, ...] = ()
    defined: dict[str, tuple[Node, ...]] = field(default_factory=dict)

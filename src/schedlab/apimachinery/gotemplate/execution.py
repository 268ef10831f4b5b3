"""Runs a parsed template on data.

Mirrors: text/template/exec.go (Go 1.25).
Differs: a run ends with an error after STEPS_MAX steps or when it has written LENGTH_MAX characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from schedlab.apimachinery.gotemplate.nodes import (
    Branch,
    Call,
    Command,
    Dot,
    Function,
    Jump,
    Literally,
    Node,
    Operand,
    Parsed,
    Pipeline,
    Variable,
)
from schedlab.apimachinery.gotemplate.values import (
    MISSING,
    Number,
    TemplateError,
    field,
    from_json,
    text_of,
    truth,
    type_name,
)

STEPS_MAX: Final = 200_000
LENGTH_MAX: Final = 4 * 1024 * 1024
_DEPTH_MAX: Final = 100
#: Functions that do not evaluate all of their arguments.
_LAZY: Final = {"and": False, "or": True}
#: In place of the result of a command before the first one.
_NOTHING: Final = object()


class _Break(Exception):
    """Leaves the innermost range."""


class _Continue(Exception):
    """Goes on with the next element of the innermost range."""


class Template:
    """A template that can be run any number of times."""

    def __init__(self, parsed: Parsed, functions: Mapping[str, Callable[..., Any]]) -> None:
        self._parsed = parsed
        self._functions = functions

    def render(self, data: Any, functions: Mapping[str, Callable[..., Any]] | None = None) -> str:
        """Return the text for decoded JSON; some functions may be other ones for this run. Raises TemplateError."""
        value = from_json(data)
        known = self._functions if functions is None else {**self._functions, **functions}
        return _Run(self._parsed.defined, known).text(self._parsed.nodes, value)


class _Run:
    """One run: variables, what is written, and how much may still be done."""

    def __init__(self, defined: Mapping[str, tuple[Node, ...]], functions: Mapping[str, Callable[..., Any]]) -> None:
        self._defined = defined
        self._functions = functions
        self._out: list[str] = []
        self._length = 0
        self._steps = 0
        self._depth = 0
        self._variables: list[tuple[str, Any]] = []

    def text(self, nodes: tuple[Node, ...], data: Any) -> str:
        self._variables = [("", data)]
        self._walk(nodes, data)
        return "".join(self._out)

    def _walk(self, nodes: tuple[Node, ...], dot: Any) -> None:
        known = len(self._variables)
        for node in nodes:
            self._step()
            if isinstance(node, str):
                self._write(node)
            elif isinstance(node, Pipeline):
                value = self._pipeline(node, dot)
                if not node.variables:
                    self._write(text_of(value))
            elif isinstance(node, Branch):
                self._branch(node, dot)
            elif isinstance(node, Call):
                self._call(node, dot)
            else:
                _jump(node)
        # The variables of a block end with it.
        del self._variables[known:]

    def _step(self) -> None:
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise TemplateError(f"gives no end: stopped after {STEPS_MAX} steps")

    def _write(self, text: str) -> None:
        self._length += len(text)
        if self._length > LENGTH_MAX:
            raise TemplateError(f"writes more than {LENGTH_MAX} characters")
        self._out.append(text)

    # --- blocks ------------------------------------------------------------------------------------------------------

    def _branch(self, node: Branch, dot: Any) -> None:
        known = len(self._variables)
        if node.kind == "range":
            self._range(node, dot)
        else:
            value = self._pipeline(node.pipeline, dot)
            inner = value if node.kind == "with" else dot
            if truth(value):
                self._walk(node.then, inner)
            else:
                self._walk(node.otherwise, dot)
        del self._variables[known:]

    def _range(self, node: Branch, dot: Any) -> None:
        names = node.pipeline.variables
        value = self._pipeline(node.pipeline, dot, declare=False)
        known = len(self._variables)
        ran = False
        for key, element in _elements(value, node.line):
            ran = True
            self._step()
            pair = (element,) if len(names) == 1 else (key, element)
            for name, given in zip(names, pair, strict=False):
                self._set(name, given, is_assignment=node.pipeline.is_assignment)
            try:
                self._walk(node.then, element)
            except _Continue:
                continue
            except _Break:
                break
            finally:
                del self._variables[known:]
        if not ran:
            self._walk(node.otherwise, dot)

    def _call(self, node: Call, dot: Any) -> None:
        found = self._defined.get(node.name)
        if found is None:
            raise TemplateError(f"template {node.name!r} not defined", node.line)
        value = None if node.pipeline is None else self._pipeline(node.pipeline, dot)
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise TemplateError("exceeded maximum template depth", node.line)
        variables, self._variables = self._variables, [("", value)]
        self._walk(found, value)
        self._variables = variables
        self._depth -= 1

    # --- values ------------------------------------------------------------------------------------------------------

    def _pipeline(self, pipeline: Pipeline, dot: Any, *, declare: bool = True) -> Any:
        value: Any = _NOTHING
        for command in pipeline.commands:
            value = self._command(command, dot, value)
        if declare:
            for name in pipeline.variables:
                self._set(name, value, is_assignment=pipeline.is_assignment)
        return value

    def _set(self, name: str, value: Any, *, is_assignment: bool) -> None:
        if not is_assignment:
            self._variables.append((name, value))
            return
        for at in range(len(self._variables) - 1, -1, -1):
            if self._variables[at][0] == name:
                self._variables[at] = name, value
                return

    def _command(self, command: Command, dot: Any, final: Any) -> Any:
        first, *rest = command.operands
        self._step()
        if isinstance(first, Function):
            return self._function(first, rest, dot, final)
        if final is not _NOTHING:
            raise TemplateError("can't give argument to non-function", command.line)
        if isinstance(first, Literally) and first.is_nil:
            raise TemplateError("nil is not a command", command.line)
        return self._operand(first, dot)

    def _function(self, function: Function, operands: list[Operand], dot: Any, final: Any) -> Any:
        name = function.name
        if name in _LAZY:
            return self._lazy(function, operands, dot, final)
        arguments = [self._operand(operand, dot) for operand in operands]
        if final is not _NOTHING:
            arguments.append(final)
        try:
            return _sized(self._functions[name](*arguments))
        except TemplateError as error:
            raise TemplateError(f"{name}: {error.message}", error.line or function.line) from None
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            # What a function cannot work with is the template's mistake; Go says so with the types.
            given = ", ".join(type_name(argument) for argument in arguments)
            raise TemplateError(f"error calling {name} with ({given}): {error}", function.line) from None

    def _lazy(self, function: Function, operands: list[Operand], dot: Any, final: Any) -> Any:
        """Evaluate and, or: the first argument that decides is the result, else the last one."""
        if not operands and final is _NOTHING:
            raise TemplateError(f"wrong number of args for {function.name}: want at least 1 got 0", function.line)
        value: Any = _NOTHING
        for operand in operands:
            value = self._operand(operand, dot)
            if truth(value) is _LAZY[function.name]:
                return value
        return value if final is _NOTHING else final

    def _operand(self, operand: Operand, dot: Any) -> Any:
        if isinstance(operand, Literally):
            return operand.value
        if isinstance(operand, Dot):
            return dot
        if isinstance(operand, Variable):
            return self._variable(operand)
        if isinstance(operand, Pipeline):
            return self._pipeline(operand, dot)
        if isinstance(operand, Function):
            return self._function(operand, [], dot, _NOTHING)
        value = self._operand(operand.of, dot)
        for name in operand.names:
            try:
                value = field(value, name)
            except TemplateError as error:
                raise TemplateError(error.message, operand.line) from None
        return value

    def _variable(self, variable: Variable) -> Any:
        for name, value in reversed(self._variables):
            if name == variable.name:
                return value
        raise TemplateError(f"undefined variable: ${variable.name}", variable.line)


def _sized(value: Any) -> Any:
    """Return a result that is not too long to go on with."""
    if isinstance(value, str | list | dict) and len(value) > LENGTH_MAX:
        raise TemplateError(f"a value is longer than {LENGTH_MAX}")
    return value


def _jump(node: Jump) -> None:
    if node.kind == "break":
        raise _Break
    raise _Continue


def _elements(value: Any, line: int) -> Iterator[tuple[Any, Any]]:
    """Yield what a range goes over, with the key or number of each element; maps go by key."""
    if value is None or value is MISSING:
        return
    if isinstance(value, Mapping):
        yield from ((key, value[key]) for key in sorted(value))
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from ((number, number) for number in range(value))
    elif isinstance(value, str) and not isinstance(value, Number):
        yield from enumerate(map(ord, value))
    else:
        raise TemplateError(f"range can't iterate over {text_of(value)}", line)

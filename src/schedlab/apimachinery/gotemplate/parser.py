"""Makes a tree of a template.

Mirrors: text/template/parse/parse.go (Go 1.25). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from schedlab.apimachinery.gotemplate.builtins import BUILTINS
from schedlab.apimachinery.gotemplate.execution import Template
from schedlab.apimachinery.gotemplate.lexer import Action, Word, split
from schedlab.apimachinery.gotemplate.nodes import (
    Branch,
    Call,
    Command,
    Dot,
    Fields,
    Function,
    Jump,
    Literally,
    Node,
    Operand,
    Parsed,
    Pipeline,
    Variable,
)
from schedlab.apimachinery.gotemplate.values import TemplateError

_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_DEPTH_MAX: Final = 100


def parse(source: str, functions: Mapping[str, Callable[..., Any]]) -> Template:
    """Parse a template that may call these functions besides Go's own; raises TemplateError."""
    known = {**BUILTINS, **functions}
    return Template(_Parser(source, known).parse(), known)


class _Parser:
    """Reads texts and actions one after the other."""

    def __init__(self, source: str, functions: Mapping[str, Any]) -> None:
        self._items = split(source)
        self._functions = functions
        self._parsed = Parsed()
        self._variables = [""]
        self._loops = 0
        self._depth = 0

    def parse(self) -> Parsed:
        nodes, ended = self._list(("",))
        assert ended[0] == "", "a list ends where it may"
        self._parsed.nodes = nodes
        return self._parsed

    def _list(self, ends: tuple[str, ...]) -> tuple[tuple[Node, ...], tuple[str, _Words]]:
        """Read up to one of the words that may end the list ("" is the end of the template)."""
        nodes: list[Node] = []
        self._depth += 1
        line = 0
        if self._depth > _DEPTH_MAX:
            raise TemplateError("blocks are nested too deeply", line)
        for item in self._items:
            if isinstance(item, str):
                nodes.append(item)
                continue
            line = item.line
            words = _Words(item)
            keyword = words.keyword()
            if keyword in ("end", "else"):
                if keyword not in ends:
                    raise TemplateError(f"unexpected {{{{{keyword}}}}}", line)
                self._depth -= 1
                return tuple(nodes), (keyword, words)
            nodes += self._node(keyword, words)
        if "" not in ends:
            raise TemplateError("unexpected EOF: a block is not ended", line)
        self._depth -= 1
        return tuple(nodes), ("", _Words(Action((), line)))

    def _node(self, keyword: str, words: _Words) -> tuple[Node, ...]:
        if keyword in ("if", "with", "range"):
            return (self._branch(keyword, words),)  # type: ignore[arg-type]
        if keyword in ("break", "continue"):
            words.end(keyword)
            if not self._loops:
                raise TemplateError(f"{{{{{keyword}}}}} outside {{{{range}}}}", words.line)
            return (Jump(keyword),)  # type: ignore[arg-type]
        if keyword == "define":
            self._define(words.name("define"), words)
            return ()
        if keyword in ("template", "block"):
            name = words.name(keyword)
            pipeline = None if words.is_done() else self._pipeline(words)
            words.end(keyword)
            if keyword == "block":
                self._define(name, words)
            return (Call(name, pipeline, words.line),)
        pipeline = self._pipeline(words)
        words.end("command")
        return (pipeline,)

    def _define(self, name: str, words: _Words) -> None:
        words.end("define")
        variables, self._variables = self._variables, [""]
        nodes, (_, after) = self._list(("end",))
        after.end("end")
        self._variables = variables
        self._parsed.defined[name] = nodes

    def _branch(self, kind: Literal["if", "with", "range"], words: _Words) -> Branch:
        known = len(self._variables)
        pipeline = self._pipeline(words, two=kind == "range")
        words.end(kind)
        self._loops += kind == "range"
        then, (ended, after) = self._list(("else", "end"))
        self._loops -= kind == "range"
        otherwise: tuple[Node, ...] = ()
        if ended == "else":
            again = after.keyword()
            if again in ("if", "with") and kind == again:
                # The end of the inner one ends the outer one, too.
                otherwise = (self._branch(kind, after),)
            else:
                after.end("else")
                otherwise, (_, after) = self._list(("end",))
                after.end("end")
        else:
            after.end("end")
        del self._variables[known:]
        return Branch(kind, pipeline, then, otherwise, words.line)

    # --- pipelines ---------------------------------------------------------------------------------------------------

    def _pipeline(self, words: _Words, *, two: bool = False, closed_by: str = "") -> Pipeline:
        variables, is_assignment = self._declared(words, two=two)
        commands: list[Command] = []
        while True:
            commands.append(self._command(words))
            if words.take("|"):
                continue
            if words.is_done() or (closed_by and words.peek(closed_by)):
                break
        for later in commands[1:]:
            if isinstance(later.operands[0], Literally | Dot) or len(later.operands) == 0:
                raise TemplateError("non executable command in pipeline", words.line)
        if not is_assignment:
            self._variables += variables
        return Pipeline(tuple(commands), tuple(variables), is_assignment, words.line)

    def _declared(self, words: _Words, *, two: bool) -> tuple[list[str], bool]:
        """Read `$x :=`, `$x =` and, for ranges, `$i, $x :=`."""
        found = words.declaration()
        if found is None:
            return [], False
        names, sign = found
        if len(names) > 1 and not two:
            raise TemplateError("too many declarations in command", words.line)
        if sign == "=":
            for name in names:
                self._check_variable(name, words.line)
        return names, sign == "="

    def _command(self, words: _Words) -> Command:
        operands: list[Operand] = []
        while not (words.is_done() or words.peek("|") or words.peek(")")):
            operands.append(self._operand(words))
            if not (words.is_done() or words.is_space() or words.peek("|") or words.peek(")")):
                raise TemplateError(f"unexpected {words.text()} in operand", words.line)
        if not operands:
            raise TemplateError("missing value for command", words.line)
        if len(operands) > 1 and not isinstance(operands[0], Function):
            raise TemplateError("can't give argument to non-function", words.line)
        return Command(tuple(operands), words.line)

    def _operand(self, words: _Words) -> Operand:
        operand = self._term(words)
        names = words.fields()
        if not names:
            return operand
        if isinstance(operand, Literally | Function):
            raise TemplateError(f"unexpected .{names[0]} after term", words.line)
        if isinstance(operand, Fields):
            return Fields(operand.of, (*operand.names, *names), operand.line)
        return Fields(operand, names, words.line)

    def _term(self, words: _Words) -> Operand:
        word = words.next()
        if word.kind == "field":
            return Fields(Dot(), (word.text[1:],), word.line)
        if word.kind == "variable":
            self._check_variable(word.text[1:], word.line)
            return Variable(word.text[1:], word.line)
        if word.kind == "string":
            return Literally(unquote(word.text, word.line))
        if word.kind == "char":
            return Literally(ord(unquote(f'"{word.text[1:-1]}"', word.line)))
        if word.kind == "number":
            return Literally(_number(word))
        if word.kind == "name":
            return self._named(word)
        if word.text == ".":
            return Dot()
        if word.text == "(":
            pipeline = self._pipeline(words, closed_by=")")
            if not words.take(")"):
                raise TemplateError("unclosed left paren", word.line)
            return pipeline
        raise TemplateError(f"unexpected {word.text!r} in command", word.line)

    def _named(self, word: Word) -> Operand:
        if word.text in ("true", "false"):
            return Literally(word.text == "true")
        if word.text == "nil":
            return Literally(None, is_nil=True)
        if word.text not in self._functions:
            raise TemplateError(f'function "{word.text}" not defined', word.line)
        return Function(word.text, word.line)

    def _check_variable(self, name: str, line: int) -> None:
        if name not in self._variables:
            raise TemplateError(f'undefined variable "${name}"', line)


class _Words:
    """The words of one action, read from left to right; blanks are skipped where they have no meaning."""

    def __init__(self, action: Action) -> None:
        self._words = action.words
        self._at = 0
        self.line = action.line
        self._skip()

    def _skip(self) -> bool:
        skipped = False
        while self._at < len(self._words) and self._words[self._at].kind == "space":
            self._at += 1
            skipped = True
        return skipped

    def is_done(self) -> bool:
        self._skip()
        return self._at >= len(self._words)

    def is_space(self) -> bool:
        """Whether a blank stood before what comes next."""
        return self._skip() or (self._at > 0 and self._words[self._at - 1].kind == "space")

    def text(self) -> str:
        return repr(self._words[self._at].text)

    def next(self) -> Word:
        self._skip()
        if self._at >= len(self._words):
            raise TemplateError("missing value for command", self.line)
        word = self._words[self._at]
        self.line = word.line
        self._at += 1
        return word

    def peek(self, sign: str) -> bool:
        at = self._at
        while at < len(self._words) and self._words[at].kind == "space":
            at += 1
        return at < len(self._words) and self._words[at].kind == "sign" and self._words[at].text == sign

    def take(self, sign: str) -> bool:
        if not self.peek(sign):
            return False
        self._skip()
        self._at += 1
        return True

    def keyword(self) -> str:
        """Take the first word if it is one of the words of blocks."""
        if self.is_done():
            return ""
        word = self._words[self._at]
        if word.kind == "name" and word.text in _KEYWORDS:
            self._at += 1
            return word.text
        return ""

    def name(self, context: str) -> str:
        word = self.next()
        if word.kind != "string":
            raise TemplateError(f"{word.text!r} in {context} clause is no string", word.line)
        return unquote(word.text, word.line)

    def declaration(self) -> tuple[list[str], str] | None:
        """Take `$a :=`, `$a =` or `$a, $b :=`, if that is what comes next."""
        start, names = self._at, []
        while not self.is_done() and self._words[self._at].kind == "variable":
            names.append(self._words[self._at].text[1:])
            self._at += 1
            for sign in (":=", "="):
                if self.take(sign):
                    return names, sign
            if not self.take(","):
                break
        self._at = start
        return None

    def fields(self) -> tuple[str, ...]:
        """Take members that follow directly."""
        names: list[str] = []
        while self._at < len(self._words) and self._words[self._at].kind == "field":
            names.append(self._words[self._at].text[1:])
            self._at += 1
        return tuple(names)

    def end(self, context: str) -> None:
        """Raise TemplateError unless everything was read."""
        if not self.is_done():
            raise TemplateError(f"unexpected {self.text()} in {context}", self.line)


_KEYWORDS: Final = frozenset(("if", "with", "range", "else", "end", "define", "template", "block", "break", "continue"))


def unquote(text: str, line: int) -> str:
    """Return the value of a quoted string or a raw one."""
    if text.startswith("`"):
        return text[1:-1]
    out, at, body = [], 0, text[1:-1]
    while at < len(body):
        char = body[at]
        if char != "\\":
            out.append(char)
            at += 1
            continue
        follows = body[at + 1]
        if follows in _ESCAPES or follows in "\\\"'":
            out.append(_ESCAPES.get(follows, follows))
            at += 2
        elif follows in "uUx":
            length = {"x": 2, "u": 4, "U": 8}[follows]
            digits = body[at + 2 : at + 2 + length]
            try:
                out.append(chr(int(digits, 16)))
            except (ValueError, OverflowError):
                raise TemplateError(f"invalid syntax in string {text}", line) from None
            at += 2 + length
        else:
            raise TemplateError(f"invalid syntax in string {text}", line)
    return "".join(out)


def _number(word: Word) -> int | float:
    text = word.text.replace("_", "")
    try:
        return (
            int(text, 0) if not text.lstrip("+-").startswith("0") or len(text.lstrip("+-")) < 2 else _leading_zero(text)
        )
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise TemplateError(f"bad number syntax: {word.text!r}", word.line) from None


def _leading_zero(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    return sign * (int(digits, 8) if digits.isdecimal() else int(digits, 0))

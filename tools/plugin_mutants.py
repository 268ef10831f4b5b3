"""The mutants of the scheduler's plugins: what can be changed in their source, and how a process runs with a change.

A mutant changes one comparison (`<` and `<=`, `==` and `!=`, `in` and `not in`, `is` and `is not`), one number (plus
one) or one truth value (the other one). Texts, names, annotations, decorators, the `strict` of zip, and the functions that explain or say what pods may
share are left alone: they decide nothing.

EQUIVALENT names mutants that cannot be told from the original, each with its reason.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
PLUGINS: Final = ROOT / "src" / "schedlab" / "scheduler" / "plugins"
EQUIVALENT: Final = ROOT / "tools" / "equivalent_mutants.toml"
_SWAPS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
# Functions that put a decision into words, or say what may be computed once for many; neither decides anything.
_DECIDES_NOTHING: Final = re.compile("explain|_expression$|^expression$|_text$|^is_row_local$|^is_pod_local$")
_Place = tuple[ast.AST, int]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: file below the plugins, line of the statement and its text, change, number among the file's."""

    file: str
    line: int
    code: str
    change: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.change} in `{self.code}`"


def every_mutant() -> list[Mutant]:
    """Return the mutants of all plugins, in order of files and lines."""
    files = [file for file in plugin_files() if not _DECIDES_NOTHING.search(file)]
    return [mutant for file in files for mutant in mutants_of(file, (PLUGINS / file).read_text(encoding="utf-8"))]


def plugin_files() -> list[str]:
    """Return the paths of all files below the plugins."""
    return sorted(path.relative_to(PLUGINS).as_posix() for path in PLUGINS.rglob("*.py"))


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """Return the mutants of one file."""
    for number, (node, place, statement) in enumerate(_spots(ast.parse(source))):
        changed = ast.parse(ast.unparse(node), mode="eval").body
        _change(changed, place)
        before, after = ast.unparse(node), ast.unparse(changed)
        code = ast.unparse(statement).splitlines()[0]
        yield Mutant(file, statement.lineno, code, f"{before} -> {after}", number)


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """Return the tree of a file with one change."""
    tree = ast.parse(source)
    node, place, _ = list(_spots(tree))[mutant.number]
    _change(node, place)
    return tree


def _change(node: ast.AST, place: int) -> None:
    if isinstance(node, ast.Compare):
        node.ops[place] = _SWAPS[type(node.ops[place])]()
    else:
        assert isinstance(node, ast.Constant)
        assert isinstance(node.value, (bool, int, float))
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1


def _spots(tree: ast.Module) -> Iterator[tuple[ast.AST, int, ast.stmt]]:
    """Return (expression, which of its operators, statement) of everything that can be changed."""
    for statement in _statements(tree.body):
        for expression in _own_expressions(statement):
            for node, place in _changeable(expression):
                yield node, place, statement


def _statements(body: Sequence[ast.AST]) -> Iterator[ast.stmt]:
    for child in body:
        if isinstance(child, ast.FunctionDef) and _DECIDES_NOTHING.search(child.name):
            continue
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, ast.expr):
            yield from _statements(list(ast.iter_child_nodes(child)))


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Return the expressions of a statement itself, without annotations and decorators."""
    if isinstance(statement, ast.AnnAssign):
        yield from filter(None, (statement.value,))
    elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from (*statement.args.defaults, *filter(None, statement.args.kw_defaults))
    elif not isinstance(statement, ast.ClassDef):
        yield from (child for child in ast.iter_child_nodes(statement) if isinstance(child, (ast.expr, ast.withitem)))


def _changeable(node: ast.AST) -> Iterator[_Place]:
    if isinstance(node, ast.Compare):
        yield from ((node, place) for place, operator in enumerate(node.ops) if type(operator) in _SWAPS)
    elif isinstance(node, ast.Constant) and type(node.value) in {bool, int, float}:
        yield node, 0
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.keyword) and child.arg == "strict"):
            yield from _changeable(child)


# --- Equivalent mutants ---


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A mutant that is no different program: its file, its change, the statement's text, and why.

    times: how many mutants of the statement read the same, each of them no different program.
    """

    file: str
    change: str
    code: str
    reason: str
    times: int = 1

    def covers(self, mutant: Mutant) -> bool:
        """Whether this is the mutant that is meant."""
        return (self.file, self.change, self.code) == (mutant.file, mutant.change, mutant.code)


def equivalents() -> list[Equivalent]:
    """Return the list."""
    with EQUIVALENT.open("rb") as file:
        return [Equivalent(**entry) for entry in tomllib.load(file).get("equivalent", ())]


# --- Running with a change ---


class _Loader(importlib.abc.Loader):
    """Loads one module from a changed tree."""

    def __init__(self, path: Path, tree: ast.Module) -> None:
        self._path, self._tree = path, tree

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._path)
        exec(compile(self._tree, str(self._path), "exec"), module.__dict__)  # noqa: S102 - the repository's own source


class _Finder(importlib.abc.MetaPathFinder):
    """Finds changed modules before the ordinary ones are found."""

    def __init__(self, trees: dict[str, ast.Module]) -> None:
        self._trees = {module_of(file): (PLUGINS / file, tree) for file, tree in trees.items()}

    def find_spec(
        self,
        fullname: str,
        path: object,  # noqa: ARG002 - the protocol's
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._trees:
            return None
        source, tree = self._trees[fullname]
        return importlib.util.spec_from_loader(fullname, _Loader(source, tree), is_package=source.name == "__init__.py")


def module_of(file: str) -> str:
    """Return the dotted name of a plugin's file."""
    parts = file.removesuffix(".py").removesuffix("/__init__").split("/")
    return ".".join(("schedlab", "scheduler", "plugins", *parts))


def install(mutant: Mutant) -> None:
    """Have this process import the changed module from now on; what was imported of the scheduler is forgotten."""
    source = (PLUGINS / mutant.file).read_text(encoding="utf-8")
    forget()
    sys.meta_path.insert(0, _Finder({mutant.file: mutated(source, mutant)}))


def forget(*prefixes: str) -> None:
    """Forget imported modules, so that the next import reads them again."""
    for name in list(sys.modules):
        if name.startswith(prefixes or ("schedlab.scheduler", "tests.parity")):
            del sys.modules[name]


# --- Which statements run ---


class Watch:
    """Has this process import plugins that note which of their statements run."""

    def __init__(self) -> None:
        self._places: list[tuple[str, int]] = []
        trees = {file: ast.parse((PLUGINS / file).read_text(encoding="utf-8")) for file in plugin_files()}
        for file, tree in trees.items():
            self._instrument(file, tree)
        self._hits = bytearray(len(self._places))
        builtins.__reached__ = self._hits  # type: ignore[attr-defined]
        forget()
        sys.meta_path.insert(0, _Finder(trees))

    def take(self) -> list[tuple[str, int]]:
        """Return the places (file, line of the statement) that were reached since the last call."""
        found = [place for place, hit in zip(self._places, self._hits, strict=True) if hit]
        self._hits[:] = bytes(len(self._hits))
        return found

    def _instrument(self, file: str, tree: ast.AST) -> None:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            children = getattr(tree, name, None)
            if not isinstance(children, list):
                continue
            noted: list[ast.AST] = []
            for child in children:
                self._instrument(file, child)
                if isinstance(child, ast.stmt) and not _must_be_first(child):
                    noted.append(self._note(file, child.lineno))
                noted.append(child)
            children[:] = noted

    def _note(self, file: str, line: int) -> ast.stmt:
        self._places.append((file, line))
        note = ast.parse(f"__reached__[{len(self._places) - 1}] = 1").body[0]
        return ast.increment_lineno(note, line - 1)


def _must_be_first(statement: ast.stmt) -> bool:
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")

"""The rules for Python files: each takes source files and returns one line per violation, saying what to do."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from tests.architecture.source_tree import SourceFile

MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 60

#: Giants that are tolerated, with their size at present. Numbers here may only shrink.
TOLERATED_MODULES: Mapping[str, int] = {}
TOLERATED_FUNCTIONS: Mapping[str, int] = {}

#: The layers that must give the same answer on every machine and in every run.
CORE_LAYERS = (
    "kernel",
    "apimachinery",
    "api",
    "store",
    "registry",
    "client",
    "scheduler",
    "controllers",
    "kubelet",
    "decisions",
)

#: Calls that make a core layer depend on the machine or the moment, and what to use in their place.
BANNED_IN_CORE: Mapping[str, str] = {
    **dict.fromkeys(
        ("datetime.now", "datetime.utcnow", "datetime.today", "date.today"), "time comes from the kernel's clock"
    ),
    **dict.fromkeys(("os.urandom", "np.random", "numpy.random"), "dice come from the kernel's random source"),
    **dict.fromkeys(
        (
            f"{module}.{name}"
            for module in ("np", "numpy")
            for name in ("log", "log2", "log10", "log1p", "exp", "power")
        ),
        "libraries differ by an ulp: compute it once per size with the portable function",
    ),
    **dict.fromkeys(("os.environ", "os.getenv"), "settings are passed in by cluster"),
    "hash": "differs between processes: use the kernel's hashing or a dict",
}

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def missing_docstrings(files: Iterable[SourceFile]) -> list[str]:
    """Every module and package says what it is."""
    return [f"{file.path}: has no module docstring" for file in files if not ast.get_docstring(file.tree)]


def long_modules(files: Iterable[SourceFile], tolerated: Mapping[str, int] = TOLERATED_MODULES) -> list[str]:
    """A module fits into one reading."""
    sizes = {file.path: len(file.lines()) for file in files}
    return _over_limit(sizes, MODULE_LINES_MAX, tolerated)


def long_functions(files: Iterable[SourceFile], tolerated: Mapping[str, int] = TOLERATED_FUNCTIONS) -> list[str]:
    """A function fits onto one screen."""
    sizes = {
        f"{file.path}::{name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for file in files
        for name, node in _functions(file.tree)
    }
    return _over_limit(sizes, FUNCTION_LINES_MAX, tolerated)


def _functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, FunctionNode]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode | ast.ClassDef):
            if isinstance(child, FunctionNode):
                yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _over_limit(sizes: Mapping[str, int], limit: int, tolerated: Mapping[str, int]) -> list[str]:
    """The ratchet: who is over the limit and not tolerated, and who is tolerated at a size that is no longer true."""
    found = [
        f"{name}: {size} lines, at most {limit}: split it"
        for name, size in sizes.items()
        if size > limit and name not in tolerated
    ]
    for name, allowed in tolerated.items():
        size = sizes.get(name, 0)
        if size > allowed:
            found.append(f"{name}: grew from {allowed} to {size} lines; a tolerated giant may only shrink")
        elif size <= limit:
            found.append(f"{name}: is within the limit now; take it off the tolerated list")
        elif size < allowed:
            found.append(f"{name}: shrank to {size} lines; write that number into the tolerated list")
    return found


def impure_calls(files: Iterable[SourceFile]) -> list[str]:
    """No core layer asks the machine for the time, for dice, for settings or for a rounding."""
    return [
        f"{file.path}:{node.lineno}: {name} in a core layer; {BANNED_IN_CORE[name]}"
        for file in files
        if _is_core(file)
        for name, node in _named_calls(file.tree)
        if name in BANNED_IN_CORE
    ]


def _is_core(file: SourceFile) -> bool:
    return file.module.startswith(tuple(f"schedlab.{layer}" for layer in CORE_LAYERS))


def _named_calls(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Each `owner.name` that is read and each plain name that is called; a `__hash__` may call hash."""
    if isinstance(node, ast.Attribute):
        owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        yield f"{owner}.{node.attr}", node
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield node.func.id, node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.FunctionDef) and child.name == "__hash__"):
            yield from _named_calls(child)


def set_iterations(files: Iterable[SourceFile]) -> list[str]:
    """No core layer walks over something that is plainly a set: its order differs between processes."""
    return [
        f"{file.path}:{iterable.lineno}: walks over a set; sort it, or use a dict or dict.fromkeys"
        for file in files
        if _is_core(file)
        for iterable in _iterables(file.tree)
        if _is_set(iterable)
    ]


def _iterables(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension):
            yield node.iter
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"list", "tuple"}:
            yield from node.args[:1]


def _is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in {"set", "frozenset"}
    return isinstance(node, ast.Set | ast.SetComp)


def wrong_exports(files: Iterable[SourceFile]) -> list[str]:
    """What a package offers stands in `__all__`: a package with names of its own has one, and it is complete."""
    found = []
    for file in files:
        declared = _declared_exports(file.tree)
        offered = set(_offered_names(file))
        if declared is None:
            if file.is_package and offered:
                found.append(f"{file.path}: has no __all__, but offers {', '.join(sorted(offered))}")
            continue
        found += [f"{file.path}: __all__ lacks {name}" for name in sorted(offered - declared)]
        bound = set(_bound_names(file.tree))
        found += [f"{file.path}: __all__ names {name}, which is not there" for name in sorted(declared - bound)]
    return found


def _declared_exports(tree: ast.Module) -> set[str] | None:
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            assert isinstance(node, ast.Assign | ast.AnnAssign)
            assert node.value is not None
            return set(ast.literal_eval(node.value))
    return None


def _offered_names(file: SourceFile) -> Iterator[str]:
    """Public functions and classes of a module; in a package also its constants and what it imports from schedlab."""
    for node in file.tree.body:
        if isinstance(node, FunctionNode | ast.ClassDef):
            names = [node.name]
        elif file.is_package and not (isinstance(node, ast.ImportFrom) and not _is_own(node)):
            names = list(_bound_by(node))
        else:
            names = []
        yield from (name for name in names if not name.startswith("_"))


def _is_own(node: ast.ImportFrom) -> bool:
    return (node.module or "").split(".")[0] == "schedlab"


def _bound_names(tree: ast.Module | ast.If) -> Iterator[str]:
    for node in tree.body:
        yield from _bound_by(node)
        if isinstance(node, ast.If):
            # What a module imports when it is asked for is named for type checkers under a condition.
            yield from _bound_names(node)
        if isinstance(node, FunctionNode | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import):
            yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)


def _bound_by(node: ast.stmt) -> Iterator[str]:
    """The names that a from-import, an assignment or a type alias binds."""
    if isinstance(node, ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def blanket_ignores(files: Iterable[SourceFile]) -> list[str]:
    """An ignored finding names its rule, so that it cannot hide another."""
    pattern = re.compile(r"# (noqa(?!: [A-Z]+[0-9])|type: ignore(?!\[)|ruff: noqa(?!: [A-Z]))")
    return [
        f"{file.path}:{number}: ignores every finding; name the one that is meant"
        for file in files
        for number, line in enumerate(file.lines(), 1)
        if pattern.search(line)
    ]

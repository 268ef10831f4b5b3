"""Whatever a user can name is named in docs/reference: verbs, options, REST paths, plugins, settings."""

import ast
import inspect
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Final

import pytest
from cyclopts import App

from schedlab import laboratory, testing
from schedlab.web.routes import REST_PATHS
from tests.architecture.source_tree import SourceFile, mentions, python_files, reference_text
from tools import generate_python_reference, generate_reference, plot_speed

SETTINGS_SUFFIX: Final = "Settings"


def unmentioned(terms: Iterable[str], text: str) -> list[str]:
    """The terms that do not stand in the text."""
    return sorted(term for term in dict.fromkeys(terms) if not mentions(text, term))


def verbs(app: App, path: tuple[str, ...]) -> Iterator[tuple[str, App]]:
    """Every command below an App with its words, `schedlab explain`."""
    for name in app:
        if not name.startswith("-"):
            words = (*path, name)
            yield " ".join(words), app[name]
            yield from verbs(app[name], words)


def options(app: App) -> list[str]:
    """The long names of a command's options."""
    if app.default_command is None:
        return []
    return [
        name
        for argument in app.assemble_argument_collection()
        if argument.show
        for name in argument.names
        if name.startswith("--")
    ]


def setting_fields(files: Iterable[SourceFile]) -> list[str]:
    """The fields of classes called `…Settings`, in the camelCase of configuration files."""
    return [
        camel_case(field.target.id)
        for file in files
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith(SETTINGS_SUFFIX)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if not field.target.id.startswith("_")
    ]


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def test_generated_pages_are_current() -> None:
    """The generated pages say what the code says; `make docs` writes them."""
    stale = [
        path.name
        for path, text in generate_reference.pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]

    assert stale == [], "run `make docs`"


def test_every_verb_and_option_is_in_the_reference() -> None:
    """Each `schedlab VERB` and each of its options is described."""
    text = reference_text()
    commands = list(verbs(generate_reference.command_line(), ("schedlab",)))

    assert commands
    assert unmentioned((words for words, _ in commands), text) == []
    assert unmentioned((option for _, app in commands for option in options(app)), text) == []


def test_every_plugin_is_in_the_reference() -> None:
    """Each plugin that a profile may name is described."""
    names = generate_reference.plugin_entries()

    assert names
    assert unmentioned(names, reference_text()) == []


def test_every_rest_path_is_in_the_reference() -> None:
    """Each path of the simulator's REST API is described."""
    assert REST_PATHS
    assert unmentioned(REST_PATHS, reference_text()) == []


def public_names(module: ModuleType) -> Iterator[str]:
    """What a module offers, with the public methods, properties and fields of its classes."""
    for name in module.__all__:
        yield name
        value = getattr(module, name)
        if inspect.isclass(value) and not issubclass(value, Exception):
            yield from (member for member in dir(value) if not member.startswith("_"))


def test_every_public_name_of_the_python_api_is_in_the_reference() -> None:
    """Each name that programs may import, and each that hangs on it, is described in its page."""
    text = (generate_reference.REFERENCE / "python.md").read_text(encoding="utf-8")
    names = [name for module in (laboratory, testing) for name in public_names(module)]

    assert {"Cluster", "explain", "answer", "make_pod"} <= set(names)
    assert unmentioned(names, text) == []


def test_undocumented_public_name_is_found() -> None:
    """A class or a method without a docstring does not get into the page."""
    module = ModuleType("planted", "Something.")
    planted = type("Planted", (), {"__doc__": "A class.", "method": lambda self: self})
    module.__dict__.update(__all__=["Planted"], Planted=planted)

    with pytest.raises(generate_python_reference.UndocumentedError, match=r"Planted\.method has no docstring"):
        list(generate_python_reference.section(module))


def test_every_setting_is_in_the_reference() -> None:
    """Each field of what can be chosen about a cluster is described."""
    fields = setting_fields(python_files("src/schedlab/cluster"))

    assert fields
    assert unmentioned(fields, reference_text()) == []


def test_undescribed_term_is_found() -> None:
    """A term counts only as a word of its own, so a longer name does not describe a shorter one."""
    app = App(name="lab")
    app.command(lambda *, nodes=3, dry_run=False: (nodes, dry_run), name="up")
    file = SourceFile("src/schedlab/cluster/x.py", "class LogSettings:\n    kept_days: int = 3\n    level: str\n")
    [(words, up)] = verbs(app, ("lab",))

    assert unmentioned([words], "lab upgrade") == ["lab up"]
    assert {"--nodes", "--dry-run"} <= set(options(up))
    assert unmentioned(["GET /api/v1/export"], "GET /api/v1/exports") == ["GET /api/v1/export"]
    assert unmentioned(setting_fields([file]), "the `level`") == ["keptDays"]


def test_what_is_told_of_speed_is_made_from_the_runs() -> None:
    """`python -m tools.plot_speed` makes pictures and table anew."""
    stale = [path.name for path, text in plot_speed.pages().items() if path.read_text(encoding="utf-8") != text]

    assert stale == []

"""A plugin is found by its reference, or the message says what is wrong with it and where."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from schedlab.cluster.plugin_loading import (
    PluginLoadError,
    installed_plugins,
    load_hooks,
    load_installed,
    load_plugin,
)
from schedlab.scheduler.framework.interface import Handle

PLUGIN = """
class Mine:
    name = "Mine"

    def filter(self, state, pod, node):
        return None
"""


@pytest.fixture(autouse=True)
def _restored_imports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    before = list(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    yield
    for name in [name for name in sys.modules if name not in before]:
        del sys.modules[name]


def write(path: Path, text: str = PLUGIN) -> Path:
    path.write_text(text)
    return path


class TestReferences:
    def test_file_by_its_relative_path(self, tmp_path: Path) -> None:
        write(tmp_path / "mine.py")

        assert load_plugin("./mine.py:Mine").name == "Mine"
        assert load_plugin("mine.py:Mine").name == "Mine"

    def test_file_by_its_absolute_path(self, tmp_path: Path) -> None:
        assert load_plugin(f"{write(tmp_path / 'mine.py')}:Mine").name == "Mine"

    def test_file_may_import_its_neighbours(self, tmp_path: Path) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        write(folder / "the_neighbour.py")
        write(folder / "user.py", "from the_neighbour import Mine\n")

        assert load_plugin("folder/user.py:Mine").name == "Mine"

    def test_file_is_loaded_once(self, tmp_path: Path) -> None:
        write(
            tmp_path / "both.py",
            PLUGIN + PLUGIN.replace("Mine", "Other") + "from pathlib import Path\nPath('loaded').mkdir()\n",
        )

        load_plugin("both.py:Mine")
        load_plugin("both.py:Other")

        assert (tmp_path / "loaded").is_dir()

    def test_files_of_the_same_name_in_two_folders(self, tmp_path: Path) -> None:
        for name in ("First", "Second"):
            (tmp_path / name).mkdir()
            write(tmp_path / name / "plugin.py", PLUGIN.replace("Mine", name))

        assert [load_plugin(f"{name}/plugin.py:{name}").name for name in ("First", "Second")] == ["First", "Second"]

    def test_module_in_the_working_folder(self, tmp_path: Path) -> None:
        write(tmp_path / "a_module_of_mine.py")

        assert load_plugin("a_module_of_mine:Mine").name == "Mine"

    def test_class_inside_a_class_and_ready_made_entry(self, tmp_path: Path) -> None:
        text = "from schedlab.scheduler.framework.plugin_class import entry_of\n"
        write(tmp_path / "deep.py", f"{PLUGIN}\nclass Outer:\n    Inner = Mine\n\n{text}\nENTRY = entry_of(Mine)\n")

        assert load_plugin("deep.py:Outer.Inner").name == "Mine"
        assert load_plugin("deep.py:ENTRY").name == "Mine"


@pytest.mark.parametrize(
    ("text", "reference", "message", "hint"),
    [
        (None, "./absent.py:Mine", "there is no file absent.py", "paths are relative to"),
        (None, "no_such_module:Mine", "there is no module 'no_such_module'", "name its file: ./my_plugin.py"),
        (None, "os.no_such_part:Mine", "there is no module 'os.no_such_part'", "install its package"),
        (None, "mine.py:", "'mine.py:' names no class", "write module:Class"),
        (None, "Mine", "no installed package offers a plugin 'Mine'", "write module:Class, ./file.py:Class"),
        (PLUGIN, "mine.py:Min", "mine.py has no Min", "did you mean Mine?"),
        (PLUGIN, "mine.py:Zebra", "mine.py has no Zebra", "its classes are: Mine"),
        ("x = 1", "mine.py:Mine", "mine.py has no Mine", "it has no class"),
        ("def f(:\n", "mine.py:Mine", "importing it failed: SyntaxError: ", "try it with python"),
        ("\n\nimport not_installed_at_all", "mine.py:Mine", "importing it failed: ModuleNotFoundError: No module", ""),
        ("\n\n1 / 0", "mine.py:Mine", "importing it failed: ZeroDivisionError: division by zero", ""),
        ("Mine = 3", "mine.py:Mine", "3 is no class", "a plugin is a class"),
        (PLUGIN.replace("name =", "called ="), "mine.py:Mine", "Mine has no `name`", 'name = "Mine"'),
        (PLUGIN.replace(", node", ""), "mine.py:Mine", "Mine.filter(self, state, pod)", "write def filter(self, state"),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded_says_where_what_and_how(
    text: str | None, reference: str, message: str, hint: str, tmp_path: Path
) -> None:
    if text is not None:
        write(tmp_path / "mine.py", text)

    with pytest.raises(PluginLoadError) as caught:
        load_plugin(reference, location=f"--plugin {reference}")

    assert caught.value.location == f"--plugin {reference}"
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(("text", "line"), [("def f(:\n", 1), ("\n\n1 / 0", 3), ("\nimport the_broken_one", 2)])
def test_failed_import_names_file_and_line(text: str, line: int, tmp_path: Path) -> None:
    write(tmp_path / "mine.py", text)
    where = tmp_path / "mine.py"
    if "broken" in text:
        where, line = write(tmp_path / "the_broken_one.py", "\n\n\n1 / 0"), 4

    with pytest.raises(PluginLoadError, match=rf"\({where}:{line}\)"):
        load_plugin("mine.py:Mine")


def test_module_that_failed_is_not_kept(tmp_path: Path) -> None:
    write(tmp_path / "mine.py", "1 / 0")
    with pytest.raises(PluginLoadError):
        load_plugin("mine.py:Mine")
    write(tmp_path / "mine.py")

    assert load_plugin("mine.py:Mine").name == "Mine"


class TestHooks:
    HOOKS = "class Mine:\n    def after_filter(self, state, pod, node, status):\n        return status\n"

    def test_reference_names_the_plugin_and_the_class(self, tmp_path: Path) -> None:
        write(tmp_path / "hooks.py", self.HOOKS)

        name, factory = load_hooks("NodeName=hooks.py:Mine")

        assert name == "NodeName"
        assert type(factory(cast("Handle", None))).__name__ == "Mine"

    @pytest.mark.parametrize(
        ("reference", "message", "hint"),
        [
            ("hooks.py:Mine", "names no plugin and hooks for it", "write NodeName=./file.py:Class"),
            ("=hooks.py:Mine", "names no plugin and hooks for it", "write NodeName="),
            ("NodeName=hooks", "names no plugin and hooks for it", "write NodeName="),
            ("NodeName=hooks.py:", "'hooks.py:' names no class", "write module:Class"),
            ("NodeName=hooks.py:Your", "hooks.py has no Your", "its classes are: Mine"),
            ("NodeName=hooks.py:print", "<built-in function print> is no class", "after_filter"),
        ],
    )
    def test_what_cannot_be_loaded(self, reference: str, message: str, hint: str, tmp_path: Path) -> None:
        write(tmp_path / "hooks.py", f"{self.HOOKS}\nprint = print\n")

        with pytest.raises(PluginLoadError) as caught:
            load_hooks(reference, location=f"--hooks {reference}")

        assert caught.value.location == f"--hooks {reference}"
        assert message in caught.value.message
        assert hint in caught.value.hint


class TestInstalledPlugins:
    @pytest.fixture
    def package(self, tmp_path: Path) -> Path:
        """An installed package with a plugin, as pip leaves it."""
        write(tmp_path / "their_package.py")
        folder = tmp_path / "their_package-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
        self.offer(folder, "Mine = their_package:Mine")
        sys.path.insert(0, str(tmp_path))
        return folder

    def offer(self, folder: Path, *lines: str) -> None:
        (folder / "entry_points.txt").write_text("\n".join(("[schedlab.plugins]", *lines, "")))
        importlib.invalidate_caches()

    def test_is_found_by_its_name(self, package: Path) -> None:
        assert load_plugin("Mine").name == "Mine"

    def test_is_not_imported_before_it_is_wanted(self, package: Path) -> None:
        assert list(installed_plugins()) == ["Mine"]
        assert "their_package" not in sys.modules

    def test_must_have_the_name_it_is_offered_under(self, package: Path) -> None:
        self.offer(package, "Yours = their_package:Mine")

        with pytest.raises(PluginLoadError, match="the plugin calls itself 'Mine'") as caught:
            load_installed(installed_plugins()["Yours"])
        assert caught.value.location == "schedlab.plugins entry point Yours (their_package:Mine)"

    def test_that_is_broken_is_told_with_its_entry_point(self, package: Path) -> None:
        self.offer(package, "Mine = their_package:Gone")

        with pytest.raises(PluginLoadError, match="has no Gone") as caught:
            load_plugin("Mine")
        assert caught.value.location == "schedlab.plugins entry point Mine (their_package:Gone)"

    def test_unknown_name_lists_what_there_is(self, package: Path) -> None:
        with pytest.raises(PluginLoadError) as caught:
            load_plugin("Min")
        assert caught.value.hint.endswith("installed plugins: Mine")

    def test_two_packages_cannot_offer_the_same_name(self, package: Path, tmp_path: Path) -> None:
        other = tmp_path / "other-1.0.dist-info"
        other.mkdir()
        (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
        self.offer(other, "Mine = other:Mine")

        with pytest.raises(PluginLoadError, match="two installed packages offer it"):
            installed_plugins()

"""Tests lie where the code lies, so that whoever changes a file finds its test."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from tests.architecture.source_tree import python_files, repository_files

PLUGINS = PurePosixPath("src/schedlab/scheduler/plugins")
PLUGIN_TESTS = PurePosixPath("tests/unit/scheduler/plugins")
NOT_PLUGINS = {"__init__", "registry"}


def plugins_without_test(paths: Iterable[str]) -> list[str]:
    """A plugin file `x.py` has `test_x.py`; a plugin folder `x/` has `test_x.py` or a folder `x/` of tests."""
    paths = set(paths)
    plugins = {
        PurePosixPath(path).relative_to(PLUGINS).parts[0].removesuffix(".py")
        for path in paths
        if PurePosixPath(path).is_relative_to(PLUGINS)
    }
    return [
        f"{PLUGINS / name}: has no {PLUGIN_TESTS}/test_{name}.py"
        for name in sorted(plugins - NOT_PLUGINS)
        if f"{PLUGIN_TESTS}/test_{name}.py" not in paths
        and not any(path.startswith(f"{PLUGIN_TESTS}/{name}/test_") for path in paths)
    ]


def test_every_plugin_has_its_unit_test() -> None:
    """One plugin, one file, one test file."""
    paths = [file.path for file in python_files("src", "tests")]

    assert any(path.startswith(f"{PLUGINS}/") for path in paths)
    assert plugins_without_test(paths) == []


def test_plugin_without_test_is_found() -> None:
    """A file or a folder of plugins counts once; the registry is not a plugin."""
    paths = [
        f"{PLUGINS}/registry.py",
        f"{PLUGINS}/tested.py",
        f"{PLUGIN_TESTS}/test_tested.py",
        f"{PLUGINS}/large/__init__.py",
        f"{PLUGINS}/large/scoring.py",
        f"{PLUGIN_TESTS}/large/test_scoring.py",
        f"{PLUGINS}/untested.py",
    ]

    assert plugins_without_test(paths) == [f"{PLUGINS}/untested: has no {PLUGIN_TESTS}/test_untested.py"]


def unit_tests_without_code(paths: Iterable[str]) -> list[str]:
    """A folder of unit tests that mirrors no folder and no module of src/schedlab."""
    paths = set(paths)
    folders = {PurePosixPath(path).parent.relative_to("tests/unit") for path in paths if path.startswith("tests/unit/")}
    return [
        f"tests/unit/{folder}: there is no src/schedlab/{folder}"
        for folder in sorted(folders)
        if not any(path.startswith(f"src/schedlab/{folder}/") or path == f"src/schedlab/{folder}.py" for path in paths)
        and folder != PurePosixPath()
    ]


def test_unit_tests_mirror_the_code() -> None:
    """tests/unit has the folders of src/schedlab and no others."""
    assert unit_tests_without_code(file.path for file in repository_files() if file.path.endswith(".py")) == []


def test_unmirrored_unit_test_is_found() -> None:
    """The folder of a unit test names the folder or the module it tests."""
    paths = [
        "src/schedlab/kernel/clock.py",
        "tests/unit/test_version.py",
        "tests/unit/kernel/test_clock.py",
        "tests/unit/kernel/clock/test_timers.py",
        "tests/unit/colonel/test_clock.py",
    ]

    assert unit_tests_without_code(paths) == ["tests/unit/colonel: there is no src/schedlab/colonel"]

"""The import contracts of pyproject.toml hold, and every module is there for somebody."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import grimp
import pytest

from tests.architecture.code_rules import CORE_LAYERS
from tests.architecture.source_tree import REPOSITORY, SourceFile, python_files


def test_import_contracts_hold() -> None:
    """Imports point downwards only, and the further contracts hold (see `lint-imports`)."""
    program = Path(sys.executable).with_name("lint-imports")

    result = subprocess.run([program, "--no-cache"], cwd=REPOSITORY, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr


def contracts() -> dict[str, Any]:
    """The contracts of pyproject.toml by id."""
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        return {contract["id"]: contract for contract in tomllib.load(file)["tool"]["importlinter"]["contracts"]}


def test_core_is_the_same_for_contracts_and_for_rules() -> None:
    """The purity contract and the rules for calls guard the same layers."""
    assert [f"schedlab.{layer}" for layer in CORE_LAYERS] == contracts()["purity"]["source_modules"]


@pytest.mark.parametrize(
    ("contract", "exempt"),
    [
        ("assembly-apiserver", {"cluster"}),
        ("assembly-parts", {"cluster"}),
        ("assembly-backends", {"cluster"}),
        ("store-door", {"registry", "cluster", "backends"}),
    ],
)
def test_no_folder_is_left_out_of_a_contract(contract: str, exempt: set[str]) -> None:
    """A contract about what lies above a folder lists everything above it, so a new folder must be added."""
    rows = [[name.strip(" ()") for name in row.split("|")] for row in contracts()["layers"]["layers"]]
    guarded = {name.removeprefix("schedlab.") for name in contracts()[contract]["forbidden_modules"]}
    [row] = [number for number, names in enumerate(rows) if guarded & set(names)]
    there = {file.module.split(".")[1] for file in python_files("src") if file.module.count(".")}
    above = {name for names in rows[:row] for name in names} & there

    assert {f"schedlab.{name}" for name in above - exempt} <= set(contracts()[contract]["source_modules"])


def entry_points() -> set[str]:
    """Modules that are started or imported from outside: the scripts, `python -m`, the public test kit, plugins."""
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    targets = list(project.get("scripts", {}).values())
    for group in project.get("entry-points", {}).values():
        targets += group.values()
    return {"schedlab.__main__", *(target.split(":")[0] for target in targets)}


def dead_modules(importers: Mapping[str, set[str]], files: Iterable[SourceFile], entries: set[str]) -> list[str]:
    """Modules that nobody imports or names in a string, apart from entry points, packages and the test kit."""
    files = list(files)
    named = {name for file in files for name in re.findall(r"[\"'](schedlab(?:\.\w+)+)[:\"']", file.text)}
    return [
        f"{file.path}: nobody imports it; use it or remove it"
        for file in files
        if not file.is_package
        and not file.module.startswith("schedlab.testing.")
        and file.module not in entries | named
        and not importers.get(file.module)
    ]


def test_no_module_is_dead() -> None:
    """A module that nothing imports is not part of the program."""
    graph = grimp.build_graph("schedlab", cache_dir=None)
    importers = {module: graph.find_modules_that_directly_import(module) for module in graph.modules}

    assert dead_modules(importers, python_files("src"), entry_points()) == []


def test_dead_module_is_found() -> None:
    """Imported, named in a string, entry point or package: alive; else dead."""
    files = [
        SourceFile("src/schedlab/kernel/__init__.py", ""),
        SourceFile("src/schedlab/kernel/imported.py", ""),
        SourceFile("src/schedlab/kernel/named.py", "x = 'schedlab.kernel.named:function'"),
        SourceFile("src/schedlab/kernel/started.py", ""),
        SourceFile("src/schedlab/kernel/dead.py", ""),
    ]
    importers = {"schedlab.kernel.imported": {"schedlab.api"}}

    found = dead_modules(importers, files, {"schedlab.kernel.started"})

    assert found == ["src/schedlab/kernel/dead.py: nobody imports it; use it or remove it"]

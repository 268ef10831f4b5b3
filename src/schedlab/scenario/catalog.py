"""The scenarios and scheduler configurations that a user may choose from: those that come with schedlab, or a folder's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schedlab.apimachinery.yaml_file import read_text
from schedlab.kernel.errors import SchedlabError

_SUFFIXES: Final = frozenset((".yaml", ".yml"))
_CONFIGURATION: Final = re.compile(r"^kind:\s*[\"']?KubeSchedulerConfiguration\b", re.MULTILINE)
_EXAMPLES: Final = ("scenarios", "scheduler-configurations")


@dataclass(frozen=True, slots=True)
class Listed:
    """One file. about: the comment that it begins with, as one line."""

    name: str
    file: Path
    text: str
    about: str
    is_configuration: bool


class Catalog:
    """What is in folders, looked at anew each time; subfolders hold what scenarios name.

    root: what a scenario that is not taken from a file as it stands may name lies in it.
    """

    def __init__(self, folders: Sequence[Path], root: Path) -> None:
        self._folders = tuple(folders)
        self.root = root

    def files(self) -> list[Listed]:
        """Return the files by name; those that cannot be read are left out."""
        found = {}
        for folder in self._folders:
            for file in sorted(folder.iterdir()) if folder.is_dir() else ():
                if file.suffix in _SUFFIXES and file.is_file():
                    listed = _listed(file)
                    if listed is not None:
                        found[file.name] = listed
        return [found[name] for name in sorted(found)]

    def find(self, name: str, location: str) -> Listed:
        """Return the file of a name; raises SchedlabError."""
        files = {one.name: one for one in self.files()}
        if name not in files:
            raise SchedlabError(f"there is no {name}", location=location, hint=f"there are: {', '.join(files)}")
        return files[name]

    def written(self, name: str) -> Path:
        """Return where a scenario of no file is taken to be."""
        return self._folders[0] / name


def catalog_of(folder: Path | None, option: str) -> Catalog:
    """Return the catalog of a folder, that of the examples without one; raises SchedlabError when it is none."""
    if folder is None:
        return Catalog([_examples() / name for name in _EXAMPLES], _examples())
    if not folder.is_dir():
        raise SchedlabError("is no folder", location=f"{option} {folder}", hint="name a folder with scenario files")
    return Catalog([folder], folder)


def _examples() -> Path:
    """The folder `examples`: a wheel carries it in the package, a checkout has it beside `src`."""
    package = Path(__file__).resolve().parents[1]
    carried = package / "examples"
    return carried if carried.is_dir() else package.parents[1] / "examples"


def _listed(file: Path) -> Listed | None:
    try:
        text = read_text(file, "")
    except SchedlabError:
        return None
    about = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        about.append(line.lstrip("# "))
    return Listed(file.name, file, text, " ".join(about), bool(_CONFIGURATION.search(text)))

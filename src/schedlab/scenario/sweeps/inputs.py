"""The files that a scenario names, by what they hold: a run is known again by them, and they travel to other machines."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from os.path import commonpath, relpath
from pathlib import Path
from typing import TypeAlias

#: Contents by path, relative to one folder.
Bundle: TypeAlias = Mapping[str, bytes]


class Inputs:
    """Files and folders as `folder`, that of a scenario, has them; each is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._digests: dict[str, str] = {}

    def digest(self, name: str) -> str:
        """Return the SHA-256 of what a file or folder holds."""
        if name not in self._digests:
            found = hashlib.sha256()
            for file in self._files(name):
                found.update(f"{relpath(file, self._folder)}\0{file.stat().st_size}\0".encode())
                found.update(file.read_bytes())
            self._digests[name] = found.hexdigest()
        return self._digests[name]

    def _files(self, name: str) -> Iterator[Path]:
        path = self._folder / name
        return iter(sorted(one for one in path.rglob("*") if one.is_file())) if path.is_dir() else iter([path])

    def bundle(self, names: Iterable[str]) -> tuple[str, Bundle]:
        """Return files, and where the scenario's folder lies among them: names may lead out of it."""
        files = {file.absolute().resolve(): file for name in names for file in self._files(name)}
        home = self._folder.absolute().resolve()
        root = commonpath([home, *(file.parent for file in files)])
        return relpath(home, root), {relpath(file, root): file.read_bytes() for file in files}


def unpack(bundle: Bundle, folder: Path) -> None:
    """Write files below a folder."""
    for name, content in bundle.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

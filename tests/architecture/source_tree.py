"""The repository's files as the rules of this suite see them: text, parsed Python, module names."""

import ast
import fnmatch
import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class SourceFile:
    """One text file: `path` is relative to the repository, with forward slashes."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        return _parse(self.path, self.text)

    @property
    def module(self) -> str:
        """The dotted name under src, `schedlab.kernel` for its `__init__.py`; "" for a file elsewhere."""
        if not self.path.startswith("src/"):
            return ""
        parts = self.path.removeprefix("src/").removesuffix(".py").split("/")
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def is_package(self) -> bool:
        return self.path.endswith("/__init__.py")

    def lines(self) -> list[str]:
        return self.text.splitlines()


@functools.cache
def _parse(path: str, text: str) -> ast.Module:
    return ast.parse(text, path)


@functools.cache
def repository_files() -> tuple[SourceFile, ...]:
    """Every text file that belongs to the repository."""
    contents = ((path, path.read_bytes()) for path in repository_paths())
    return tuple(
        SourceFile(path.relative_to(REPOSITORY).as_posix(), content.decode("utf-8"))
        for path, content in contents
        if b"\0" not in content
    )


@functools.cache
def repository_paths() -> tuple[Path, ...]:
    """Every file that belongs to the repository: all but what .gitignore names."""
    ignored = [
        line.strip().rstrip("/")
        for line in (REPOSITORY / ".gitignore").read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    ]

    def belongs(name: str) -> bool:
        return name != ".git" and not any(fnmatch.fnmatch(name, pattern) for pattern in ignored)

    found = []
    for folder, subfolders, names in os.walk(REPOSITORY):
        subfolders[:] = sorted(filter(belongs, subfolders))
        found += [Path(folder, name) for name in sorted(filter(belongs, names))]
    return tuple(found)


def python_files(*folders: str) -> list[SourceFile]:
    """The Python files under the given folders ("src", "tests/unit")."""
    prefixes = tuple(f"{folder}/" for folder in folders)
    return [file for file in repository_files() if file.path.endswith(".py") and file.path.startswith(prefixes)]


def documents() -> list[SourceFile]:
    """The Markdown files."""
    return [file for file in repository_files() if file.path.endswith(".md")]


def reference_text() -> str:
    """All of docs/reference, in which whatever a user can name must be named."""
    return "\n".join(file.text for file in documents() if file.path.startswith("docs/reference/"))


def mentions(text: str, term: str) -> bool:
    """Whether the term stands in the text as a word of its own."""
    return re.search(rf"(?<![\w-]){re.escape(term)}(?![\w-])", text) is not None

"""Mistakes of a file, all of them, each with its line and a hint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from schedlab.apimachinery.yaml_file import line_of
from schedlab.kernel.errors import SchedlabError

#: Keys and places on the way from the root of a document to a value.
Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong at a place of a document, and what to do."""

    path: Path
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """The place and the message, without the hint."""
        return f"{place_text(self.path)}{self.message}"


class MistakesError(SchedlabError):
    """A file that cannot be used. `mistakes`: all of them, in the order of the file; `errors`: the same with their lines."""

    def __init__(self, location: str, text: str, mistakes: Sequence[Mistake]) -> None:
        placed = sorted(((line_of(text, each.path), each) for each in mistakes), key=lambda pair: pair[0])
        self.mistakes = tuple(each for _, each in placed)
        self.errors = tuple(
            SchedlabError(str(each), location=f"{location}:{line}", hint=each.hint) for line, each in placed
        )
        first = self.errors[0]
        super().__init__(first.message, location=first.location, hint=first.hint)

    def __str__(self) -> str:
        """Every mistake as a message of its own."""
        return "\nerror: ".join(map(str, self.errors))


def place_text(path: Path) -> str:
    """Return a place as a message begins with it, "" for the whole document."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    return f"{text}: " if text else ""

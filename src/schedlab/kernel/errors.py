"""The root of every error that schedlab raises on purpose.

    Exception
    ├── SchedlabError      a user's input is wrong: says where, what was found, what to do (CLI exit code 2)
    └── InvariantError     a bug of ours: prints the story of the object that broke the rule

API failures are `apimachinery.errors.StatusError`; "does not fit" is a value, `scheduler.framework.Status`.
"""

from __future__ import annotations


class SchedlabError(Exception):
    """A user's input that cannot be used: `location: message`, and one hint that says what to do."""

    def __init__(self, message: str, *, location: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        hint = f"\nhint: {self.hint}" if self.hint else ""
        return f"{place}{self.message}{hint}"


class InvariantError(AssertionError):
    """Something that must always hold does not; `story` tells how the object got there."""

    def __init__(self, message: str, story: str = "") -> None:
        super().__init__(f"{message}\n{story}" if story else message)

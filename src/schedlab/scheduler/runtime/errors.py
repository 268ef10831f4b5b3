"""Statuses of things that went wrong inside a plugin.

Mirrors: fwk.AsStatus(fmt.Errorf("...: %w", err)) throughout pkg/scheduler/framework/runtime/framework.go (v1.36).
"""

from __future__ import annotations

from typing import Final, TypeVar

from schedlab.kernel.errors import InvariantError
from schedlab.scheduler.framework.status import Code, Status

_SHOWN_MAX: Final = 100
T = TypeVar("T")


def wrapped(prefix: str, status: Status, plugin: str = "") -> Status:
    """Return an error status that says where a status which is no rejection came from."""
    return Status(Code.ERROR, (), plugin, f"{prefix}: {error_text(status)}")


def error_text(status: Status) -> str:
    """Return the error of a status, or its reasons when it carries none (Go's Status.AsError)."""
    return status.error or status.message


def failure_of(error: Exception) -> Status:
    """Return the status of a plugin that raised; a broken invariant of ours is not the plugin's and goes on up."""
    if isinstance(error, InvariantError):
        raise error
    return Status(Code.ERROR, (), "", text_of(error))


def text_of(error: Exception) -> str:
    """Return an exception as one line."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def as_status(value: object) -> Status | None:
    """Return what a plugin gave as its status; TypeError when it is none."""
    return value if value is None or isinstance(value, Status) else checked(value, Status, "a Status or None")


def checked(value: object, kind: type[T], expected: str) -> T:
    """Return what a plugin gave if it is of the kind, else raise a TypeError that says what was expected."""
    if isinstance(value, kind):
        return value
    raise TypeError(f"a plugin returned {_shown(value)} where {expected} is expected")


def _shown(value: object) -> str:
    """Return a value as text without its address in memory, which differs from run to run."""
    if type(value).__repr__ is object.__repr__:
        return f"an instance of {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"

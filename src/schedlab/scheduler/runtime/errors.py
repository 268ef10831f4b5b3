"""Statuses of things that went wrong inside a plugin.

Mirrors: fwk.AsStatus(fmt.Errorf("...: %w", err)) throughout pkg/scheduler/framework/runtime/framework.go (v1.36).
"""

from __future__ import annotations

from schedlab.kernel.errors import InvariantError
from schedlab.scheduler.framework.status import Code, Status


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
    text = str(error)
    return Status(Code.ERROR, (), "", f"{type(error).__name__}: {text}" if text else type(error).__name__)

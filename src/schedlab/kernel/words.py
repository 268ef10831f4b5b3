"""Words of messages."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number of things: `1 pod`, `2 pods`; with what they do where that changes: `1 pod waits`, `2 pods wait`."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"

"""Values that were looked at before: a part that many objects have in common is checked once.

Only what nothing was found in is remembered, so that every finding is worded for its own place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import orjson

_ENTRIES_MAX: Final = 1024
_BYTES_MAX: Final = 4 * 1024

FoundT = TypeVar("FoundT")


class SoundValues:
    """Values in which one kind of look, that depends on nothing but the value, found nothing."""

    def __init__(self) -> None:
        self._known: dict[bytes, None] = {}

    def look(self, value: Any, find: Callable[[], list[FoundT]]) -> list[FoundT]:
        """Return what there is to find in a value, without looking at one that is known."""
        encoded = orjson.dumps(value)
        if encoded in self._known:
            return []
        found = find()
        if not found and len(encoded) <= _BYTES_MAX:
            if len(self._known) >= _ENTRIES_MAX:
                self._known.clear()
            self._known[encoded] = None
        return found

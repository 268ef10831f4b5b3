"""What others have said, as it can be shown: plugins, extenders and clients may say whatever they like."""

from __future__ import annotations

import re
from typing import Final

#: So much of what a plugin says stands in a sentence or a cell.
_CLIPPED_MAX: Final = 1000
#: Control characters but for line ends and tabs: a terminal would take them for commands.
_COMMANDS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(text: str) -> str:
    """Return a text with its control characters written out, as many lines as it has."""
    return _COMMANDS.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def clipped(text: str) -> str:
    """Return as much of a text as a sentence or a cell has room for."""
    if len(text) <= _CLIPPED_MAX:
        return text
    return f"{text[:_CLIPPED_MAX]}… ({len(text)} characters, -o json has them all)"


def one_line(text: str) -> str:
    """Return the same on one line, as a cell of a table needs it."""
    return text if text.isprintable() else plain(text).replace("\n", "\\n").replace("\t", "\\t")
